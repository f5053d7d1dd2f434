/** Which functions can make a replica at all: only those are evaluated, and what uses their results. */
import type { FunctionModel } from './model';
import type { SourceFile } from './syntax';

/** What a replica is made by. Cheap to test and rather too wide. */
const PRODUCER = new RegExp(
  [
    '\\b(repeat|repeat_interleave|repeat_kv|expand|expand_as|tile|broadcast_to|index_select|broadcast_tensors)\\b',
    '\\breturn_inverse\\b|\\b(searchsorted|bucketize|triu_indices)\\b.*[\\])]|\\barange\\([^)\\n]*\\)\\s*//',
    // Rows picked by an index whose name says that it is many-to-one.
    '\\[(?:self\\.)?(edge_types?|rel(ation)?_types?|\\w*_to_\\w+|(user|session|request|query)_(idx|index|indices))\\]',
    '\\benable_gqa\\s*=\\s*True',
    // Copies that ones or zeros ask for.
    '\\b(new_)?(ones|zeros)(_like)?\\([^()\\n]*\\)(\\.(to|type|type_as|float|cuda)\\([^()\\n]*\\))*\\s*[*+]|[*+]\\s*(\\w+\\.)?(new_)?(ones|zeros)(_like)?\\(',
    // The same tensor stacked or concatenated several times.
    '\\b(stack|cat)\\(\\s*\\(*\\s*(\\[[^,\\n]*?\\]\\s*\\*(?!\\s*\\*)|[\\w.]+(\\([\\w-]*\\))?\\s*\\*\\s*\\[)',
    '\\b(stack|cat)\\(\\s*[[(]\\s*\\w+\\s+for\\s+\\w+\\s+in\\s+range\\(',
    '\\b(stack|cat|concat|concatenate)\\(\\s*[[(]\\s*(?<twice>[\\w.]+)\\s*,\\s*\\k<twice>\\b',
  ].join('|'),
);
/** What takes longer to test, with what a text must have for it. */
const PAIRS: readonly (readonly [has: RegExp, and: RegExp])[] = [
  // Rows of an edge index: taken by number, within a subscript, or unpacked.
  [
    /edge(_label)?_(index|idx)/,
    /\bedge(_label)?_(index|idx)(\.t\(\))?\[(?!\s*:)|[\w\])]\[[^[\]\n'"]*\bedge(_label)?_(index|idx)\b|^[ \t]*[([]?\w+[ \t]*,(?![^=\n]*\bedge(_label)?_(index|idx)\b[^\n]*=)[^=\n]*=[^=\n(][^\n(]*\bedge(_label)?_(index|idx)\b/m,
  ],
  // Copies written into slices of a tensor that was made empty.
  [/(empty|zeros)\(/, /^[ \t]*\w+\[[^\]\n]*:[^\]\n]*\][ \t]*=(?!=)/m],
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
  // Rows picked by an index that the same function sums by.
  [/\b(scatter\w*|segment_\w+|index_add_?|global_\w+_pool)\(/, /\w\[\w+\]/],
  // Rows of edges that are handed over as a pair of index tensors.
  [/\bedges\b/, /^[ \t]*\(?\w+[ \t]*,[ \t]*\w+\)?[ \t]*=[ \t]*(self\.)?edges[ \t]*$/m],
  // What a message passing library hands over of both ends of an edge.
  [/\bdef (message|edge_update)\(/, /\w_[ij]\b/],
  [/\bedges\.(src|dst)\[/, /\b(cat|concat|Linear)\b|\bself\.\w+\(/],
  // Half precision, as far as a text says so: widths of concatenations then matter.
  [/\bautocast\b|\.half\(|\bb?float16\b/, /\bcat(enate)?\(/],
];
/** The same with what the file must have: a product that may broadcast a parameter inside, a pooled context that is resized. */
const WIDER: readonly (readonly [has: RegExp, file: RegExp])[] = [
  [/\bmatmul\b/, /Parameter\(/],
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

const produces = (text: string, whole: string): boolean =>
  PRODUCER.test(text) ||
  PAIRS.some(([has, and]) => has.test(text) && and.test(text)) ||
  listsOne(text) ||
  WIDER.some(([has, file]) => has.test(text) && hasIn(whole, file)) ||
  (isOfGraphs(whole) && OF_GRAPHS.some((pattern) => pattern.test(text)));

const JOINS = '\\b(?:stack|cat|concat|concatenate)\\(\\s*';
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

/** Can any function of a file with this text make a replica? If not, and what it imports cannot, no parse is needed. */
export const mayProduceReplicas = (text: string): boolean => produces(text, text);

const cache = new WeakMap<FunctionModel['node'], boolean>();

/** Does the text of the function have what makes a replica? */
export function producesReplicas(model: FunctionModel): boolean {
  const { node, file } = model;
  const known = cache.get(node);
  if (known !== undefined) return known;
  const text = node.file.text.slice(node.start, node.end);
  const found = produces(text, file.file.text) || (/\w\[/.test(text) && declaresIndex(file.file));
  cache.set(node, found);
  return found;
}

const declaring = new WeakMap<SourceFile, boolean>();

/** `# ikbo: index idx many-to-one`: any function of the file may pick rows by it. */
function declaresIndex(file: SourceFile): boolean {
  const known = declaring.get(file) ?? /#\s*ikbo:\s*index\s/.test(file.text);
  declaring.set(file, known);
  return known;
}

export interface Definition {
  /** What `producesReplicas` will say of it. */
  readonly produces: boolean;
  /** Names that it calls or takes items of, without members of anything; of a value all names in it. */
  readonly calls: readonly string[];
}

/**
 * What the text of a file says of its functions and values of a name, `OPS = {'rep': rep}`, without a parse; undefined when it defines
 * none. Looked for when first asked.
 */
export function definitionsIn(text: string): (name: string) => Definition | undefined {
  const known = new Map<string, Definition>();
  let starts: ReadonlyMap<string, readonly number[]> | undefined;
  return (name) => {
    const found = known.get(name);
    if (found) return found;
    const own = (starts ??= startsIn(text)).get(name);
    if (!own) return undefined;
    const definition = definitionAt(own, text);
    known.set(name, definition);
    return definition;
  };
}

/** Where the lines begin that define a function, a value of the module or an entry of it, by its name. */
function startsIn(text: string): ReadonlyMap<string, readonly number[]> {
  const starts = new Map<string, number[]>();
  for (const { index, 1: called, 2: value } of text.matchAll(DEFINED)) {
    const name = called ?? value ?? '';
    const known = starts.get(name);
    if (known) known.push(index);
    else starts.set(name, [index]);
  }
  return starts;
}

const DEFINED = /^(?:[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)|(\w+)(?:\[[^\]\n]+\])?[ \t]*(?::[^=\n]+)?=(?!=))/gm;

function definitionAt(starts: readonly number[], text: string): Definition {
  const bodies = starts.map((start) => text.slice(start, endOf(text, start)));
  const isValue = bodies.every((body) => VALUE.test(body));
  const names = new Set(bodies.flatMap((body) => body.match(isValue ? WORD : USED) ?? []));
  // A value may be an object: any method of its class may be called.
  const isObject = isValue && [...names].some((name) => new RegExp(`^class ${name}\\b`, 'm').test(text));
  return { produces: isObject ? produces(text, text) : bodies.some((body) => produces(body, text)), calls: [...names] };
}

const VALUE = /^\w+[ \t]*[:=[]/;
const WORD = /(?<![.\w])[A-Za-z_]\w*/g;
const USED = /(?<![.\w])[A-Za-z_]\w*(?=\(|\[|\.get\()/g;

/** The classes of a text that have bases, with the names of those. */
export const basesIn = (text: string): ReadonlyMap<string, readonly string[]> =>
  new Map([...text.matchAll(CLASS)].map(([, name = '', bases = '']) => [name, bases.split(',').map((b) => b.trim())]));

const CLASS = /^class[ \t]+(\w+)\(([\w.,\s]*)\)[ \t]*:/gm;

/** Where the definition ends: at the next line that is indented no deeper, unless that is in a string over several lines. */
function endOf(text: string, start: number): number {
  let code = start;
  while (/[ \t]/.test(text.charAt(code))) code++;
  const indent = code - start;
  const next = new RegExp(`\\n[ \\t]{0,${indent}}[^\\s#)\\]}]`, 'g');
  next.lastIndex = start;
  for (let found = next.exec(text); found; found = next.exec(text)) {
    const quotes = text.slice(start, found.index).match(/"""|'''/g)?.length ?? 0;
    if (quotes % 2 === 0) return found.index;
  }
  return text.length;
}
