/** Reading and changing axes when the rank may be unknown. */
import type { MappedAxis } from './axis-map';
import { type Dim, ONE, isOne, symbol } from './dim';
import type { Axis, IndexKind, Replica, Shape, Tensor } from './value';

export const freeAxis = (dim: Dim): Axis => ({ dim, replica: null });
export const ONE_AXIS: Axis = freeAxis(ONE);
export const UNKNOWN_SHAPE: Shape = { exact: false, head: [], tail: [] };
export const exactShape = (axes: readonly Axis[]): Shape => ({ exact: true, head: axes, tail: [] });
export const NO_INDEX: IndexKind = { kind: 'unknown' };

let lastId = 0;
/** Fresh identities; `resetIds` at the start of an analysis keeps the output deterministic. */
export const freshId = (): number => ++lastId;
export const resetIds = (): void => {
  lastId = 0;
};

export function tensor(shape: Shape, more: Partial<Omit<Tensor, 'kind' | 'shape'>> = {}): Tensor {
  const id = more.id ?? freshId();
  return {
    kind: 'tensor',
    id,
    storage: more.storage ?? id,
    shape,
    form: more.form ?? null,
    content: more.content ?? 'data',
    noised: more.noised ?? false,
    uniform: more.uniform ?? false,
    index: more.index ?? NO_INDEX,
    label: more.label ?? '',
    itemSize: more.itemSize ?? null,
    place: more.place ?? null,
    picked: more.picked ?? [],
    base: more.base ?? null,
    raised: more.raised ?? null,
  };
}

export const rankOf = (shape: Shape): number | null => (shape.exact ? shape.head.length : null);
/** The least rank that the shape allows. */
export const minRank = (shape: Shape): number => shape.head.length + shape.tail.length;

/** A position from the front where the rank is known, else as given; null when out of range. */
export function position(shape: Shape, axis: number): number | null {
  if (!shape.exact) return axis;
  const at = axis < 0 ? axis + shape.head.length : axis;
  return at >= 0 && at < shape.head.length ? at : null;
}

/** The axis if anything is recorded of it. */
export function knownAxis(shape: Shape, axis: number): Axis | null {
  const at = position(shape, axis);
  if (at === null) return null;
  return (at >= 0 ? shape.head[at] : shape.tail[shape.tail.length + at]) ?? null;
}

/** The size of an axis, a symbol named after the tensor when it is not known. */
export function dimAt(t: Tensor, axis: number): Dim {
  return knownAxis(t.shape, axis)?.dim ?? unknownDim(t, position(t.shape, axis) ?? axis);
}

const sizeSymbol = (label: string, id: number, axis: number): Dim =>
  symbol(`${label && !label.includes('@') ? `${label}.shape[${axis}]` : '?'}@${id}_${axis}`);

/** A tensor without a name has dimensions without one. */
export function unknownDim(t: Tensor, axis: number): Dim {
  const { base, shape } = t;
  const recorded = axis >= 0 ? axis < shape.head.length : -axis <= shape.tail.length;
  if (base && !recorded) {
    const at = axis >= 0 ? axis - base.front : axis + base.back;
    if (at >= 0 === axis >= 0) return sizeSymbol(base.label, base.id, at);
  }
  return sizeSymbol(t.label, t.id, axis);
}

export function axisAt(t: Tensor, axis: number): Axis {
  const known = knownAxis(t.shape, axis);
  if (known?.dim) return known;
  return { dim: dimAt(t, axis), replica: known?.replica ?? null };
}

/** The same shape with as many axes recorded from the front (or back) as `axis` needs. */
export function reaching(t: Tensor, axis: number): Shape {
  const { shape } = t;
  if (shape.exact) return shape;
  const head = [...shape.head];
  const tail = [...shape.tail];
  while (axis >= 0 && head.length <= axis) head.push(freeAxis(unknownDim(t, head.length)));
  while (axis < 0 && tail.length < -axis) tail.unshift(freeAxis(unknownDim(t, -tail.length - 1)));
  return { exact: false, head, tail };
}

/** How many axes of t stand before those whose sizes `rest` has, where both are views of one tensor of unknown rank. */
export function axesBefore(t: Tensor, rest: Tensor): number | null {
  const [own, other] = [t, rest].map((of) => of.base ?? { id: of.id, front: 0 });
  return own && other && own.id === other.id && own.front >= other.front ? own.front - other.front : null;
}

/** Axes beyond the recorded ones stand so much farther from the front. */
export const shifted = (t: Tensor, front: number): Tensor => {
  const base = t.base ?? { id: t.id, label: t.label, front: 0, back: 0 };
  return { ...t, base: { ...base, front: base.front + front } };
};

/** The shape once the rank is known: axes recorded from both ends fall into place. Null when it contradicts. */
export function withRank(t: Tensor, rank: number): Shape | null {
  const { shape } = t;
  if (shape.exact) return shape.head.length === rank ? shape : null;
  const axes: Axis[] = [];
  for (let i = 0; i < rank; i++) {
    const front = shape.head[i];
    const back = shape.tail[i - rank + shape.tail.length];
    // What was summed up and kept is of size 1, whatever was recorded from the back before.
    const isFront = front && (front.replica || (isOne(front.dim) && !back?.replica));
    axes.push(isFront ? front : (back ?? front ?? freeAxis(unknownDim(t, i))));
  }
  return shape.head.length > rank ? null : exactShape(axes);
}

export const allAxes = (shape: Shape): readonly Axis[] => [...shape.head, ...shape.tail];
export const replicasOf = (shape: Shape): readonly Replica[] =>
  allAxes(shape).flatMap((axis) => (axis.replica ? [axis.replica] : []));

export function mapAxes(shape: Shape, change: (axis: Axis, at: number) => Axis): Shape {
  return {
    exact: shape.exact,
    head: shape.head.map((axis, i) => change(axis, i)),
    tail: shape.tail.map((axis, i) => change(axis, i - shape.tail.length)),
  };
}

export const withoutReplicas = (shape: Shape): Shape => mapAxes(shape, (axis) => freeAxis(axis.dim));

/** A replica after a change of its map. */
export const remapped = (replica: Replica, mapped: MappedAxis): Replica => ({
  ...replica,
  map: mapped.map,
  source: mapped.source,
  extent: mapped.extent,
});

/** Any replica in the value or in what it is made of. */
export function carriesReplica(t: Tensor): boolean {
  if (t.picked.length > 0 || replicasOf(t.shape).length > 0) return true;
  return t.form?.blocks.some((b) => b.terms.some((term) => term.factors.some(carriesReplica))) ?? false;
}
