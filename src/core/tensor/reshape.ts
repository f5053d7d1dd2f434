/** Reshape: which axes stay, which merge and split, and what that does to their maps. */
import { type Dim, divide, equal, isMultiple, isOne, multiply, product, valueOf } from './dim';
import { ONE_AXIS, axisAt, exactShape, freeAxis, knownAxis, mapAxes, tensor } from './shape';
import { anchored, hiddenRank, isProductOf, keepsLast, keepsOne, keptLast, mayBe } from './kept-axes';
import { grouped, lost, mergeAxes, regroup, splitAxis } from './merged-axes';
import { undivided } from './quotient';
import {
  type Merged,
  type Reshaped,
  amongOnes,
  splitBlocks,
  splitLeading,
  splitRows,
  splitTrailing,
} from './split-copies';
import type { Assumption, Axis, Form, Place, Replica, Tensor } from './value';

/** `sizes` with null for -1 (at most one) is resolved as far as possible. */
export function reshape(t: Tensor, sizes: readonly (Dim | 'rest')[]): Reshaped {
  const uncycled = splitCycle(t, sizes) ?? splitSecond(t, sizes) ?? amongOnes(t, sizes);
  if (uncycled) return uncycled;
  const axes = t.shape.exact ? t.shape.head : null;
  if (!axes) return reshapeUnknown(t, sizes);
  const total = product(axes.map((axis) => axis.dim));
  const others = product(sizes.filter((s): s is Dim => s !== 'rest'));
  const rest = divide(total, others) ?? divide(undivided(total), others) ?? divide(total, undivided(others));
  const copies = rest === null ? splitRows(t, sizes) : null;
  if (copies) return copies;
  const to: Dim[] = sizes.map((s) => (s === 'rest' ? rest : s));
  const assumptions: Assumption[] = [];
  let front = 0;
  while (front < axes.length && front < to.length && equal(axes[front]?.dim ?? null, to[front] ?? null) === true)
    front++;
  let back = 0;
  const fits = (i: number): boolean => {
    const old = axes[axes.length - 1 - i];
    const size = to[to.length - 1 - i];
    return old !== undefined && size !== undefined && equal(old.dim, size) === true;
  };
  const room = (): boolean => front + back < axes.length && front + back < to.length;
  while (room() && fits(back)) back++;
  let from = axes.slice(front, axes.length - back);
  let into = to.slice(front, to.length - back);
  // reshape(b, n, h, d) of n by h * d, whatever b is called: what the others leave is the first axis.
  if (front === 0 && from.length > 1 && into.length > 1 && agreeBehindFirst(from, into)) {
    front = 1;
    from = from.slice(1);
    into = into.slice(1);
  }
  // view(B, N * N, -1): what is merged in the middle says that the axes around it stay.
  if (front === 0 && back === 0 && into.length >= 3 && from.length > into.length) {
    const [inner, merged] = [from.slice(1, -1), into.slice(1, -1)];
    const first = equal(from[0]?.dim ?? null, into[0] ?? null);
    if (first !== false && equal(product(inner.map((axis) => axis.dim)), product(merged)) === true) {
      assumptions.push('first-and-last-axis');
      [front, back, from, into] = [1, 1, inner, merged];
    }
  }
  // view(b, C, h * w) where only C is known to be C: what stands before it stays, whatever that is called.
  if (front === 0 && from.length > into.length) {
    const kept = anchored(from, into, sizes);
    if (kept > 0) {
      assumptions.push('first-axes');
      front = kept;
      from = from.slice(kept);
      into = into.slice(kept);
    }
  }
  // view(-1, K) and view(B, -1): K that cannot be compared is taken to be the last axis, B the first.
  const leading = sizes[front] === 'rest' || isProductOf(into[0] ?? null, from.slice(0, -1));
  if (into.length === 2 && from.length > 2 && leading && back === 0) {
    const last = from[from.length - 1];
    if (last && mayBe(last, into[1] ?? null)) {
      if (sizes[front + 1] !== 'rest') assumptions.push('last-axis');
      back++;
      from = from.slice(0, -1);
      into = into.slice(0, -1);
    }
  } else if (into.length === 2 && from.length > 2 && sizes[front + 1] === 'rest') {
    const first = from[0];
    if (first && equal(first.dim, into[0] ?? null) !== false) {
      front++;
      from = from.slice(1);
      into = into.slice(1);
    }
  } else if (keepsLast(from, sizes.slice(front, sizes.length - back), into)) {
    // view(-1, T, D) of more axes than that.
    assumptions.push('last-axes');
    const kept = into.length - 1;
    back += kept;
    from = from.slice(0, -kept);
    into = into.slice(0, 1);
  } else if (back === 0 && sizes[front] === 'rest' && keepsOne(from, into)) {
    // view(-1, n * s, D) of rows with their copies beside them.
    assumptions.push('last-axis');
    back++;
    from = from.slice(0, -1);
    into = into.slice(0, -1);
  } else if (into.length === from.length && from.length > 0) {
    // Same number of axes, sizes that cannot be compared: the view most likely renames them.
    const pairs = from.every((axis, i) => {
      const size = into[i] ?? null;
      // Rows that are joined or cut.
      const isWidth = axis.replica === null && i === from.length - 1 && sizes[front + i] !== 'rest';
      const isOther = isWidth && (isMultiple(size, axis.dim) || isMultiple(axis.dim, size));
      return equal(axis.dim, size) !== false && !isOther;
    });
    const isPlain = from.every((axis) => axis.replica === null);
    const agrees = equal(product(from.map((axis) => axis.dim)), product(into)) === true;
    const merged =
      (isPlain || agrees) && from.some((a, i) => sizes[front + i] !== 'rest' && isMultiple(into[i] ?? null, a.dim));
    // What is left to -1 is known: sizes that hold together need no other name.
    const isSure = rest !== null && sizes.includes('rest') && into.every((size) => size !== null);
    if (pairs && !merged && !isSure) {
      if (from.some((axis) => axis.replica)) assumptions.push('order-of-axes');
      front += from.length;
      from = [];
      into = [];
    }
  }
  const groups = grouped(from, into);
  const middle: Axis[] = [];
  const origin: (number | null)[] = [];
  const merged: Merged[] = [];
  let crosses = false;
  let at = front;
  for (const group of groups) {
    const made = regroup(group);
    if (group.from.length > 1 && group.to.length === 1)
      merged.push({ first: at, count: group.from.length, to: front + middle.length });
    if (group.from.some((axis) => axis.replica) && !(group.from.length === 1 && group.to.length === 1)) crosses = true;
    middle.push(...made);
    origin.push(...(group.from.length === 1 && group.to.length === 1 ? [at] : group.to.map(() => null)));
    at += group.from.length;
  }
  // A number that the view names says more than the name of a size.
  const keep = (axis: Axis, size: Dim): Axis => ({ ...axis, dim: valueOf(size) === null ? (axis.dim ?? size) : size });
  const head = [
    ...axes.slice(0, front).map((axis, i) => keep(axis, to[i] ?? null)),
    ...middle,
    ...axes.slice(axes.length - back).map((axis, i) => keep(axis, to[to.length - back + i] ?? null)),
  ];
  return {
    shape: exactShape(back === 0 ? [...head.slice(0, front), ...middle] : head),
    origin: [...range(0, front), ...origin, ...range(axes.length - back, axes.length)],
    merged,
    assumptions,
    crosses,
  };
}

/** `x.repeat(1, k, 1).view(b * k, n, -1)`, whatever b is called: what was n before the repeat is n again, the copies are rows. */
function splitSecond(t: Tensor, sizes: readonly (Dim | 'rest')[]): Reshaped | null {
  const [first, second, ...more] = t.shape.exact ? t.shape.head : [];
  const [, size, ...rest] = sizes;
  const map = second?.replica?.map;
  if (!first || !second || map?.kind !== 'cycle' || size === undefined || size === 'rest') return null;
  if (more.length !== rest.length || equal(size, second.dim) === true) return null;
  const copies = divide(second.dim, map.source);
  if (!copies) return null;
  const same = equal(size, map.source);
  if (same === false || (same === null && !areMoreRows(sizes[0], copies))) return null;
  const [times, kept] = splitAxis(second, [copies, map.source]);
  if (!times || !kept) return null;
  const merged = exactShape([mergeAxes([first, times]), kept, ...more]);
  const made = reshape({ ...t, shape: merged }, [sizes[0] ?? null, map.source, ...rest]);
  const assumptions: readonly Assumption[] = same === true ? [] : ['rows-of-copies'];
  return {
    ...made,
    crosses: true,
    origin: made.origin.map((at) => (at !== null && at < 2 ? null : at)),
    assumptions: [...made.assumptions, ...assumptions],
  };
}

/** `b * k`, whatever b is called: what stands behind has the size that it had before it was copied k times. */
const areMoreRows = (rows: Dim | 'rest' | undefined, copies: Dim): boolean =>
  rows !== undefined && rows !== 'rest' && valueOf(copies) === null && isMultiple(rows, copies);

const agreeBehindFirst = (from: readonly Axis[], [, ...into]: readonly Dim[]): boolean =>
  equal(product(from.slice(1).map((axis) => axis.dim)), product(into)) === true;

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

/**
 * `x.repeat(1, k).view(.., D)`: the copies along the last axis become an axis of their own when D is the old width, which
 * is assumed where the two cannot be compared.
 */
function splitCycle(t: Tensor, sizes: readonly (Dim | 'rest')[]): Reshaped | null {
  const last = t.shape.exact ? t.shape.head[t.shape.head.length - 1] : undefined;
  const map = last?.replica?.map;
  if (!last || map?.kind !== 'cycle') return null;
  const [count, given] = sizes.slice(-2);
  // `x.repeat(1, k).view(b, k, -1)`: what is left is the old width.
  const isLeft = given === 'rest' && count !== undefined && count !== 'rest' && isCopies(count, last.dim, map.source);
  const size = isLeft ? map.source : given;
  if (size === undefined || size === 'rest' || size === null) return null;
  const same = equal(size, map.source);
  if (same === false || equal(size, last.dim) === true || t.shape.head.length < 2) return null;
  const copies = divide(last.dim, map.source);
  if (!copies) return null;
  const head = [...t.shape.head.slice(0, -1), ...splitAxis(last, [copies, map.source])];
  const made = reshape({ ...t, shape: exactShape(head) }, [...sizes.slice(0, -1), map.source]);
  const assumptions: readonly Assumption[] = same === true ? [] : ['width-before-repeat'];
  return { ...made, assumptions: [...made.assumptions, ...assumptions] };
}

const isCopies = (count: Dim, extent: Dim, source: Dim): boolean =>
  equal(divide(extent, source), count) === true && !isOne(source);

function reshapeUnknown(t: Tensor, sizes: readonly (Dim | 'rest')[]): Reshaped {
  const uncycled = splitLeading(t, sizes) ?? splitTrailing(t, sizes) ?? splitBlocks(t, sizes);
  if (uncycled) return uncycled;
  const ranked = hiddenRank(t, sizes);
  if (ranked) return reshape(ranked, sizes);
  const { head, tail } = t.shape;
  const axes: Axis[] = sizes.map((size) => freeAxis(size === 'rest' ? null : size));
  const origin: (number | null)[] = axes.map(() => null);
  // The first and last axes stay where the sizes say so.
  let front = 0;
  while (
    front < axes.length &&
    front < head.length &&
    equal(head[front]?.dim ?? null, axes[front]?.dim ?? null) === true
  ) {
    axes[front] = head[front] ?? ONE_AXIS;
    origin[front] = front;
    front++;
  }
  let back = 0;
  while (back < axes.length - front && back < tail.length) {
    const at = axes.length - 1 - back;
    const old = tail[tail.length - 1 - back];
    if (!old || equal(old.dim, axes[at]?.dim ?? null) !== true) break;
    axes[at] = old;
    origin[at] = -1 - back;
    back++;
  }
  const left = [...head.slice(front), ...tail.slice(0, tail.length - back)];
  const assumptions: Assumption[] = [];
  const last = back === 0 && sizes[front] === 'rest' ? keptLast(tail, sizes.slice(front + 1)) : null;
  if (last) {
    assumptions.push(last.length > 1 ? 'last-axes' : 'last-axis');
    last.forEach((axis, i) => {
      axes[front + 1 + i] = axis;
      origin[front + 1 + i] = i - last.length;
    });
    axes[front] = lost(left.filter((axis) => !last.includes(axis)));
  }
  const single = assumptions.length === 0 && axes.length - front - back === 1;
  if (single) axes[front] = lost(left);
  return {
    shape: exactShape(axes),
    origin,
    merged: single && back === 0 ? [{ first: front, count: null, to: front }] : [],
    assumptions,
    crosses: left.some((axis) => axis.replica !== null),
  };
}

/**
 * A value after a reshape, its form reshaped with it: the atoms of a concatenation keep their own widths. `written`
 * marks what a reshape across an expanded axis copies.
 */
export function applyReshape(
  t: Tensor,
  sizes: readonly (Dim | 'rest')[],
  place: Place | null,
  written: (replica: Replica) => Replica,
): Tensor {
  const { shape, origin, merged, assumptions, crosses } = reshape(t, sizes);
  const noted = (replica: Replica): Replica => ({
    ...(crosses ? written(replica) : replica),
    assumptions: [...replica.assumptions, ...assumptions.filter((a) => !replica.assumptions.includes(a))],
  });
  const marked = mapAxes(shape, (axis) => ({ ...axis, replica: axis.replica && noted(axis.replica) }));
  const form = t.form && reshapeForm(t, t.form, sizes, { origin, merged }, place, written);
  const id = tensor(shape).id;
  return { ...t, id, storage: crosses ? id : t.storage, shape: marked, form, place, label: '' };
}

function reshapeForm(
  t: Tensor,
  form: Form,
  sizes: readonly (Dim | 'rest')[],
  { origin, merged }: Pick<Reshaped, 'origin' | 'merged'>,
  place: Place | null,
  written: (replica: Replica) => Replica,
): Form | null {
  const { axis } = form;
  // Blocks of the first of several axes that are merged stay blocks of what those become.
  const group = merged.find(({ first }) => first === axis);
  // Those of a later one lie among the rows of the others, as many times.
  const among = merged.find(
    ({ first, count }) => axis !== null && count !== null && first < axis && axis < first + count,
  );
  const to = axis === null ? null : ((group ?? among)?.to ?? origin.indexOf(axis));
  if (to !== null && to < 0) return null;
  const isLeft = sizes.every((size, i) => i === to || size !== 'rest');
  const count = group?.count ?? null;
  const within =
    group && count ? product(range(group.first + 1, group.first + count).map((i) => axisAt(t, i).dim)) : null;
  const blocks = form.blocks.map((block) => ({
    ...block,
    width: group ? multiply(block.width, within) : among ? null : block.width,
    terms: block.terms.map((term) => ({
      ...term,
      factors: term.factors.map((factor) => {
        const dim = axis === null ? null : (knownAxis(factor.shape, axis)?.dim ?? null);
        // What is left for it, where no other size is.
        const own = among || (group && isLeft) ? 'rest' : group ? multiply(dim, within) : dim;
        const keeps = (i: number): Dim =>
          origin[i] == null ? null : (knownAxis(factor.shape, origin[i])?.dim ?? null);
        const atomSizes = sizes.map((size, i) => (i === to ? own : among && size === 'rest' ? keeps(i) : size));
        return applyReshape(factor, atomSizes, factor.place, written);
      }),
    })),
  }));
  return { ...form, axis: to, blocks, after: place ? [...form.after, place] : form.after };
}
