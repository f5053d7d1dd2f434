import assert from 'node:assert';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { ModelProtoSchema, type GraphProto, type NodeProto } from 'onnx-buf';
import fc from 'fast-check';
import { openFileBytes } from '../../../src/project/byte-source';
import { readValues } from '../../../src/core/onnx/data';
import {
  bytesOf,
  concatBytes,
  encodeInts,
  encodeNode,
  encodeTensor,
  encodeVarint,
  textOf,
  varintOf,
} from '../../../src/core/onnx/encode';
import type { Graph, Node } from '../../../src/core/onnx/model';
import { readModel } from '../../../src/core/onnx/read';
import { memorySource, OnnxError, type ByteSource } from '../../../src/core/onnx/source';
import { bytesOfFile, modelsUnder, needTestdata, patterns, shortName, TESTDATA } from './support';

/** What both decoders must agree on. */
const ours = (graph: Graph): unknown => ({
  name: graph.name,
  inputs: graph.inputs.map((value) => value.name),
  outputs: graph.outputs.map((value) => value.name),
  initializers: graph.initializers.map((tensor) => [tensor.name, tensor.element, tensor.dims]),
  nodes: graph.nodes.map((node: Node) => ({
    op: node.op,
    name: node.name,
    inputs: node.inputs,
    outputs: node.outputs,
    attributes: node.attributes.map((a) => [
      a.name,
      a.type,
      a.i,
      a.f,
      a.ints,
      a.floats,
      a.t && [a.t.element, a.t.dims],
      a.g && ours(a.g),
    ]),
  })),
});

const theirs = (graph: GraphProto): unknown => ({
  name: graph.name,
  inputs: graph.input.map((value) => value.name),
  outputs: graph.output.map((value) => value.name),
  initializers: graph.initializer.map((tensor) => [tensor.name, tensor.dataType, tensor.dims.map(Number)]),
  nodes: graph.node.map((node: NodeProto) => ({
    op: node.opType,
    name: node.name,
    inputs: node.input,
    outputs: node.output,
    attributes: node.attribute.map((a) => [
      a.name, a.type, a.i, a.f, a.ints, a.floats, a.t ? [a.t.dataType, a.t.dims.map(Number)] : null, a.g ? theirs(a.g) : null,
    ]),
  })),
}); // prettier-ignore

function agree(path: string): void {
  const bytes = bytesOfFile(path);
  assert.deepEqual(
    ours(readModel(memorySource(bytes)).graph),
    theirs(fromBinary(ModelProtoSchema, bytes).graph!),
    path,
  );
}

const message = (number: number, ...parts: Uint8Array[]): Uint8Array => bytesOf(number, concatBytes(parts));

describe('onnx reader', () => {
  for (const path of patterns()) it(`reads ${shortName(path)} as onnx-buf does`, () => agree(path));

  it('reads all of libonnx-testdata as onnx-buf does', function () {
    this.timeout(120_000);
    needTestdata(this);
    const models = modelsUnder(TESTDATA);
    assert.ok(models.length > 1000);
    for (const path of models) agree(path);
  });

  it('reads every way to store the same four integers', () => {
    const expected = [3, -1, 0, 7];
    const raw = encodeInts('x', [4], expected.map(BigInt));
    const field = (...parts: Uint8Array[]): Uint8Array => message(5, varintOf(1, 4), varintOf(2, 7), ...parts);
    const packed = field(bytesOf(7, concatBytes(expected.map((v) => encodeVarint(BigInt(v))))));
    const unpacked = field(...expected.map((v) => varintOf(7, v)));
    const mixed = field(
      varintOf(7, 3),
      bytesOf(7, concatBytes([-1, 0].map((v) => encodeVarint(BigInt(v))))),
      textOf(8, 'x'),
      varintOf(7, 7),
    );
    const packedDims = message(
      5,
      bytesOf(1, Uint8Array.of(2, 2)),
      varintOf(2, 6),
      bytesOf(5, concatBytes(expected.map((v) => encodeVarint(BigInt(v))))),
    );
    for (const tensor of [raw, packed, unpacked, mixed, packedDims]) {
      const source = memorySource(message(7, tensor));
      const [read] = readModel(source).graph.initializers;
      assert.deepEqual(readValues(source, read!, 100), expected);
    }
  });

  it('takes the last of a repeated scalar, keeps unknown fields out, merges a split graph', () => {
    const node = encodeNode({ op: 'Relu', name: 'a', inputs: ['x'], outputs: ['y'] });
    const bytes = concatBytes([
      varintOf(1, 3), bytesOf(1000, Uint8Array.of(1, 2, 3)), message(7, node, textOf(2, 'first')), varintOf(1, 9), message(7, node, textOf(2, 'g')),
    ]); // prettier-ignore
    const model = readModel(memorySource(bytes));
    assert.equal(model.irVersion, 9);
    assert.equal(model.graph.nodes.length, 2);
    assert.equal(model.graph.name, 'g');
  });

  it('reports a nesting bomb instead of overflowing the stack', () => {
    let bytes: Uint8Array = new Uint8Array(0);
    for (let i = 0; i < 3000; i++) bytes = message(i === 2999 ? 7 : 6, message(1, message(5, bytes)));
    assert.throws(() => readModel(memorySource(bytes)), /nest deeper than 32.*\(byte \d+\)/);
  });

  it('refuses files that are no models', () => {
    for (const content of [
      '',
      'hello world',
      'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n',
      '\n',
    ])
      assert.throws(() => readModel(memorySource(Buffer.from(content))), OnnxError);
  });

  it('answers every truncation and byte flip with a model or an error, in bounded time', function () {
    this.timeout(60_000);
    const original = bytesOfFile(patterns().find((path) => path.includes('op17_dyn/repeat_interleave_dyn'))!);
    const attempt = (bytes: Uint8Array): boolean => {
      const start = performance.now();
      try {
        readModel(memorySource(bytes));
        return true;
      } catch (error) {
        assert.ok(error instanceof OnnxError, String(error));
        return false;
      } finally {
        assert.ok(performance.now() - start < 1000);
      }
    };
    // The weights stand in the graph's middle: only a cut between two fields at top level leaves a model.
    for (let length = 0; length < original.length - 60; length += 7)
      assert.equal(attempt(original.subarray(0, length)), false);
    fc.assert(
      fc.property(fc.nat(original.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const bytes = original.slice();
        bytes[at]! ^= mask;
        attempt(bytes);
      }),
      { numRuns: 1500 },
    );
  });

  it('reads a file over 4 GiB without reading its weights', function () {
    this.timeout(60_000);
    const folder = mkdtempSync(join(tmpdir(), 'ikbo-onnx-'));
    try {
      const path = join(folder, 'large.onnx');
      const weight = 5 * 2 ** 30;
      const head = (size: number): Uint8Array => concatBytes([Uint8Array.of(0x4a), encodeVarint(BigInt(size))]);
      const facts = concatBytes([varintOf(1, weight / 4), varintOf(2, 1), textOf(8, 'w'), head(weight)]);
      const tensor = concatBytes([Uint8Array.of(0x2a), encodeVarint(BigInt(facts.length + weight)), facts]);
      const node = encodeNode({ op: 'Relu', name: 'last', inputs: ['w'], outputs: ['y'] });
      const graphSize = tensor.length + weight + node.length;
      const graph = concatBytes([varintOf(1, 8), Uint8Array.of(0x3a), encodeVarint(BigInt(graphSize)), tensor]);
      const file = openSync(path, 'w');
      writeSync(file, graph);
      ftruncateSync(file, graph.length + weight);
      writeSync(file, node, 0, node.length, graph.length + weight);
      closeSync(file);
      const source = openFileBytes(path);
      let read = 0;
      const counted: ByteSource = {
        size: source.size,
        read: (offset, length) => ((read += length), source.read(offset, length)),
      };
      const model = readModel(counted);
      source.close();
      assert.equal(model.graph.nodes[0]?.name, 'last');
      assert.equal(model.graph.nodes[0]?.span.start, graph.length + weight);
      assert.equal(model.graph.initializers[0]?.raw?.end, graph.length + weight);
      assert.ok(read < 1 << 20, `${read} bytes read`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('reads an external tensor as a reference', () => {
    const entry = (key: string, value: string): Uint8Array => message(13, textOf(1, key), textOf(2, value));
    const tensor = message(
      5,
      varintOf(1, 8),
      varintOf(2, 1),
      textOf(8, 'w'),
      entry('location', 'w.bin'),
      entry('offset', '4294967296'),
      entry('length', '32'),
      varintOf(14, 1),
    );
    const source = memorySource(message(7, tensor));
    const [read] = readModel(source).graph.initializers;
    assert.deepEqual(read?.external, { location: 'w.bin', offset: 2 ** 32, length: 32 });
    assert.equal(readValues(source, read!, 100), null);
  });

  it('reads half floats and brain floats', () => {
    const values = (element: number, bits: number[]): number[] | null => {
      const source = memorySource(
        message(7, encodeTensor('h', element, [bits.length], new Uint8Array(Uint16Array.from(bits).buffer))),
      );
      return readValues(source, readModel(source).graph.initializers[0]!, 100);
    };
    assert.deepEqual(values(10, [0x3c00, 0xc000, 0x0001, 0x7c00]), [1, -2, 2 ** -24, Infinity]);
    assert.deepEqual(values(16, [0x3f80, 0xc000]), [1, -2]);
  });
});
