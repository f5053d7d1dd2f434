/** A model file of any size with 3,300 nodes: what it costs to scan must not depend on its weights. */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { concatBytes, encodeNode, encodeVarint, textOf, varintOf } from '../../../src/core/onnx/encode';
import { input, output } from './build';

const LAYERS = 110;
const NODES_PER_LAYER = 30;

/**
 * 110 layers with a weight of `side` x `side` floats each (901: 358 MB, 3200: 4.5 GB). Weights are holes in a sparse file
 * unless `dense`: nothing but their place matters. Returns the size.
 */
export function writeLargeModel(path: string, side: number, dense = false): number {
  const pieces: { bytes: Uint8Array; hole: number }[] = [];
  let total = 0;
  const add = (bytes: Uint8Array, hole = 0): void => {
    pieces.push({ bytes, hole });
    total += bytes.length + hole;
  };
  const weightBytes = side * side * 4;
  for (let layer = 0; layer < LAYERS; layer++) {
    const facts = concatBytes([
      varintOf(1, side),
      varintOf(1, side),
      varintOf(2, 1),
      textOf(8, `w${layer}`),
      Uint8Array.of(0x4a),
      encodeVarint(BigInt(weightBytes)),
    ]);
    add(concatBytes([Uint8Array.of(0x2a), encodeVarint(BigInt(facts.length + weightBytes)), facts]), weightBytes);
  }
  let current = 'x';
  for (let layer = 0; layer < LAYERS; layer++) {
    for (let k = 0; k < NODES_PER_LAYER; k++) {
      const made = `/layers.${layer}/block/op_${k}_output_0`;
      const [op, inputs] =
        k === 0 ? ['MatMul', [current, `w${layer}`]] : k % 3 === 0 ? ['Add', [current, current]] : ['Relu', [current]];
      add(
        encodeNode({
          op: op as string,
          name: `/layers.${layer}/block/op_${k}`,
          inputs: inputs as string[],
          outputs: [made],
        }),
      );
      current = made;
    }
  }
  add(input('x', 'B', side));
  add(output(current, 2));
  const head = concatBytes([varintOf(1, 8), Uint8Array.of(0x3a), encodeVarint(BigInt(total))]);
  const weights = Uint8Array.from({ length: dense ? 1 << 20 : 0 }, (_, i) => (i * 2654435761) >>> 24);
  const file = openSync(path, 'w');
  let at = writeSync(file, head);
  for (const { bytes, hole } of pieces) {
    writeSync(file, bytes, 0, bytes.length, at);
    at += bytes.length;
    for (let done = 0; dense && done < hole; done += weights.length)
      writeSync(file, weights, 0, Math.min(weights.length, hole - done), at + done);
    at += hole;
  }
  ftruncateSync(file, at);
  closeSync(file);
  return at;
}
