/** Copies that a reshape makes an axis of their own, whatever the other sizes are called; and what a reshape comes to. */
import { ALL } from './axis-map';
import { type Dim, ONE, divide, equal, isMultiple, isOne } from './dim';
import { ONE_AXIS, exactShape, freeAxis, remapped } from './shape';
import type { Assumption, Axis, Shape, Tensor } from './value';

/** `count` is null where more axes may be among them than are known. */
export interface Merged {
  readonly first: number;
  readonly count: number | null;
  readonly to: number;
}

export interface Reshaped {
  readonly shape: Shape;
  /** Old position of each new axis that is an old one as a whole; null for merged and split ones. */
  readonly origin: readonly (number | null)[];
  /** Groups of old axes that became one: the first of them, how many, and where they went. */
  readonly merged: readonly Merged[];
  /** Things that were assumed rather than proved. */
  readonly assumptions: readonly Assumption[];
  /** True when a replicated axis was merged or split with others: a view of an expanded axis cannot do that. */
  readonly crosses: boolean;
}

/** `cat([x] * n).view(n, ..)`: the copies become an axis of their own, the first. */
export function splitLeading({ shape: { head } }: Tensor, sizes: readonly (Dim | 'rest')[]): Reshaped | null {
  const [first] = head;
  const [size, ...others] = sizes;
  const replica = first?.replica;
  if (!replica || replica.map.kind !== 'cycle' || !size || size === 'rest' || others.length === 0) return null;
  const copies = divide(first.dim, replica.map.source);
  if (!copies || equal(copies, size) !== true) return null;
  const leading = { dim: size, replica: remapped(replica, { map: ALL, source: ONE, extent: size }) };
  const axes = [leading, ...others.map((s) => freeAxis(s === 'rest' ? null : s))];
  return { shape: exactShape(axes), origin: axes.map(() => null), merged: [], assumptions: [], crosses: true };
}

/**
 * `x.repeat(n, 1).reshape(-1, len(x), d)`, `.view(n, -1, d)`, whatever d is called: rows that were copied as a whole, one time after
 * the other, become an axis of their own, the first.
 */
export function splitRows({ shape }: Tensor, sizes: readonly (Dim | 'rest')[]): Reshaped | null {
  const [first, ...others] = shape.exact ? shape.head : [];
  const [count, rows, ...behind] = sizes;
  const map = first?.replica?.map;
  if (!first?.replica || others.length === 0 || behind.length === 0) return null;
  const source = map?.kind === 'cycle' ? map.source : map?.kind === 'other' && !map.parts ? first.replica.source : null;
  const copies = isOne(source) ? null : divide(first.dim, source);
  if (!copies || isOne(copies)) return null;
  if (others.some((axis) => axis.replica)) return null;
  const isCount = count !== 'rest' && count !== undefined && equal(count, copies) === true;
  const isRows = rows !== 'rest' && rows !== undefined && equal(rows, source) === true;
  if (isCount ? rows !== 'rest' && !isRows : count !== 'rest' || !isRows) return null;
  const leading = { dim: copies, replica: remapped(first.replica, { map: ALL, source: ONE, extent: copies }) };
  const free = behind.map((size) => freeAxis(size === 'rest' ? null : size));
  const axes = [leading, freeAxis(source), ...free];
  return {
    shape: exactShape(axes),
    origin: axes.map(() => null),
    merged: [],
    assumptions: ['order-of-axes'],
    crosses: true,
  };
}

/** `x.repeat_interleave(n, dim=1).view(b, d, n)`: the copies become an axis of their own, the last. */
export function splitTrailing({ shape: { head, tail } }: Tensor, sizes: readonly (Dim | 'rest')[]): Reshaped | null {
  const last = head.at(-1);
  const map = last?.replica?.map;
  const [source, copies] = sizes.slice(-2);
  if (!last?.replica || map?.kind !== 'blocks' || tail.length > 0 || sizes.length !== head.length + 1) return null;
  if (source === undefined || !copies || copies === 'rest' || equal(copies, map.ratio) !== true) return null;
  const before = head.slice(0, -1);
  if (before.some((axis, i) => sizes[i] !== 'rest' && equal(axis.dim, sizes[i] as Dim) === false)) return null;
  const own = freeAxis(source === 'rest' ? null : source);
  const behind = { dim: copies, replica: remapped(last.replica, { map: ALL, source: ONE, extent: copies }) };
  const origin = [...before.map((_, i) => i), null, null];
  const assumptions = ['order-of-axes'] as const;
  return { shape: exactShape([...before, own, behind]), origin, merged: [], assumptions, crosses: true };
}

/** `x.repeat_interleave(n, dim=0).view(-1, n, d)`: rows with their copies behind them become two axes. */
export function splitBlocks({ shape: { head, tail } }: Tensor, sizes: readonly (Dim | 'rest')[]): Reshaped | null {
  const ones = head.findIndex((axis) => !isOne(axis.dim));
  const rows = head[ones];
  const map = rows?.replica?.map;
  const [first, copies, ...others] = sizes;
  if (!rows?.replica || map?.kind !== 'blocks' || ones < head.length - 1 || tail.length > 1 || others.length === 0)
    return null;
  if (first === undefined || !copies || copies === 'rest' || equal(copies, map.ratio) !== true) return null;
  const source = first === 'rest' ? rows.replica.source : first;
  const behind = { dim: copies, replica: remapped(rows.replica, { map: ALL, source: ONE, extent: copies }) };
  const axes = [freeAxis(source), behind, ...others.map((size) => freeAxis(size === 'rest' ? null : size))];
  const assumptions = ['order-of-axes'] as const;
  return { shape: exactShape(axes), origin: axes.map(() => null), merged: [], assumptions, crosses: true };
}

/** `x.view(b, d, 1, t)` of three axes whose sizes are called otherwise: axes of size 1 between those that stay. */
export function amongOnes({ shape: { exact, head } }: Tensor, sizes: readonly (Dim | 'rest')[]): Reshaped | null {
  if (!exact || sizes.length <= head.length || !head.some((axis) => axis.replica)) return null;
  const whole = sizes.filter((size) => size === 'rest' || !isOne(size));
  if (whole.length !== head.length) return null;
  const kept = head.map((axis, i) => named(axis, whole[i] ?? null));
  if (!kept.every((axis) => axis !== null) || head.every(({ dim }, i) => equal(dim, dimOf(whole[i])) === true))
    return null;
  let at = 0;
  const origin = sizes.map((size) => (size !== 'rest' && isOne(size) ? null : at++));
  const axes = origin.map((from) => (from === null ? ONE_AXIS : (kept[from] ?? ONE_AXIS)));
  const assumptions = ['order-of-axes'] as const;
  return { shape: exactShape(axes), origin, merged: [], assumptions, crosses: false };
}

const dimOf = (size: Dim | 'rest' | undefined): Dim => (size === 'rest' || size === undefined ? null : size);

/** The axis under the size that a view calls it by; null where it has another one. Copied to that size, it was one row. */
function named(axis: Axis, size: Dim | 'rest'): Axis | null {
  if (size === 'rest' || !size) return axis;
  if (isOne(axis.dim) || equal(axis.dim, size) === false || isMultiple(size, axis.dim)) return null;
  const copies = divide(axis.dim, size);
  if (!copies || isOne(copies)) return axis;
  const { replica } = axis;
  return replica && equal(copies, replica.source) === true
    ? { dim: size, replica: remapped(replica, { map: ALL, source: ONE, extent: size }) }
    : null;
}
