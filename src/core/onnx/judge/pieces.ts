/** Cutting apart and putting together: concatenations make blocks, and pieces that are repeated one by one make copies. */
import { type MappedAxis } from '../../tensor/axis-map';
import { constant, equal, isOne, multiply, valueOf, type Dim } from '../../tensor/dim';
import { intOf } from '../attributes';
import type { Operator, Value } from '../graph';
import { axisOf } from '../infer/info';
import type { Program } from './program';
import { collapse, free, mapAxes, single, type Replica, type State } from './state';
import { rankOf, shapeOf, type Transfer } from './transfer-type';

export const concat: Transfer = (op, states, program) => {
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

export const split: Transfer = (op, [state], program) => {
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
