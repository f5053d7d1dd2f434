/** From a match to what the benchmark can measure of it: the operator, and its sizes by the benchmark's own names. */
import type { BenchHint } from '../finding';
import { DEFAULT_ITEM_SIZE } from '../cost/cost';
import { joinedAlong } from '../judge/joined';
import type { AttentionFacts, FormBlock, Match, ReplicaFact } from '../judge/match';
import { type Dim, add, constant, divide, multiply, ZERO } from '../tensor/dim';

/** Blocks that the bundled kernels take. More were written by a program, and each finding among them would look through them all. */
export const MOST_BLOCKS = 64;

/** Null where no arm fits; sizes that are not known are null. */
export function benchHint(match: Match): BenchHint | null {
  const [replica] = match.replicas;
  if (!replica) return null;
  const number = match.size;
  // Of a list that a loop fills, each pass may list another tensor.
  const isOne = replica.listed?.isOneOfMany !== true;
  const rows = { B: number(replica.extent), U: isOne ? number(replica.source) : null };
  const M = number(match.sink.outWidth);
  switch (match.code) {
    case 'IKB101':
    case 'IKB102':
    case 'IKB104':
    case 'IKB304': {
      const { Ku, Kc } = widths(match);
      const { B, U } = rowsRead(match, replica);
      return {
        op: 'concat-linear',
        dims: { B: number(B), U: isOne ? number(U) : null, Ku: number(Ku), Kc: number(Kc), M },
      };
    }
    case 'IKB103': {
      const { Ku, Kc } = widths(match);
      const N = columns(match, rows.B, number(Ku));
      return { op: 'linear-compression', dims: { ...rows, Ku: number(Ku), Kc: number(Kc), M, N } };
    }
    case 'IKB201':
      return match.attention && { op: 'attention', dims: { ...rows, ...attentionDims(match.attention, number) } };
    case 'IKB202':
      return match.attention && { op: 'attention', dims: sharedHeads(match.attention, number) };
    default:
      return null;
  }
}

/** All rows that the layer reads of the copies, and those that were copied: all axes of the tensor but the one that is summed over. */
function rowsRead({ cost, named }: Match, { extent, source }: ReplicaFact): { readonly B: Dim; readonly U: Dim } {
  const rows = divide(cost.bytes, multiply(named(cost.contracted), constant(cost.itemSize ?? DEFAULT_ITEM_SIZE)));
  const ratio = named(cost.ratio);
  return { B: rows, U: ratio ? divide(rows, ratio) : multiply(divide(rows, named(extent)), named(source)) };
}

/** Of the replicated blocks and of the others. A replica alone has no others, and rows among others are read as they are alone. */
function widths(match: Match): { readonly Ku: Dim; readonly Kc: Dim } {
  const { code, form, cost } = match;
  const blocks = form?.blocks ?? [];
  const isReplicated = ({ terms }: FormBlock) => terms.every(({ replicated }) => replicated);
  const total = (list: readonly FormBlock[]): Dim => list.reduce<Dim>((sum, { width }) => add(sum, width), ZERO);
  if (blocks.length === 0) return { Ku: null, Kc: ZERO };
  if (code === 'IKB102' && form && form.axis !== null)
    return { Ku: cost.contracted, Kc: joinedAlong(match) === null ? ZERO : null };
  if (blocks.length > MOST_BLOCKS) return { Ku: null, Kc: null };
  const own = blocks.filter(isReplicated);
  // Where copies are a part of sums alone, the benchmark has no such product.
  return { Ku: own.length > 0 ? total(own) : null, Kc: total(blocks.filter((block) => !isReplicated(block))) };
}

/** Columns of the embeddings: what is left of the copied bytes per row and replicated feature. */
function columns({ cost, size: number }: Match, rows: number | null, features: number | null): number | null {
  const bytes = number(cost.bytes);
  const size = bytes && rows && features ? bytes / ((cost.itemSize ?? DEFAULT_ITEM_SIZE) * rows * features) : null;
  return size !== null && Number.isInteger(size) ? size : null;
}

type Number = (dim: Dim) => number | null;

function attentionDims({ query, key, layout }: AttentionFacts, number: Number): Record<string, number | null> {
  const [heads, length] = layout === 'bshd' ? [2, 1] : [1, 2];
  const at = (dims: readonly Dim[] | null, axis: number) => number((dims?.length === 4 ? dims[axis] : null) ?? null);
  return {
    Q: at(query.dims, length),
    S: at(key.dims, length),
    H: at(query.dims, heads),
    Hkv: at(key.dims, heads),
    D: at(query.dims, 3),
  };
}

/** Query heads that share a key head are candidates that share a user: the same reads, the same products. */
function sharedHeads(facts: AttentionFacts, number: Number): Record<string, number | null> {
  const [replica] = facts.key.replicas;
  const batch = facts.query.dims?.[0] ?? null;
  const { Q = null, S = null, D = null } = attentionDims(facts, number);
  const B = number(multiply(batch, replica?.extent ?? null));
  const U = number(multiply(batch, replica?.source ?? null));
  return { B, U, Q, S, H: 1, Hkv: 1, D };
}
