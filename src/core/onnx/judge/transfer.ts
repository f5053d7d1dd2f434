/** What each operator does to the states of its inputs. An operator that is not here makes free values. */
import { compose, ALL, OTHER, type MappedAxis } from '../../tensor/axis-map';
import { constant, equal, isOne, multiply, valueOf, type Dim } from '../../tensor/dim';
import { intOf, intsOf, stringOf } from '../attributes';
import type { Operator, Value } from '../graph';
import { axisOf } from '../infer/info';
import { axesOf } from '../infer/shapes';
import { insertAxes, keptAxis, permute, removeAxes, reshapeAxes } from './layout';
import { fillNumber, isManyToOne, isMappingIndex, type Program } from './program';
import { collapse, free, mapAxes, perBlock, sameAxis, single, type AxisState, type Replica, type State } from './state';

/** States of the inputs (null where free) to the states of the outputs. */
export type Transfer = (op: Operator, states: readonly (State | null)[], program: Program) => readonly (State | null)[];

const rankOf = (program: Program, value: Value | null | undefined): number | null =>
  value ? (program.shape(value)?.length ?? null) : null;
const shapeOf = (program: Program, value: Value | null | undefined): readonly Dim[] | null =>
  value ? program.shape(value) : null;

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

const expand: Transfer = (op, [state], program) => {
  const [data] = op.inputs;
  const [out] = op.outputs;
  const [from, to] = [shapeOf(program, data), shapeOf(program, out)];
  if (!data || !out || !from || !to) return [null];
  const lift = to.length - from.length;
  const base = state ?? free(data, from.length);
  const grown = (axes: readonly AxisState[]): AxisState[] =>
    to.map((extent, i) => {
      const before = axes[i - lift] ?? null;
      const source = i < lift ? constant(1) : (from[i - lift] ?? null);
      if (!isOne(source) || isOne(extent)) return before;
      return copied(op, data, i, to.length, { map: ALL, source: constant(1), extent }, before);
    });
  return [mapAxes(base, grown, base.axis === null ? null : base.axis + lift)];
};

/** A replica that the operator writes, of what is known of the single source row. */
function copied(
  operator: Operator,
  data: Value,
  axis: number,
  rank: number,
  mapped: MappedAxis,
  before: AxisState,
): Replica {
  const origin = { operator, data, axis, rank };
  const piece = before?.kind === 'piece' ? before : null;
  return { kind: 'replica', mapped, origin, sunk: before?.kind === 'replica' ? before.sunk : [], piece };
}

const tile: Transfer = (op, [state], program) => {
  const [data, repeats] = op.inputs;
  const [out] = op.outputs;
  const [from, to] = [shapeOf(program, data), shapeOf(program, out)];
  if (!data || !out || !from || !to || !repeats || op.opset < 6) return [null];
  const times = program.infer.of(repeats).data;
  const base = state ?? free(data, from.length);
  if (base.axis !== null && !isOne(times?.[base.axis] ?? null)) return [null];
  const tiled = (axes: readonly AxisState[]): AxisState[] =>
    to.map((extent, i) => {
      const before = axes[i] ?? null;
      const source = from[i] ?? null;
      if (isOne(times?.[i] ?? null)) return before;
      const map = isOne(source) ? ALL : ({ kind: 'cycle', source } as const);
      const mapped: MappedAxis = { map: source ? map : OTHER, source, extent };
      return copied(
        op,
        data,
        i,
        to.length,
        before?.kind === 'replica' ? compose(mapped, before.mapped) : mapped,
        before,
      );
    });
  return [mapAxes(base, tiled, base.axis)];
};

const gather: Transfer = (op, [state], program) => {
  const [data, index] = op.inputs;
  const [from, indexShape] = [shapeOf(program, data), shapeOf(program, index)];
  if (!data || !index || !from || !indexShape) return [null];
  const axis = axisOf(intOf(op, 'axis', 0), from.length);
  if (axis === null) return [null];
  return [gathered(op, program, data, index, axis, indexShape, state ?? null, from)];
};

/** GatherND whose index has one component is a gather along the axis after the batch axes. */
const gatherNd: Transfer = (op, [state], program) => {
  const [data, index] = op.inputs;
  const [from, indexShape] = [shapeOf(program, data), shapeOf(program, index)];
  if (!data || !index || !from || !indexShape || intOf(op, 'batch_dims', 0) !== 0 || !isOne(indexShape.at(-1) ?? null))
    return [null];
  return [gathered(op, program, data, index, 0, indexShape.slice(0, -1), state ?? null, from)];
};

function gathered(
  op: Operator,
  program: Program,
  data: Value,
  index: Value,
  axis: number,
  indexShape: readonly Dim[],
  state: State | null,
  from: readonly Dim[],
): State | null {
  const base = state ?? free(data, from.length);
  if (base.axis === axis) return null;
  const copies = program.isConstant(data)
    ? 'no'
    : isManyToOne(from[axis] ?? null, indexShape.length === 1 ? (indexShape[0] ?? null) : null);
  // Along a later axis positions are selected more often than copied: only proven sizes count there.
  const known = copies === 'yes' || (copies === 'likely' && axis === 0);
  const isCopy = known && from.length >= 2 && isMappingIndex(index);
  const rank = from.length - 1 + indexShape.length;
  const mapped: MappedAxis = {
    map: { kind: 'indexed', index: index.name },
    source: from[axis] ?? null,
    extent: indexShape[0] ?? null,
  };
  const looked = (axes: readonly AxisState[]): AxisState[] => {
    const before = axes[axis] ?? null;
    const middle = indexShape.map((): AxisState => {
      if (isCopy)
        return copied(
          op,
          data,
          axis,
          rank,
          before?.kind === 'replica' ? compose(mapped, before.mapped) : mapped,
          before,
        );
      // Rows of a replica, looked up in any way, are still rows of its source.
      if (before?.kind !== 'replica' || indexShape.length !== 1) return null;
      return { ...before, mapped: compose(mapped, before.mapped) };
    });
    return [...axes.slice(0, axis), ...middle, ...axes.slice(axis + 1)];
  };
  const shift = base.axis !== null && base.axis > axis ? indexShape.length - 1 : 0;
  return mapAxes(base, looked, base.axis === null ? null : base.axis + shift);
}

const concat: Transfer = (op, states, program) => {
  const [out] = op.outputs;
  const rank = rankOf(program, out);
  if (!out || rank === null) return [null];
  const axis = axisOf(intOf(op, 'axis', op.opset < 4 ? 1 : 0), rank);
  if (axis === null) return [null];
  const whole = reassembled(op, states, program, axis);
  if (whole) return [whole];
  const blocks = op.inputs.flatMap((value, i) => {
    if (!value) return [];
    const state = states[i] ?? free(value, rank);
    const width = shapeOf(program, value)?.[axis] ?? null;
    if (state.axis === axis && state.blocks.length > 1) return state.blocks;
    if (state.axis === null && state.blocks[0]) return [{ width, terms: state.blocks[0].terms }];
    return [{ width, terms: [{ coefficient: 1, atoms: [{ value, axes: collapse(state) }] }] }];
  });
  // Along the axis of the concatenation the rows of a block are what they are; the axis as a whole is free.
  const cleared = mapAxes({ axis, blocks }, (axes) => axes.map((state, i) => (i === axis ? null : state)), axis);
  return [cleared];
};

/** Pieces 0..n-1 of one value, each repeated: the value with every row repeated (repeat_interleave, split by split). */
function reassembled(op: Operator, states: readonly (State | null)[], program: Program, axis: number): State | null {
  const [first] = states;
  const sample = first && collapse(first)[axis];
  const piece = sample?.kind === 'replica' ? sample.piece : null;
  if (!piece || sample?.kind !== 'replica' || valueOf(piece.count) !== op.inputs.length) return null;
  const [out] = op.outputs;
  const extent = (out && shapeOf(program, out)?.[axis]) ?? null;
  let even = true;
  for (const [i, state] of states.entries()) {
    const other = state && collapse(state)[axis];
    if (
      other?.kind !== 'replica' ||
      other.piece?.of !== piece.of ||
      other.piece.index !== i ||
      other.mapped.map.kind !== 'all'
    )
      return null;
    even &&= equal(other.mapped.extent, sample.mapped.extent) === true;
  }
  if (!out) return null;
  return repeated(op, out, program, axis, sample, piece, even ? sample.mapped.extent : null, extent);
}

/** The value of which `piece` is a row, with each row repeated `ratio` times (unevenly when null). */
export function repeated(
  op: Operator,
  out: Value,
  program: Program,
  axis: number,
  sample: Replica,
  piece: NonNullable<Replica['piece']>,
  ratio: Dim,
  extent: Dim,
): State | null {
  const rank = rankOf(program, out);
  if (rank === null) return null;
  const map = ratio
    ? ({ kind: 'blocks', ratio } as const)
    : ({ kind: 'indexed', index: `repeat of ${piece.of.name}` } as const);
  const source = piece.count;
  const mapped: MappedAxis = { map, source, extent: ratio ? (multiply(source, ratio) ?? extent) : extent };
  const origin = { operator: op, data: piece.of, axis, rank };
  const replica: Replica = { ...sample, mapped, origin, piece: null };
  return single(
    out,
    Array.from({ length: rank }, (_, i) => (i === axis ? replica : null)),
  );
}

const split: Transfer = (op, [state], program) => {
  const [data] = op.inputs;
  const shape = shapeOf(program, data);
  if (!data || !shape) return [];
  const axis = axisOf(intOf(op, 'axis', 0), shape.length);
  if (axis === null) return [];
  const count = op.outputs.length;
  const base = state ?? free(data, shape.length);
  return op.outputs.map((out, index) => {
    const size = out && (shapeOf(program, out)?.[axis] ?? null);
    if (!out) return null;
    const single_ = isOne(size ?? null) && valueOf(shape[axis] ?? null) === count;
    return single(
      out,
      collapse(base).map((before, i) =>
        i !== axis ? before : single_ ? { kind: 'piece', of: data, axis, index, count: constant(count) } : null,
      ),
    );
  });
};

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
