/** Which functions can make a replica at all: only those are evaluated, and what uses their results. */
import type { FileModel, FunctionModel } from './model';

/** What a replica is made by. Cheap to test and rather too wide. */
const PRODUCER = new RegExp(
  [
    '\\b(repeat|repeat_interleave|repeat_kv|expand|expand_as|tile|broadcast_to|index_select|broadcast_tensors)\\b',
    '\\breturn_inverse\\b|\\b(searchsorted|bucketize|edge_index|edge_label_index|triu_indices)\\b.*[\\])]|\\barange\\([^)\\n]*\\)\\s*//',
    // Rows picked by an index whose name says that it is many-to-one.
    '\\[(?:self\\.)?(edge_types?|rel(ation)?_types?|\\w*_to_\\w+|(user|session|request|query)_(idx|index|indices))\\]',
    // The same tensor stacked or concatenated several times.
    '\\b(stack|cat)\\(\\s*\\[\\s*[\\w.]+\\s*\\]\\s*\\*',
  ].join('|'),
);
/** Rows picked by an index that the same function sums by. */
const SCATTERED = /\b(scatter\w*|segment_\w+|index_add_?|global_\w+_pool)\(/;
/** A product that may broadcast a parameter inside. */
const PRODUCT = /\bmatmul\b/;

function produces(text: string, file: FileModel): boolean {
  if (PRODUCER.test(text)) return true;
  if (SCATTERED.test(text) && /\w\[\w+\]/.test(text)) return true;
  return PRODUCT.test(text) && file.file.text.includes('Parameter(');
}

const cache = new WeakMap<FunctionModel['node'], boolean>();

/** Does the text of the function have what makes a replica? */
export function producesReplicas(model: FunctionModel): boolean {
  const { node, file } = model;
  const known = cache.get(node) ?? produces(node.file.text.slice(node.start, node.end), file);
  cache.set(node, known);
  return known;
}
