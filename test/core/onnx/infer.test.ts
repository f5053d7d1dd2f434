import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bytesOf, textOf } from '../../../src/core/onnx/encode';
import { buildGraph, type GraphModel } from '../../../src/core/onnx/graph';
import { inferShapes, type Inference } from '../../../src/core/onnx/infer';
import { readModel } from '../../../src/core/onnx/read';
import { memorySource } from '../../../src/core/onnx/source';
import { assemble, splice } from '../../../src/core/onnx/splice';
import { format, valueOf } from '../../../src/core/tensor/dim';
import { bytesOfFile, FIXTURES, modelsUnder, needTestdata, patterns, TESTDATA } from './support';

interface Inferred {
  readonly graph: GraphModel;
  readonly infer: Inference;
  readonly bytes: Uint8Array;
}

/** `alone`: without the help of the types that the file declares for what operators make. */
function inferred(path: string, alone = false): Inferred {
  const bytes = bytesOfFile(path);
  const graph = buildGraph(readModel(memorySource(bytes)));
  if (alone) for (const value of graph.values) if (value.producer) value.declared = null;
  return { graph, infer: inferShapes(graph), bytes };
}

/** The shape of the named value as text: `[B, 2*U, 32]`. */
function shapeOf({ graph, infer }: Inferred, name: string): string {
  const value = graph.values.find((other) => other.name === name);
  assert.ok(value, `no value ${name}`);
  const { shape } = infer.of(value);
  return shape ? `[${shape.map((dim) => format(dim)).join(', ')}]` : 'unknown';
}

/** The model with every value of the main graph as an output, so that onnxruntime tells their shapes. */
function withAllOutputs({ graph, bytes }: Inferred): Uint8Array {
  const frame = graph.model.graph.frames[0]!;
  const have = new Set(graph.model.graph.outputs.map((output) => output.name));
  const names = graph.main.operators.flatMap((op) =>
    op.outputs.flatMap((value) => (value && !have.has(value.name) ? [value.name] : [])),
  );
  const edits = names.map((name) => ({
    start: frame.end,
    end: frame.end,
    within: frame,
    bytes: bytesOf(12, textOf(1, name)),
  }));
  return assemble(memorySource(bytes), splice(bytes.length, edits));
}

interface Oracle {
  readonly path: string;
  readonly error?: string;
  readonly outputs?: { name: string; isTensor: boolean; shape: (number | string)[] }[];
}

function askOnnxruntime(models: ReadonlyMap<string, Inferred>): Oracle[] {
  const folder = mkdtempSync(join(tmpdir(), 'ikbo-onnx-'));
  try {
    const files = new Map([...models].map(([path, model], i) => {
      const file = join(folder, `${i}.onnx`);
      writeFileSync(file, withAllOutputs(model));
      return [file, path];
    })); // prettier-ignore
    const child = spawnSync(process.execPath, [join(__dirname, 'ort-shapes.cjs')], {
      input: JSON.stringify([...files.keys()]),
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    assert.equal(child.status, 0, child.stderr);
    const lines = child.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Oracle);
    return lines.map((line) => ({ ...line, path: files.get(line.path) ?? '' }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Compares sizes where both know a number; answers with what was compared. */
function compare(models: ReadonlyMap<string, Inferred>): {
  compared: number;
  oursOnly: number;
  theirsOnly: number;
  loaded: number;
} {
  const counts = { compared: 0, oursOnly: 0, theirsOnly: 0, loaded: 0 };
  const wrong: string[] = [];
  for (const { path, outputs } of askOnnxruntime(models)) {
    if (!outputs) continue;
    counts.loaded++;
    const { graph, infer } = models.get(path)!;
    for (const { name, isTensor, shape } of outputs) {
      const value = graph.main.values.get(name);
      if (!isTensor || !value) continue;
      const ours = infer.of(value).shape;
      if (!ours) {
        if (shape.length > 0 && shape.every((dim) => typeof dim === 'number')) counts.theirsOnly++;
        continue;
      }
      // onnxruntime reports a value without a known rank like a scalar.
      if (shape.length === 0) continue;
      if (ours.length !== shape.length)
        wrong.push(`${path} ${value.producer?.node.op} ${name}: rank ${ours.length}, onnxruntime ${shape.length}`);
      else
        shape.forEach((dim, i) => {
          const own = valueOf(ours[i] ?? null);
          if (typeof dim === 'number' && own !== null) {
            counts.compared++;
            if (own !== dim) wrong.push(`${path} ${value.producer?.node.op} ${name}[${i}]: ${own}, onnxruntime ${dim}`);
          } else if (typeof dim === 'number' && !ours[i]) counts.theirsOnly++;
          else if (ours[i]) counts.oursOnly++;
        });
    }
  }
  assert.deepEqual(wrong, []);
  return counts;
}

describe('onnx shape inference', () => {
  const cases: [string, string, string][] = [
    ['op17_dyn/expand_cat', '/Expand_output_0', '[B, 32]'],
    ['op17_dyn/expand_cat_3d', '/Expand_output_0', '[U, N, 32]'],
    ['op17_dyn/expand_as', '/Expand_output_0', '[U, N, 32]'],
    ['op17_dyn/gqa_repeat_kv', '/Expand_output_0', '[B, 2, 4, S, 8]'],
    ['op17_dyn/gqa_repeat_kv', '/Reshape_1_output_0', '[B, 8, S, 8]'],
    ['op17_dyn/din', '/Concat_1_output_0', '[B, T, 64]'],
    ['op17_dyn/repeat', '/Tile_output_0', '[B, 32]'],
    ['op17_dyn/mha_mem', '/Tile_output_0', '[B, S, 32]'],
    ['op17_dyn/mha_mem', '/m/Reshape_1_output_0', '[S, 4*B, 8]'],
    ['op17_dyn/dec_layer', 'y', '[B, 6, 32]'],
    ['op17_dyn/repeat_interleave_dyn', '/ConcatFromSequence_output_0', '[U*floor(B, U), 32]'],
    ['op17_dyn/repeat_interleave_int', '/ConcatFromSequence_output_0', '[4*U, 32]'],
    ['op17_dyn/repeat_interleave_tensor', '/Concat_1_output_0', '[B, 48]'],
    ['op17_static/repeat_interleave_int', '/Concat_2_output_0', '[8, 32]'],
    ['op17_dyn/multi_level', '/Gather_1_output_0', '[B, 32]'],
  ];
  for (const [model, value, shape] of cases) {
    it(`knows ${value} of ${model} as ${shape}`, () =>
      assert.equal(shapeOf(inferred(join(FIXTURES, `${model}.onnx`)), value), shape));
  }

  it('agrees with onnxruntime on the patterns', function () {
    this.timeout(120_000);
    const counts = compare(new Map(patterns().map((path) => [path, inferred(path, true)])));
    assert.equal(counts.loaded, 48);
    assert.ok(counts.compared > 1300, `${counts.compared} sizes compared`);
    assert.equal(counts.theirsOnly, 0);
  });

  it('agrees with onnxruntime on libonnx-testdata', function () {
    this.timeout(300_000);
    needTestdata(this);
    const models = new Map(modelsUnder(TESTDATA).map((path) => [path, inferred(path, true)]));
    const counts = compare(models);
    console.log(
      `      ${counts.loaded} models, ${counts.compared} sizes agree, ${counts.theirsOnly} known to onnxruntime alone, ${counts.oursOnly} to us alone`,
    );
    assert.ok(counts.loaded > 900 && counts.compared > 2000);
  });
});
