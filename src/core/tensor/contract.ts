/** What a contraction sees of its operand: every replica that it reads, and how it gets there. */
import { equal, isOne } from './dim';
import { allAxes, freeAxis, freshId, knownAxis, mapAxes, position, rankOf } from './shape';
import type { Replica, Shape, Tensor } from './value';

export interface Hit {
  readonly replica: Replica;
  /** Axis of the operand, from the front if the rank is known. */
  readonly axis: number;
  /**
   * `whole`: the operand itself is a replica; `block`: a block along the contracted axis, or a term of a sum, is;
   * `rows`: some rows are (a token concatenated to others); `product`: an outer product of replicas is contracted;
   * `picked`: one position of a replicated axis was picked.
   */
  readonly via: 'whole' | 'block' | 'rows' | 'product' | 'picked';
  /** The tensor that carries the replica: the operand or an atom of its form. */
  readonly carrier: Tensor;
  /** A block of rows that were joined with others. */
  readonly nested?: true;
}

/** Replicas of `t` along axes other than the contracted one. */
export function hitsOf(t: Tensor, contracted: number): readonly Hit[] {
  // Of blocks whose own rank is not known, axes may be counted from the back where those of `t` are not.
  const placed = (axis: number): number => position(t.shape, axis) ?? axis;
  const at = placed(contracted);
  const hits: Hit[] = axesWithReplica(t)
    .filter(({ axis }) => axis !== at)
    .flatMap(({ axis, replica }) => [
      { replica, axis, via: 'whole', carrier: t },
      ...(t.form ? [] : replica.also.map((other) => beside(other, replica, axis, t))),
    ]);
  hits.push(...picks(t));
  const { form } = t;
  if (!form) return hits;
  const along = form.axis === null || placed(form.axis) === at;
  for (const block of form.blocks) {
    for (const term of block.terms) {
      const product = term.factors.length > 1;
      for (const factor of term.factors) {
        for (const { axis: own, replica } of axesWithReplica(factor)) {
          const axis = placed(own);
          if (axis === at) continue;
          // Multiplied by a number for each position, rows are copies for products along the blocks alone.
          if (!along && replica.scaled) continue;
          if (product && !term.factors.every((f) => alike(knownAxis(f.shape, own)?.replica, replica))) continue;
          const via = along ? 'block' : 'rows';
          hits.push({ replica, axis, via, carrier: factor });
          if (!product)
            hits.push(...replica.also.map((other) => ({ ...beside(other, replica, axis, factor), via }) as Hit));
        }
        // Of rows that were picked, a few tokens among others are worth no word.
        if (along && (!product || term.factors.every((f) => f.picked.length > 0))) hits.push(...picks(factor));
        if (!along && !product && factor.form) hits.push(...nestedIn(factor, at));
      }
      if (product) hits.push(...outerProduct(term.factors, at));
    }
  }
  return hits;
}

const nestedIn = (rows: Tensor, contracted: number): readonly Hit[] =>
  hitsOf(rows, contracted).flatMap((hit) => (hit.via === 'block' ? [{ ...hit, nested: true }] : []));

/** Rows by one index times rows by another one are of pairs, each of which is there once. */
const alike = (a: Replica | null | undefined, { map }: Replica): boolean =>
  a !== null &&
  a !== undefined &&
  a.map.kind === map.kind &&
  (a.map.kind !== 'indexed' || map.kind !== 'indexed' || a.map.index === map.index);

/** Another one that the value was computed from: of the value's sizes, its own are those of what was copied. */
function beside(other: Replica, main: Replica, axis: number, t: Tensor): Hit {
  const { map, source, extent, scaled } = main;
  const isWithin = fitsInto(other.of.shape, axis, t.shape);
  const shape = mapAxes(t.shape, (a, i) =>
    a.replica ? a : freeAxis(isWithin ? (other.of.shape.head[i]?.dim ?? null) : null),
  );
  const replica = { ...other, map, source, extent, scaled, also: [main] };
  return { replica, axis, via: 'whole', carrier: { ...t, id: freshId(), shape } };
}

/** Axis by axis, but for the copied one, it is as large, or stands for all positions. */
const fitsInto = (own: Shape, copied: number, whole: Shape): boolean =>
  own.exact &&
  whole.exact &&
  own.head.length === whole.head.length &&
  own.head.every(({ dim }, i) => i === copied || isOne(dim) || equal(dim, whole.head[i]?.dim ?? null) === true);

/** Positions picked of copies that were multiplied by a number each are equal no more. */
const picks = (carrier: Tensor): Hit[] =>
  carrier.picked.filter((r) => !r.scaled).map((replica) => ({ replica, axis: 0, via: 'picked', carrier }));

/**
 * What a product sees of its rows. Tokens of several kinds that were joined are rows of their own each: that all of them
 * are copies makes none of them the whole operand.
 */
export function rowHitsOf(t: Tensor, contracted: number): readonly Hit[] {
  const hits = hitsOf(t, contracted);
  const at = position(t.shape, contracted) ?? contracted;
  const { form } = t;
  if (!form || form.axis === null || (position(t.shape, form.axis) ?? form.axis) === at) return hits;
  const rows = hits.filter((hit) => hit.via === 'rows');
  const origins = new Set(rows.map(({ replica: { origin } }) => `${origin.path}:${origin.start}`));
  return origins.size > 1 ? hits.filter((hit) => hit.via !== 'whole') : hits;
}

/** Each factor is a replica along the contracted axis: an outer product made by copying, only to be summed. */
function outerProduct(factors: readonly Tensor[], contracted: number): Hit[] {
  const found = factors.flatMap((carrier) => {
    const replica = knownAxis(carrier.shape, contracted)?.replica;
    return replica ? [{ replica, axis: contracted, via: 'product' as const, carrier }] : [];
  });
  return found.length === factors.length ? found : [];
}

export function axesWithReplica(t: Tensor): readonly { axis: number; replica: Replica }[] {
  const exact = rankOf(t.shape) !== null;
  return allAxes(t.shape).flatMap((axis, i) => {
    if (!axis.replica || isOne(axis.dim)) return [];
    const at = exact || i < t.shape.head.length ? i : i - t.shape.head.length - t.shape.tail.length;
    return [{ axis: at, replica: axis.replica }];
  });
}
