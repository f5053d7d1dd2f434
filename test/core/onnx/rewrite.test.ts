import assert from 'node:assert';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { ModelProtoSchema } from 'onnx-buf';
import { buildSync } from 'esbuild';
import { measureRewrite } from '../../../src/project/onnx/measure';
import { verifyRewrite, type Verdict } from '../../../src/project/onnx/run-pair';
import { findRuntime } from '../../../src/project/onnx/find-runtime';
import { checkModel, memorySource, readModel, rewriteModel, type RewrittenModel } from '../../../src/core/onnx';
import { analyse } from '../../../src/core/onnx/analyse';
import { encodeNode } from '../../../src/core/onnx/encode';
import { assemble, splice } from '../../../src/core/onnx/splice';
import * as build from './build';
import { bytesOfFile, CHILD, FIXTURES, modelsUnder, patterns, shortName } from './support';

interface Done {
  readonly rewritten: RewrittenModel;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

function rewrite(
  path: string,
  force = true,
  target: 'standard' | 'ikbo' = 'standard',
  opset: number | null = null,
): Done {
  const before = bytesOfFile(path);
  const source = memorySource(before);
  const rewritten = rewriteModel(basename(path), source, { force, target, opset });
  return { rewritten, before, after: assemble(source, rewritten.pieces) };
}

async function verify({ before, after }: Done): Promise<Verdict> {
  const folder = mkdtempSync(join(tmpdir(), 'ikbo-onnx-'));
  try {
    const [a, b] = [join(folder, 'before.onnx'), join(folder, 'after.onnx')];
    writeFileSync(a, before);
    writeFileSync(b, after);
    const analysed = analyse(readModel(memorySource(before)));
    return await verifyRewrite(analysed, a, b, { child: CHILD, runtime: null, seconds: 60, repeats: 0 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Patterns whose rewrite is refused, with the reason. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  sdpa_idx: /known at run time/,
  repeat_interleave_tensor: /counts that only the run knows/,
};
const CLEAN = new Set(['einsum', 'gather_el']);

const operators = (bytes: Uint8Array): string[] => readModel(memorySource(bytes)).graph.nodes.map(({ op }) => op);
const model = (name: string): string => join(FIXTURES, `${name}.onnx`);

describe('onnx rewrite', function () {
  this.timeout(60_000);

  for (const path of patterns()) {
    const name = basename(path, '.onnx');
    if (CLEAN.has(name)) continue;
    if (REFUSED[name]) {
      it(`refuses ${shortName(path)} and leaves it byte for byte`, () => {
        const { rewritten, before, after } = rewrite(path);
        assert.match(rewritten.outcomes[0]?.reason ?? '', REFUSED[name]!);
        assert.ok(Buffer.from(after).equals(before));
      });
      continue;
    }
    it(`rewrites ${shortName(path)} with the same results`, async () => {
      const done = rewrite(path);
      assert.deepEqual(
        done.rewritten.outcomes.map(({ reason }) => reason),
        [null],
      );
      fromBinary(ModelProtoSchema, done.after);
      const again = checkModel('after.onnx', memorySource(done.after));
      assert.deepEqual(
        again.findings.map(({ rule }) => rule),
        [],
        'what was made has no finding',
      );
      assert.deepEqual(again.notes, []);
      const verdict = await verify(done);
      assert.equal(verdict.problem, null);
      assert.ok(verdict.ok && verdict.probes.length === 2);
    });
  }

  const more = JSON.parse(readFileSync(join(FIXTURES, 'more.json'), 'utf8')) as Record<
    string,
    { rules: string[]; refused?: string; remains?: string[] }
  >;
  for (const path of modelsUnder(FIXTURES).filter((path) => /more_op/.test(path))) {
    const { rules, refused, remains } = more[basename(path, '.onnx')]!;
    if (rules.length === 0) continue;
    it(`${refused ? 'refuses' : 'rewrites'} ${shortName(path)}`, async () => {
      const done = rewrite(path);
      assert.deepEqual(
        done.rewritten.outcomes.map(({ reason }) => reason),
        [refused ?? null],
      );
      if (refused) return;
      assert.deepEqual(
        checkModel('after.onnx', memorySource(done.after)).findings.map(({ rule }) => rule),
        remains ?? [],
      );
      assert.equal((await verify(done)).problem, null);
    });
  }

  const fused: [string, string][] = [
    ['op17_dyn/index', 'BroadcastLinearBias'],
    ['op17_dyn/repeat_interleave_dyn', 'BroadcastLinearBias'],
    ['op17_dyn/lce_cat', 'BroadcastCompression'],
    ['op17_dyn/sdpa_idx', 'BroadcastAttention'],
    ['op17_static/sdpa_idx', 'BroadcastAttention'],
  ];
  for (const [name, operator] of fused) {
    it(`makes ${operator} of ${name}, which runs anywhere by its definition`, async () => {
      const done = rewrite(model(name), true, 'ikbo');
      const made = readModel(memorySource(done.after));
      assert.ok(made.graph.nodes.some(({ op, domain }) => op === operator && domain === 'ai.ikbo'));
      assert.deepEqual(
        made.functions.map((def) => def.name),
        [operator],
      );
      assert.equal(made.opsets.find(({ domain }) => domain === 'ai.ikbo')?.version, 1);
      assert.deepEqual(checkModel('after.onnx', memorySource(done.after)).findings, []);
      const verdict = await verify(done);
      assert.equal(verdict.problem, null);
    });
  }

  it('keeps inputs, outputs, opset, weights and metadata as they were', () => {
    for (const path of patterns()) {
      const { before, after } = rewrite(path);
      const [old, made] = [fromBinary(ModelProtoSchema, before), fromBinary(ModelProtoSchema, after)];
      assert.deepEqual(made.graph?.input, old.graph?.input);
      assert.deepEqual(made.graph?.output, old.graph?.output);
      assert.deepEqual(
        [made.opsetImport, made.irVersion, made.metadataProps],
        [old.opsetImport, old.irVersion, old.metadataProps],
      );
      const weights = new Map(old.graph?.initializer.map((tensor) => [tensor.name, tensor]));
      for (const tensor of made.graph?.initializer ?? [])
        if (!tensor.name.startsWith('ikbo/')) assert.deepEqual(tensor, weights.get(tensor.name));
    }
  });

  it('adds the shared part inside the product where the operator can', () => {
    assert.deepEqual(operators(rewrite(model('op17_dyn/index')).after), ['Split', 'Gemm', 'Gather', 'Gemm']);
  });

  it('removes the shape arithmetic of the copy with the copy', () => {
    assert.deepEqual(operators(rewrite(model('op17_dyn/expand_cat')).after), ['Split', 'Gemm', 'Gemm']);
  });

  it('lets keys and values that are broadcast reach the products as they are', () => {
    assert.deepEqual(
      operators(rewrite(model('op17_static/sdpa_expand')).after).filter((op) => op !== 'Constant'),
      ['Transpose', 'MatMul', 'Div', 'Softmax', 'MatMul'],
    );
  });

  it('keeps off where the ratio makes it a loss, unless told otherwise', () => {
    // 8 candidates of 2 users: 4 copies per row pay; with the gate at 3, a model with 2 does not.
    const { rewritten } = rewrite(model('op17_static/index'), false);
    assert.equal(rewritten.outcomes[0]?.reason, null);
  });

  it('applies only what is asked for', () => {
    const source = memorySource(bytesOfFile(model('op17_dyn/index')));
    assert.equal(rewriteModel('m', source, { only: ['IKB202'] }).outcomes.length, 0);
    assert.equal(rewriteModel('m', source, { only: ['IKB101:16'] }).outcomes.length, 1);
  });

  it('shares heads inside the standard Attention where a newer opset is asked for', async () => {
    const names = ['op17_dyn/gqa_repeat_kv', 'op17_static/gqa_repeat_kv', 'more_op13/gqa_mask', 'more_op17/gqa_mask'];
    const paths = [...names.map(model), join(FIXTURES, '../../../examples/onnx/llm_attention.onnx')];
    for (const path of paths) {
      const done = rewrite(path, true, 'standard', 23);
      assert.equal(done.rewritten.outcomes[0]?.id, 'native', path);
      const made = readModel(memorySource(done.after));
      assert.deepEqual([made.opsets[0]?.version, operators(done.after).includes('Softmax')], [23, false], path);
      assert.equal((await verify(done)).problem, null, path);
      assert.deepEqual(checkModel('m', memorySource(done.after)).findings, []);
    }
  });

  it('leaves weights in another file where they are', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ikbo-onnx-'));
    try {
      const before = build.model([
        build.input('u', 'U', 16), build.input('c', 'B', 8), build.index('i', 'B'), build.output('y', 2),
        build.externalWeight('w', 'data/w.bin', 64, 24, 8),
        build.node('Gather', 'u i', 'r'), build.node('Concat', 'r c', 'cat', { axis: 1 }), build.node('MatMul', 'cat w', 'y'),
      ]); // prettier-ignore
      mkdirSync(join(folder, 'data'));
      const floats = Float32Array.from({ length: 16 + 24 * 8 }, (_, i) => Math.sin(i));
      writeFileSync(join(folder, 'data/w.bin'), new Uint8Array(floats.buffer));
      const path = join(folder, 'm.onnx');
      writeFileSync(path, before);
      const child = join(folder, 'onnx-child.js');
      buildSync({
        entryPoints: [join(__dirname, '../../../src/project/onnx/child.ts')],
        outfile: child,
        bundle: true,
        platform: 'node',
        external: ['onnxruntime-node'],
        logLevel: 'error',
      });
      const source = memorySource(before);
      const { pieces, size } = rewriteModel('m', source);
      const made = readModel(memorySource(assemble(source, pieces)));
      assert.equal(made.graph.initializers[0]?.external?.location, 'data/w.bin');
      assert.ok(size < before.length + 800);
      const runtime = findRuntime(process.cwd())!;
      const request = {
        model: path,
        finding: `IKB101:${checkModel('m', source).findings[0]!.line}`,
        shapes: { B: 40, U: 3 },
        dist: folder,
        runtime,
        repeats: 3,
      };
      const measured = await measureRewrite(request);
      assert.ok(typeof measured === 'object', String(measured));
      assert.ok(measured.error < 1e-5);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('raises the opset only where every node means the same', () => {
    const raise = (op: Uint8Array, opset: number, from = 17): (() => unknown) => {
      const bytes = build.model([build.input('x', 2, 3), op, build.output('y', 2)], { opset: from });
      return () => rewriteModel('m', memorySource(bytes), { opset });
    };
    const relu = build.node('Relu', 'x', 'y');
    assert.throws(
      raise(build.node('ReduceMean', 'x', 'y', { axes: [1] }), 23),
      /ReduceMean takes its axes as an input/,
    );
    assert.throws(raise(build.node('Split', 'x', 'y z', { axis: 1 }), 18), /Split wants the number of its outputs/);
    assert.throws(raise(relu, 23, 11), /models below opset 13 are not raised/);
    assert.throws(raise(relu, 99), /opset 99 is newer than what is known/);
    assert.throws(raise(relu, 15), /the model is of opset 17, which is not lowered to 15/);
    assert.doesNotThrow(raise(relu, 23));
    assert.doesNotThrow(raise(build.node('ReduceMean', 'x', 'y', { axes: [1] }), 17));
  });

  it('tells a wrong rewrite from a right one', async () => {
    // Both halves of the product read the same half of the weight: it runs, has the right shapes, and is wrong.
    const done = rewrite(model('op17_dyn/expand_as'));
    const source = memorySource(done.after);
    const product = readModel(source).graph.nodes.filter(({ op }) => op === 'MatMul')[1]!;
    const inputs = [product.inputs[0]!, '/l/MatMul/ikbo/part'];
    const bytes = encodeNode({ op: 'MatMul', name: product.name, inputs, outputs: product.outputs });
    const after = assemble(source, splice(done.after.length, [{ ...product.span, within: product.parent, bytes }]));
    const verdict = await verify({ ...done, after });
    assert.equal(verdict.ok, false);
    assert.match(verdict.problem ?? '', /differ by/);
  });

  it('reports a model that cannot run, and one that runs too long, in words', async () => {
    const done = rewrite(model('op17_dyn/index'));
    const broken = await verify({ ...done, after: done.after.slice(0, 100) });
    assert.equal(broken.ok, false);
    assert.match(broken.problem ?? '', /\w/);
    const analysed = analyse(readModel(memorySource(done.before)));
    const child = [process.execPath, '-e', 'setTimeout(() => 0, 60000)'] as const;
    const late = await verifyRewrite(analysed, 'a', 'b', { child, runtime: null, seconds: 0.3, repeats: 0 });
    assert.match(late.problem ?? '', /longer than 0.3 s/);
  });
});
