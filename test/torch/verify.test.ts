/** `ikbo verify` on real files with the real interpreter. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createContext } from '../../src/cli/context';
import { program } from '../../src/cli/program';
import type { Finding, Rewrite } from '../../src/core/finding';
import { jobOf, NOTHING_GIVEN, type Answer, type Job } from '../../src/verify/job';
import { runJobs } from '../../src/verify/run';
import { theEngine } from '../core/rewrite/cases';
import { code, IMPORTS, notebook } from '../notebook/notebook';
import { describeTorch, find, python, root } from './python';

const RANKER = `import torch
import torch.nn as nn


class Ranker(nn.Module):
    def __init__(self, du: int, dc: int, h=8):
        super().__init__()
        self.fc = nn.Linear(du + dc, h)

    def forward(self, user, cand, n):
        u = user.repeat_interleave(n, dim=0)
        return self.fc(torch.cat([u, cand], dim=-1))
`;
const GQA = `import torch
import torch.nn.functional as F


def repeat_kv(x, n):
    return x.repeat_interleave(n, dim=1)


def attend(q, k, v, n):
    return F.scaled_dot_product_attention(q, repeat_kv(k, n), repeat_kv(v, n))
`;
/** The first definition is the one with the finding; a later cell defines another one, and others must not run. */
const CELL = `# of this cell
${RANKER.slice(RANKER.indexOf('class')).trimEnd().replace('h=8', 'h=WIDTHS["h"]')}`;
const NOTEBOOK = [
  code(IMPORTS),
  code('WIDTHS = {}\nWIDTHS.update(h=8)\nfrom __future__ import annotations'),
  code('raise ValueError("trained")'),
  code(CELL),
  code('%%bash\nls'),
  code('def make():\n    return torch.ones(3, 5)\nRanker.extra = make'),
  code('class Ranker:\n    pass'),
];
const SIZES = '--shape U=8,du=256,dc=16,n=16';
const ONE = ['--rewrite', 'decompose'];
const STATED = ['--arg', 'user=[U, du]', '--arg', 'cand=[U*n, dc]', ...SIZES.split(' ')];

describeTorch('ikbo verify', function () {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'ikbo-verify-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const verify = async (...args: string[]) => {
    let [out, error] = ['', ''];
    const output = { out: (text: string) => (out += text), error: (text: string) => (error += text), color: false };
    const context = createContext(folder, join(root, 'dist'), output);
    const code = await program(context, ['node', 'ikbo', 'verify', '--python', find(), ...args]);
    return { code, out, error };
  };
  const answers = async (...args: string[]) => {
    const { code, out } = await verify('--json', ...args);
    return { code, results: JSON.parse(out) as (Answer & { rewrite: string })[] };
  };

  it('compares each rewrite in fp32 and bf16, with less memory after', async () => {
    write('pkg/__init__.py', '');
    write('pkg/sizes.py', 'HIDDEN = 8\n');
    write('pkg/m.py', RANKER.replace('import torch\n', 'import torch\nfrom .sizes import HIDDEN\n'));
    const { code, results } = await answers('pkg/m.py:12', ...STATED);
    assert.deepEqual([code, results.length], [0, 2]);
    for (const { ok, call, runs, memory } of results) {
      assert.ok(ok);
      assert.equal(call, 'Ranker(du=256, dc=16).forward(user=randn(8, 256), cand=randn(128, 16), n=16)');
      assert.match(memory ?? '', /allocator held/);
      assert.deepEqual(runs?.map(({ dtype }) => dtype), ['fp32', 'bf16']); // prettier-ignore
      const [before, after] = runs?.[0]?.peakBytes ?? [0, 0];
      assert.ok(after < before && after > 0, `${before} -> ${after}`);
      for (const { gradients } of runs ?? []) {
        assert.equal(gradients?.count, 4); // fc.weight, fc.bias, user, cand
        assert.ok((gradients?.maxError ?? 1) < 0.01 * (gradients?.largest ?? 0), JSON.stringify(gradients));
      }
    }
  });
  it('takes what the file states: comments, docstrings, annotations and defaults', async () => {
    const forward = '    def forward(self, user, cand, n=4):\n        """user [U, K], cand: [N, 2]."""';
    const text = RANKER.replace(/ {4}def forward.*/, forward).replace('import torch\n', '# ikbo: U=3, K=5, du=5, dc=2, N=12\nimport torch\n'); // prettier-ignore
    write('m.py', text);
    const { code, results } = await answers('m.py:13', ...ONE);
    assert.equal(code, 0, JSON.stringify(results));
    assert.match(results[0]?.call ?? '', /user=randn\(3, 5\), cand=randn\(12, 2\)\)$/);
  });
  it('names what is missing, and compares nothing', async () => {
    write('m.py', RANKER);
    const { code, out } = await verify('m.py:11', '--arg', 'user=[U, 5]', '--rewrite', 'decompose');
    assert.equal(code, 2);
    assert.match(out, /du of Ranker\(\), a size: --shape du=64/);
    assert.match(out, /U of user \[U, 5\] of Ranker\.forward, a size: --shape U=64/);
    assert.match(out, /cand of Ranker\.forward.*--arg 'cand=\[N, 64\]'/);
    assert.doesNotMatch(out, /h of Ranker/);
  });
  it('follows the caller that has the sink', async () => {
    write('m.py', GQA);
    const heads = [
      '--arg',
      'q=[2, 8, 5, 16]',
      '--arg',
      'k=[2, 2, 6, 16]',
      '--arg',
      'v=[2, 2, 6, 16]',
      '--shape',
      'n=4',
    ];
    const { code, results } = await answers('m.py:6', '--rewrite', 'fold-heads', ...heads);
    assert.equal(code, 0, JSON.stringify(results));
    assert.match(results[0]?.call ?? '', /^attend\(q=randn\(2, 8, 5, 16\), .*, n=4\)$/);
  });
  it('says so when the original does not run with these arguments', async () => {
    write('m.py', RANKER);
    const { code, out } = await verify('m.py:11', ...STATED.slice(0, 2), '--arg', 'cand=[1, dc]', '--shape', 'U=8,du=256,dc=16,n=16'); // prettier-ignore
    assert.equal(code, 2);
    assert.match(out, /does not run: RuntimeError: Sizes of tensors must match/);
  });
  it('says so when the lines of the finding are not reached', async () => {
    const early = RANKER.replace('        u = user', '        if n > 2:\n            return cand\n        u = user');
    write('m.py', early);
    const { code, out } = await verify('m.py:13', ...STATED, ...ONE);
    assert.equal(code, 2);
    assert.match(out, /does not reach line 13/);
  });
  it('runs a file as a program, module level and all', async () => {
    write('m.py', `${RANKER}\n\nif __name__ == "__main__":\n    print(Ranker(5, 2)(torch.randn(3, 5), torch.randn(12, 2), 4))\n`); // prettier-ignore
    const { code, results } = await answers('m.py:11', '--main', ...ONE);
    assert.equal(code, 0);
    assert.equal(results[0]?.call, 'the file as a program');
  });
  it('ends user code that never returns', async () => {
    write('m.py', RANKER.replace('        u = user', '        while n: pass\n        u = user'));
    const { code, out } = await verify('m.py:12', ...STATED, '--timeout', '6', '--rewrite', 'decompose');
    assert.equal(code, 2);
    assert.match(out, /not done within 6 s/);
  });
  it('user code that prints does not disturb the answer, and one that exits is an answer', async () => {
    write('m.py', RANKER.replace('import torch\n', 'import torch; print("{}")\n'));
    assert.equal((await verify('m.py:11', ...STATED, ...ONE)).code, 0);
    write('m.py', RANKER.replace('import torch\n', 'import torch; raise SystemExit(3)\n'));
    assert.match((await verify('m.py:11', ...STATED, ...ONE)).out, /the code ended the process \(exit 3\)/);
  });
  it('user code that leaves threads or processes behind does not keep it waiting', async () => {
    const behind = [
      'import os; os.fork() or __import__("time").sleep(60)',
      'import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()',
    ];
    for (const line of behind) {
      write('m.py', RANKER.replace('import torch\n', `import torch; ${line}\n`));
      const began = Date.now();
      assert.equal((await verify('m.py:11', ...STATED, ...ONE)).code, 0);
      assert.ok(Date.now() - began < 40_000, line);
    }
  });
  it('a file that runs only once in a process says nothing about its rewrite', async () => {
    const once = 'assert not hasattr(torch, "once"); torch.once = 1';
    write('m.py', RANKER.replace('import torch\n', `import torch; ${once}\n`));
    const { code, out } = await verify('m.py:11', ...STATED, '--rewrite', 'decompose');
    assert.equal(code, 2);
    assert.match(out, /not verified: the file cannot be imported twice in one process: AssertionError/);
  });
  it('runs of a notebook what the function needs, and no cell that loads or trains', async () => {
    write('nb.ipynb', notebook(NOTEBOOK));
    for (const place of ['nb.ipynb:4:8', 'nb.ipynb:cell 4:8:13']) {
      const { code, results } = await answers(place, ...ONE, '--arg', 'user=make()', '--arg', 'cand=[12, 2]', '--shape', 'du=5,dc=2,n=4'); // prettier-ignore
      assert.equal(code, 0, JSON.stringify(results));
      assert.match(results[0]?.call ?? '', /^Ranker\(du=5, dc=2\)\.forward\(user=make\(\), /);
    }
    const { out } = await verify('nb.ipynb:4:8', ...STATED, ...ONE, '--call', 'make');
    assert.match(out, /nb\.ipynb:cell 4:8: IKB101 decompose/);
    assert.match(out, /does not reach line 8 of cell 4/);
    await assert.rejects(verify('nb.ipynb:4:1', ...STATED), /findings on cell and line 4:8$/);
  });
  it('runs all cells of a notebook as a program', async () => {
    const use = 'Ranker(5, 2)(torch.randn(3, 5), torch.randn(12, 2), 4)';
    write('nb.ipynb', notebook([code(`${IMPORTS}\nWIDTHS = {'h': 8}`), code(CELL), code(use)]));
    const { code: exit, results } = await answers('nb.ipynb:2:8', '--main', ...ONE);
    assert.deepEqual([exit, results[0]?.call], [0, 'the file as a program']);
    write('nb.ipynb', notebook(NOTEBOOK));
    assert.match((await verify('nb.ipynb:4:8', '--main', ...ONE)).out, /trained/);
  });
  it('a cell that does not close is in the way of none that does not need it; of another error it says where it is', async () => {
    const given = [...ONE, '--arg', 'user=[3, du]', '--arg', 'cand=[12, dc]', '--shape', 'du=5,dc=2,n=4'];
    const imports = code(`${IMPORTS}\nWIDTHS = {'h': 8}`);
    write('nb.ipynb', notebook([imports, code('def broken(:\n  x = (rows,\n    1'), code(CELL)]));
    assert.equal((await verify('nb.ipynb:3:8', ...given)).code, 0);
    write('nb.ipynb', notebook([imports, code('\nx = = 1'), code(CELL)]));
    assert.match((await verify('nb.ipynb:3:8', ...given)).out, /SyntaxError: .* in line 2 of cell 2/);
  });
  it('runs on the GPU where torch can use one, and says whose memory it is', async () => {
    write('m.py', RANKER);
    const card = python(['-c', 'import torch; print(torch.cuda.is_available() and torch.cuda.get_device_name())']);
    const { results } = await answers('m.py:11', ...STATED, ...ONE);
    const expected = card === 'False\n' ? 'CPU allocator' : `${card.trim()}, during one call (torch.cuda.max`;
    assert.ok(results[0]?.memory?.includes(expected), results[0]?.memory);
    const { code, out } = await verify('m.py:11', ...STATED, ...ONE, '--device', 'cuda:77');
    assert.equal(code, 2);
    assert.match(out, /does not run: .*\(on cuda:77; --device cpu runs it there\)/);
  });
  it('a program that takes gradients is compared by them, too, in the precision that it computes in', async () => {
    const steps = `
m = Ranker(5, 2)
for step in range(2):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HALF):
        m(torch.randn(3, 5), torch.randn(12, 2), 4).square().mean().backward()
`;
    for (const half of ['False', 'True']) {
      write('m.py', `${RANKER}${steps.replace('HALF', half)}`);
      const { code, results } = await answers('m.py:11', '--main', ...ONE);
      assert.equal(code, 0, JSON.stringify(results));
      assert.equal(results[0]?.runs?.[0]?.gradients?.count, 4);
    }
  });
  it('a layer that has become wider is loaded with what was there', async () => {
    write('m.py', `import torch
import torch.nn as nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(30, 8)

    def forward(self, a, b):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.fc(torch.cat([a, b], dim=-1))
`); // prettier-ignore
    const { code, results } = await answers('m.py:12', '--arg', 'a=[5, 20]', '--arg', 'b=[5, 10]');
    assert.deepEqual([code, results[0]?.rewrite], [0, 'pad-width'], JSON.stringify(results));
  });
  it('where the condition says that no gradient flows, other gradients are told and no fault', async () => {
    const tower = `import torch


def tower(user, w, b: int):
    x = user.unsqueeze(0).expand(b, -1, -1)
    y = x.to(torch.bfloat16)
    return torch.softmax(y @ w.to(torch.bfloat16), -1)
`;
    write('m.py', tower);
    const given = ['--arg', 'user=[7, 16]', '--arg', 'w=[16, 8]', '--shape', 'b=300'];
    const { results } = await answers('m.py:5', ...given);
    const cast = results.find(({ rewrite }) => rewrite === 'before-expand');
    assert.deepEqual([cast?.ok, cast?.keepsGradients], [true, false], JSON.stringify(results));
  });
  it('code without gradients is compared by its results alone', async () => {
    write('m.py', RANKER.replace('    def forward', '    @torch.no_grad()\n    def forward'));
    const { code, out } = await verify('m.py:12', ...STATED, ...ONE);
    assert.equal(code, 0, out);
    assert.match(out, /no gradients: none flows to the results of the original/);
    assert.match(out, /same results in evaluation mode; gradients were not compared$/m);
  });
  it('says how to go on without PyTorch', async () => {
    write('m.py', RANKER);
    write('torch.py', 'raise ImportError("none here")\n');
    process.env['PYTHONPATH'] = folder;
    try {
      const { code, out } = await verify('m.py:11', ...STATED);
      assert.equal(code, 2);
      assert.match(out, /PyTorch cannot be imported by .*none here\n.*ikboLens\.python/);
    } finally {
      delete process.env['PYTHONPATH'];
    }
  });

  it('does not believe a wrong rewrite', async () => {
    const [finding] = (await theEngine()).check('m.py', RANKER).findings as [Finding];
    const [rewrite] = finding.rewrites as [Rewrite];
    write('m.py', RANKER);
    const place = { file: join(folder, 'm.py'), text: RANKER, folders: [], cells: null };
    const stated = { user: '[3, 5]', cand: '[12, 2]' };
    const given = { ...NOTHING_GIVEN, sizes: { du: 5, dc: 2, n: 4 }, arguments: stated };
    const job = jobOf(place, finding, rewrite, given, { shapes: {}, packages: [] });
    const wrong: readonly [string, RegExp][] = [
      [RANKER.replace('dim=-1))', 'dim=-1)) * 1.001'), /from fp64/],
      [RANKER.replace('dim=-1))', 'dim=-1)).double()'), /float64/],
      [RANKER.replace('self.fc', 'self.f').replace('self.fc', 'self.f'), /other parameters/],
      [RANKER.replace('return self.fc', 'return self.fd'), /the rewritten code fails: AttributeError/],
      [RANKER.replace('return self', 'return (self').concat(', 1\n'), /cannot be imported: SyntaxError/],
      [RANKER.replace('user.repeat', 'user.detach().repeat'), /gradient of user: is no longer there/],
      [RANKER.replace('cat([u,', 'cat([u + cand.sum() - cand.detach().sum(),'), /gradient of cand: .* from fp64/],
      [RANKER.replace('n, dim=0)', 'n, dim=0).requires_grad_(False).data.numpy(); u = torch.tensor(u)'), /gradient/],
    ];
    const jobs = wrong.map(([rewritten]): Job => ({ ...job, rewritten }));
    // One that needs a package which is not there is no result.
    jobs.push({ ...job, rewritten: `import no_such_package\n${RANKER}` });
    const found = await runJobs(jobs, { python: find(), seconds: 60 });
    assert.match(found.pop()?.problem ?? '', /No module named 'no_such_package'/);
    found.forEach(({ ok, problem, runs }, at) => {
      assert.equal(ok, false);
      assert.ok(runs, 'a wrong rewrite is a result');
      const run = runs?.[0];
      assert.match(problem ?? run?.problem ?? run?.gradients?.problem ?? '', wrong[at]?.[1] ?? /never/);
    });
  });
  it('every rewrite of the examples, run as programs', async function () {
    const engine = await theEngine();
    const names = ['din.py', 'dlrm_ranker.py', 'llm_attention.py', 'mask_decoder.py', 'target_attention.py', 'wukong_compression.py']; // prettier-ignore
    const jobs = names.flatMap((name) => {
      const text = readFileSync(join(root, 'examples', name), 'utf8');
      const place = { file: join(root, 'examples', name), text, folders: [], cells: null };
      const given = { ...NOTHING_GIVEN, script: true };
      const options = { shapes: {}, packages: [join(root, 'kernels/python')] };
      return engine.check(name, text).findings.flatMap(
        (finding) =>
        finding.rewrites.filter(({ edits }) => edits.length > 0).map((rewrite) => jobOf(place, finding, rewrite, given, options)), // prettier-ignore
      );
    });
    assert.ok(jobs.length >= 6);
    for (const answer of await runJobs(jobs, { python: find(), seconds: 60 }))
      assert.ok(answer.ok, JSON.stringify(answer));
  });
});
