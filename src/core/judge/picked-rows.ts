/** Rows that are picked by an index but are no copies that a product is due for. */
import { GRAPH_OF_NODE } from '../python/gather';
import type { Replica } from '../tensor/value';
import type { LinearForm, RuleCode, Sink } from './match';

type SinkKind = Sink['kind'];

/** Rows of nodes that each meet a matrix of their edge's own: no product of them is due twice. */
export const meetsOwnMatrix = ({ edges, helper }: Replica, code: RuleCode): boolean =>
  edges && helper !== null && code === 'IKB301';

/** A bilinear layer takes both ends of an edge together: a node by itself would be projected to a matrix. */
export const meetsOtherEnd = ({ edges }: Replica, kind: SinkKind): boolean => edges && kind === 'bilinear';

/** `x[batch]` picks the graph of each node, or the rows of a mini-batch: picked rows beside nothing but picked rows are taken for the latter. Beside features of the nodes they are copies. */
export function mayBeMiniBatch({ map, evidence }: Replica, form: LinearForm | null): boolean {
  if (evidence !== 'named' || map.kind !== 'indexed' || !GRAPH_OF_NODE.test(map.index)) return false;
  // A field of what holds several graphs in one.
  if (map.index.endsWith('.batch')) return false;
  const terms = (form?.blocks ?? []).flatMap((block) => block.terms);
  return !terms.some((term) => !term.replicated);
}
