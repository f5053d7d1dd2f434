/** The operators that make replicas. */
import { ALL, type AxisMap, OTHER } from './axis-map';
import { type Dim, ONE, equal, isOne, multiply, valueOf } from './dim';
import {
  ONE_AXIS,
  axisAt,
  exactShape,
  freeAxis,
  mapAxes,
  position,
  rankOf,
  reaching,
  replicasOf,
  shifted,
  tensor,
  unknownDim,
  withRank,
} from './shape';
import type { Assumption, Axis, Place, Replica, Shape, Tensor } from './value';

interface Making {
  readonly map: AxisMap;
  readonly source: Dim;
  readonly extent: Dim;
  readonly origin: Place;
  readonly written: boolean;
  readonly evidence?: 'strong' | 'named';
  readonly edges?: boolean;
  readonly argument?: number;
}

export function replica(of: Tensor, making: Making): Replica {
  return {
    map: making.map,
    source: making.source,
    extent: making.extent,
    origin: making.origin,
    written: making.written ? making.origin : null,
    of,
    when: [],
    trail: null,
    scaled: null,
    added: false,
    evidence: making.evidence ?? 'strong',
    edges: making.edges ?? false,
    argument: making.argument ?? null,
    assumptions: [],
    helper: null,
    also: [],
  };
}

/** A size as given to expand or repeat; `keep` stands for -1, or for a repeat of 1. */
export type Size = Dim | 'keep';

const all = (of: Tensor, extent: Dim, origin: Place, written: boolean, argument: number): Axis => ({
  dim: extent,
  replica: replica(of, { map: ALL, source: ONE, extent, origin, written, argument }),
});

const assuming = (axis: Axis, assumption: Assumption): Axis => ({
  ...axis,
  replica: axis.replica && { ...axis.replica, assumptions: [...axis.replica.assumptions, assumption] },
});

/**
 * expand: stride-0 axes. An axis of size 1, or one that the tensor lacks, becomes a replica; one that is already of the
 * size stays. With several sizes that cannot be compared, which axis is expanded is not known, and none is said to be.
 */
export function expand(t: Tensor, sizes: readonly Size[], place: Place): Tensor {
  const rank = rankOf(t.shape) ?? rankBySizes(t, sizes);
  const missing = rank === null ? 0 : Math.max(0, sizes.length - rank);
  const shape = rankOf(t.shape) === null ? withRank(t, rank ?? sizes.length) : t.shape;
  const [vector] = sizes;
  // One number for each row, such as a time step or an id: it may have been handed over for each row as well.
  if (shape && sizes.length === 1 && vector !== undefined && vector !== 'keep')
    return view(t, exactShape([freeAxis(vector)]), place);
  if (!shape) return tensor(exactShape(sizes.map((s) => freeAxis(s === 'keep' ? null : s))), { place });
  const { head } = shape;
  const isSame = missing === 0 && sizes.every((s, i) => s === 'keep' || equal(head[i]?.dim ?? null, s) === true);
  if (isSame) return { ...view(t, shape, place), form: t.form };
  const open: number[] = [];
  let sure = false;
  const axes = sizes.map((size, i): Axis => {
    const axis = shape.head[i - missing];
    if (!axis || i < missing) {
      sure = true;
      if (size === 'keep') return freeAxis(null);
      return isOne(size) ? ONE_AXIS : all(t, size, place, false, i);
    }
    if (size === 'keep') return axis;
    if (isOne(size)) return { ...axis, dim: ONE };
    if (isOne(axis.dim)) {
      sure = true;
      return all(t, size, place, false, i);
    }
    if (equal(axis.dim, size) === true) return axis;
    // A number other than 1 cannot grow.
    if (axis.replica || valueOf(axis.dim) !== null) return axis;
    open.push(i);
    return { dim: axis.dim ?? size, replica: null };
  });
  const [only, next] = open;
  const chosen = open.length === 1 ? only : only === 0 && open.length === 2 && next === 1 ? next : undefined;
  if (!sure && chosen !== undefined) {
    const size = sizes[chosen];
    const grown = size !== undefined && size !== 'keep' ? all(t, size, place, false, chosen) : undefined;
    if (grown) axes[chosen] = chosen === only ? grown : assuming(grown, 'expand-keeps-first');
  }
  return view(t, exactShape(axes), place);
}

/** `x.expand(n, x.shape[0])`: its first axis is the last one, so that it has no other. */
function rankBySizes(t: Tensor, sizes: readonly Size[]): number | null {
  for (let own = sizes.length - 1; own > 0; own--) {
    const last = sizes.slice(-own);
    if (last.every((size, i) => size !== 'keep' && equal(axisAt(t, i).dim, size) === true)) return own;
  }
  return null;
}

/** `x.expand(n, *x.shape)`: sizes of the first `at` axes and of new ones before them; those after them stay. */
export function expandLeading(t: Tensor, at: number, sizes: readonly Size[], place: Place): Tensor | null {
  const shape = reaching(t, at - 1);
  const fits = sizes.length >= at && shape.head.length >= at;
  if (!fits) return null;
  const front = { ...t, shape: exactShape(shape.head.slice(0, at)) };
  const [only] = sizes;
  const made =
    at > 1 || sizes.length > 1
      ? expand(front, sizes, place).shape.head
      : at === 0 || isOne(shape.head[0]?.dim ?? null)
        ? sizes.map((size, i) => grown(t, size, place, i))
        : only === 'keep'
          ? shape.head.slice(0, at)
          : null;
  if (!made) return null;
  const ofAll = made.map((axis): Axis =>
    axis.replica?.of === front ? { ...axis, replica: { ...axis.replica, of: t } } : axis,
  );
  return shifted(view(t, { ...shape, head: [...ofAll, ...shape.head.slice(at)] }, place), sizes.length - at);
}

const grown = (t: Tensor, size: Size, place: Place, argument: number): Axis =>
  size === 'keep' || isOne(size) ? freeAxis(size === 'keep' ? null : ONE) : all(t, size, place, false, argument);

/** expand_as or expand to a shape that is not known axis by axis: the axes of size 1 are the ones that grow. */
export function expandLike(t: Tensor, like: Tensor, place: Place): Tensor {
  if (like.shape.exact)
    return expand(
      t,
      like.shape.head.map((_, i) => axisAt(like, i).dim),
      place,
    );
  const grow = (axis: Axis, at: number): Axis =>
    isOne(axis.dim) ? all(t, axisAt(like, at).dim, place, false, at) : axis;
  return view(t, mapAxes(t.shape, grow), place);
}

/** repeat, tile: always written. `i mod size`, or one row for all where the axis had size 1 or did not exist. */
export function repeat(t: Tensor, repeats: readonly Size[], place: Place): Tensor {
  const rank = rankOf(t.shape);
  const missing = rank === null ? 0 : Math.max(0, repeats.length - rank);
  const shape = rank === null ? withRank(t, repeats.length) : t.shape;
  if (!shape) return tensor(exactShape(repeats.map(() => freeAxis(null))), { place });
  const padded = [...repeats];
  while (padded.length < shape.head.length) padded.unshift('keep');
  const fewer = padded.length - repeats.length;
  const axes = padded.map((times, i): Axis => {
    const axis = shape.head[i - missing];
    if (!axis || i < missing) return times === 'keep' ? freeAxis(ONE) : all(t, times, place, true, i);
    if (times === 'keep') return axis;
    if (isOne(axis.dim)) return all(t, times, place, true, i - fewer);
    const source = axis.dim ?? unknownDim(t, i - missing);
    const extent = multiply(times, source);
    // Of unknown rank, a leading count may as well make a new axis.
    const map: AxisMap = axis.replica || (rank === null && i === 0) ? OTHER : { kind: 'cycle', source };
    const argument = i - fewer;
    return { dim: extent, replica: replica(t, { map, source, extent, origin: place, written: true, argument }) };
  });
  const also = copiedColumns(t);
  const repeated = axes.map((axis) =>
    also.length > 0 && axis.replica?.of === t ? { ...axis, replica: { ...axis.replica, also } } : axis,
  );
  return fresh(t, exactShape(repeated), place);
}

/** Copies among the columns of what is copied: `cat([x, q.repeat(..)], -1).repeat(..)` copies those of q once more. */
function copiedColumns({ form, shape }: Tensor): readonly Replica[] {
  const last = form?.axis === -1 || (shape.exact && form?.axis === shape.head.length - 1);
  return form && last
    ? form.blocks.flatMap(({ terms }) => terms.flatMap(({ factors }) => factors.flatMap((f) => replicasOf(f.shape))))
    : [];
}

/**
 * repeat with counts of which only the first few are known: those axes, and nothing of the others. `placed`: axes are counted
 * from the front for sure.
 */
export function repeatLeading(t: Tensor, counts: readonly Size[], place: Place, placed = false): Tensor {
  const shape = reaching(t, counts.length - 1);
  const head = shape.head.map((axis, i): Axis => {
    const times = i < counts.length ? counts[i] : 'keep';
    if (times === undefined || times === 'keep') return axis;
    if (isOne(axis.dim)) return all(t, times, place, true, i);
    const extent = multiply(times, axis.dim);
    const map: AxisMap = placed && !axis.replica ? { kind: 'cycle', source: axis.dim } : OTHER;
    return { dim: extent, replica: replica(t, { map, source: axis.dim, extent, origin: place, written: true }) };
  });
  return fresh(t, { exact: false, head, tail: [] }, place);
}

/** repeat of one axis, counted from the back, of a tensor of unknown rank. */
export function repeatTrailing(t: Tensor, dim: number, times: Dim, place: Place): Tensor {
  const shape = reaching(t, dim);
  const grow = (axis: Axis, at: number): Axis => {
    if (at !== dim) return axis;
    if (isOne(axis.dim)) return all(t, times, place, true, 0);
    const source = axis.dim ?? unknownDim(t, dim);
    const extent = multiply(times, source);
    const map: AxisMap = axis.replica ? OTHER : { kind: 'cycle', source };
    return { dim: extent, replica: replica(t, { map, source, extent, origin: place, written: true }) };
  };
  return fresh(t, mapAxes(shape, grow), place);
}

/** The rows of a replicated axis in another order. */
export function reordered(t: Tensor, axis: number, extent: Dim, place: Place): Tensor {
  const at = position(t.shape, axis);
  const change = (old: Axis, i: number): Axis =>
    i === at && old.replica ? { dim: extent, replica: { ...old.replica, map: OTHER, extent } } : old;
  return fresh(t, mapAxes(t.shape, change), place);
}

/** repeat_interleave with an int (`i // r`) or a tensor of counts (`null`: blocks of different sizes). */
export function repeatInterleave(
  t: Tensor,
  repeats: Dim | 'counts',
  axis: number,
  countsText: string,
  place: Place,
): Tensor {
  if (repeats !== 'counts' && isOne(repeats)) return fresh(t, t.shape, place);
  const shape = reaching(t, axis);
  const at = position(shape, axis);
  if (at === null) return tensor(shape, { place });
  const change = (old: Axis, i: number): Axis => {
    if (i !== at) return old;
    const source = axisAt(t, axis).dim;
    if (isOne(source)) return all(t, repeats === 'counts' ? null : repeats, place, true, 0);
    const extent = repeats === 'counts' ? null : multiply(repeats, source);
    const map: AxisMap =
      repeats === 'counts'
        ? { kind: 'indexed', index: `arange(${axisAt(t, axis).dim ? '' : '?'}).repeat_interleave(${countsText})` }
        : old.replica
          ? OTHER
          : { kind: 'blocks', ratio: repeats };
    return { dim: extent, replica: replica(t, { map, source, extent, origin: place, written: true }) };
  };
  return fresh(t, mapAxes(shape, change), place);
}

/** Rows picked by an index tensor that is known to be many-to-one. */
export function gatherRows(
  t: Tensor,
  axis: number,
  index: Tensor,
  indexText: string,
  evidence: 'strong' | 'named',
  edges: boolean,
  place: Place,
): Tensor {
  const shape = reaching(t, axis);
  const at = position(shape, axis);
  if (at === null) return tensor(shape, { place });
  const isList = index.index.kind === 'many-to-one' && index.index.isList === true;
  // A list has no shape by which its length could be called.
  const extent = isList ? null : axisAt(index, 0).dim;
  const change = (old: Axis, i: number): Axis => {
    if (i !== at) return old;
    const map: AxisMap = { kind: 'indexed', index: indexText, ...(isList && { isList }) };
    const source = axisAt(t, axis).dim;
    return { dim: extent, replica: replica(t, { map, source, extent, origin: place, written: true, evidence, edges }) };
  };
  return fresh(t, mapAxes(shape, change), place);
}

const view = (t: Tensor, shape: Shape, place: Place): Tensor => ({
  ...t,
  id: tensor(shape).id,
  shape,
  form: null,
  place,
  label: '',
});

function fresh(t: Tensor, shape: Shape, place: Place): Tensor {
  const made = tensor(shape);
  return { ...t, id: made.id, storage: made.id, shape, form: null, place, label: '' };
}
