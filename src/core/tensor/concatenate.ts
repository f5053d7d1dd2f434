/** Concatenation: which maps survive, and the linear form that it builds. */
import { type Dim, equal, isOne, sum } from './dim';
import { joined, mapReplicas, mergeContent, sameMap, sameReplica, widest, writtenAt } from './pointwise';
import {
  NO_INDEX,
  UNKNOWN_SHAPE,
  axisAt,
  carriesReplica,
  freeAxis,
  knownAxis,
  mapAxes,
  position,
  rankOf,
  replicasOf,
  tensor,
  withRank,
} from './shape';
import type { Assumption, Axis, Block, Form, IndexKind, Place, Replica, Shape, Tensor } from './value';

/** torch.cat: every operand is written into the result. `dim` as given; operands known one by one. `by`: what writes it is called so. */
export function concatenate(values: readonly Tensor[], dim: number, place: Place, by: string): Tensor {
  const ranks = values.flatMap((v) => rankOf(v.shape) ?? []);
  const assumed = ranks.length === 0 && dim === 2 && values.some(isVectorOverRows);
  const rank = assumed ? 3 : (ranks[0] ?? null);
  const ranked = rank === null ? values : values.map((v) => ({ ...v, shape: withRank(v, rank) ?? v.shape }));
  const axis = rank !== null && dim < 0 ? dim + rank : dim;
  const written = writtenAt(place, `${by} writes the copy`, 'concatenate');
  const mark = (r: Replica): Replica => (assumed ? withAssumption(written(r), 'joined-along-last') : written(r));
  const itemSize = widest(values);
  const blocks: Block[] = [];
  // Rows of several kinds that are concatenations themselves keep their blocks, along the other axis.
  // Padded with a constant, they are one kind.
  const kinds = ranked.filter((value) => holdsCopies(value, axis)).length;
  const isRows = kinds > 1 || (kinds > 0 && ranked.every(({ content }) => content !== 'constant'));
  for (const value of ranked) {
    const at = position(value.shape, axis) ?? axis;
    const width = axisAt(value, at).dim;
    const inner = value.form;
    if (inner && inner.axis === at) blocks.push(...inner.blocks);
    else if (inner && inner.axis === null && inner.blocks.length === 1) {
      blocks.push({ width, terms: inner.blocks[0]?.terms ?? [], place: value.place ?? place });
    } else {
      const atom = {
        ...mapReplicas(value, mark),
        form: isRows && holdsCopies(value, at) ? inner : null,
        // Views are written here, as wide as the widest of all.
        itemSize: replicasOf(value.shape).every(({ written }) => written) ? value.itemSize : itemSize,
      };
      blocks.push({ width, terms: [{ coefficient: 1, factors: [atom] }], place: value.place ?? place });
    }
  }
  const total = sum(blocks.map(({ width }) => width));
  const content = mergeContent(values);
  const sure = rank !== null && values[0] && rankOf(values[0].shape) === null ? values.filter(carriesReplica) : [];
  const shape = concatShape(ranked, sure, axis, total, mark);
  // Ids and masks are multiplied by nothing, however many of them are copies.
  const isOfIds = content === 'mask' || values.every((v) => v.content === 'index' || v.index.kind !== 'unknown');
  const form: Form = { axis, blocks, place, after: [] };
  return tensor(shape, {
    place,
    content,
    itemSize,
    index: isOfIds ? joinedIndex(values) : NO_INDEX,
    form: !isOfIds && blocks.some((b) => b.terms.some((t) => t.factors.some(carriesReplica))) ? form : null,
  });
}

/** Loops and reversed edges added to edges are edges, and so are their ends; otherwise each part picks rows many times. */
function joinedIndex(values: readonly Tensor[]): IndexKind {
  const kinds = values.map((v): IndexKind => (v.content === 'index' && carriesReplica(v) ? COPIED : v.index));
  const edges = kinds.find((kind) => kind.kind === 'edge-index' || (kind.kind === 'many-to-one' && kind.edges));
  if (edges) return edges;
  const named = kinds.find((kind) => kind.kind === 'many-to-one' && kind.evidence === 'named');
  return kinds.every(({ kind }) => kind === 'many-to-one') ? (named ?? kinds[0] ?? NO_INDEX) : NO_INDEX;
}

/** Ids that are copies. */
const COPIED: IndexKind = { kind: 'many-to-one', evidence: 'strong', map: 'indexed' };

/** `y.unsqueeze(1).expand_as(x)` of a `y` and an `x` of unknown rank: a vector for each row, most likely. */
const isVectorOverRows = ({ shape: { exact, head, tail } }: Tensor): boolean =>
  !exact && head.length === 2 && tail.length === 0 && head[1]?.replica?.map.kind === 'all';

const withAssumption = (replica: Replica, assumption: Assumption): Replica =>
  replica.assumptions.includes(assumption)
    ? replica
    : { ...replica, assumptions: [...replica.assumptions, assumption] };

/** Joined along another axis, of blocks among which there are copies. */
const holdsCopies = ({ form }: Tensor, axis: number): boolean =>
  form !== null &&
  form.axis !== null &&
  form.axis !== axis &&
  form.blocks.length > 1 &&
  form.blocks.some((b) => b.terms.some((t) => t.factors.some(carriesReplica)));

/** `sure`: operands with copies whose rank is known where that of the first is not, and says what sizes are called. */
function concatShape(
  values: readonly Tensor[],
  sure: readonly Tensor[],
  axis: number,
  total: Dim,
  mark: (r: Replica) => Replica,
): Shape {
  const [first, ...rest] = values;
  if (!first) return UNKNOWN_SHAPE;
  const combine = (at: number, old: Axis): Axis => {
    if (at === axis) return freeAxis(total);
    const dims = values.map((v) => knownAxis(v.shape, at)?.dim ?? null);
    const named = sure.map((v) => (v.shape.exact ? knownAxis(v.shape, at)?.dim : null)).find((d) => d != null);
    // What is joined is as large along every other axis: a single row of one operand says that all are single.
    const single = dims.find((d, i) => isOne(d) && values[i]?.shape.exact) ?? null;
    const dim = single ?? named ?? old.dim ?? dims.find((d) => d !== null) ?? null;
    const { replica } = old;
    const all =
      replica &&
      rest.every((v) => {
        const other = knownAxis(v.shape, at)?.replica;
        return (
          other &&
          (sameReplica(other, replica) ||
            sameMap(other, replica) ||
            (other.map.kind === 'all' && replica.map.kind === 'all' && equal(other.extent, replica.extent) === true))
        );
      });
    const more = rest.flatMap((v) => knownAxis(v.shape, at)?.replica ?? []);
    return { dim, replica: all ? mark(joined(replica, more)) : null };
  };
  const base = first.shape.exact ? first : (values.find((v) => v.shape.exact) ?? first);
  const shape = mapAxes(base.shape, (old, at) => combine(at, knownAxis(first.shape, at) ?? old));
  if (shape.exact || knownAxis(shape, axis)) return shape;
  return axis === -1 ? { ...shape, tail: [freeAxis(total)] } : shape;
}
