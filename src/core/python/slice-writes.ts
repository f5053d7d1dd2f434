/** Writes into slices of a tensor that was made empty: a broadcast of what is written, and a concatenation in place. */
import { ALL } from '../tensor/axis-map';
import { ONE, isOne } from '../tensor/dim';
import { replica } from '../tensor/replicate';
import { freeAxis, knownAxis, mapAxes, rankOf, tensor, withoutReplicas } from '../tensor/shape';
import type { Axis, Block, Tensor } from '../tensor/value';
import { placeOf } from './access';
import { type Node, childOf, childrenOf } from './syntax';

/**
 * `x[:, :, :d] = rope` with x made by `new_empty`: every row of x holds a copy of rope along the axes on which rope has size 1
 * (or none at all). Null where what x then holds cannot be said: other indices than slices, a tensor that held data before,
 * parts along several axes, sizes that are not known.
 */
export function writtenSlices(t: Tensor, target: Node, value: Tensor): Tensor | null {
  const rank = rankOf(t.shape);
  const own = rankOf(value.shape);
  const fresh = t.content === 'constant' || t.form !== null;
  if (!fresh || rank === null || own === null || own === 0 || own > rank) return null;
  if (value.content !== 'data' && value.content !== 'parameter') return null;
  const partial = partialAxes(target, rank);
  const [along, ...more] = partial ?? [];
  if (!partial || more.length > 0) return null;
  const assignment = target.parent?.kind === 'assignment' ? target.parent : null;
  const right = assignment && childOf(assignment, 'right');
  if (!assignment || !right) return null;
  const origin = placeOf(assignment);
  const copied = (axis: Axis, at: number): Axis => {
    const given = value.shape.head[at - (rank - own)];
    if (at === along) return given ?? freeAxis(null);
    if (given && !isOne(given.dim)) return { dim: axis.dim ?? given.dim, replica: given.replica };
    if (!axis.dim || isOne(axis.dim)) return freeAxis(axis.dim);
    const made = replica(value, { map: ALL, source: ONE, extent: axis.dim, origin, written: true });
    return { dim: axis.dim, replica: { ...made, helper: { source: placeOf(right) } } };
  };
  const part = tensor(mapAxes(t.shape, copied), { place: origin, content: value.content });
  if (along === undefined) return { ...part, label: t.label, storage: t.storage };
  const block: Block = {
    width: knownAxis(part.shape, along)?.dim ?? null,
    terms: [{ coefficient: 1, factors: [part] }],
    place: origin,
  };
  const before = t.form?.axis === along ? t.form.blocks : [];
  const whole = tensor(withoutReplicas(t.shape), { place: origin, label: t.label, storage: t.storage });
  return { ...whole, form: { axis: along, blocks: [...before, block], place: origin, after: [] } };
}

/** The axes of which slices take a part; null where other things index. */
function partialAxes(target: Node, rank: number): readonly number[] | null {
  const indices = childrenOf(target, 'subscript');
  const flat = indices.length === 1 && indices[0]?.kind === 'tuple' ? indices[0].children : indices;
  const dots = flat.findIndex((index) => index.kind === 'ellipsis');
  if (flat.some((index, i) => index.kind !== 'slice' && i !== dots)) return null;
  const at = (i: number): number => (dots >= 0 && i > dots ? rank - flat.length + i : i);
  return flat.flatMap((index, i) => (i !== dots && index.children.length > 0 ? [at(i)] : []));
}
