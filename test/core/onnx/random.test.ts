/** Models put together at random from copies, activations, concatenations and products: rewritten, they compute the same. */
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { checkModel, memorySource, readModel, rewriteModel } from '../../../src/core/onnx';
import { analyse } from '../../../src/core/onnx/analyse';
import { probeInputs, probeSizes } from '../../../src/core/onnx/probe';
import { assemble } from '../../../src/core/onnx/splice';
import { index, input, ints, model, node, output, weight } from './build';

const pick = <T>(...items: T[]): fc.Arbitrary<T> => fc.constantFrom(...items);

// ---- a product over a concatenation of copied and other columns -------------------------------------------------------

const copyKind = pick('expand', 'tile', 'ones', 'lookup', 'lookup twice', 'projected');
const column = fc.record({
  kind: fc.oneof(copyKind, pick('own')),
  width: fc.integer({ min: 1, max: 6 }),
  then: pick('', '', 'Relu', 'Neg', 'bias', 'scale'),
});
const linear = fc.record({
  columns: fc.array(column, { minLength: 1, maxLength: 4 }),
  own: fc.nat(4),
  fixed: fc.boolean(),
  nested: fc.boolean(),
  activation: pick('', '', 'Relu', 'Tanh'),
  sink: pick('MatMul', 'Gemm', 'Gemm turned'),
  bias: fc.boolean(),
  factor: pick(1, 0.5),
  second: fc.boolean(),
  reader: fc.boolean(),
});

type TypeOf<A> = A extends fc.Arbitrary<infer T> ? T : never;

function linearModel(given: TypeOf<typeof linear>): Uint8Array {
  const rows = given.fixed ? 12 : 'B';
  const columns = [...given.columns];
  columns.splice(given.own, 0, { kind: 'own', width: 3, then: '' });
  const parts: Uint8Array[] = [
    input('anchor', rows, 2),
    node('Shape', 'anchor', 'anchor_shape'),
    ints('zero', 0),
    ints('one', 1),
  ];
  parts.push(
    node('Gather', 'anchor_shape zero', 'rows', { axis: 0 }),
    index('idx', rows),
    index('c2s', rows),
    index('s2u', given.fixed ? 5 : 'S'),
  );
  parts.push(
    node('Concat', 'rows one', 'rows_one', { axis: 0 }),
    node('ConstantOfShape', 'rows_one', 'zeros'),
    node('Cos', 'zeros', 'ones_unused'),
  );
  const names = columns.map(({ kind, width, then }, i) => {
    const users = given.fixed ? 4 : 'U';
    const [source, made] = [`u${i}`, `x${i}`];
    if (kind === 'own') parts.push(input(made, rows, width));
    if (kind === 'expand' || kind === 'tile' || kind === 'ones')
      parts.push(input(source, 1, width), ints(`n${i}`, width));
    if (kind === 'expand')
      parts.push(node('Concat', `rows n${i}`, `t${i}`, { axis: 0 }), node('Expand', `${source} t${i}`, made));
    if (kind === 'tile') parts.push(node('Tile', `${source} rows_one`, made));
    if (kind === 'ones') parts.push(node('Add', `zeros ${source}`, made));
    if (/lookup|projected/.test(kind)) parts.push(input(source, users, width));
    if (kind === 'lookup') parts.push(node('Gather', `${source} idx`, made, { axis: 0 }));
    if (kind === 'lookup twice')
      parts.push(node('Gather', `${source} s2u`, `m${i}`, { axis: 0 }), node('Gather', `m${i} c2s`, made, { axis: 0 }));
    if (kind === 'projected')
      parts.push(
        weight(`p${i}`, width, width),
        node('MatMul', `${source} p${i}`, `q${i}`),
        node('Relu', `q${i}`, `r${i}`),
        node('Gather', `r${i} idx`, made, { axis: 0 }),
      );
    if (!then) return made;
    if (then === 'bias' || then === 'scale')
      parts.push(weight(`b${i}`, width), node(then === 'bias' ? 'Add' : 'Mul', `${made} b${i}`, `y${i}`));
    else parts.push(node(then, made, `y${i}`));
    return `y${i}`;
  });
  const total = columns.reduce((sum, { width }) => sum + width, 0);
  if (given.nested && names.length > 2) {
    parts.push(node('Concat', names.slice(0, 2).join(' '), 'inner', { axis: 1 }));
    names.splice(0, 2, 'inner');
  }
  parts.push(node('Concat', names.join(' '), 'cat', { axis: -1 }));
  let operand = 'cat';
  if (given.activation) parts.push(node(given.activation, operand, (operand = 'active')));
  const last = given.second ? 'hidden' : 'y';
  if (given.sink === 'MatMul') {
    parts.push(weight('w', total, 7), node('MatMul', `${operand} w`, given.bias ? 'product' : last));
    if (given.bias) parts.push(weight('b', 7), node('Add', 'b product', last));
  } else {
    const turned = given.sink === 'Gemm turned';
    parts.push(turned ? weight('w', 7, total) : weight('w', total, 7));
    if (given.bias) parts.push(weight('b', 7));
    const scale = { float: given.factor };
    parts.push(
      node('Gemm', `${operand} w${given.bias ? ' b' : ''}`, last, {
        transB: turned ? 1 : 0,
        alpha: scale,
        beta: scale,
      }),
    );
  }
  if (given.second) parts.push(node('Relu', 'hidden', 'h2'), weight('w2', 7, 3), node('MatMul', 'h2 w2', 'y'));
  const other = names.find((name) => name !== 'inner') ?? 'cat';
  if (given.reader) parts.push(node('Exp', other, 'z'), output('z', 2));
  return model([...parts, output('y', 2)], { opset: 17 });
}

// ---- differences and products over a history --------------------------------------------------------------------------

const history = fc.record({
  blocks: fc.uniqueArray(pick('q', 'k', 'q-k', 'k-q', 'q+k', 'q*k'), { minLength: 2, maxLength: 5 }),
  flat: fc.boolean(),
  fixed: fc.boolean(),
  width: fc.integer({ min: 1, max: 5 }),
  bias: fc.boolean(),
});

function historyModel(given: TypeOf<typeof history>): Uint8Array {
  const [batch, steps] = given.fixed ? [3, 5] : ['B', 'T'];
  const w = given.width;
  const parts = [
    input('q', batch!, w),
    input('k', batch!, steps!, w),
    ints('one', 1),
    node('Shape', 'k', 's'),
    node('Unsqueeze', 'q one', 'u'),
    node('Expand', 'u s', 'e'),
  ];
  const names: Record<string, [string, string]> = {
    'q-k': ['Sub', 'e k'],
    'k-q': ['Sub', 'k e'],
    'q+k': ['Add', 'e k'],
    'q*k': ['Mul', 'e k'],
  };
  const blocks = given.blocks.map((block, i) => {
    if (block === 'q') return 'e';
    if (block === 'k') return 'k';
    const [op, operands] = names[block]!;
    parts.push(node(op, operands, `d${i}`));
    return `d${i}`;
  });
  const total = w * blocks.length;
  parts.push(node('Concat', blocks.join(' '), 'cat', { axis: 2 }), weight('w', total, 6));
  if (given.flat) parts.push(ints('flat', -1, total), node('Reshape', 'cat flat', 'f'));
  parts.push(node('MatMul', `${given.flat ? 'f' : 'cat'} w`, given.bias ? 'm' : 'y'));
  if (given.bias) parts.push(weight('b', 6), node('Add', 'm b', 'y'));
  return model([...parts, output('y', given.flat ? 2 : 3)]);
}

// ---- attention written out ---------------------------------------------------------------------------------------------

const attention = fc.record({
  copy: pick('heads', 'batch', 'batch lookup'),
  /** How the keys are turned: at once, or with batch and heads merged, as newer exporters do. */
  turned: pick('at once', 'merged'),
  scale: pick('', 'Mul', 'Div'),
  mask: fc.boolean(),
  fixed: fc.boolean(),
  project: fc.boolean(),
});

function attentionModel(given: TypeOf<typeof attention>): Uint8Array {
  const [batch, length, keys] = given.fixed ? [4, 3, 5] : ['B', 'L', 'S'];
  const heads = given.copy === 'heads' ? 2 : 6;
  const sources = given.copy === 'heads' ? batch! : given.copy === 'batch' ? 1 : given.fixed ? 2 : 'U';
  const parts = [
    input('q', batch!, 6, length!, 4),
    input('k', sources, heads, keys!, 4),
    input('v', sources, heads, keys!, 4),
    index('idx', batch!),
    ints('two', 2),
    ints('zero', 0),
    ints('one', 1),
  ];
  parts.push(
    node('Shape', 'q', 'qs'),
    node('Gather', 'qs zero', 'batch', { axis: 0 }),
    ints('ones3', 1, 1, 1),
    ints('five', 1, 1, 3, 1, 1),
    ints('merged', 0, 6, -1, 4),
    node('Concat', 'batch ones3', 'times', { axis: 0 }),
  );
  const copy = (x: string): string => {
    let name = x;
    if (given.project) parts.push(weight(`p${x}`, 4, 4), node('MatMul', `${name} p${x}`, (name = `${x}p`)));
    if (given.copy === 'heads')
      parts.push(
        node('Unsqueeze', `${name} two`, `${x}u`),
        node('Expand', `${x}u five`, `${x}e`),
        node('Reshape', `${x}e merged`, `${x}c`),
      );
    else if (given.copy === 'batch') parts.push(node('Tile', `${name} times`, `${x}c`));
    else parts.push(node('Gather', `${name} idx`, `${x}c`, { axis: 0 }));
    return `${x}c`;
  };
  const [k, v] = [copy('k'), copy('v')];
  if (given.turned === 'at once') parts.push(node('Transpose', k, 'kt', { perm: [0, 1, 3, 2] }));
  else
    parts.push(
      ints('last', 2, 3),
      ints('all', 0, 1, 3, 2),
      ints('rest', -1),
      node('Shape', k, 'ks'),
      node('Gather', 'ks last', 'kl'),
      node('Concat', 'rest kl', 'km', { axis: 0 }),
      node('Gather', 'ks all', 'ka'),
      node('Reshape', `${k} km`, 'k3'),
      node('Transpose', 'k3', 'k3t', { perm: [0, 2, 1] }),
      node('Reshape', 'k3t ka', 'kt'),
    );
  parts.push(node('MatMul', 'q kt', 's0'));
  let scores = 's0';
  if (given.scale) parts.push(weight('factor'), node(given.scale, `${scores} factor`, (scores = 's1')));
  if (given.mask) parts.push(input('mask', batch!, 1, length!, keys!), node('Add', `${scores} mask`, (scores = 's2')));
  parts.push(node('Softmax', scores, 'p', { axis: -1 }), node('MatMul', `p ${v}`, 'y'));
  return model([...parts, output('y', 4)]);
}

// ---- every row meets every other one -----------------------------------------------------------------------------------

const pairs = fc.record({
  blocks: fc.array(fc.constantFrom('rows' as const, 'columns' as const, 'own' as const), {
    minLength: 2,
    maxLength: 4,
  }),
  tile: fc.boolean(),
  fixed: fc.boolean(),
  bias: fc.boolean(),
  flat: fc.boolean(),
});

function pairsModel(given: TypeOf<typeof pairs>): Uint8Array {
  const [n, m] = given.fixed ? [3, 5] : ['N', 'M'];
  const parts = [input('r', n!, 4), input('c', m!, 3), input('o', n!, m!, 2), ints('zero', 0), ints('one', 1)];
  parts.push(
    node('Shape', 'o', 'os'),
    node('Gather', 'os zero', 'sn'),
    node('Gather', 'os one', 'sm'),
    node('Unsqueeze', 'r one', 'r1'),
    node('Unsqueeze', 'c zero', 'c1'),
  );
  const copy = given.tile ? 'Tile' : 'Expand';
  parts.push(
    node('Concat', 'one sm one', 'tr', { axis: 0 }),
    node('Concat', 'sn one one', 'tc', { axis: 0 }),
    node(copy, 'r1 tr', 're'),
    node(copy, 'c1 tc', 'ce'),
  );
  const names = { rows: 're', columns: 'ce', own: 'o' };
  const widths = { rows: 4, columns: 3, own: 2 };
  const total = given.blocks.reduce((sum, block) => sum + widths[block], 0);
  parts.push(node('Concat', given.blocks.map((block) => names[block]).join(' '), 'cat', { axis: 2 }));
  parts.push(weight('w', total, 6), ints('flat', -1, total));
  if (given.flat) parts.push(node('Reshape', 'cat flat', 'f'));
  parts.push(node('MatMul', `${given.flat ? 'f' : 'cat'} w`, given.bias ? 'h' : 'y'));
  if (given.bias) parts.push(weight('b', 6), node('Add', 'h b', 'y'));
  return model([...parts, output('y', given.flat ? 2 : 3)]);
}

// ---- copies before a perceptron ----------------------------------------------------------------------------------------

const perceptron = fc.record({
  kind: copyKind,
  steps: fc.array(
    pick(
      'MatMul',
      'Gemm',
      'Relu',
      'bias',
      'LayerNormalization',
      'Softmax',
      'Split',
      'residual',
      'Unsqueeze',
      'norm by hand',
    ),
    { minLength: 1, maxLength: 6 },
  ),
  end: pick('output', 'times own', 'concatenated', 'two readers'),
  fixed: fc.boolean(),
});

function perceptronModel(given: TypeOf<typeof perceptron>): Uint8Array {
  const rows = given.fixed ? 12 : 'B';
  const width = 4;
  const parts: Uint8Array[] = [
    input('own', rows, width),
    node('Shape', 'own', 'shape'),
    ints('zero', 0),
    ints('one', 1),
    ints('wide', width),
    ints('last', -1),
  ];
  parts.push(
    node('Gather', 'shape zero', 'rows', { axis: 0 }),
    node('Concat', 'rows one', 'rows_one', { axis: 0 }),
    node('Concat', 'rows wide', 'rows_wide', { axis: 0 }),
  );
  const lookup = /lookup|projected/.test(given.kind);
  parts.push(
    input('u', lookup ? (given.fixed ? 4 : 'U') : 1, width),
    index('idx', rows),
    index('s2u', 'S'),
    index('c2s', rows),
    weight('w0', width, width),
  );
  if (given.kind === 'expand') parts.push(node('Expand', 'u rows_wide', 'x0'));
  if (given.kind === 'tile') parts.push(node('Tile', 'u rows_one', 'x0'));
  if (given.kind === 'ones') parts.push(node('ConstantOfShape', 'rows_one', 'zeros'), node('Add', 'u zeros', 'x0'));
  if (given.kind === 'lookup') parts.push(node('Gather', 'u idx', 'x0', { axis: 0 }));
  if (given.kind === 'lookup twice')
    parts.push(node('Gather', 'u s2u', 'g', { axis: 0 }), node('Gather', 'g c2s', 'x0', { axis: 0 }));
  if (given.kind === 'projected') parts.push(node('MatMul', 'u w0', 'g'), node('Gather', 'g idx', 'x0', { axis: 0 }));
  let current = 'x0';
  given.steps.forEach((step, i) => {
    const next = `x${i + 1}`;
    const [w, b] = [`w${i + 1}`, `b${i + 1}`];
    if (step === 'MatMul') parts.push(weight(w, width, width), node('MatMul', `${current} ${w}`, next));
    else if (step === 'Gemm')
      parts.push(weight(w, width, width), weight(b, width), node('Gemm', `${current} ${w} ${b}`, next, { transB: 1 }));
    else if (step === 'bias') parts.push(weight(b, width), node('Add', `${b} ${current}`, next));
    else if (step === 'LayerNormalization')
      parts.push(weight(w, width), node('LayerNormalization', `${current} ${w}`, next));
    else if (step === 'residual') parts.push(node('Tanh', current, `t${i}`), node('Add', `t${i} ${current}`, next));
    else if (step === 'Split')
      parts.push(
        ints(w, 1, 3),
        node('Split', `${current} ${w}`, `s${i} r${i}`, { axis: 1 }),
        node('Concat', `r${i} s${i}`, next, { axis: 1 }),
      );
    else if (step === 'Unsqueeze')
      parts.push(
        node('Unsqueeze', `${current} one`, `t${i}`),
        node('Relu', `t${i}`, `a${i}`),
        node('Squeeze', `a${i} one`, next),
      );
    else if (step === 'norm by hand')
      parts.push(node('ReduceMean', current, `m${i}`, { axes: [1] }), node('Sub', `${current} m${i}`, next));
    else parts.push(node(step, current, next));
    current = next;
  });
  parts.push(weight('wl', width, width), node('MatMul', `${current} wl`, 'z'));
  if (given.end === 'output') parts.push(node('Relu', 'z', 'y'));
  if (given.end === 'times own') parts.push(node('Mul', 'z own', 'y'));
  if (given.end === 'concatenated') parts.push(node('Concat', 'z own', 'y', { axis: 1 }));
  if (given.end === 'two readers') parts.push(node('Mul', 'z own', 'y'), node('Exp', 'z', 'y2'), output('y2', 2));
  return model([...parts, output('y', 2)]);
}

// ---- running them ------------------------------------------------------------------------------------------------------

interface Tally {
  readonly found: number;
  readonly applied: number;
}

/** Every model against its rewritten form, on two sets of inputs, in one child process. */
function prove(
  models: readonly { bytes: Uint8Array; given: unknown }[],
  target: 'standard' | 'ikbo',
  opset: number | null = null,
): Tally {
  const folder = mkdtempSync(join(tmpdir(), 'ikbo-random-'));
  try {
    const jobs: string[] = [];
    let [found, applied] = [0, 0];
    models.forEach(({ bytes, given }, i) => {
      const source = memorySource(bytes);
      const { outcomes, pieces } = rewriteModel('m', source, { force: true, target, opset });
      found += outcomes.length;
      const done = outcomes.filter(({ reason }) => reason === null);
      applied += done.length;
      if (done.length === 0) return;
      const after = assemble(source, pieces);
      const left = checkModel('m', memorySource(after)).findings.map(({ rule }) => rule);
      const refused = outcomes
        .filter(({ reason, id }) => reason !== null || id === 'project-first')
        .map(({ finding }) => finding.rule);
      for (const rule of left) assert.ok(refused.includes(rule), `${rule} is left of ${JSON.stringify(given)}`);
      const paths = [join(folder, `${i}a.onnx`), join(folder, `${i}b.onnx`)] as const;
      writeFileSync(paths[0], bytes);
      writeFileSync(paths[1], after);
      const analysed = analyse(readModel(source));
      // Different primes, a single source, and no rows at all where the rewrite does not rule that out.
      const sizes = [probeSizes(analysed, false), probeSizes(analysed, true)];
      const always = done.every(({ condition }) => condition === null);
      if (always) sizes.push(probeSizes(analysed, false, { B: 0 }), probeSizes(analysed, false, { B: 3, T: 0, S: 1 }));
      for (const set of sizes) {
        const inputs = probeInputs(analysed, set, i);
        jobs.push(JSON.stringify({ name: JSON.stringify(given), before: paths[0], after: paths[1], inputs }));
      }
    });
    const child = spawnSync(process.execPath, [join(__dirname, 'ort-pairs.cjs')], {
      input: `${jobs.join('\n')}\n`,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    assert.equal(child.status, 0, child.stderr);
    const answers = child.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { name: string; error: number | string });
    assert.equal(answers.length, jobs.length);
    for (const { name, error } of answers) assert.ok(typeof error === 'number' && error < 1e-4, `${name}: ${error}`);
    return { found, applied };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const SEED = Number(process.env['IKBO_SEED'] ?? 7);
const RUNS = Number(process.env['IKBO_RUNS'] ?? 60);

function sample<T>(arbitrary: fc.Arbitrary<T>, build: (given: T) => Uint8Array): { bytes: Uint8Array; given: T }[] {
  return fc.sample(arbitrary, { seed: SEED, numRuns: RUNS }).map((given) => ({ given, bytes: build(given) }));
}

describe('onnx rewrite, random models', function () {
  this.timeout(300_000);
  for (const target of ['standard', 'ikbo'] as const) {
    it(`splits products over concatenations without changing results (${target})`, () => {
      const { found, applied } = prove(sample(linear, linearModel), target);
      assert.ok(found > RUNS * 0.6 && applied > found * 0.8, `${applied} of ${found}`);
    });
  }

  it('lets copies sink below perceptrons without changing results', () => {
    const { found, applied } = prove(sample(perceptron, perceptronModel), 'standard');
    assert.ok(found >= RUNS * 0.8 && applied > found * 0.8, `${applied} of ${found}`);
  });

  it('splits differences and products without changing results', () => {
    const { found, applied } = prove(sample(history, historyModel), 'standard');
    assert.ok(found > RUNS * 0.5 && applied > found * 0.8, `${applied} of ${found}`);
  });

  it('splits products of pairs without changing results', () => {
    const { found, applied } = prove(sample(pairs, pairsModel), 'standard');
    assert.ok(found > RUNS * 0.5 && applied > found * 0.5, `${applied} of ${found}`);
  });

  it('shares heads inside the standard attention without changing results', () => {
    const { found, applied } = prove(sample(attention, attentionModel), 'standard', 23);
    assert.ok(found > RUNS * 0.8 && applied > found * 0.5, `${applied} of ${found}`);
  });

  for (const target of ['standard', 'ikbo'] as const) {
    it(`folds attention without changing results (${target})`, () => {
      const { found, applied } = prove(sample(attention, attentionModel), target);
      assert.ok(found > RUNS * 0.8 && applied > found * 0.5, `${applied} of ${found}`);
    });
  }
});
