/** Which functions can make a replica at all: only those are evaluated, and what calls them. */
import type { FileModel, FunctionModel } from './model';

/** What a replica is made by. Cheap to test and rather too wide. */
const PRODUCER = new RegExp(
  [
    '\\b(repeat|repeat_interleave|repeat_kv|expand|expand_as|tile|broadcast_to|index_select|broadcast_tensors|matmul)\\b',
    // Rows picked by an index that may be many-to-one.
    '\\[(?:self\\.)?(row|col|src|dst|i|j|idx_i|idx_j|index|idx|inverse|inverse_indices|batch|batch_index|edge_type|rel_type|\\w+_(idx|index|to_\\w+))\\]',
    '\\w\\[\\s*edge(_label)?_index\\[',
    '\\[[^\\]\\n]*//',
    // The same tensor stacked or concatenated several times.
    '\\b(stack|cat)\\(\\s*\\[\\s*[\\w.]+\\s*\\]\\s*\\*',
  ].join('|'),
);

interface Producers {
  /** The function's own text has a producer. */
  readonly own: boolean;
  /** It, or a function of the file that it names, has. */
  readonly reachable: boolean;
}

const cache = new WeakMap<FileModel, ReadonlyMap<FunctionModel, Producers>>();
const single = new WeakMap<FunctionModel['node'], Producers>();

export function producers(model: FunctionModel): Producers {
  const inFile = (cache.get(model.file) ?? analyse(model.file)).get(model);
  if (inFile) return inFile;
  // Lambdas and nested functions.
  const known = single.get(model.node);
  if (known) return known;
  const own = PRODUCER.test(model.node.file.text.slice(model.node.start, model.node.end));
  const made = { own, reachable: own };
  single.set(model.node, made);
  return made;
}

function analyse(file: FileModel): ReadonlyMap<FunctionModel, Producers> {
  const texts = new Map(file.functions.map((f) => [f, f.node.file.text.slice(f.node.start, f.node.end)]));
  const own = new Set(file.functions.filter((f) => PRODUCER.test(texts.get(f) ?? '')));
  const reachable = new Set(own);
  const names = new Set([...own].map((f) => (f.name === 'forward' ? f.owner?.name : f.name) ?? f.name));
  for (let changed = names.size > 0; changed;) {
    changed = false;
    const called = new RegExp(`\\b(${[...names].filter((n) => /^\w+$/.test(n)).join('|')})\\b`);
    for (const [f, text] of texts) {
      if (reachable.has(f) || !called.test(text.slice(text.indexOf('(')))) continue;
      reachable.add(f);
      if (!names.has(f.name)) {
        names.add(f.name);
        changed = true;
      }
    }
  }
  const result = new Map(file.functions.map((f) => [f, { own: own.has(f), reachable: reachable.has(f) }]));
  cache.set(file, result);
  return result;
}
