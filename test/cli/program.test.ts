/** The real commands, in process, on files in a fresh folder. */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createContext } from '../../src/cli/context';
import { UsageError } from '../../src/cli/output';
import { program } from '../../src/cli/program';
import type { Report } from '../../src/core/finding';
import { code, notebook } from '../notebook/notebook';
import { BAD } from './ranker';

const dist = join(__dirname, '../../dist');

const LEARNER = `import torch
from torch import nn


class Learner(nn.Module):
    def __init__(self, policy):
        super().__init__()
        self.policy = policy

    def forward(self, seen: torch.Tensor, n: int):
        return self.policy(seen.repeat_interleave(n, dim=0))
`;

const CLEAN = 'import torch\n\n\ndef f(x):\n    return x + 1\n';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

describe('ikbo', () => {
  let root = '';
  beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'ikbo-'))));
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const write = (path: string, text: string | Uint8Array) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const ikbo = (...args: string[]): Promise<Run> => ikboIn('.', ...args);
  const ikboIn = async (folder: string, ...args: string[]): Promise<Run> => {
    let out = '';
    let error = '';
    const at = join(root, folder);
    const context = createContext(at, dist, { out: (t) => (out += t), error: (t) => (error += t), color: false });
    const code = await program(context, ['node', 'ikbo', ...args]);
    return { code, out, error };
  };
  const report = ({ out }: Run) => JSON.parse(out) as Report;

  describe('check', () => {
    it('reports thousands of findings of one file in time that grows with them', async function () {
      this.timeout(60_000);
      // Where each finding looked through the text before it, this took minutes.
      const copies = 'def f(x):\n    return x.repeat(2, 1) @ x\n';
      write('m.py', `import torch\n${copies.repeat(12_000)}`);
      const run = await ikbo('check', '--no-cache');
      assert.match(run.out, /12000 findings in 1 file/);
    });

    it('finds, with exit code 1', async () => {
      write('m.py', BAD);
      const run = await ikbo('check');
      assert.equal(run.code, 1);
      assert.match(run.out, /m\.py:11:13: warning IKB101/);
      assert.match(run.out, /1 finding, 1 fixable/);
    });
    it('is silent on clean files, with exit code 0', async () => {
      write('m.py', CLEAN);
      const run = await ikbo('check', '.');
      assert.deepEqual([run.code, run.out.includes('0 findings')], [0, true]);
    });
    it('an empty folder is clean', async () => assert.equal((await ikbo('check')).code, 0));
    it('JSON has the documented shape, relative paths, 1-based places and the same twice', async () => {
      write('a/m.py', BAD);
      const [first, second] = [
        report(await ikbo('check', '--format', 'json')),
        report(await ikbo('check', '--format', 'json')),
      ];
      assert.deepEqual(first.findings, second.findings);
      assert.equal(first.schema, 'ikbo-report/1');
      const [finding] = first.findings;
      assert.ok(finding);
      assert.deepEqual(
        [finding.rule, finding.path, finding.line, finding.column, finding.endLine, finding.materialized],
        ['IKB101', 'a/m.py', 11, 13, 11, true],
      );
      assert.equal(
        BAD.split('\n')[finding.line - 1]?.slice(finding.column - 1, finding.endColumn - 1),
        'user.repeat_interleave(n, dim=0)',
      );
      assert.equal(finding.consumer.line, 12);
      for (const rewrite of finding.rewrites) assert.equal(rewrite.edits.length === 0, rewrite.tier === 'none');
    });
    it('broken, binary and foreign files get a line each, and the rest is analysed', async () => {
      write('good.py', BAD);
      write('broken.py', `${BAD}\ndef g(:\n    return ((\n`);
      write('binary.py', Uint8Array.of(1, 0, 2));
      write('latin.py', Uint8Array.of(0x23, 0xe9, 10));
      symlinkSync('.', join(root, 'loop'));
      const run = report(await ikbo('check', '--format', 'json', '.', 'missing'));
      assert.deepEqual(
        run.errors.map(({ path }) => path),
        ['binary.py', 'broken.py', 'latin.py', 'loop', 'missing'],
      );
      assert.deepEqual(
        run.findings.map(({ path }) => path),
        ['broken.py', 'good.py'],
      );
    });
    it('exit code 2 when nothing could be read, or not what is named; a link back is no such failure', async () => {
      write('good.py', CLEAN);
      for (const name of ['a', 'b', 'c']) symlinkSync('.', join(root, name));
      assert.equal((await ikbo('check')).code, 0);
      for (const named of [['missing.py'], ['good.py', 'missing'], ['']])
        assert.equal((await ikbo('check', ...named)).code, 2, named.join());
      await assert.rejects(ikbo('check', '--watch', 'missing'), /nothing that is named is there/);
      write('bad.py', Uint8Array.of(0xff, 0xfe, 0x23, 0));
      const run = await ikbo('check', 'bad.py');
      assert.equal(run.code, 2);
      assert.match(run.out, /UTF-16.*iconv -f UTF-16/);
    });
    it('options that mean nothing together are refused', async () => {
      await assert.rejects(ikbo('check', '--stdin-filename', 'm.py'), /give - as the path/);
      await assert.rejects(ikbo('check', '--statistics', '--format', 'json'), /not together with --format json/);
      await assert.rejects(ikbo('fix', '-'), /standard input can only be checked/);
    });
    it('exit code 2 and a hint for wrong usage', async () => {
      const run = await ikbo('check', '--format', 'xml');
      assert.equal(run.code, 2);
      assert.match(run.error, /text, json, sarif, github, junit/);
      assert.equal((await ikbo('chekc')).code, 2);
    });
    it('takes the configuration, and shape bindings from it', async () => {
      write('m.py', BAD);
      write('ikbo.toml', 'ignore = ["IKB101"]\n');
      assert.equal((await ikbo('check')).code, 0);
      write('ikbo.toml', '[severity]\nIKB101 = "error"\n');
      assert.equal(report(await ikbo('check', '--format', 'json')).findings[0]?.level, 'error');
      write('ikbo.toml', 'ignore = 3');
      await assert.rejects(ikbo('check'), /ignore must be a list/);
    });
    it('shows no name and no line that would steer a terminal', async () => {
      write('a\u001b[31m\nb.py', BAD.replace('dim=0)', 'dim=0)  # \u001b]0;title\u0007'));
      const { out } = await ikbo('check');
      assert.match(out, /^a·\[31m·b\.py:11:13: warning IKB101/);
      assert.ok(![...out].some((one) => one < ' ' && one !== '\n'));
      assert.match((await ikbo('fix', '--write')).out, /^a·\[31m·b\.py:11: IKB101/);
    });
    it('a suppression comment silences, an unused one is noted', async () => {
      write('m.py', BAD.replace('dim=0)', 'dim=0)  # ikbo: ignore[IKB101]'));
      write('n.py', CLEAN.replace('+ 1', '+ 1  # ikbo: ignore'));
      const run = await ikbo('check');
      assert.equal(run.code, 0);
      assert.match(run.out, /n\.py:5: note: unused/);
    });
    it('a baseline hides old findings and not new ones', async () => {
      write('m.py', BAD);
      assert.equal((await ikbo('check', '--write-baseline', 'base.json')).code, 0);
      write('ikbo.toml', 'baseline = "base.json"\n');
      assert.equal((await ikbo('check')).code, 0);
      assert.equal((await ikbo('check', '--ignore-baseline')).code, 1);
      write('n.py', BAD);
      assert.deepEqual(
        report(await ikbo('check', '--format', 'json')).findings.map(({ path }) => path),
        ['n.py'],
      );
    });
    it('--changed-since looks at changed and new files only', async () => {
      const git = (...args: string[]) =>
        execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, stdio: 'pipe' });
      git('init', '-q');
      for (const name of ['old.py', 'changed.py']) write(name, BAD);
      git('add', '.');
      git('commit', '-qm', 'x');
      write('changed.py', `${BAD}\n`);
      write('new.py', BAD);
      const run = report(await ikbo('check', '--format', 'json', '--changed-since', 'HEAD'));
      assert.deepEqual(
        run.findings.map(({ path }) => path),
        ['changed.py', 'new.py'],
      );
      await assert.rejects(ikbo('check', '--changed-since', 'nowhere'), UsageError);
      git('add', '.');
      git('commit', '-qm', 'all');
      const { error } = await ikbo('check', '--changed-since', 'HEAD');
      assert.equal(error, 'note: no Python file, notebook or ONNX model in . differs from HEAD, besides what is ignored or excluded\n'); // prettier-ignore
    });
    it('--changed-since knows new files beside the current folder, whatever git is told to say of it', async () => {
      const git = (...args: string[]) => execFileSync('git', args, { cwd: join(root, 'repo'), stdio: 'pipe' });
      write('repo/sub/a.py', BAD);
      git('init', '-q');
      git('add', '.');
      git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-qm', 'x');
      git('config', 'diff.relative', 'true');
      write('repo/sub/a.py', `${BAD}\n`);
      write('repo/new.py', BAD);
      symlinkSync('repo', join(root, 'link'));
      for (const [where, named] of [
        ['repo/sub', '..'],
        ['repo', '.'],
        ['.', 'repo'],
        ['.', 'link'],
      ] as const) {
        const run = report(await ikboIn(where, 'check', '--format', 'json', '--changed-since', 'HEAD', named));
        const found = run.findings.map(({ path }) => path.split('/').at(-1));
        assert.deepEqual(found.sort(), ['a.py', 'new.py'], `${where} ${named}`);
      }
    });
    it('says the same of a file wherever in the project, or outside of it, the command runs', async () => {
      write('all/p/pkg/__init__.py', '');
      write('all/p/pkg/learner.py', LEARNER);
      write(
        'all/p/scripts/main.py',
        'from torch import nn\nfrom pkg.learner import Learner\nLearner(nn.Linear(8, 2))\n',
      );
      for (let i = 0; i < 1_600; i += 1) write(`all/other/m${i}.py`, '');
      for (const [where, named] of [
        ['all/p', '.'],
        ['all/p/pkg', '.'],
        ['all/p/pkg', 'learner.py'],
        ['all/p/scripts', '..'],
        ['all/p/scripts', '../pkg'],
        ['all/other', '../p/pkg/learner.py'],
        ['all', 'p'],
      ] as const)
        assert.equal(
          report(await ikboIn(where, 'check', '--format', 'json', named)).findings.length,
          1,
          `${where} ${named}`,
        );
    });
    it('takes the configuration of what is named where the current folder has none, or nothing below it is named', async () => {
      write('other/m.py', BAD);
      write('other/ikbo.toml', 'ignore = ["IKB101"]');
      write('here/m.py', BAD);
      const codes = async (...args: string[]) => (await ikboIn('here', 'check', ...args)).code;
      assert.deepEqual([await codes('.'), await codes('../other'), await codes('../other/m.py')], [1, 0, 0]);
      assert.equal((await ikbo('check', 'other')).code, 0);
      write('ikbo.toml', '[severity]\nIKB101 = "error"\n');
      assert.match((await ikbo('check', 'other')).out, /error IKB101/);
      assert.deepEqual([await codes('.'), await codes('.', '../other'), await codes('../other')], [1, 1, 0]);
      rmSync(join(root, 'ikbo.toml'));
      mkdirSync(join(root, 'ikbo.toml'));
      await assert.rejects(ikbo('check'), /ikbo\.toml: is a directory/);
    });
    it('reads standard input under the name that an editor gives', async () => {
      write('spread.py', 'def spread(x, n):\n    return x.repeat_interleave(n, dim=0)\n');
      const text = BAD.replace('import torch\n', 'import torch\nfrom spread import spread\n').replace(
        'user.repeat_interleave(n, dim=0)',
        'spread(user, n)',
      );
      const check = (name: string, input: string) =>
        spawnSync(process.execPath, [join(dist, 'cli.js'), 'check', '-', '--stdin-filename', name], {
          cwd: root,
          input,
          encoding: 'utf8',
        });
      assert.match(check(join(root, 'm.py'), text).stdout, /^m\.py:12:13: warning IKB101/);
      assert.match(check('m.onnxtxt', text).stdout, /^m\.onnxtxt: error: line 1: '<' expected/);
      assert.match(check('m.onnx', text).stderr, /a model is not read from standard input/);
    });
    it('reports notebooks by cell, and by line of the file where a tool knows only files', async () => {
      const raw = notebook([code('import torch\nfrom torch import nn'), code(BAD.replace(/^import.*\n/gm, ''))]);
      write('n/nb.ipynb', raw);
      const text = await ikbo('check');
      assert.equal(text.code, 1);
      assert.match(text.out, /^n\/nb\.ipynb:cell 2:9:13: warning IKB101/m);
      assert.match(text.out, /^ {5}9 \| {9}u = user\.repeat_interleave/m);
      const [finding] = report(await ikbo('check', '--format', 'json')).findings;
      assert.deepEqual([finding?.cell, finding?.line], [2, 9]);
      const line = raw.slice(0, raw.indexOf('user.repeat')).split('\n').length;
      assert.match((await ikbo('check', '--format', 'github')).out, new RegExp(`file=n/nb\\.ipynb,line=${line},`));
      const sarif = (await ikbo('check', '--format', 'sarif')).out;
      assert.match(sarif, new RegExp(`"startLine": ${line},`));
      await assert.rejects(ikbo('bench', '--device', 'cpu', '--finding', 'n/nb.ipynb:cell 2:9'), /sizes not known/);
      assert.equal((await ikbo('fix', '--write')).code, 0);
      assert.equal((await ikbo('check')).code, 0);
    });
    it('numbers that are none are refused', async () => {
      for (const jobs of ['abc', '0', '-1', '1.5', ''])
        assert.equal((await ikbo('check', `--jobs=${jobs}`)).code, 2, jobs);
    });
    it('threads do not change the report', async () => {
      for (let i = 0; i < 100; i += 1) write(`p/m${String(i).padStart(3, '0')}.py`, i % 3 ? CLEAN : BAD);
      const one = report(await ikbo('check', '--format', 'json', '--jobs', '1'));
      const two = report(await ikbo('check', '--format', 'json', '--jobs', '2'));
      assert.equal(one.findings.length, 34);
      assert.deepEqual(two.findings, one.findings);
      assert.equal(two.stats.parsed, one.stats.parsed);
    });
  });

  describe('check with a cache', () => {
    const HELPER = 'import torch\n\n\ndef spread(x, n):\n    return x.repeat_interleave(n, dim=0)\n';
    const USER = BAD.replace('import torch\n', 'import torch\nfrom helper import spread\n').replace(
      'user.repeat_interleave(n, dim=0)',
      'spread(user, n)',
    );
    const cached = async (...args: string[]) => ikbo('check', '--format', 'json', '--cache-dir', 'cache', ...args);
    const files = (run: Run) => report(run).findings.map(({ path }) => path);

    it('says the same the second time, texts and suppressed ones included', async () => {
      write('m.py', BAD);
      write('s.py', BAD.replace('dim=0)', 'dim=0)  # ikbo: ignore'));
      write('binary.py', Uint8Array.of(1, 0, 2));
      const plain = await ikbo('check', '--format', 'sarif');
      for (let run = 0; run < 2; run += 1) {
        const { out, code } = await ikbo('check', '--format', 'sarif', '--cache-dir', 'cache');
        assert.deepEqual([out, code], [plain.out, plain.code]);
      }
      assert.ok(existsSync(join(root, 'cache')));
    });
    it('sees changes of a file, of one that it imports, and of the options', async () => {
      write('m.py', USER);
      write('helper.py', HELPER);
      assert.equal(files(await cached()).length, 1);
      assert.equal(files(await cached()).length, 1);
      write('helper.py', HELPER.replace('x.repeat_interleave(n, dim=0)', 'x'));
      assert.deepEqual(files(await cached()), []);
      rmSync(join(root, 'helper.py'));
      assert.deepEqual(files(await cached()), []);
      write('helper.py', HELPER);
      assert.equal(files(await cached()).length, 1);
      write('ikbo.toml', '[shapes]\nn = 3\n');
      assert.deepEqual(report(await cached()).findings[0]?.cost.bound, { n: 3 });
      write('ikbo.toml', 'ignore = ["IKB1"]\n');
      assert.deepEqual(files(await cached()), []);
    });
    it('--no-cache keeps nothing', async () => {
      write('m.py', BAD);
      assert.equal((await cached('--no-cache')).code, 1);
      assert.ok(!existsSync(join(root, 'cache')));
    });
    it('processes at once all say the same, and leave a cache that is whole', async function () {
      this.timeout(60_000);
      for (let i = 0; i < 30; i += 1) write(`m${i}.py`, BAD);
      const run = () =>
        new Promise<string>((done) => {
          const args = [join(dist, 'cli.js'), 'check', '--format', 'json', '--cache-dir', 'cache', '--jobs', '1'];
          execFile(process.execPath, args, { cwd: root, maxBuffer: 2 ** 26 }, (_, out) => done(out));
        });
      const outs = await Promise.all([run(), run(), run()]);
      const findings = outs.map((out) => (JSON.parse(out) as Report).findings);
      assert.equal(findings[0]?.length, 30);
      for (const list of findings) assert.deepEqual(list, findings[0]);
      assert.deepEqual(report(await cached()).findings, findings[0]);
      assert.equal(readdirSync(join(root, 'cache')).filter((name) => name.endsWith('.tmp')).length, 0);
    });
  });

  it('says what is not there: files, a rule, a rewrite', async () => {
    const nothing = /^note: no Python file, notebook or ONNX model in \., besides what is ignored or excluded\n/;
    assert.match((await ikbo('check')).error, nothing);
    assert.match((await ikbo('fix')).error, nothing);
    write('m.py', BAD);
    assert.equal((await ikbo('check')).error, '');
    assert.deepEqual([(await ikbo('check', 'm.py')).code, (await ikbo('check', 'm.py', 'gone.py')).code], [1, 2]);
    await assert.rejects(ikbo('fix', '--rule', 'IKB999'), /--rule IKB999: no such rule/);
    assert.match(
      (await ikbo('fix', '--prefer', 'nosuch')).error,
      /--prefer nosuch: not offered here; decompose, ikbo are/,
    );
    await assert.rejects(
      ikbo('verify', 'm.py:11', '--rewrite', 'nosuch'),
      /--rewrite nosuch: .*decompose, ikbo can be run/,
    );
    write('m.onnx', '');
    await assert.rejects(ikbo('rewrite', 'm.onnx', '--only', 'IKB999:3'), /--only IKB999:3: no such rule/);
    write('ikbo.toml', 'select = ["IKB1", "IKB999"]');
    assert.match((await ikbo('check', 'm.py')).error, /^note: .*ikbo\.toml: IKB999 is no rule; .*\n$/);
    write('ikbo.toml', 'exclude = ["m.py"]');
    for (const command of ['check', 'fix'])
      assert.match((await ikbo(command, 'm.py')).error, /^note: m\.py: not checked; .*ikbo\.toml excludes it\n/);
    rmSync(join(root, 'ikbo.toml'));
    write('c.py', CLEAN);
    assert.equal((await ikbo('fix', 'c.py')).error, '0 rewrites proposed; 0 findings left\n');
  });

  it('goes on without results where no folder can be made, as in /proc', async () => {
    write('m.py', BAD);
    const run = await ikbo('check', '--cache-dir', process.platform === 'linux' ? '/proc/nosuch/a' : 'm.py');
    assert.equal(run.code, 1);
    assert.match(run.error, /note: results are not kept in /);
  });

  describe('fix', () => {
    it('prints a diff and leaves the file', async () => {
      write('m.py', BAD);
      const run = await ikbo('fix');
      assert.equal(run.code, 1);
      assert.match(run.out, /^--- a\/m\.py\n\+\+\+ b\/m\.py\n/);
      assert.match(run.out, /^-.*repeat_interleave\(n, dim=0\)$/m);
      assert.equal(readFileSync(join(root, 'm.py'), 'utf8'), BAD);
    });
    it('writes, keeps the mode, and then finds nothing', async () => {
      write('m.py', BAD);
      chmodSync(join(root, 'm.py'), 0o750);
      const run = await ikbo('fix', '--write');
      assert.equal(run.code, 0, run.error);
      assert.equal(statSync(join(root, 'm.py')).mode & 0o777, 0o750);
      assert.equal((await ikbo('check')).code, 0);
      assert.equal((await ikbo('fix', '--write')).out, '');
    });
    it('keeps CRLF and the byte order mark', async () => {
      write('m.py', `\uFEFF${BAD.replace(/\n/g, '\r\n')}`);
      await ikbo('fix', '--write');
      const text = readFileSync(join(root, 'm.py'), 'utf8');
      assert.ok(text.startsWith('\uFEFFimport torch\r\n') && !/[^\r]\n/.test(text));
      assert.notEqual(text.length, BAD.length);
    });
    it('only the named rule', async () => {
      write('m.py', BAD);
      assert.equal((await ikbo('fix', '--write', '--rule', 'IKB202')).out, '');
      assert.equal(readFileSync(join(root, 'm.py'), 'utf8'), BAD);
    });
    it('prefers the named rewrite', async () => {
      write('m.py', BAD);
      await ikbo('fix', '--write', '--prefer', 'ikbo');
      assert.match(readFileSync(join(root, 'm.py'), 'utf8'), /ikbo_lens\.cat_linear/);
    });
    it('counts no rewrite of a file that it could not write', async () => {
      const name = `${'m'.repeat(245)}.py`; // Leaves no room for the name of a temporary file.
      write(name, BAD);
      const run = await ikbo('fix', '--write', name);
      assert.equal(run.code, 2);
      assert.match(run.error, /^m+\.py: error: not written: .*\n0 rewrites applied; 1 finding left/);
      assert.equal(readFileSync(join(root, name), 'utf8'), BAD);
    });
    it('refuses --diff with --write', async () => assert.equal((await ikbo('fix', '--diff', '--write')).code, 2));
  });

  describe('explain', () => {
    it('prints a page by code or name', async () => {
      assert.match((await ikbo('explain', 'ikb101')).out, /^# IKB101: broadcast-concat-linear/);
      assert.match((await ikbo('explain', 'broadcast-concat-linear')).out, /## Fix safety/);
    });
    it('lists the rules', async () => assert.match((await ikbo('explain')).out, /^IKB101 .*\n(IKB\d{3} .*\n)+$/));
    it('says so for an unknown rule', async () => assert.rejects(ikbo('explain', 'IKB999'), /no rule IKB999/));
  });

  describe('bench', () => {
    it('lists presets', async () => assert.match((await ikbo('bench', '--preset', 'list')).out, /published/));
    it('says what is wrong with shapes', async () => {
      await assert.rejects(ikbo('bench', '--device', 'cpu', '--shape', 'B'), /not NAME=SIZE/);
      await assert.rejects(ikbo('bench', '--device', 'cpu', '--shape', 'B', '--shape', 'U=2'), /not NAME=SIZE/);
      await assert.rejects(ikbo('bench', '--device', 'cpu', '--shape', 'X=3'), /has no size X; it has B, U/);
      await assert.rejects(ikbo('bench', '--device', 'cpu', '--shape', 'U=9999'), /At most B/);
      assert.equal((await ikbo('bench', '--seconds', '0')).code, 2);
    });
    it('says which sizes of a finding are not known, and where findings are', async () => {
      write('m.py', BAD);
      await assert.rejects(
        ikbo('bench', '--device', 'cpu', '--finding', 'm.py:11'),
        /sizes not known: .*--shape B=\.\.\./,
      );
      await assert.rejects(ikbo('bench', '--device', 'cpu', '--finding', 'm.py:1'), /there are findings on lines 11/);
    });
    it('measures a small operator on the CPU, every arm right', async function () {
      if (!existsSync(join(dist, 'ikbo.node'))) this.skip();
      const run = await ikbo(
        'bench',
        '--device',
        'cpu',
        '--op',
        'concat-linear',
        '--shape',
        'B=64,U=4,Ku=16,Kc=8,M=8',
        '--seconds',
        '0.3',
        '--python',
        'none',
        '--json',
      );
      assert.equal(run.code, 0, run.error);
      const { arms } = JSON.parse(run.out) as { arms: { id: string; timing: unknown; check: { ok: boolean } }[] };
      assert.ok(arms.length >= 4);
      for (const arm of arms) assert.ok(arm.timing && arm.check.ok, arm.id);
    });
  });

  it('--help documents the exit codes', async () => {
    const run = await ikbo('--help');
    assert.equal(run.code, 0);
    assert.match(run.out, /Exit codes:\n {2}0 {2}no findings/);
  });
});
