/**
 * How position i of a replicated axis finds its source row. A map is a layout fact: it survives views and row-wise
 * operators, and it is what a kernel applies instead of the copy.
 */
import { type Dim, ONE, divide, equal, isOne, multiply, product } from './dim';

export type AxisMap =
  /** Every position reads row 0: expand, broadcasting, repeat of an axis of size 1. */
  | { readonly kind: 'all' }
  /** i // ratio: repeat_interleave, `unsqueeze(k).expand` merged with the axis before it. */
  | { readonly kind: 'blocks'; readonly ratio: Dim }
  /** i mod source: repeat, tile, an expanded axis merged with the axis after it. */
  | { readonly kind: 'cycle'; readonly source: Dim }
  /** idx[i], the index named as in the source text: index_select, `x[idx]`. `isList`: a list or tuple of Python, no tensor. */
  | { readonly kind: 'indexed'; readonly index: string; readonly isList?: boolean }
  /** Many-to-one, but none of the above: still a replica, never rewritten. `parts`: of which axes it was merged. */
  | { readonly kind: 'other'; readonly parts?: readonly MergeAxis[] };

export const ALL: AxisMap = { kind: 'all' };
export const OTHER: AxisMap = { kind: 'other' };

/** A map together with the size of the axis that it reads and of the one that it makes. */
export interface MappedAxis {
  readonly map: AxisMap;
  readonly source: Dim;
  readonly extent: Dim;
}

/** The axis that reads `inner` through `outer`: position i reads inner.map(outer.map(i)). */
export function compose(outer: MappedAxis, inner: MappedAxis): MappedAxis {
  return { map: composeMaps(outer.map, inner), source: inner.source, extent: outer.extent };
}

function composeMaps(outer: AxisMap, inner: MappedAxis): AxisMap {
  const { map } = inner;
  if (map.kind === 'all') return ALL;
  // Row 0 of blocks and cycles is row 0 of their source.
  if (outer.kind === 'all') return map.kind === 'blocks' || map.kind === 'cycle' ? ALL : OTHER;
  if (outer.kind === 'blocks' && map.kind === 'blocks') {
    const ratio = multiply(outer.ratio, map.ratio);
    return ratio ? { kind: 'blocks', ratio } : OTHER;
  }
  // i mod t mod s = i mod s when s divides t, and t is a whole number of cycles of the inner axis.
  if (outer.kind === 'cycle' && map.kind === 'cycle' && divide(outer.source, map.source)) return map;
  if (outer.kind === 'indexed' && map.kind === 'indexed') {
    return { kind: 'indexed', index: `${map.index}[${outer.index}]` };
  }
  return OTHER;
}

/** Do both find the same row for every position, as far as is known? Of what is none of the kinds nothing is. */
export function sameMap(a: AxisMap, b: AxisMap): boolean {
  switch (a.kind) {
    case 'all':
      return b.kind === 'all';
    case 'blocks':
      return b.kind === 'blocks' && equal(a.ratio, b.ratio) === true;
    case 'cycle':
      return b.kind === 'cycle' && equal(a.source, b.source) === true;
    case 'indexed':
      return b.kind === 'indexed' && a.index === b.index;
    case 'other':
      return false;
  }
}

/** An axis before merging: its size and, if it is a replica, its map. */
export interface MergeAxis {
  readonly extent: Dim;
  readonly mapped: MappedAxis | null;
}

/**
 * Merges two neighbouring axes, `before` the outer one: position i is (i // after.extent, i mod after.extent).
 * Null when neither is a replica.
 */
export function merge(before: MergeAxis, after: MergeAxis): MappedAxis | null {
  if (!before.mapped && !after.mapped) return null;
  const extent = multiply(before.extent, after.extent);
  const make = (map: AxisMap, source: Dim): MappedAxis => ({ map, source, extent });
  if (isOne(after.extent) && !after.mapped) return before.mapped && { ...before.mapped, extent };
  if (isOne(before.extent) && !before.mapped) return after.mapped && { ...after.mapped, extent };
  const first = before.mapped?.map;
  const second = after.mapped?.map;
  if (first?.kind === 'all' && second?.kind === 'all') return make(ALL, ONE);
  if (!first && second?.kind === 'all') return make({ kind: 'blocks', ratio: after.extent }, before.extent);
  if (!second && first?.kind === 'all') return make({ kind: 'cycle', source: after.extent }, after.extent);
  if (first?.kind === 'blocks' && second?.kind === 'all' && before.mapped) {
    const ratio = multiply(first.ratio, after.extent);
    return make(ratio ? { kind: 'blocks', ratio } : OTHER, before.mapped.source);
  }
  if (first?.kind === 'all' && second?.kind === 'cycle') return make(second, second.source);
  return make({ kind: 'other', parts: [...partsOf(before), ...partsOf(after)] }, null);
}

const partsOf = (axis: MergeAxis): readonly MergeAxis[] =>
  (axis.mapped?.map.kind === 'other' && axis.mapped.map.parts) || [axis];

const whole = ([first, ...rest]: readonly MergeAxis[]): MappedAxis | null =>
  rest.reduce(
    (before, after) => ({ extent: multiply(before.extent, after.extent), mapped: merge(before, after) }),
    first ?? { extent: ONE, mapped: null },
  ).mapped;

/** Cut where two of the axes meet that it was merged of. */
function apart(parts: readonly MergeAxis[], before: Dim, after: Dim): ReturnType<typeof split> | null {
  for (let at = 1; at < parts.length; at++) {
    const [front, back] = [parts.slice(0, at), parts.slice(at)];
    const isFront = equal(product(front.map(({ extent }) => extent)), before);
    const isBack = equal(product(back.map(({ extent }) => extent)), after);
    if (isFront !== false && isBack !== false && (isFront ?? isBack))
      return { before: whole(front), after: whole(back) };
  }
  return null;
}

/**
 * Splits an axis into (before, after) with `after.extent` known: the reverse of merging. Null where the map does not
 * follow the split; then the parts are free.
 */
export function split(
  axis: MappedAxis,
  before: Dim,
  after: Dim,
): { before: MappedAxis | null; after: MappedAxis | null } {
  const { map } = axis;
  const all = (extent: Dim): MappedAxis => ({ map: ALL, source: ONE, extent });
  if (map.kind === 'all') return { before: all(before), after: all(after) };
  const parts = map.kind === 'other' && map.parts ? apart(map.parts, before, after) : null;
  if (parts) return parts;
  if (map.kind === 'blocks') {
    if (equal(map.ratio, after) === true) return { before: null, after: all(after) };
    // i // r with r = k * after: the outer part keeps blocks of k, the inner part is constant.
    const rest = divide(map.ratio, after);
    if (rest && !isOne(rest)) {
      return {
        before: { map: { kind: 'blocks', ratio: rest }, source: axis.source, extent: before },
        after: all(after),
      };
    }
    // Copies that lie next to each other do so in the inner part, however many of them are in it.
    if (after && equal(map.ratio, after) === null)
      return { before: null, after: { map: OTHER, source: null, extent: after } };
  }
  if (map.kind === 'cycle') {
    if (equal(map.source, after) === true) return { before: all(before), after: null };
    // i mod s with s a divisor of `after`: the outer part is constant, the inner part cycles.
    if (divide(after, map.source)) {
      return { before: all(before), after: { map, source: axis.source, extent: after } };
    }
  }
  return { before: null, after: null };
}

/** For tests and messages: the source row of position i, given numbers. Null for maps that are not arithmetic. */
export function rowOf(map: AxisMap, i: number, number: (dim: Dim) => number): number | null {
  switch (map.kind) {
    case 'all':
      return 0;
    case 'blocks':
      return Math.floor(i / number(map.ratio));
    case 'cycle':
      return i % number(map.source);
    default:
      return null;
  }
}
