/**
 * What is known of how a value's rows were made. Along each axis a value is free or a replica of something smaller; along
 * one axis it may be a row of blocks (a concatenation), each block a sum of products of such values. A linear operator
 * works on that form block by block and term by term: that is what the rules look at.
 */
import { type MappedAxis, sameMap } from '../../tensor/axis-map';
import { equal, type Dim } from '../../tensor/dim';
import type { Operator, Value } from '../graph';

/** The operator that replicates, and what. */
export interface Origin {
  readonly operator: Operator;
  readonly data: Value;
  /** The axis of the operator's output, and its rank. */
  readonly axis: number;
  readonly rank: number;
}

export interface Replica {
  readonly kind: 'replica';
  readonly mapped: MappedAxis;
  /** Null when no operator copies: a binary operator that broadcasts while it computes. */
  readonly origin: Origin | null;
  /** Matrix products that the replica has already gone through, in order. */
  readonly sunk: readonly Operator[];
  /** What the single source row is a piece of, while the pieces are handled one by one. */
  readonly piece: Piece | null;
}

/** One row (a single position) of the axis of another value: what Split and SequenceAt give. */
export interface Piece {
  readonly kind: 'piece';
  readonly of: Value;
  readonly axis: number;
  /** Which position: a number, or the loop's iteration count. */
  readonly index: number | Value;
  readonly count: Dim;
}

/** Null is free. */
export type AxisState = Replica | Piece | null;

export interface Atom {
  readonly value: Value;
  readonly axes: readonly AxisState[];
}

/** coefficient * atom * atom ... */
export interface Term {
  readonly coefficient: number;
  readonly atoms: readonly Atom[];
}

export interface Block {
  readonly width: Dim;
  readonly terms: readonly Term[];
}

export interface State {
  /** The axis along which the blocks stand; null when there is one block. */
  readonly axis: number | null;
  readonly blocks: readonly Block[];
}

/** Beyond these a form says nothing that a rewrite could use. */
const MAX_BLOCKS = 64;
const MAX_TERMS = 16;

export function single(value: Value, axes: readonly AxisState[]): State {
  return { axis: null, blocks: [{ width: null, terms: [{ coefficient: 1, atoms: [{ value, axes }] }] }] };
}

export const free = (value: Value, rank: number): State => single(value, Array<AxisState>(rank).fill(null));

const atomsOf = (state: State): Atom[] => state.blocks.flatMap(({ terms }) => terms.flatMap(({ atoms }) => atoms));

/** True when some axis of some atom is not free, so that the state is worth keeping. */
export const isInteresting = (state: State): boolean =>
  state.blocks.length <= MAX_BLOCKS &&
  state.blocks.every(({ terms }) => terms.length <= MAX_TERMS) &&
  atomsOf(state).some(({ axes }) => axes.some((axis) => axis !== null));

/** Applies a change of layout to every atom: all have the value's shape but for the width along the block axis. */
export function mapAxes(
  state: State,
  change: (axes: readonly AxisState[]) => readonly AxisState[],
  axis: number | null,
): State {
  const blocks = state.blocks.map(({ width, terms }) => ({
    width,
    terms: terms.map(({ coefficient, atoms }) => ({
      coefficient,
      atoms: atoms.map(({ value, axes }) => ({ value, axes: change(axes) })),
    })),
  }));
  return { axis: state.axis === null ? null : axis, blocks };
}

/** The axes of the value as a whole: a replica only where every atom is, with the same map. */
export function collapse(state: State): readonly AxisState[] {
  const [first, ...rest] = atomsOf(state);
  if (!first) return [];
  return first.axes.map((axis, i) => {
    if (axis === null || (i === state.axis && state.blocks.length > 1)) return null;
    return rest.every((other) => sameAxis(axis, other.axes[i] ?? null))
      ? preferExplicit(
          axis,
          rest.map(({ axes }) => axes[i] ?? null),
        )
      : null;
  });
}

/** The copy that an operator really makes is the one to report. */
function preferExplicit(axis: AxisState, others: readonly AxisState[]): AxisState {
  if (axis?.kind !== 'replica' || axis.origin) return axis;
  return others.find((other) => other?.kind === 'replica' && other.origin !== null) ?? axis;
}

/** Each block as one atom: what a pointwise operator makes of a form. */
export function perBlock(state: State, value: Value): State {
  if (state.axis === null || state.blocks.length < 2) return single(value, collapse(state));
  const blocks = state.blocks.map((block) => {
    const axes = collapse({ axis: null, blocks: [block] });
    return { width: block.width, terms: [{ coefficient: 1, atoms: [{ value, axes }] }] };
  });
  return { axis: state.axis, blocks };
}

export function sameAxis(a: AxisState, b: AxisState): boolean {
  if (a?.kind !== 'replica' || b?.kind !== 'replica') return false;
  const [x, y] = [a.mapped, b.mapped];
  if (equal(x.extent, y.extent) === false) return false;
  return a === b || sameMap(x.map, y.map);
}
