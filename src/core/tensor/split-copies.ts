/** Copies that a reshape makes an axis of their own, of a tensor whose rank is not known; and what a reshape comes to. */
import { ALL } from './axis-map';
import { type Dim, ONE, divide, equal } from './dim';
import { exactShape, freeAxis, remapped } from './shape';
import type { Shape, Tensor } from './value';

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
  readonly assumptions: readonly string[];
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
  const assumptions = ['the view keeps the order of the axes'];
  return { shape: exactShape([...before, own, behind]), origin, merged: [], assumptions, crosses: true };
}
