/** Rows that are made longer: padding, and sequences of several lengths as one tensor. */
import { OTHER } from '../tensor/axis-map';
import { mapReplicas, pointwise, writtenAt } from '../tensor/pointwise';
import { carriesReplica, knownAxis, mapAxes, position, reaching } from '../tensor/shape';
import type { Axis, Shape, Tensor } from '../tensor/value';
import { argument, asNumber, asString, asTensor, placeOf } from './access';
import { stackValues } from './combine';
import type { Frame, Run } from './run';
import type { Node } from './syntax';
import { type Args, type Value, tuple } from './value';

/** `F.pad(x, amounts, mode)`: copies stay copies. Null for what has none, and where it is not known which axes grow. */
export function padded(args: Args, node: Node, frame: Frame, run: Run): Tensor | null {
  const [x, mode] = [argument(args, 0, 'input'), asString(argument(args, 2, 'mode'))];
  const t = x ? asTensor(x, run) : null;
  if (!t || !carriesReplica(t)) return null;
  if (/^(reflect|replicate|circular)$/.test(mode ?? '')) return grownAlong(t, [-1], mirrored, node);
  if (mode !== null && mode !== 'constant') return null;
  const amounts = argument(args, 1, 'pad');
  const listed = amounts && run.items(amounts, frame);
  if (!listed || listed.open || listed.items.length % 2 > 0) return null;
  const isZero = (i: number): boolean => asNumber(listed.items[i]) === 0;
  const axes = Array.from({ length: listed.items.length / 2 }, (_, i) => -1 - i);
  return grownAlong(
    t,
    axes.filter((axis) => !isZero(-2 * axis - 2) || !isZero(-2 * axis - 1)),
    lengthened,
    node,
  );
}

/** More of the positions that are there. */
const mirrored = ({ replica: copies }: Axis): Axis => ({
  dim: null,
  replica: copies?.map.kind === 'all' ? { ...copies, extent: null } : null,
});

/** Rows of a constant beside the others: many positions still have one source. */
const lengthened = ({ replica: copies }: Axis): Axis => ({
  dim: null,
  replica: copies && { ...copies, map: OTHER, source: null, extent: null },
});

function grownAlong(t: Tensor, axes: readonly number[], grown: (axis: Axis) => Axis, node: Node): Tensor {
  const first = Math.min(-1, ...axes);
  const value = pointwise([{ ...t, shape: reaching(t, first) }], placeOf(node), 'padding');
  const places = axes.map((axis) => position(value.shape, axis) ?? axis);
  // Of an unknown rank, an axis that is known from the front may be one of these.
  const mayGrow = (shape: Shape, i: number): boolean =>
    places.some((axis) => i === (position(shape, axis) ?? axis)) || (!shape.exact && i >= 0 && axes.length > 0);
  const longer = (shape: Shape): Shape => mapAxes(shape, (axis, i) => (mayGrow(shape, i) ? grown(axis) : axis));
  const along = value.form && (position(value.shape, value.form.axis ?? -1) ?? value.form.axis);
  const form = value.form && along !== null && !places.includes(along) ? value.form : null;
  const blocks = form?.blocks.map((block) => ({
    ...block,
    terms: block.terms.map((term) => ({
      ...term,
      factors: term.factors.map((f) => ({ ...f, shape: longer(f.shape) })),
    })),
  }));
  return { ...value, shape: longer(value.shape), form: form && blocks ? { ...form, blocks } : null };
}

/** `pad_sequence(rows, batch_first)`: each with the others beside it, its own copies along the axis that is made longer. */
export function sequences(args: Args, node: Node, frame: Frame, run: Run): Tensor | null {
  const place = placeOf(node);
  const rows = argument(args, 0, 'sequences');
  const listed = rows && run.items(rows, frame);
  const values = listed?.items.map((v) => asTensor(v, run)) ?? [];
  if (!listed || !values.every((t) => t !== null) || !values.some(carriesReplica)) return null;
  const mark = writtenAt(place, 'pad_sequence writes the copy');
  const made = values.map((t): Tensor => {
    const copies = mapReplicas({ ...t, shape: reaching(t, 0) }, mark);
    return { ...copies, shape: mapAxes(copies.shape, (axis, i) => (i === 0 ? lengthened(axis) : axis)), form: null };
  });
  const first: Value | undefined = argument(args, 1, 'batch_first');
  const isFirst = first?.kind === 'bool' ? first.value : first === undefined ? false : null;
  const hasCopies = made.every((t) => knownAxis(t.shape, 0)?.replica);
  return isFirst === null || !hasCopies
    ? null
    : stackValues(tuple(made, listed.open), isFirst ? 0 : 1, place, 'pad_sequence', run, frame);
}
