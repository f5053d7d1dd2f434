/** A model of 359 MB with 3,300 nodes: what it costs to check, against reading a twentieth of its bytes. */
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { concatBytes, encodeNode, encodeVarint, textOf, varintOf } from '../../../src/core/onnx/encode';
import { input, output } from './build';

const SIDE = 901;
const LAYERS = 110;
const NODES_PER_LAYER = 30;

/** Weights are holes in a sparse file: nothing but their place matters. */
function writeModel(path: string): number {
  const pieces: { bytes: Uint8Array; hole: number }[] = [];
  let total = 0;
  const add = (bytes: Uint8Array, hole = 0): void => {
    pieces.push({ bytes, hole });
    total += bytes.length + hole;
  };
  const weightBytes = SIDE * SIDE * 4;
  for (let layer = 0; layer < LAYERS; layer++) {
    const facts = concatBytes([
      varintOf(1, SIDE),
      varintOf(1, SIDE),
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
  add(input('x', 'B', SIDE));
  add(output(current, 2));
  const head = concatBytes([varintOf(1, 8), Uint8Array.of(0x3a), encodeVarint(BigInt(total))]);
  const file = openSync(path, 'w');
  let at = writeSync(file, head);
  for (const { bytes, hole } of pieces) {
    writeSync(file, bytes, 0, bytes.length, at);
    at += bytes.length + hole;
  }
  ftruncateSync(file, at);
  closeSync(file);
  return at;
}

const PROGRAM = `
import { checkModel } from './src/core/onnx';
import { openFileBytes } from './src/project/byte-source';
const file = openFileBytes(process.argv[2] ?? '');
let bytes = 0;
const source = { size: file.size, read: (offset: number, length: number) => ((bytes += length), file.read(offset, length)) };
const { findings, parsed } = checkModel('m.onnx', source);
console.log(JSON.stringify({ bytes, findings: findings.length, parsed, rss: process.resourceUsage().maxRSS * 1024 }));
`;

describe('onnx, a large model', function () {
  this.timeout(60_000);

  it('is checked with little of it read and little memory', () => {
    const folder = mkdtempSync(join(tmpdir(), 'ikbo-onnx-'));
    try {
      const path = join(folder, 'large.onnx');
      const size = writeModel(path);
      assert.ok(size > 350e6);
      const program = join(folder, 'check.cjs');
      const root = join(__dirname, '../../..');
      buildSync({
        stdin: { contents: PROGRAM, resolveDir: root, loader: 'ts' },
        bundle: true,
        platform: 'node',
        outfile: program,
        logLevel: 'error',
      });
      const idle = spawnSync(process.execPath, ['-e', 'console.log(process.resourceUsage().maxRSS * 1024)'], {
        encoding: 'utf8',
      });
      const child = spawnSync(process.execPath, [program, path], { encoding: 'utf8' });
      assert.equal(child.status, 0, child.stderr);
      const { bytes, parsed, rss } = JSON.parse(child.stdout) as { bytes: number; parsed: boolean; rss: number };
      console.log(
        `      ${(size / 1e6).toFixed(0)} MB: ${(bytes / 1e6).toFixed(1)} MB read, ${(rss / 1e6).toFixed(0)} MB of memory, ${(Number(idle.stdout) / 1e6).toFixed(0)} MB of them Node's own`,
      );
      assert.ok(parsed);
      assert.ok(bytes < size * 0.05, `${bytes} bytes read`);
      assert.ok(rss < 100e6, `${rss} bytes of memory`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
