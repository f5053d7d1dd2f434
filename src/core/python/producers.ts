/** Which functions can make a replica at all: only those are evaluated, and what uses their results. */
import type { FunctionModel } from './model';

/** What a replica is made by. Cheap to test and rather too wide. */
const PRODUCER = new RegExp(
  [
    '\\b(repeat|repeat_interleave|repeat_kv|expand|expand_as|tile|broadcast_to|index_select|broadcast_tensors)\\b',
    '\\breturn_inverse\\b|\\b(searchsorted|bucketize|edge_index|edge_label_index|triu_indices)\\b.*[\\])]|\\barange\\([^)\\n]*\\)\\s*//',
    // Rows picked by an index whose name says that it is many-to-one.
    '\\[(?:self\\.)?(edge_types?|rel(ation)?_types?|\\w*_to_\\w+|(user|session|request|query)_(idx|index|indices))\\]',
    '\\benable_gqa\\s*=\\s*True',
    // Copies that ones or zeros ask for.
    '\\b(ones|zeros)\\([^()\\n]*\\)\\s*[*+]|[*+]\\s*(torch\\.)?(ones|zeros)\\(',
    // The same tensor stacked or concatenated several times.
    '\\b(stack|cat)\\(\\s*\\[\\s*[\\w.]+\\s*\\]\\s*\\*',
    '\\b(stack|cat|concat|concatenate)\\(\\s*[[(]\\s*(?<twice>[\\w.]+)\\s*,\\s*\\k<twice>\\b',
  ].join('|'),
);
/** Rows picked by an index that the same function sums by. */
const SCATTERED = /\b(scatter\w*|segment_\w+|index_add_?|global_\w+_pool)\(/;
/** Half precision, as far as a text says so: widths of concatenations then matter. */
const HALF = /\bautocast\b|\.half\(|\bb?float16\b/;
/** A product that may broadcast a parameter inside. */
const PRODUCT = /\bmatmul\b/;

function produces(text: string, whole: string): boolean {
  if (PRODUCER.test(text)) return true;
  if (SCATTERED.test(text) && /\w\[\w+\]/.test(text)) return true;
  if (HALF.test(text) && /\bcat(enate)?\(/.test(text)) return true;
  return PRODUCT.test(text) && whole.includes('Parameter(');
}

/** Can any function of a file with this text make a replica? If not, and what it imports cannot, no parse is needed. */
export const mayProduceReplicas = (text: string): boolean => produces(text, text);

const cache = new WeakMap<FunctionModel['node'], boolean>();

/** Does the text of the function have what makes a replica? */
export function producesReplicas(model: FunctionModel): boolean {
  const { node, file } = model;
  const known = cache.get(node) ?? produces(node.file.text.slice(node.start, node.end), file.file.text);
  cache.set(node, known);
  return known;
}
