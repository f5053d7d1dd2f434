/** Operators along an axis: those that make every position depend on all, and those that remove the axis. */
import { ALL } from '../tensor/axis-map';
import { type Dim, ONE, isOne } from '../tensor/dim';
import { atomOf, mapReplicas, pointwise, writtenAt } from '../tensor/pointwise';
import { replica } from '../tensor/replicate';
import { exactShape, freeAxis, knownAxis, mapAxes, position, rankOf, tensor } from '../tensor/shape';
import type { Axis, Form, Place, Replica, Shape, Tensor } from '../tensor/value';
import { applyView, select } from '../tensor/views';
import { argument, asNumber, opaque, placeOf } from './access';
import type { Node } from './syntax';

import type { Frame, Run } from './run';
import { type Args, type Value, tuple } from './value';

/** Along one axis every position depends on all others: that axis loses its map, the others keep theirs. */
export function rowWise(t: Tensor, axis: number, place: Place, what: string): Tensor {
  const value = pointwise([t], place, what);
  const at = position(value.shape, axis) ?? axis;
  const form = value.form && value.form.axis !== null && value.form.axis !== at ? value.form : null;
  const shape = mapAxes(value.shape, (a, i) => (i === at ? freeAxis(a.dim) : a));
  return { ...value, shape, form };
}

/** A sum along another axis than that of a concatenation is a concatenation of sums. */
function reducedForm(t: Tensor, dim: number, mark: (replica: Replica) => Replica): Form | null {
  const { form } = t;
  const at = position(t.shape, dim);
  if (!form || form.axis === null || at === null || at === position(t.shape, form.axis)) return null;
  const blocks = form.blocks.map((block) => {
    const atom = mapReplicas(atomOf(block, t), mark);
    const shape = mapAxes(atom.shape, (axis, i) => (i === (position(atom.shape, dim) ?? dim) ? freeAxis(ONE) : axis));
    return { ...block, terms: [{ coefficient: 1, factors: [{ ...atom, shape, form: null }] }] };
  });
  return { ...form, blocks };
}

/** A shape of unknown rank has the axes that are asked for. */
function reaching(shape: Shape, dims: readonly number[]): Shape {
  if (shape.exact) return shape;
  const missing = (length: number): readonly Axis[] =>
    Array.from({ length: Math.max(0, length) }, () => freeAxis(null));
  return {
    exact: false,
    head: [...shape.head, ...missing(Math.max(0, ...dims.map((dim) => dim + 1)) - shape.head.length)],
    tail: [...missing(Math.max(0, ...dims.map((dim) => -dim)) - shape.tail.length), ...shape.tail],
  };
}

/** One size is for all axes. Of several, one that is None leaves its axis as it is. */
const sizeAt = (sizes: readonly Dim[], i: number): Dim => (sizes.length > 1 ? sizes[i] : sizes[0]) ?? null;

/** Adaptive pooling over the last `axes` axes, to these sizes. */
export function pooled(t: Tensor, axes: number, sizes: readonly Dim[], place: Place): Tensor {
  const value = pointwise([{ ...t, shape: reaching(t.shape, [-axes]) }], place, 'pooling');
  const pooledAxis = (i: number): Axis => freeAxis(sizeAt(sizes, i));
  const rank = rankOf(value.shape);
  const shape: Shape =
    rank === null
      ? { ...value.shape, tail: Array.from({ length: axes }, (_, i) => pooledAxis(i)) }
      : mapAxes(value.shape, (axis, i) => (i < rank - axes ? axis : pooledAxis(i - rank + axes)));
  return { ...value, shape, form: null };
}

/** What is resized from one place, such as a pooled context, has that value everywhere; other values are mixed with their neighbours. */
export function resized(t: Tensor, sizes: readonly Dim[], given: Node | null, place: Place): Tensor {
  const rank = rankOf(t.shape);
  const value = pointwise([t], place, 'resizing');
  const behind = value.shape.exact ? value.shape.head.slice(2) : value.shape.tail;
  const spread = (axis: Axis, i: number): Axis => {
    const extent = sizeAt(sizes, i);
    if (!isOne(axis.dim)) return freeAxis(extent);
    const made = replica(t, { map: ALL, source: ONE, extent, origin: place, written: true });
    return { dim: extent, replica: { ...made, helper: { source: given && placeOf(given) } } };
  };
  const grown = behind.map(spread);
  const shape =
    rank === null
      ? { ...value.shape, tail: grown }
      : { ...value.shape, head: [...value.shape.head.slice(0, 2), ...grown] };
  return { ...value, shape, form: null };
}

export function reduced(t: Tensor, args: Args, what: string, place: Place, run: Run, frame: Frame): Value {
  const dimValue = argument(args, 1, 'dim', 'axis');
  const many = dimValue && dimValue.kind !== 'int' ? run.items(dimValue, frame)?.items.map(asNumber) : null;
  const dims = many ?? (dimValue ? [asNumber(dimValue)] : null);
  const keep = argument(args, 2, 'keepdim', 'keepdims');
  const pair = (value: Tensor): Value =>
    (what === 'max' || what === 'min' || what === 'median') && dimValue && dimValue.kind !== 'tensor'
      ? tuple([value, tensor(value.shape, { content: 'index' })])
      : value;
  if (what === 'cumsum' || what === 'cumprod') return rowWise(t, dims?.[0] ?? -1, place, what);
  if (!dims) return tensor(exactShape([]), { place });
  if (!dims.every((d): d is number => d !== null)) return pair(opaque(place));
  const mark = writtenAt(place, `${what} writes the copy`);
  const kept = keep?.kind === 'bool' && keep.value === true;
  let value: Tensor = { ...mapReplicas(t, mark), form: null };
  if (kept) value = { ...value, shape: reaching(value.shape, dims) };
  const order = [...dims].sort((a, b) => (a < 0 ? (b < 0 ? a - b : 1) : b < 0 ? -1 : b - a));
  for (const dim of order) {
    const at = position(value.shape, dim) ?? dim;
    value = kept
      ? {
          ...value,
          shape: knownAxis(value.shape, at)
            ? mapAxes(value.shape, (axis, i) => (i === at ? freeAxis(ONE) : axis))
            : value.shape,
        }
      : applyView(value, select(dim), place);
  }
  const made = tensor(value.shape);
  const [only] = order;
  return pair({
    ...value,
    form: kept && only !== undefined && order.length === 1 ? reducedForm(t, only, mark) : null,
    id: made.id,
    storage: made.id,
    place,
    label: '',
    content: t.content === 'random' ? 'random' : 'data',
  });
}
