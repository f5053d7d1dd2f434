/** What the names of indices say of them. */
import type { IndexKind } from '../tensor/value';
import type { Run } from './run';
import { type Node, textOf } from './syntax';

/**
 * How an index is called that picks rows many times, as the text of a pattern: `cand_to_user`, `to_user`, `user_idx`. That of
 * `node2_index` is the second node.
 */
export const MANY_TO_ONE = [
  '(?:cand(?:idate)?s?|items?|ads?|edges?|nodes?|rows?|tokens?|samples?|pairs?)(?:_?to_?|_?2(?!_)|_2_)\\w+',
  '(?:to|2)_(?:user|request|session|query|group|graph)s?(?:_\\w*)?',
  '(?:user|session|request|query)_(?:idx|index|indices)',
].join('|');

const EDGES =
  /(^|\.)(edge_index|edge_label_index|pos_edge_index|neg_edge_index|edge_list|edge_indices|edge_idx|edges)$/;
/** `adj.coalesce().indices()`: the ends of edges, where its name says that a matrix is that of a graph. */
export const isOfAdjacency = (call: Node): boolean =>
  /(^|\.)(adj(_t|_mat(rix)?)?|adjacency(_matrix)?)(\.coalesce\(\))?\._?indices\(\)$/.test(textOf(call));
/** What makes batches of edges whose labels are asked for: seeds, of which there are few among many nodes. */
export const LOADS_SEEDS = /\bLink(Neighbor)?Loader\b/;
const LABELLED = /(^|\.)edge_label_index$/;
const NAMED_MANY_TO_ONE = new RegExp(`(^|[._])(${MANY_TO_ONE})$`);

type Known = Pick<Run, 'manyToOne' | 'areLabelsSeeds'>;

/** What a name says of an index. Edge indices are strong: two rows of node ids, many edges to a node. */
export function indexByName(label: string, { manyToOne, areLabelsSeeds }: Known): IndexKind {
  if (manyToOne.has(label)) return { kind: 'many-to-one', evidence: 'strong', map: 'indexed' };
  if (EDGES.test(label) && !(areLabelsSeeds && LABELLED.test(label))) return { kind: 'edge-index' };
  if (NAMED_MANY_TO_ONE.test(label)) return { kind: 'many-to-one', evidence: 'named', map: 'indexed' };
  return { kind: 'unknown' };
}
