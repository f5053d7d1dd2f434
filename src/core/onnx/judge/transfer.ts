/** What each operator does to the states of its inputs. An operator that is not here makes free values. */
import { ALL } from '../../tensor/axis-map';
import { constant, equal, isOne, valueOf } from '../../tensor/dim';
import { intOf, intsOf, stringOf } from '../attributes';
import type { Operator, Value } from '../graph';
import { axisOf } from '../infer/info';
import { axesOf } from '../infer/shapes';
import { copied, expand, gather, gatherNd, tile } from './copies';
import { insertAxes, keptAxis, permute, removeAxes, reshapeAxes } from './layout';
import { concat, split } from './pieces';
import { fillNumber, type Program } from './program';
import { collapse, mapAxes, perBlock, sameAxis, single, type AxisState, type State } from './state';
import { rankOf, shapeOf, type Transfer } from './transfer-type';

/** Every element by itself: replicas stay, block by block. */
const pointwise: Transfer = (op, [state]) => {
  const [out] = op.outputs;
  return [state && out ? perBlock(state, out) : null];
};

/** Changes values but keeps sums: a cast. */
const same: Transfer = (_op, [state]) => [state ?? null];

/** Mixes along one axis or all from it on (softmax, normalization): rows stay rows, blocks along it are mixed. */
const normalizing =
  (fromAxis: boolean): Transfer =>
  (op, [state], program) => {
    const [out] = op.outputs;
    const rank = rankOf(program, out);
    if (!state || !out || rank === null) return [null];
    const axis = axisOf(intOf(op, 'axis', -1), rank) ?? 0;
    const mixed = (i: number): boolean => (fromAxis ? i >= axis : i === axis);
    if (state.axis !== null && mixed(state.axis)) return [single(out, collapse(state))];
    return [perBlock(state, out)];
  };

const transpose: Transfer = (op, [state], program) => {
  const rank = rankOf(program, op.inputs[0]);
  if (!state || rank === null) return [null];
  const order = intsOf(op, 'perm') ?? Array.from({ length: rank }, (_, i) => rank - 1 - i);
  return [mapAxes(state, (axes) => permute(axes, order), state.axis === null ? null : order.indexOf(state.axis))];
};

/** Reshape, Flatten, Squeeze, Unsqueeze with known shapes on both sides. */
const reshape: Transfer = (op, [state], program) => {
  const [from, to] = [shapeOf(program, op.inputs[0]), shapeOf(program, op.outputs[0])];
  const [out] = op.outputs;
  if (!state || !from || !to || !out) return [null];
  if (state.axis === null) return [mapAxes(state, (axes) => reshapeAxes(axes, from, to), null)];
  const axis = keptAxis(from, to, state.axis);
  if (axis === null) return [single(out, reshapeAxes(collapse(state), from, to))];
  return [mapAxes(state, (axes) => reshapeAxes(axes, from, to), axis)];
};

const unsqueeze: Transfer = (op, [state], program) => {
  const rank = rankOf(program, op.outputs[0]);
  const axes = axesOf(op, op.inputs[1] ? program.infer.of(op.inputs[1]) : null);
  if (!state || rank === null || !axes) return [null];
  const at = new Set(axes.flatMap((axis) => axisOf(axis, rank) ?? []));
  const kept = Array.from({ length: rank }, (_, i) => i).filter((i) => !at.has(i));
  return [mapAxes(state, (before) => insertAxes(before, at), state.axis === null ? null : (kept[state.axis] ?? null))];
};

const squeeze: Transfer = (op, [state], program) => {
  const shape = shapeOf(program, op.inputs[0]);
  if (!state || !shape) return [null];
  const named = axesOf(op, op.inputs[1] ? program.infer.of(op.inputs[1]) : null);
  const gone = new Set(
    named
      ? named.flatMap((axis) => axisOf(axis, shape.length) ?? [])
      : shape.flatMap((dim, i) => (isOne(dim) ? [i] : [])),
  );
  return [mapAxes(state, (axes) => removeAxes(axes, gone), state.axis === null ? null : shiftDown(state.axis, gone))];
};

const shiftDown = (axis: number, gone: ReadonlySet<number>): number => axis - [...gone].filter((i) => i < axis).length;

const slice: Transfer = (op, [state], program) => {
  const [out] = op.outputs;
  const [from, to] = [shapeOf(program, op.inputs[0]), shapeOf(program, out)];
  if (!state || !out || !from || !to || from.length !== to.length) return [null];
  const axes = collapse(state).map((before, i): AxisState => {
    if (equal(from[i] ?? null, to[i] ?? null) === true) return before;
    if (before?.kind !== 'replica' || before.mapped.map.kind !== 'all' || isOne(to[i] ?? null)) return null;
    return { ...before, mapped: { ...before.mapped, extent: to[i] ?? null } };
  });
  return [single(out, axes)];
};

/** Reductions: the reduced axes go, the rest stays. */
const reduce: Transfer = (op, [state], program) => {
  const shape = shapeOf(program, op.inputs[0]);
  const [out] = op.outputs;
  if (!state || !shape || !out) return [null];
  const named = axesOf(op, op.inputs[1] ? program.infer.of(op.inputs[1]) : null);
  if (op.inputs[1] && !named) return [null];
  const gone = new Set(
    named?.length ? named.flatMap((axis) => axisOf(axis, shape.length) ?? []) : shape.map((_, i) => i),
  );
  const axes = collapse(state).map((axis, i) => (gone.has(i) ? null : axis));
  return [single(out, intOf(op, 'keepdims', 1) ? axes : removeAxes(axes, gone))];
};

/** Operators with NumPy broadcasting that are neither linear nor products. */
const broadcasting: Transfer = (op, states, program) => {
  const axes = broadcastAxes(op, states, program, false);
  const [out] = op.outputs;
  return [axes && out ? single(out, axes) : null];
};

/** The state of every output axis, from the operands' states on it; null when shapes are unknown. */
export function broadcastAxes(
  op: Operator,
  states: readonly (State | null)[],
  program: Program,
  copies: boolean,
): AxisState[] | null {
  const to = shapeOf(program, op.outputs[0]);
  if (!to) return null;
  const operands = op.inputs.flatMap((value, i) => {
    if (!value) return [];
    const shape = program.shape(value);
    return [{ value, shape, axes: states[i] ? collapse(states[i]) : null }];
  });
  if (operands.some(({ shape }) => !shape)) return null;
  return to.map((extent, i): AxisState => {
    if (isOne(extent)) return null;
    let found: AxisState = null;
    let neutral: Value | null = null;
    for (const { value, shape, axes } of operands) {
      const at = i - (to.length - (shape?.length ?? 0));
      const size = at < 0 ? constant(1) : (shape?.[at] ?? null);
      if (isOne(size)) {
        neutral ??= value;
        continue;
      }
      const axis = axes?.[at] ?? null;
      // A constant number in every element (ones, zeros) gives the result its size and nothing else.
      const fills = axis === null && copies && fillNumber(program, value) !== null;
      if (fills) continue;
      if (axis === null || (found && !sameAxis(found, axis))) return null;
      found = axis;
    }
    if (found || !neutral || !copies) return found;
    return copied(op, neutral, i, to.length, { map: ALL, source: constant(1), extent }, null);
  });
}

/** Mixes all axes but the batch. */
const batchOnly: Transfer = (op, [state]) => {
  const [out] = op.outputs;
  return [
    state && out
      ? single(
          out,
          collapse(state).map((axis, i) => (i === 0 ? axis : null)),
        )
      : null,
  ];
};

const conv: Transfer = (op, states, program) => {
  const [state] = states;
  const [out] = op.outputs;
  if (!state || !out) return [null];
  const plain = isPointConvolution(op, program);
  return [
    single(
      out,
      collapse(state).map((axis, i) => (i === 0 || (plain && i > 1) ? axis : null)),
    ),
  ];
};

/** A convolution that is a matrix product: kernel 1, stride 1, no padding, one group. */
export function isPointConvolution(op: Operator, program: Program): boolean {
  const kernel =
    intsOf(op, 'kernel_shape') ??
    shapeOf(program, op.inputs[1])
      ?.slice(2)
      .map((dim) => valueOf(dim) ?? 0);
  const ones = (name: string): boolean => (intsOf(op, name) ?? []).every((value) => value === 1);
  const unpadded = (intsOf(op, 'pads') ?? []).every((value) => value === 0);
  const valid = stringOf(op, 'auto_pad', 'NOTSET');
  return (
    (kernel?.every((size) => size === 1) ?? false) &&
    ones('strides') &&
    unpadded &&
    intOf(op, 'group', 1) === 1 &&
    valid !== ''
  );
}

const all = (transfer: Transfer, names: string): [string, Transfer][] =>
  names.split(' ').map((name) => [name, transfer]);

export const TRANSFERS = new Map<string, Transfer>([
  ...all(same, 'Identity Cast CastLike Dropout'),
  ...all(
    pointwise,
    'Relu Sigmoid Tanh LeakyRelu Elu Selu Celu Gelu Mish HardSigmoid HardSwish Swish Softplus Softsign ThresholdedRelu Clip ' +
      'Sqrt Exp Log Erf Abs Sign Reciprocal Cos Sin Tan Neg Floor Ceil Round Not IsNaN QuantizeLinear DequantizeLinear BatchNormalization',
  ),
  ...all(normalizing(false), 'Softmax LogSoftmax'),
  ...all(normalizing(true), 'LayerNormalization RMSNormalization SimplifiedLayerNormalization'),
  ...all(transpose, 'Transpose'),
  ...all(reshape, 'Reshape Flatten'),
  ...all(unsqueeze, 'Unsqueeze'),
  ...all(squeeze, 'Squeeze'),
  ...all(expand, 'Expand'),
  ...all(tile, 'Tile'),
  ...all(gather, 'Gather'),
  ...all(gatherNd, 'GatherND'),
  ...all(concat, 'Concat'),
  ...all(split, 'Split'),
  ...all(slice, 'Slice'),
  ...all(
    reduce,
    'ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSumExp ReduceSumSquare',
  ),
  ...all(
    broadcasting,
    'Pow Max Min Mod Where Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor PRelu BiasGelu FastGelu',
  ),
  ...all(conv, 'Conv'),
  ...all(batchOnly, 'MaxPool AveragePool GlobalAveragePool GlobalMaxPool InstanceNormalization'),
]);
