import assert from 'node:assert';
import fc from 'fast-check';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { ModelProtoSchema } from 'onnx-buf';
import { bytesOf, concatBytes, encodeNode, varintOf } from '../../../src/core/onnx/encode';
import type { Graph, Node } from '../../../src/core/onnx/model';
import { readModel } from '../../../src/core/onnx/read';
import { memorySource, openWindow } from '../../../src/core/onnx/source';
import { assemble, splice, type Splice } from '../../../src/core/onnx/splice';
import { fields, frameOf, type Frame } from '../../../src/core/onnx/wire';
import { bytesOfFile, modelsUnder, needTestdata, patterns, shortName, TESTDATA } from './support';

function allNodes(graph: Graph): Node[] {
  return graph.nodes.flatMap((node) => [node, ...node.attributes.flatMap((a) => (a.g ? allNodes(a.g) : []))]);
}

/** Adds a node before every node (subgraphs included), then takes them out again: the bytes must be the old ones. */
function thereAndBack(bytes: Uint8Array): void {
  const added = encodeNode({ op: 'Identity', name: 'ikbo-added', inputs: ['a'.repeat(200)], outputs: ['b'] });
  const source = memorySource(bytes);
  const insertions = allNodes(readModel(source).graph).map(({ span, parent }): Splice => ({
    start: span.start,
    end: span.start,
    bytes: added,
    within: parent,
  }));
  const grown = assemble(source, splice(bytes.length, insertions));
  const grownSource = memorySource(grown);
  const inserted = allNodes(readModel(grownSource).graph).filter((node) => node.name === 'ikbo-added');
  assert.equal(inserted.length, insertions.length);
  fromBinary(ModelProtoSchema, grown);
  const removals = inserted.map(({ span, parent }): Splice => ({ ...span, bytes: new Uint8Array(0), within: parent }));
  assert.ok(Buffer.from(assemble(grownSource, splice(grown.length, removals))).equals(bytes), 'bytes differ');
}

describe('onnx splice', () => {
  for (const path of patterns())
    it(`edits ${shortName(path)} and takes it back, byte for byte`, () => thereAndBack(bytesOfFile(path)));

  it('edits all of libonnx-testdata and takes it back, byte for byte', function () {
    this.timeout(120_000);
    needTestdata(this);
    for (const path of modelsUnder(TESTDATA)) thereAndBack(bytesOfFile(path));
  });

  it('makes what an independent decoder reads as the edit', () => {
    for (const path of patterns()) {
      const bytes = bytesOfFile(path);
      const source = memorySource(bytes);
      const model = readModel(source);
      const last = model.graph.nodes.at(-1)!;
      const node = encodeNode({ op: 'Abs', name: 'new', inputs: [...last.inputs], outputs: [...last.outputs] });
      const edited = assemble(source, splice(bytes.length, [{ ...last.span, bytes: node, within: last.parent }]));
      const oracle = fromBinary(ModelProtoSchema, bytes);
      const changed = oracle.graph!.node.at(-1)!;
      Object.assign(changed, { opType: 'Abs', name: 'new', attribute: [] });
      assert.ok(
        Buffer.from(toBinary(ModelProtoSchema, fromBinary(ModelProtoSchema, edited))).equals(
          toBinary(ModelProtoSchema, oracle),
        ),
        path,
      );
    }
  });

  it('repairs nested prefixes, also where one gets longer', () => {
    // A tree of messages (field 1) with a varint (field 2) at each leaf's start; edits replace random leaves.
    const tree = fc.letrec<{ node: Uint8Array }>((tie) => ({
      node: fc.oneof({ maxDepth: 5 }, fc.uint8Array({ maxLength: 140 }).map((data) => bytesOf(3, data)), fc.array(tie('node'), { minLength: 1, maxLength: 4 }).map((parts) => bytesOf(1, concatBytes(parts)))),
    })).node; // prettier-ignore
    const leaves = (bytes: Uint8Array): { start: number; end: number; within: Frame | null }[] => {
      const window = openWindow(memorySource(bytes));
      const walk = (span: { start: number; end: number }, parent: Frame | null): ReturnType<typeof leaves> =>
        [...fields(window, span)].flatMap((field) => {
          if (field.number !== 1) return [{ start: field.tag, end: field.end, within: parent }];
          const frame = frameOf(field, parent, 'inner');
          return walk(frame, frame);
        });
      return walk({ start: 0, end: bytes.length }, null);
    };
    fc.assert(
      fc.property(tree, fc.infiniteStream(fc.option(fc.uint8Array({ maxLength: 300 }))), (bytes, stream) => {
        const source = memorySource(bytes);
        const before = leaves(bytes);
        const expected: string[] = [];
        const edits: Splice[] = [];
        for (const leaf of before) {
          const replacement = stream.next().value;
          const now = replacement ? bytesOf(3, replacement) : bytes.subarray(leaf.start, leaf.end);
          expected.push(Buffer.from(now).toString('hex'));
          if (replacement) edits.push({ start: leaf.start, end: leaf.end, within: leaf.within, bytes: now });
        }
        const edited = assemble(source, splice(bytes.length, edits));
        assert.deepEqual(
          leaves(edited).map(({ start, end }) => Buffer.from(edited.subarray(start, end)).toString('hex')),
          expected,
        );
      }),
    );
  });

  it('refuses edits that overlap or leave their message', () => {
    const bytes = bytesOf(1, varintOf(2, 5));
    const frame: Frame = { lengthAt: 1, tag: 0, start: 2, end: bytes.length, parent: null };
    assert.throws(() => splice(bytes.length, [{ start: 0, end: 1, bytes, within: frame }]), /leaves its message/);
    const edit: Splice = { start: 2, end: 4, bytes: new Uint8Array(0), within: frame };
    assert.throws(() => splice(bytes.length, [edit, { ...edit, start: 3 }]), /overlap/);
  });
});
