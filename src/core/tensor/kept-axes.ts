/** Which axes a reshape keeps whose sizes go by other names. */
import { type Dim, equal, isMultiple, isOne, onlySymbol, product, valueOf } from './dim';
import { minRank, withRank } from './shape';
import type { Axis, Tensor } from './value';

/** How many axes stand up to the last one that is in its old place with its old size, of those of names that cannot be compared. */
export function anchored(from: readonly Axis[], into: readonly Dim[], sizes: readonly (Dim | 'rest')[]): number {
  for (let at = Math.min(from.length, into.length) - 2; at > 0; at--) {
    const [dim, size] = [from[at]?.dim ?? null, into[at] ?? null];
    if (equal(dim, size) !== true || valueOf(size) !== null) continue;
    const isRenamed = into.slice(0, at).every((d, i) => {
      const isOpen = d === null && sizes[i] === 'rest';
      return (isOpen || onlySymbol(d) !== null) && equal(d, from[i]?.dim ?? null) !== false;
    });
    return isRenamed ? at + 1 : 0;
  }
  return 0;
}

/** Sizes after a leading -1, or after `b * n` for axes among which n is, that can all be those of the last axes, and of no merged ones. */
export const keepsLast = (from: readonly Axis[], sizes: readonly (Dim | 'rest')[], into: readonly Dim[]): boolean =>
  into.length > 2 &&
  from.length > into.length &&
  (sizes[0] === 'rest' || isProductOf(into[0] ?? null, from.slice(0, from.length - into.length + 1))) &&
  into.slice(1).every((size, i) => {
    const axis = from[from.length - into.length + 1 + i];
    if (axis === undefined || equal(axis.dim, size) === true) return axis !== undefined;
    return mayBe(axis, size) && !isMultiple(size, axis.dim);
  });

/** Of several sizes the last one can be that of the last axis, behind copies of which another size is a multiple. */
export function keepsOne(from: readonly Axis[], into: readonly Dim[]): boolean {
  const [copied, last] = from.slice(-2);
  const [merged, size] = into.slice(-2);
  if (into.length < 3 || from.length <= into.length || !copied?.replica || !last || !size) return false;
  return isMultiple(merged ?? null, copied.dim) && mayBe(last, size) && !isMultiple(size, last.dim);
}

/** May the axis have that size? What is called `d // 2` is most likely half of an axis, unless the axis is called so, too. */
export function mayBe({ dim }: Axis, size: Dim): boolean {
  const same = equal(dim, size);
  return same ?? !size?.some(({ symbols }) => symbols.some((name) => name.startsWith('(') && name.includes(' // ')));
}

/** `b * t` for axes of which one is `t`, the others not comparable. */
export const isProductOf = (size: Dim, axes: readonly Axis[]): boolean =>
  axes.some(({ dim }) => !isOne(dim) && isMultiple(size, dim));

/** The last axes of a tensor of unknown rank, if a leading -1 may leave just them: always one, of several those that are known. */
export function keptLast(tail: readonly Axis[], sizes: readonly (Dim | 'rest')[]): readonly Axis[] | null {
  const count = sizes.length;
  if (count === 0) return null;
  if (count === 1) {
    const [size] = sizes;
    return [tail.at(-1) ?? { dim: size === 'rest' ? null : (size ?? null), replica: null }];
  }
  const last = tail.slice(-count);
  const isKept = sizes.every((size, i) => {
    const axis = last[i];
    return (
      size !== 'rest' && axis !== undefined && axis.replica === null && mayBe(axis, size) && !isMultiple(size, axis.dim)
    );
  });
  return isKept && tail.length > count ? last : null;
}

/**
 * Axes beyond the recorded ones that the rank may hide: `x.view(b, -1, x.shape[2], x.shape[3])` says how many there are, and so
 * does `x.view(b, x.shape[1], h, d)` of rows of h * d.
 */
const MAX_HIDDEN = 3;

export function hiddenRank(t: Tensor, sizes: readonly (Dim | 'rest')[]): Tensor | null {
  const last = sizes[sizes.length - 1];
  if (last === 'rest' || !last || !t.shape.head.some((axis) => axis.replica)) return null;
  const behind = sizes.slice(1);
  const inner = behind.includes('rest') ? null : product(behind as readonly Dim[]);
  for (let hidden = 1; hidden <= MAX_HIDDEN; hidden++) {
    const shape = withRank(t, minRank(t.shape) + hidden);
    if (!shape) continue;
    const dims = shape.head.map((axis) => axis.dim);
    if (equal(dims[dims.length - 1] ?? null, last) === true || equal(product(dims.slice(1)), inner) === true)
      return { ...t, shape };
  }
  return null;
}
