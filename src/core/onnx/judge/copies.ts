/** The operators that copy: expand, tile, lookups. */
import { compose, ALL, OTHER, type MappedAxis } from '../../tensor/axis-map';
import { constant, isOne, type Dim } from '../../tensor/dim';
import { intOf } from '../attributes';
import type { Operator, Value } from '../graph';
import { axisOf } from '../infer/info';
import { isManyToOne, isMappingIndex, type Program } from './program';
import { isRepeatIndex } from './repeat-index';
import { free, mapAxes, type AxisState, type Replica, type State } from './state';
import { shapeOf, type Transfer } from './transfer-type';

export const expand: Transfer = (op, [state], program) => {
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
export function copied(
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

export const tile: Transfer = (op, [state], program) => {
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

export const gather: Transfer = (op, [state], program) => {
  const [data, index] = op.inputs;
  const [from, indexShape] = [shapeOf(program, data), shapeOf(program, index)];
  if (!data || !index || !from || !indexShape) return [null];
  const axis = axisOf(intOf(op, 'axis', 0), from.length);
  if (axis === null) return [null];
  return [gathered(op, program, data, index, axis, indexShape, state ?? null, from)];
};

/** GatherND whose index has one component is a gather along the axis after the batch axes. */
export const gatherNd: Transfer = (op, [state], program) => {
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
    : isRepeatIndex(index)
      ? 'yes'
      : isManyToOne(from[axis] ?? null, indexShape.length === 1 ? (indexShape[0] ?? null) : null);
  // Along a later axis positions are selected more often than copied: only proven sizes count there.
  const known = copies === 'yes' || (copies === 'likely' && axis === 0);
  const isCopy = known && from.length >= 2 && (isRepeatIndex(index) || isMappingIndex(index, copies === 'yes'));
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
