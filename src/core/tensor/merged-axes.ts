/** Axes that are merged with others, and those that are split: what that does to their maps. */
import { type MappedAxis, type MergeAxis, OTHER, merge, split } from './axis-map';
import { type Dim, divide, equal, isOne, product } from './dim';
import { ONE_AXIS, freeAxis, remapped } from './shape';
import type { Axis, Replica } from './value';

export function mergeAxes(axes: readonly Axis[]): Axis {
  const [first, ...rest] = axes;
  if (!first) return ONE_AXIS;
  return rest.reduce((before, after) => {
    const dim = product([before.dim, after.dim]);
    const mapped = merge(asMerge(before), asMerge(after));
    const replica = before.replica ? besides(before.replica, after.replica) : after.replica;
    // Which of two copies a part holds is not told apart.
    const isMixed = before.replica !== null && after.replica !== null && mapped?.map.kind === 'other';
    const made = isMixed ? { ...mapped, map: OTHER } : mapped;
    return { dim, replica: made && replica ? remapped(replica, made) : null };
  }, first);
}

/** Copies along one axis of copies along another one: both are in the rows that the two become. */
const besides = (replica: Replica, other: Replica | null): Replica =>
  other && (other.origin.start !== replica.origin.start || other.origin.path !== replica.origin.path)
    ? { ...replica, also: [...replica.also, other] }
    : replica;

const asMerge = (axis: Axis): { extent: Dim; mapped: MappedAxis | null } => ({
  extent: axis.dim,
  mapped: axis.replica,
});

/** Axes merged in an unknown order: still many-to-one if one of them was. */
export function lost(axes: readonly Axis[]): Axis {
  const replica = axes.find((axis) => axis.replica)?.replica ?? null;
  return { dim: null, replica: replica && { ...replica, map: { kind: 'other' }, source: null, extent: null } };
}

/** What a reshape does to groups of axes: `from` old ones become `to` new ones. */
interface Group {
  readonly from: readonly Axis[];
  readonly to: readonly Dim[];
}

/** Cuts into the smallest groups whose products agree. */
export function grouped(from: readonly Axis[], to: readonly Dim[]): Group[] {
  const groups: Group[] = [];
  let i = 0;
  let j = 0;
  while (i < from.length || j < to.length) {
    let a = i + 1;
    let b = j + 1;
    while (a <= from.length && b <= to.length) {
      const left = product(from.slice(i, a).map((axis) => axis.dim));
      const right = product(to.slice(j, b));
      if (equal(left, right) === true) break;
      if (left && right && divide(right, left)) a++;
      else if (left && right && divide(left, right)) b++;
      else {
        a = from.length + 1;
      }
    }
    if (a > from.length || b > to.length) {
      groups.push({ from: from.slice(i), to: to.slice(j) });
      break;
    }
    groups.push({ from: from.slice(i, a), to: to.slice(j, b) });
    i = a;
    j = b;
  }
  return groups;
}

export function regroup({ from, to }: Group): readonly Axis[] {
  const [only] = from;
  const [size] = to;
  if (from.length === 0) return to.map((dim) => freeAxis(dim));
  if (to.length === 1 && only && size !== undefined) {
    const merged = mergeAxes(from);
    return [{ ...merged, dim: merged.dim ?? size }];
  }
  if (from.length === 1 && only) return splitAxis(only, to);
  const parts = from.flatMap(copiesApart);
  if (parts.length > from.length) return grouped(parts, to).flatMap(regroup);
  // Several into several, unaligned. Merge, then split: right whenever the products are known.
  return splitAxis(mergeAxes(from), to);
}

/** An axis of whole copies one after the other, or of rows with their copies behind them, as the two axes that it is made of. */
function copiesApart(axis: Axis): readonly Axis[] {
  const { replica } = axis;
  const source = replica?.map.kind === 'cycle' ? replica.map.source : (replica?.source ?? null);
  const count = replica && divide(axis.dim, source);
  if (!count || isOne(source)) return [axis];
  if (replica.map.kind === 'cycle') return splitAxis(axis, [count, source]);
  return replica.map.kind === 'blocks' ? splitAxis(axis, [source, count]) : [axis];
}

/** As many axes as it was merged of, one of them of its size for sure: those again, whatever the sizes of the others are called. */
function partsFor({ map }: Replica, to: readonly Dim[]): readonly MergeAxis[] | null {
  const parts = map.kind === 'other' ? map.parts : undefined;
  if (parts?.length !== to.length) return null;
  const same = parts.map(({ extent }, i) => equal(extent, to[i] ?? null));
  return same.includes(true) && !same.includes(false) ? parts : null;
}

export function splitAxis(axis: Axis, to: readonly Dim[]): readonly Axis[] {
  const { replica } = axis;
  if (!replica) return to.map((dim) => freeAxis(dim));
  const parts = partsFor(replica, to);
  if (parts)
    return parts.map(({ mapped }, i) => ({ dim: to[i] ?? null, replica: mapped && remapped(replica, mapped) }));
  const out: Axis[] = [];
  let rest: Replica | null = replica;
  for (let i = 0; i < to.length - 1; i++) {
    const before = to[i] ?? null;
    const after = product(to.slice(i + 1));
    const parts: { before: MappedAxis | null; after: MappedAxis | null } = rest
      ? split(rest, before, after)
      : { before: null, after: null };
    out.push({ dim: before, replica: parts.before && remapped(replica, parts.before) });
    rest = parts.after && remapped(replica, parts.after);
  }
  const last = to[to.length - 1] ?? null;
  out.push({ dim: last, replica: rest && { ...rest, extent: last } });
  return out;
}
