/**
 * Shape operators that copy nothing: where each axis goes. A view is applied to a value and, axis by axis in the same
 * way, to the atoms of its form, so that a concatenation can be reshaped and still be known block by block.
 */
import { type Dim, ONE, equal, multiply, product } from './dim';
import { lost, mergeAxes } from './merged-axes';
import {
  ONE_AXIS,
  UNKNOWN_SHAPE,
  axisAt,
  exactShape,
  freeAxis,
  knownAxis,
  mapAxes,
  position,
  rankOf,
  reaching,
  tensor,
  withRank,
} from './shape';
import type { Axis, Block, Form, Place, Shape, Tensor } from './value';

/** A view: the new shape of a tensor, and where the form's axis went (null: it is not one axis any more). */
export interface View {
  readonly shape: (t: Tensor) => Shape | null;
  readonly axis: (at: number, t: Tensor) => number | null;
  /** Into how many positions each one of the form's axis is spread, where other axes are merged with it. */
  readonly within?: (at: number, t: Tensor) => Dim;
  /** By how much axes beyond the recorded ones move, counted from the front and from the back. */
  readonly shift?: readonly [front: number, back: number];
  /** Puts in an axis of size 1. */
  readonly raises?: true;
}

/** The value seen through a view: same storage, maps and form carried along. */
export function applyView(t: Tensor, view: View, place: Place | null): Tensor {
  const shape = view.shape(t) ?? UNKNOWN_SHAPE;
  const form = t.form && viewForm(t, t.form, view, place);
  const { id } = tensor(shape);
  const raised = view.raises && !t.shape.exact ? { as: id, of: t } : null;
  return { ...t, id, shape, form, place, label: '', base: baseOf(t, view.shift), raised };
}

function baseOf(t: Tensor, shift: View['shift']): Tensor['base'] {
  if (!shift || t.shape.exact) return null;
  const base = t.base ?? { id: t.id, label: t.label, front: 0, back: 0 };
  return { ...base, front: base.front + shift[0], back: base.back + shift[1] };
}

function viewForm(t: Tensor, form: Form, view: View, place: Place | null): Form | null {
  const axis = form.axis === null ? null : view.axis(form.axis, t);
  if (form.axis !== null && axis === null) return null;
  const within = form.axis === null || !view.within ? ONE : view.within(form.axis, t);
  const blocks: Block[] = [];
  for (const block of form.blocks) {
    const width = within === ONE ? block.width : multiply(block.width, within);
    const terms = block.terms.map((term) => ({
      ...term,
      factors: term.factors.map((factor) => applyView(factor, view, factor.place)),
    }));
    blocks.push({ ...block, width, terms });
  }
  return { ...form, axis, blocks, after: place ? [...form.after, place] : form.after };
}

export function unsqueeze(axis: number): View {
  return {
    raises: true,
    shift: axis >= 0 ? [1, 0] : [0, 1],
    shape: (t) => {
      const rank = rankOf(t.shape);
      if (rank !== null) return exactShape(inserted(t.shape.head, axis < 0 ? axis + rank + 1 : axis));
      if (axis >= 0) {
        const shape = reaching(t, axis - 1);
        return { ...shape, head: inserted(shape.head, axis) };
      }
      const shape = axis === -1 ? t.shape : reaching(t, axis + 1);
      return { ...shape, tail: inserted(shape.tail, shape.tail.length + axis + 1) };
    },
    axis: (at, t) => {
      const rank = rankOf(t.shape);
      const where = rank !== null && axis < 0 ? axis + rank + 1 : axis;
      if (at >= 0) return where >= 0 ? (where <= at ? at + 1 : at) : at;
      return where < 0 ? (where < at + 1 ? at : at - 1) : at;
    },
  };
}

const inserted = (axes: readonly Axis[], at: number): Axis[] => [...axes.slice(0, at), ONE_AXIS, ...axes.slice(at)];

export function squeeze(axis: number): View {
  const removable = (t: Tensor): boolean => {
    const known = knownAxis(t.shape, axis);
    return known === null || known.dim === null || equal(known.dim, ONE) !== false;
  };
  return {
    shift: axis >= 0 ? [-1, 0] : [0, -1],
    shape: (t) => {
      const shape = reaching(t, axis);
      const at = position(shape, axis);
      if (at === null) return null;
      if (!removable(t)) return shape;
      if (at >= 0) return { ...shape, head: shape.head.filter((_, i) => i !== at) };
      return { ...shape, tail: shape.tail.filter((_, i) => i !== shape.tail.length + at) };
    },
    axis: without(axis),
  };
}

export function transpose(a: number, b: number): View {
  const places = (t: Tensor): [number, number] | null => {
    const first = position(t.shape, a);
    const second = position(t.shape, b);
    return first === null || second === null ? null : [first, second];
  };
  return {
    shape: (t) => {
      const at = places(t);
      if (!at) return null;
      const [first, second] = at;
      const shape = reaching({ ...t, shape: reaching(t, first) }, second);
      if (first < 0 !== second < 0) return acrossRank(shape, Math.max(first, second), Math.min(first, second));
      const swap = (axes: readonly Axis[], offset: number): Axis[] =>
        axes.map((axis, i) => {
          const here = i - offset;
          const other = here === first ? second : here === second ? first : here;
          return axes[other + offset] ?? axis;
        });
      return first >= 0
        ? { ...shape, head: swap(shape.head, 0) }
        : { ...shape, tail: swap(shape.tail, shape.tail.length) };
    },
    axis: (at, t) => {
      const where = places(t);
      if (!where) return null;
      if (at === where[0] || at === where[1]) return at === where[0] ? where[1] : where[0];
      // Of an unknown rank, an axis counted from the front may be one of the last: the channels of [B, C, N].
      const [least, most] = [Math.min(...where), Math.max(...where)];
      return least < 0 && (at > Math.max(most, 0) || (most >= 0 && at < least)) ? null : at;
    },
  };
}

/** `x.transpose(1, -1)` of an unknown rank: two axes. What is recorded beyond them may be the same axes once more. */
function acrossRank({ head, tail }: Shape, front: number, back: number): Shape {
  const kept = { head: head.slice(0, front + 1), tail: tail.slice(tail.length + back) };
  return {
    exact: false,
    head: kept.head.map((axis, i) => (i === front ? (kept.tail[0] ?? axis) : axis)),
    tail: kept.tail.map((axis, i) => (i === 0 ? (kept.head[front] ?? axis) : axis)),
  };
}

export function permute(order: readonly number[]): View {
  const rank = order.length;
  const front = order.map((axis) => (axis < 0 ? axis + rank : axis));
  return {
    shape: (t) => {
      const shape = withRank(t, rank);
      return shape && exactShape(front.map((axis) => shape.head[axis] ?? freeAxis(null)));
    },
    axis: (at) => {
      const to = front.indexOf(at < 0 ? at + rank : at);
      return to < 0 ? null : to;
    },
  };
}

/** Picks part of an axis: `narrow`, a slice. What is constant along the axis stays constant. */
export function narrow(axis: number, size: Dim): View {
  const change = (old: Axis): Axis => ({
    dim: size,
    // A part of gathered rows need not hold any row twice.
    replica:
      old.replica && old.replica.map.kind !== 'indexed'
        ? { ...old.replica, extent: size, map: old.replica.map.kind === 'all' ? old.replica.map : { kind: 'other' } }
        : null,
  });
  return {
    shift: [0, 0],
    shape: (t) => {
      const shape = reaching(t, axis);
      const at = position(shape, axis);
      return at === null ? null : mapAxes(shape, (old, i) => (i === at ? change(old) : old));
    },
    axis: (at, t) => (position(t.shape, axis) === at ? null : at),
  };
}

/** Removes an axis by picking one position. */
export function select(axis: number): View {
  return {
    shift: axis >= 0 ? [-1, 0] : [0, -1],
    shape: (t) => {
      const shape = reaching(t, axis);
      const at = position(shape, axis);
      if (at === null) return null;
      if (at >= 0) return { ...shape, head: shape.head.filter((_, i) => i !== at) };
      return { ...shape, tail: shape.tail.filter((_, i) => i !== shape.tail.length + at) };
    },
    axis: without(axis),
  };
}

/** Where an axis goes when another one disappears. */
function without(axis: number): View['axis'] {
  return (at, t) => {
    const where = position(t.shape, axis);
    if (where === null || where === at) return null;
    if (at >= 0) return where >= 0 && where < at ? at - 1 : at;
    return where < 0 && where > at ? at + 1 : at;
  };
}

/** flatten(start, end): merges neighbouring axes. */
export function flatten(start: number, end: number): View {
  const range = (t: Tensor): [number, number] | null => {
    const first = position(t.shape, start);
    const last = position(t.shape, end);
    return first === null || last === null || first < 0 || last < 0 ? null : [first, last];
  };
  return {
    shape: (t) => {
      const at = range(t);
      if (at) {
        const shape = reaching(t, at[1]);
        return {
          ...shape,
          head: [
            ...shape.head.slice(0, at[0]),
            mergeAxes(shape.head.slice(at[0], at[1] + 1)),
            ...shape.head.slice(at[1] + 1),
          ],
        };
      }
      // Rank unknown, axes counted from the back.
      if (start < 0 && end < 0 && !t.shape.exact) {
        const { head, tail } = reaching(t, start);
        const [from, to] = [tail.length + start, tail.length + end + 1];
        return {
          exact: false,
          head,
          tail: [...tail.slice(0, from), mergeAxes(tail.slice(from, to)), ...tail.slice(to)],
        };
      }
      // Rank unknown, from the front up to an axis counted from the back: only what lies outside is known.
      if (start < 0 || t.shape.exact) return null;
      const shape = reaching(t, start);
      const inside = [...shape.head.slice(start), ...shape.tail.slice(0, shape.tail.length + end + 1)];
      return {
        exact: end === -1,
        head: [...shape.head.slice(0, start), lost(inside)],
        tail: end === -1 ? [] : shape.tail.slice(shape.tail.length + end + 1),
      };
    },
    axis: (at, t) => {
      const where = range(t);
      if (!where && start < 0 && at < 0)
        return at > end ? at : at === start ? end : at < start ? at + end - start : null;
      if (!where) return at >= 0 && at <= start ? at : at < 0 && at > end ? at : null;
      const [first, last] = where;
      if (at < 0) return at;
      // Blocks of the first axis that is merged stay blocks of what it becomes; those of a later one lie among its rows.
      return at <= first ? at : at > last ? at - (last - first) : first === 0 ? first : null;
    },
    within: (at, t) => {
      const [first, last] = range(t) ?? [start, end];
      if (at !== first) return at > first && at <= last ? null : ONE;
      if (first >= 0 !== last >= 0) return null;
      return product(Array.from({ length: last - first }, (_, i) => axisAt(t, first + 1 + i).dim));
    },
  };
}
