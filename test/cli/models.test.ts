/** `ikbo check`, `show` and `rewrite` on ONNX models of the test fixtures. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lineOfNode } from '../../src/cli/bench-model';
import { createContext } from '../../src/cli/context';
import { program } from '../../src/cli/program';
import { memorySource, printModel, readModel } from '../../src/core/onnx';

const dist = join(__dirname, '../../dist');
const fixture = join(__dirname, '../fixtures/onnx/op17_dyn/lce_cat.onnx');

describe('ikbo on ONNX models', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'ikbo-'));
    copyFileSync(fixture, join(root, 'm.onnx'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const ikbo = async (...args: string[]) => {
    let out = '';
    let error = '';
    const context = createContext(root, dist, { out: (t) => (out += t), error: (t) => (error += t), color: false });
    const code = await program(context, ['node', 'ikbo', ...args]);
    return { code, out, error };
  };

  it('check finds in folders and by name, and names the command that rewrites', async () => {
    const run = await ikbo('check');
    assert.equal(run.code, 1);
    assert.match(run.out, /m\.onnx:\d+:\d+: warning IKB103/);
    assert.match(run.out, /1 with `ikbo rewrite`/);
  });
  it('bench runs the operator of a finding and the whole model around it in one run', async function () {
    if (!existsSync(join(dist, 'ikbo.node'))) this.skip();
    this.timeout(60_000);
    const run = await ikbo(
      ...['bench', '--finding', 'm.onnx:/Gather', '--shape', 'B=32,U=4', '--device', 'cpu'],
      ...['--seconds', '0.2', '--python', 'none', '--arms', 'as-written,ikbo,model-as-written,model-rewritten'],
    );
    assert.equal(run.code, 0, run.error);
    assert.match(run.out, /Whole model in onnxruntime \S+ \(CPU\), as it is +\d\S* ms/);
    assert.match(run.out, /Whole model in onnxruntime \S+ \(CPU\), rewritten against .* as it is: \d\S*x \[/);
    assert.match(run.out, /m\.onnx at .*B=32/);
  });
  it('a broken model is one line with the byte offset, and the rest is checked', async () => {
    writeFileSync(join(root, 'cut.onnx'), readFileSync(fixture).subarray(0, 100));
    const run = await ikbo('check');
    assert.match(run.out, /cut\.onnx: error: .*byte \d+/);
    assert.match(run.out, /m\.onnx:\d+/);
  });
  it('rewrite writes a new model that has no such finding, and leaves the original as it was', async () => {
    const before = readFileSync(join(root, 'm.onnx'));
    const run = await ikbo('rewrite', 'm.onnx');
    assert.equal(run.code, 0, run.error);
    assert.deepEqual(readFileSync(join(root, 'm.onnx')), before);
    assert.equal((await ikbo('check', 'm.ikbo.onnx')).code, 0);
  });
  it('rewrite to ai.ikbo functions', async () => {
    assert.equal((await ikbo('rewrite', 'm.onnx', '--target', 'ikbo', '-o', 'o.onnx')).code, 0);
    assert.match((await ikbo('show', 'o.onnx')).out, /ai\.ikbo/);
  });
  it('rewrite never overwrites the original', async () => {
    await assert.rejects(ikbo('rewrite', 'm.onnx', '-o', './m.onnx'), /never overwritten/);
  });
  it('rewrite refuses sizes that the model does not have', async () => {
    await assert.rejects(ikbo('rewrite', 'm.onnx', '--shape', 'B=8,Q=3'), /m\.onnx have no size Q; it has \w+, \w+/);
  });
  it('rewrite with nothing to do says so and writes nothing', async () => {
    const run = await ikbo('rewrite', 'm.onnx', '--only', 'IKB202');
    assert.deepEqual([run.code, existsSync(join(root, 'm.ikbo.onnx'))], [1, false]);
  });
  it('show prints the text, or what is around a name', async () => {
    assert.match((await ikbo('show', 'm.onnx')).out, /opset_import[\s\S]*MatMul/);
    const input =
      /^ +\S+\[.*\] ("[^"]+"|\w+),?$/m.exec((await ikbo('show', 'm.onnx')).out)?.[1]?.replaceAll('"', '') ?? '';
    assert.notEqual(input, '');
    assert.ok((await ikbo('show', 'm.onnx', '--around', input)).out.includes(input), input);
    writeFileSync(join(root, 'm.py'), 'import torch\n');
    await assert.rejects(ikbo('show', 'm.py'), /m\.py: no ONNX model, or a damaged one: /);
    await assert.rejects(ikbo('show', 'm.onnx', '--around', 'nobody'), /no node and no value is called 'nobody'/);
    await assert.rejects(ikbo('show', 'missing.onnx'), /missing\.onnx: no such file/);
  });

  it('finds a node of a model by its name', () => {
    const context = createContext(root, dist, { out: () => '', error: () => '', color: false });
    const line = Number(/:(\d+)$/.exec(lineOfNode(context, 'm.onnx:/Gather'))?.[1]);
    assert.match(printModel(readModel(memorySource(readFileSync(fixture)))).text.split('\n')[line - 1]!, /= Gather/);
    assert.equal(lineOfNode(context, 'm.onnx:7'), 'm.onnx:7');
    assert.equal(lineOfNode(context, 'm.py:f'), 'm.py:f');
    assert.throws(() => lineOfNode(context, 'm.onnx:nothing'), /m\.onnx has no node and no value called 'nothing'/);
    assert.throws(() => lineOfNode(context, 'gone.onnx:x'), /gone\.onnx: no such file/);
  });
});
