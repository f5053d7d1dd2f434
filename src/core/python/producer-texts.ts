/**
 * By what text a function can make a replica. Cheap to test and rather too wide: half of all evaluation is of functions that turn out
 * to make none.
 */
import { PRODUCT_NAMES } from '../tensor/operators';
import { MANY_TO_ONE } from './index-names';

/** What a replica is made by. */
const PRODUCER = new RegExp(
  [
    '\\b(repeat|repeat_interleave|repeat_kv|expand|expand_as|broadcast_to|broadcast_tensors)\\b|\\btile\\(',
    '\\breturn_inverse\\b|\\b(searchsorted|bucketize|triu_indices)\\b.*[\\])]|\\barange\\((?:[^()\\n]|\\([^()\\n]*\\))*\\)\\s*//',
    // Rows picked by an index whose name says that it is many-to-one.
    `\\[(?:[\\w.]*[._])?(?:${MANY_TO_ONE})\\]`,
    '\\benable_gqa\\s*=\\s*True',
    // Copies that ones or zeros ask for.
    '(?<!\\b(?:np|numpy|tl)\\.)\\b(new_)?(ones|zeros)(_like)?\\([^()\\n]*\\)(\\.(to|type|type_as|float|cuda)\\([^()\\n]*\\))*\\s*[*+]|[*+]\\s*(?!np\\.|numpy\\.|tl\\.)(\\w+\\.)?(new_)?(ones|zeros)(_like)?\\(',
    // The same tensor stacked or concatenated several times.
    '\\b([vh]?stack|cat)\\(\\s*\\(*\\s*(\\[[^,\\n]*?\\]\\s*\\*(?!\\s*\\*)|[\\w.]+(\\([\\w-]*\\)|\\[-?\\w*\\])?\\s*\\*\\s*\\[)',
    '\\b([vh]?stack|cat)\\(\\s*[[(]\\s*\\w+\\s+for\\s+\\w+\\s+in\\s+range\\(',
    '\\b([vh]?stack|cat|concat|concatenate)\\(\\s*[[(]\\s*(?<twice>[\\w.]+)\\s*,\\s*\\k<twice>\\b',
  ].join('|'),
);
/** What takes longer to test, with what a text must have for it. */
const PAIRS: readonly (readonly [has: RegExp, and: RegExp])[] = [
  // Rows picked by pairs of positions.
  [/\b(meshgrid|cartesian_prod|combinations)\(.*\barange\(/, /\w\[\w+(\[[^\]\n]*\]|\.\w+\([^()\n]*\))*\]/],
  // Rows picked by lists of the ends of all pairs.
  [
    /\[(?::|\.\.\.), *[a-z]\w*(?:\]|, *:)/,
    /\b(combinations|permutations|product)\(|\bfor \w+ in range\([^\n]*\):?\s*(?:\w+ *= *[^\n]*\n\s*)?for \w+ in range\(/,
  ],
  // One row picked several times, by a list of its number: `x[:, [0] * n]`, or by the name of that list.
  [
    /\[\s*\d+\s*\]\s*\*/,
    /\w\[[^[\]\n]*\[\s*\d+\s*\]\s*\*|^[ \t]*(?<list>\w+)[ \t]*=[ \t]*\[\s*\d+\s*\]\s*\*[^]*\w\[[^[\]\n]*\b\k<list>\]/m,
  ],
  // Rows picked by the ends of edges of a sparse matrix.
  [/indices\(\)/, /\badj\w*(?:\.coalesce\(\))?\._?indices\(\)[^]*[\w\])]\[\w+(?:\[[01](?:, *:)?\])?(?:, *:)?\]/],
  // Rows of edges that are handed over as a pair of index tensors.
  [/\bedges\b/, /^[ \t]*\(?\w+[ \t]*,[ \t]*\w+\)?[ \t]*=[ \t]*(self\.)?edges[ \t]*$/m],
  // What a message passing library hands over of both ends of an edge.
  [/\bdef (message|edge_update)\(/, /\w_[ij]\b/],
  [/\bedges\.(src|dst)\[/, /\b(cat|concat|Linear)\b|\bself\.\w+(\[[^\]\n]*\])?\(/],
];
/** Half precision, as far as a text says so: widths of concatenations then matter to a product. */
const HALF = /\bautocast\b|\.half\(|\bb?float16\b/;
const CONCATENATES = /\bcat(enate)?\(/;
const PRODUCT = new RegExp(`\\b(${PRODUCT_NAMES.join('|')})\\(|\\b(Linear|mm|matmul)\\b| @ `);

/** The same with what the file must have. */
const WIDER: readonly (readonly [has: RegExp, file: RegExp])[] = [
  // Layers that are made in half precision: what is concatenated for them.
  [/\bcat(enate)?\(/, /Linear\([^\n]*(dtype=torch\.(half|b?float16)|\)\.(half|bfloat16|to)\()/],
  [
    /\[(?::|\.\.\.), *self\.\w+(?:\]|, *:)/,
    /\b(combinations|permutations|product)\(|for \w+ in range\([^\n]*\):?\s*for \w+ in range\(/,
  ],
  [/\b([iI]nterpolate|[uU]psample)\(/, /[aA]daptive_?[aA]vg_?[pP]ool/],
];
/** What texts that speak of graphs make copies by. */
const OF_GRAPHS: readonly RegExp[] = [
  // Features of graphs given to their nodes.
  /\[(\w+\.)?(batch|batch_\w+|\w+_batch|node2graph)\]/,
  // Both ends of an edge, joined.
  /\b(?:cat|concat)\(\s*[[(]\s*(?<of>[\w.]+)\[(?:\w+_)?(?:i|j|src|dst|rows?|cols?|sources?|targets?|senders?|receivers?)(?:_?(?:idx|index|inds?|ids?))?\]\s*,[^\n]*\b\k<of>\[/,
  // Both ends, under names of their own.
  /=[ \t]*(?<rows>[\w.]+)\[(?:idx_[st]|(?:\w+_)?(?:i|j|src|dst|rows?|cols?|sources?|targets?|senders?|receivers?)(?:_?(?:idx|index|inds?|ids?))?)\][^\n]*\n[ \t]*\w+[ \t]*=[ \t]*\k<rows>\[/,
];
const GRAPH_WORDS = ['edge', 'scatter', 'radius_graph', 'torch_geometric', 'nEdges'];
const GRAPHS = /\b(edge_index|torch_geometric|torch_scatter|scatter_\w+|radius_graph|nEdges|num_edges|n_edges)\b/;

/** Does a text, of a file with this text, have what makes a replica? */
export const produces = (text: string, whole: string): boolean =>
  PRODUCER.test(text) ||
  PAIRS.some(([has, and]) => has.test(text) && and.test(text)) ||
  (HALF.test(text) && CONCATENATES.test(text) && hasIn(whole, PRODUCT)) ||
  picksByEdges(text) ||
  picksByKept(text, whole) ||
  writesSlices(text) ||
  picksByRelation(text) ||
  picksWhatItSums(text) ||
  listsOne(text) ||
  WIDER.some(([has, file]) => has.test(text) && hasIn(whole, file)) ||
  multipliesBroadcast(text, whole) ||
  selectsRows(text, whole) ||
  (isOfGraphs(whole) && OF_GRAPHS.some((pattern) => pattern.test(text)));

const EDGES = 'edge(?:_label)?_(?:index|idx)\\b';
const HAS_EDGES = new RegExp(EDGES);
const PICKED_BY_EDGES = new RegExp(`[\\w\\])]\\[[^[\\]\\n'"]*\\b${EDGES}`);
/** `row, col = edge_index`, `row = edge_index[0]`. */
const KEEPS_ENDS = new RegExp(
  `^[ \\t]*[([]?(\\w+)[ \\t]*(?:,(?![^=\\n]*\\b${EDGES}[^\\n]*=)[ \\t]*(\\w+)\\b[^=\\n]*=[^=\\n(][^\\n(]*\\b${EDGES}|=[^=\\n(]+\\b${EDGES}(?:\\.t\\(\\))?\\[(?!\\s*:))`,
  'gm',
);
const END = `${EDGES}(?:\\.t\\(\\))?\\[(?!\\s*:)[^\\]\\n]*\\](?!\\.)`;

/** Longer lines are data: patterns that look twice at each word of a line would take seconds for them. */
const LONG_LINES = /^.{2000,}$/gm;

/** Rows picked by the ends of edges: within a subscript, under names of their own, or by what is called with them. */
function picksByEdges(whole: string): boolean {
  if (!HAS_EDGES.test(whole)) return false;
  const text = whole.replace(LONG_LINES, '');
  if (PICKED_BY_EDGES.test(text) || isHandedOn(END, text)) return true;
  return mayBeAmong(
    [...text.matchAll(KEEPS_ENDS)].flatMap(([, one = '', other = '']) => [one, other]),
    (ends) => new RegExp(`[\\w\\])]\\[[^[\\]\\n]*\\b${ends}\\b`).test(text) || isHandedOn(`\\b${ends}\\b`, text),
  );
}

const PICKED_BY_KEPT = /[\w\])]\[(?:(?::|\.\.\.), *)?self\.(\w+)(?:, *:)?\]/g;
/** `self.row, self.col = edge_index`, `self.idx = arange(n).repeat_interleave(k)`. */
const KEEPS = new RegExp(
  `^[ \\t]*self\\.(\\w+)(?:, *self\\.(\\w+))? *=(?!=)[^\\n]*(?:\\b${EDGES}|\\brepeat_interleave\\()|\\bregister_buffer\\( *['"](\\w+)['"][^\\n]*\\brepeat_interleave\\(`,
  'gm',
);
const ENDS_KEPT = /^[ \t]*self\.(rows?|cols?|src|dst)\b[^=\n]*=(?!=)/gm;
const kept = { whole: '', names: new Set<string>() };

/** Rows picked by an index that the class keeps: the ends of edges, or rows many times. */
function picksByKept(text: string, whole: string): boolean {
  if (!text.includes('self.')) return false;
  const picked = [...text.matchAll(PICKED_BY_KEPT)].map(([, name = '']) => name);
  if (picked.length === 0) return false;
  if (kept.whole !== whole) Object.assign(kept, { whole, names: new Set(namesKept(whole)) });
  return picked.some((name) => kept.names.has(name));
}

function namesKept(whole: string): readonly string[] {
  if (!KEPT_BY.some((word) => whole.includes(word))) return [];
  const own = [...whole.matchAll(KEEPS)].flatMap(([, one = '', other = '', buffer = '']) => [one, other, buffer]);
  const ends = whole.includes('indices()') ? [...whole.matchAll(ENDS_KEPT)].map(([, name = '']) => name) : [];
  return [...own, ...ends];
}

const KEPT_BY = ['edge_', 'repeat_interleave(', 'indices()'];

/** More than a function has. */
const MAX_NAMES = 100;

/** Asks of all names at once, as a pattern: of one after another it would take too long. */
function mayBeAmong(names: readonly string[], test: (pattern: string) => boolean): boolean {
  const different = [...new Set(names)].filter((name) => name !== '' && name !== '_');
  return different.length > MAX_NAMES || (different.length > 0 && test(`(?:${different.join('|')})`));
}

/** Is it an argument of a call that may pick rows? */
function isHandedOn(argument: string, text: string): boolean {
  const calls = text.matchAll(new RegExp(`(\\w+)\\((?:[^()]|\\([^()]*\\))*?${argument}`, 'g'));
  for (const [, callee = ''] of calls) if (!PICKS_NONE.test(callee)) return true;
  return false;
}

/** What is often called with ends of edges and gives no rows of anything. */
const PICKS_NONE =
  /^(len|int|str|print|zip|max|min|isinstance|degree|scatter\w*|maybe_num_nodes|softmax|stack|cat|size|equal|allclose|isin|unique|bincount|sort|argsort|lexsort|SparseTensor|sparse_coo_tensor|coo_matrix|csr_matrix|to_dense\w*|ones|zeros|ones_like|zeros_like|arange|full|coalesce|add_self_loops|tensor|set|list|tuple|eq|unsqueeze|view|reshape|to|append)$/;

/** Whole slices of several axes: `out[:, :, :n] = `. */
const WRITES =
  /^[ \t]*(\w+)\[(?:[^\],:\n]*:[^\],\n]*|[ \t]*\.\.\.[ \t]*)(?:,(?:[^\],:\n]*:[^\],\n]*|[ \t]*\.\.\.[ \t]*))+\][ \t]*=(?!=)(?![ \t]*-?\d)/gm;

/** Copies written into slices of a tensor that was made empty. */
function writesSlices(text: string): boolean {
  if (!/(empty|zeros)(_like)?\(/.test(text)) return false;
  return mayBeAmong(
    [...text.matchAll(WRITES)].map(([, buffer = '']) => buffer),
    (buffers) =>
      new RegExp(`\\b${buffers}\\b[^=\\n]*=[^=\\n]*(?<!\\b(?:np|numpy)\\.)\\b(new_)?(empty|zeros)(_like)?\\(`).test(
        text,
      ),
  );
}

const RELATIONS = /\[(self\.)?(edge_types?|rel(?:ation)?_types?)\]/g;

/** Matrices picked by the relation of an edge; what a loop calls so is a key. */
function picksByRelation(text: string): boolean {
  const picked = [...text.matchAll(RELATIONS)];
  const named = picked.flatMap(([, self, name = '']) => (self === undefined ? name : []));
  const isKey = (name: string): boolean => new RegExp(`\\bfor[ \\t(]+(?:\\w+[ \\t]*,[ \\t(]*)*${name}\\b`).test(text);
  return picked.length > named.length || [...new Set(named)].some((name) => !isKey(name));
}

const SUMS = '\\b(?:scatter\\w*|segment_\\w+|index_add_?|global_\\w+_pool)\\(';
const SUMMING = new RegExp(SUMS);
const PICKED = /[\w)\]]\[([a-z_]\w*)\]/g;

/** Rows picked by an index that the same function sums by. */
function picksWhatItSums(text: string): boolean {
  if (!SUMMING.test(text)) return false;
  return mayBeAmong(
    [...text.matchAll(PICKED)].map(([, name = '']) => name),
    (names) => new RegExp(`${SUMS}(?:[^()]|\\([^()]*\\))*\\b${names}\\b`).test(text),
  );
}

const MULTIPLIES = /\bmatmul\b|[\w)\]][ \t]*@[ \t]*[\w(]/;
const PRODUCT_LINES = /^.*(?:\bmatmul\b|[\w)\]][ \t]*@[ \t]*[\w(]).*$/gm;
const ADDS_AXIS = /\[[^[\]\n]*\bNone\b|\bunsqueeze\(|\.(view|reshape)\((?:[^()\n]*,)?[ \t]*1[ \t]*,/;
const WITH_AXIS = new RegExp(`^[ \\t]*(\\w+)[ \\t]*=(?!=)[^\\n]*(?:${ADDS_AXIS.source})`, 'gm');

const PARAMETERS = /\bself\.(\w+)[ \t]*(?::[^=\n]+)?=[ \t]*(?:\w+\.)*Parameter\(/g;
const ANY_PARAMETER = /Parameter\(/;

/** A product that may broadcast an operand inside: a parameter, or what has an axis of size 1. */
function multipliesBroadcast(text: string, whole: string): boolean {
  if (!MULTIPLIES.test(text)) return false;
  if (ADDS_AXIS.test(text)) {
    const lines = (text.match(PRODUCT_LINES) ?? []).join('\n');
    if (ADDS_AXIS.test(lines)) return true;
    const widened = [...text.matchAll(WITH_AXIS)].map(([, name = '']) => name);
    if (mayBeAmong(widened, (names) => new RegExp(`\\b${names}\\b`).test(lines))) return true;
  }
  if (!hasIn(whole, ANY_PARAMETER)) return false;
  const plain = [...whole.matchAll(PARAMETERS)].map(([, name = '']) => name);
  const others = (whole.match(/Parameter\(/g) ?? []).length > plain.length;
  return others || plain.some((name) => text.includes(`self.${name}`));
}

/** What an index that picks rows many times is made by or called. */
const INDEXES =
  /\b(repeat|repeat_interleave|searchsorted|bucketize|triu_indices|return_inverse|meshgrid|cartesian_prod|combinations)\b|\barange\((?:[^()\n]|\([^()\n]*\))*\)\s*\/\/|edge(_label)?_(index|idx)|\b(scatter\w*|segment_\w+|index_add_?|global_\w+_pool)\(|\bedges?\b|_to_|\b(user|session|request|query)_(idx|index|indices)\b|node2graph|\bikbo:/;

/** `index_select` where the file has what an index may be many-to-one by. */
const selectsRows = (text: string, whole: string): boolean =>
  text.includes('index_select(') && (hasIn(whole, INDEXES) || isOfGraphs(whole));

const JOINS = '\\b(?:[vh]?stack|cat|concat|concatenate)\\(\\s*';
const COUNTS = /^([ \t]*)for[ \t]+(\w+)[ \t]+in[ \t]+range\([^,\n]*\):[^\n]*\n((?:\1[ \t]+\S[^\n]*\n|[ \t]*\n)+)/gm;
const ADDS =
  /^[ \t]*(\w+)(?:\.append\(|[ \t]*\+=[ \t]*\[)([A-Za-z_]\w*)(?:\.\w+(?:\([^()\n]*\))?)*[)\]][ \t]*(?:#.*)?$/gm;
/** `rows = [x] * n`, `rows.extend([x for _ in range(n)])`. */
const HOLDS =
  /\b(\w+)[ \t]*(?:=|\+=|\.extend\()[ \t]*\[[ \t]*(?:(?!None|True|False|-?\d)[^,\n]+?\][ \t]*\*|(\w+)[ \t]+for[ \t]+(?!\2\b)\w+[ \t]+in[ \t]+range\()/g;

/** A list that is joined later holds one tensor several times: it is multiplied, or a loop that only counts adds it. */
function listsOne(text: string): boolean {
  if (!JOINING.test(text)) return false;
  const isJoined = (list: string): boolean => new RegExp(`${JOINS}${list}\\b`).test(text);
  for (const [, list = ''] of text.matchAll(HOLDS)) if (isJoined(list)) return true;
  if (!/\.append\(|\+=[ \t]*\[/.test(text)) return false;
  for (const [, , variable, body = ''] of `${text}\n`.matchAll(COUNTS))
    for (const [, list = '', name = ''] of body.matchAll(ADDS)) {
      const changes = new RegExp(`\\b${name}\\b[^=\\n(]*=(?!=)|\\bfor\\b[^\\n]*\\b${name}\\b`);
      if (name !== variable && !changes.test(body) && isJoined(list)) return true;
    }
  return false;
}

const JOINING = new RegExp(`${JOINS}\\w`);

/** Of the text that was asked about last, since the functions of a file are asked about one after another. */
const last = { whole: '', has: new Map<RegExp, boolean>() };

function hasIn(whole: string, pattern: RegExp, test = (): boolean => pattern.test(whole)): boolean {
  if (last.whole !== whole) Object.assign(last, { whole, has: new Map() });
  const known = last.has.get(pattern) ?? test();
  last.has.set(pattern, known);
  return known;
}

const isOfGraphs = (whole: string): boolean =>
  hasIn(whole, GRAPHS, () => GRAPH_WORDS.some((word) => whole.includes(word)) && GRAPHS.test(whole));
