/** `ikbo check --watch` as a process of its own, ended as a user ends it. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deltaReport } from '../../src/cli/formats/delta';
import { finding } from '../finding';
import { BAD } from './ranker';

const cli = join(__dirname, '../../dist/cli.js');
const GOOD = BAD.replace('torch.cat([u, cand], dim=-1)', 'cand');

describe('ikbo check --watch', function () {
  this.timeout(120_000);
  let root = '';
  let child: ChildProcess;
  let text = '';
  beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'ikbo-watched-'))));
  afterEach(() => {
    child.kill('SIGKILL');
    rmSync(root, { recursive: true, force: true });
  });
  const write = (name: string, content: string) => writeFileSync(join(root, name), content);
  const start = async (...args: string[]) => {
    text = '';
    child = spawn(process.execPath, [cli, 'check', '--watch', '--no-cache', ...args], { cwd: root });
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await shows(/watching for changes/);
  };
  const shows = async (pattern: RegExp) => {
    for (const end = Date.now() + 15_000; !pattern.test(text);) {
      assert.ok(Date.now() < end && child.exitCode === null, `waited for ${pattern} in ${text}`);
      await new Promise((turn) => setTimeout(turn, 10));
    }
    const found = text;
    text = '';
    return found;
  };
  const stop = async () => {
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    return (await exited)[0] as number;
  };

  it('prints what is new and what is gone, also in new folders, and ends with the code of the last report', async () => {
    write('m.py', BAD);
    await start();
    write('m.py', `# moved\n${BAD}`);
    assert.doesNotMatch(await shows(/1 finding, .* in 1 file/), /gone|IKB101/);
    write('m.py', GOOD);
    assert.match(await shows(/0 findings in 1 file/), /^gone m\.py:12: IKB101/m);
    mkdirSync(join(root, 'sub'));
    write('sub/n.py', BAD);
    assert.match(await shows(/1 finding, .* in 2 files/), /sub\/n\.py:11:13: warning IKB101/);
    write('ikbo.toml', 'ignore = 3');
    await shows(/ignore must be a list/);
    write('ikbo.toml', 'ignore = ["IKB1"]');
    await shows(/^gone sub\/n\.py[^]*0 findings/m);
    assert.equal(await stop(), 0);
  });
  it('sees a configuration beside what is named, and what is named come back', async () => {
    mkdirSync(join(root, 'src'));
    write('src/m.py', BAD);
    await start('src');
    write('ikbo.toml', 'ignore = ["IKB1"]');
    await shows(/^gone src\/m\.py/m);
    rmSync(join(root, 'ikbo.toml'));
    await shows(/^src\/m\.py:11/m);
    renameSync(join(root, 'src'), join(root, 'away'));
    await shows(/src: no such file or directory/);
    renameSync(join(root, 'away'), join(root, 'src'));
    await shows(/^src\/m\.py:11/m);
    assert.equal(await stop(), 1);
  });
  it('prints whole reports in other formats, and exit code 1 with findings', async () => {
    await start('--format', 'github');
    write('m.py', BAD);
    await shows(/^::warning file=m\.py,line=11/m);
    assert.equal(await stop(), 1);
  });
});

describe('delta of two reports', () => {
  const report = (...findings: ReturnType<typeof finding>[]) => ({
    report: { schema: 'ikbo-report/1' as const, findings, errors: [], stats: { files: 1, parsed: 1, milliseconds: 1 } },
    texts: new Map<string, string>(),
  });
  it('counts equal findings, and does not care where they moved', () => {
    const one = finding({ line: 3, path: 'a.py' });
    const text = deltaReport(report(one), report({ ...one, line: 9 }, { ...one, line: 20 }), false);
    assert.match(text, /^a\.py:20:/);
    assert.doesNotMatch(text, /a\.py:9|gone/);
    assert.match(deltaReport(report(one, one), report(one), false), /^gone a\.py:3: /);
  });
});
