import assert from 'node:assert';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inspectModel } from '../../../src/core/onnx/inspect';
import { memorySource, readModel, rewriteModel, showModel, type Model } from '../../../src/core/onnx';
import { assemble } from '../../../src/core/onnx/splice';
import { int, input, model, node, output, weight } from './build';
import { bytesOfFile, FIXTURES, modelsUnder, needTestdata, TESTDATA } from './support';

const open = (name: string): Model => readModel(memorySource(bytesOfFile(join(FIXTURES, `${name}.onnx`))));

/** Compares with a file; UPDATE_GOLDEN=1 writes it. */
function golden(name: string, text: string): void {
  const path = join(FIXTURES, 'golden', name);
  if (process.env['UPDATE_GOLDEN']) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  assert.ok(existsSync(path), `${path} is missing: run with UPDATE_GOLDEN=1`);
  assert.equal(text, readFileSync(path, 'utf8'));
}

describe('onnx text', () => {
  for (const name of ['op17_dyn/index', 'op17_dyn/repeat_interleave_int', 'op17_static/din']) {
    it(`prints ${name}`, () => golden(`${name.replace('/', '-')}.onnxtxt`, showModel(open(name)).text));
  }

  it('prints what a rewrite makes, functions included', () => {
    const source = memorySource(bytesOfFile(join(FIXTURES, 'op17_dyn/sdpa_idx.onnx')));
    const { pieces } = rewriteModel('m', source, { target: 'ikbo' });
    golden('sdpa_idx-ikbo.onnxtxt', showModel(readModel(memorySource(assemble(source, pieces)))).text);
  });

  it('prints the neighbourhood of a node', () => {
    golden('gqa-around.onnxtxt', showModel(open('op17_dyn/gqa_repeat_kv'), { around: '/MatMul' }).text);
    assert.throws(
      () => showModel(open('op17_dyn/index'), { around: 'nothing' }),
      /no node and no value is called 'nothing'/,
    );
  });

  it('maps every node to its line', () => {
    for (const path of modelsUnder(FIXTURES)) {
      const read = readModel(memorySource(bytesOfFile(path)));
      const { text, nodes } = showModel(read);
      const lines = text.split('\n');
      for (const item of read.graph.nodes) {
        const { first, last, column, endColumn } = nodes.get(item)!;
        const line = lines[first - 1]!;
        assert.ok(line.includes(` = ${item.op}`), path);
        assert.equal(line.slice(column - 1, endColumn - 1), line.trim());
        assert.ok(last >= first);
      }
    }
  });

  it('prints every model of libonnx-testdata', function () {
    this.timeout(60_000);
    needTestdata(this);
    for (const path of modelsUnder(TESTDATA)) {
      const read = readModel(memorySource(bytesOfFile(path)));
      const { text, nodes } = showModel(read);
      assert.ok(text.endsWith('}\n'), path);
      for (const item of read.graph.nodes) assert.ok(nodes.has(item), path);
    }
  });

  it('finds names, their definitions and readers in the text', () => {
    const index = inspectModel(open('op17_dyn/index'));
    const gather = index.text.text.split('\n').findIndex((line) => line.includes('= Gather')) + 1;
    const line = index.text.text.split('\n')[gather - 1]!;
    assert.equal(index.nameAt(gather, line.indexOf('user') + 1), 'user');
    assert.equal(index.nameAt(gather, line.indexOf('/Gather_output_0') + 3), '/Gather_output_0');
    assert.equal(index.nameAt(gather, 1), null);
    const made = index.describe('/Gather_output_0')!;
    assert.deepEqual(
      [made.type, made.kind, made.definition?.first, made.producer],
      ['float[B, 32]', 'result', gather, 'Gather'],
    );
    assert.deepEqual(
      made.consumers.map(({ operator, at }) => [operator, at.first]),
      [['Concat', gather + 1]],
    );
    const user = index.describe('user')!;
    assert.deepEqual([user.type, user.kind, user.isOutput], ['float[U, 32]', 'input', false]);
    assert.equal(index.text.text.split('\n')[user.definition!.first - 1]!.trim(), 'float[U,32] user,');
    assert.equal(index.describe('l.weight')?.kind, 'weight');
    assert.equal(index.describe('y')?.isOutput, true);
    assert.equal(index.describe('no such value'), null);
    assert.deepEqual(
      index.occurrences('/Gather_output_0').map(({ line }) => line),
      [gather, gather + 1],
    );
  });

  it('quotes names that are no identifiers and reads them back', () => {
    const odd = 'a "b" \\ \u001b[0m\u202e';
    const index = inspectModel(
      readModel(
        memorySource(model([input(odd, 'B', 2), node('Relu', 'x', 'y'), int('x', 3), weight('w', 2), output('y', 2)])),
      ),
    );
    const line = index.text.text.split('\n').findIndex((text) => text.includes('\\"b\\"')) + 1;
    const column = index.text.text.split('\n')[line - 1]!.indexOf('"') + 2;
    assert.equal(index.nameAt(line, column), odd);
  });
});
