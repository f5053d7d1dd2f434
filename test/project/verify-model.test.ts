import assert from 'node:assert';
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { describeMeasured, measureRewrite } from '../../src/project/onnx/measure';
import { findRuntime } from '../../src/project/onnx/find-runtime';
import { verifyModel, type Verified } from '../../src/project/onnx/verify';
import { memorySource, rewriteModel } from '../../src/core/onnx';
import { assemble } from '../../src/core/onnx/splice';
import { bytesOfFile, FIXTURES } from '../core/onnx/support';

describe('verifying a rewritten model', function () {
  this.timeout(60_000);
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'ikbo-verify-'));
    const entry = join(__dirname, '../../src/project/onnx/child.ts');
    buildSync({
      entryPoints: [entry],
      bundle: true,
      platform: 'node',
      outfile: join(folder, 'onnx-child.js'),
      external: ['onnxruntime-node'],
      logLevel: 'error',
    });
  });
  after(() => rmSync(folder, { recursive: true }));

  function verify(name: string, target: 'standard' | 'ikbo', shapes: Record<string, number> = {}): Promise<Verified> {
    const [original, rewritten] = [join(folder, 'before.onnx'), join(folder, 'after.onnx')];
    copyFileSync(join(FIXTURES, name), original);
    const source = memorySource(bytesOfFile(original));
    writeFileSync(rewritten, assemble(source, rewriteModel('m', source, { target, force: true }).pieces));
    return verifyModel({ before: original, after: rewritten, dist: folder, shapes }, findRuntime(process.cwd())!);
  }

  it('says that results are the same, and what changed', async () => {
    const { ok, lines } = await verify('op17_dyn/index.onnx', 'standard');
    assert.ok(ok);
    assert.match(lines[0]!, /^same results on 2 sets of inputs; largest error \S+ of an output's largest value$/);
    assert.equal(lines[1], 'nodes 3 -> 4; bytes written per run 2912 -> 1824 at U=5, B=7');
  });

  it('times both models at given sizes', async () => {
    const { ok, lines } = await verify('op17_dyn/index.onnx', 'standard', { B: 500, U: 4 });
    assert.ok(ok);
    assert.match(lines[0]!, /3 sets/);
    assert.match(lines[2]!, /^median time \d+\.\d+ -> \d+\.\d+ ms at U=4, B=500, on this machine's CPU$/);
  });

  it('does not count what only a kernel would save', async () => {
    const { lines } = await verify('op17_dyn/sdpa_idx.onnx', 'ikbo');
    const [, from, to] = /written per run (\d+) -> (\d+)/.exec(lines[1]!) ?? [];
    assert.equal(from, to);
  });

  it('measures a whole model with one finding rewritten', async () => {
    const model = join(__dirname, '../../examples/onnx/profile_mlp.onnx');
    const request = { model, dist: folder, runtime: findRuntime(process.cwd())!, repeats: 8, shapes: { B: 300 } };
    const measured = await measureRewrite({ ...request, finding: 'IKB102:20' });
    assert.ok(typeof measured === 'object', String(measured));
    assert.deepEqual(measured.sizes, { B: 300 });
    for (const { low, median, high } of [measured.before, measured.after])
      assert.ok(low > 0 && low <= median && median <= high);
    assert.match(describeMeasured(measured), /onnxruntime .* at B=300: .* as it is, .* rewritten, .*x; same results/);
    assert.equal(await measureRewrite({ ...request, finding: 'IKB101:1' }), 'there is no finding IKB101:1');
    assert.match(String(await measureRewrite({ ...request, shapes: {}, finding: 'IKB102:20' })), /no size is given/);
  });

  it('ends a model that takes more memory than there is, and says so', async () => {
    process.env['IKBO_MODEL_MEMORY'] = '1e7';
    try {
      const model = join(__dirname, '../../examples/onnx/profile_mlp.onnx');
      const request = { model, dist: folder, runtime: findRuntime(process.cwd())!, repeats: 2000, shapes: { B: 3000 } };
      assert.match(String(await measureRewrite({ ...request, finding: 'IKB102:20' })), /more than 0\.0 GB of memory/);
    } finally {
      delete process.env['IKBO_MODEL_MEMORY'];
    }
  });

  it('finds the runtime of the project first', () => {
    assert.ok(existsSync(findRuntime(process.cwd())!));
    process.env['IKBO_ONNXRUNTIME'] = 'somewhere';
    try {
      assert.equal(findRuntime('/project'), '/project/somewhere');
    } finally {
      delete process.env['IKBO_ONNXRUNTIME'];
    }
  });
});
