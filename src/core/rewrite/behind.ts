/**
 * Writes behind a product. A copy is what autograd kept of the old text, so that its sources could be written into; of the new
 * text it keeps the sources themselves, and refuses to go back through what has changed.
 */
import type { Condition } from '../finding';
import type { Match } from '../judge/match';
import { type Node, childOf, scopeOf, statementOf, textOf, lineOf } from '../python/syntax';
import { EDGE, LETTER, NAME, patternOf } from '../python/words';
import { type Alias, aliasesOf, isShared } from './aliases';
import { doingsOf, writesInto } from './callees';
import type { Edit } from './edit';
import { type Call, callOf, unwrap } from './expression';
import {
  dominates,
  isBinding,
  isInPlace,
  isMutation,
  isTargetAround,
  loopsAround,
  occurrences,
  visit,
  within,
} from './names';
import { overlap, pathOf } from './disturbance';
import { addTo } from './file-index';
import { gradientBehindWrite } from './conditions';

/** Conditions for the tensors that the new text multiplies and that the function writes into afterwards. */
export function conditionsOfWrites(match: Match, edits: readonly Edit[]): readonly Condition[] {
  const { node: sink, module } = match.sink;
  const scope = scopeOf(sink);
  if (isWithoutGradients(scope)) return [];
  const layer = module?.text ?? '';
  const paths = pathsIn(edits.filter((edit) => scope.start <= edit.start && edit.end <= scope.end)).filter(
    (path) => layer === '' || !overlap(path, layer),
  );
  const found = paths.flatMap((path) => {
    const direct = writeBehind({ path, holds: false, sure: true, at: 0 }, sink, scope);
    const found = direct ? { write: direct, sure: true } : writeThrough(path, sink, scope);
    return found ? [gradientBehindWrite(lineOf(found.write), path, found.sure && callOf(found.write) === null)] : [];
  });
  return found.slice(0, 1);
}

const isWithoutGradients = (scope: Node): boolean =>
  scope.parent?.kind === 'decorated_definition' &&
  scope.parent.children.some((one) => one.kind === 'decorator' && /\b(no_grad|inference_mode)\b/.test(textOf(one)));

/** `self.a.b`, or a variable. */
const PATHS = patternOf(`(?<![.])${EDGE}(self(?:\\.${NAME}(?!${LETTER}|\\s*\\())+|${NAME})`, 'gu');
/** What is read of a tensor that is not its numbers. */
const FACTS = patternOf(`(?<!${LETTER})(?:self(?:\\.${NAME})*?|${NAME})\\.(?:shape|dtype|device|ndim|size\\()`, 'gu');

/** `x[index`: the old text kept the index as well. */
const INDEX = patternOf(`(?<=${LETTER}|[)\\]])\\[${NAME}(?:\\.${NAME})*`, 'gu');

const pathsIn = (edits: readonly Edit[]): readonly string[] => [
  ...new Set(
    edits.flatMap(({ text }) =>
      [...text.replace(FACTS(text), '').replace(INDEX(text), '[').matchAll(PATHS(text))].map(([path]) => path),
    ),
  ),
];

/** What writes into the tensor of that name after the product, also in the next pass of a loop. */
function writeBehind({ path, holds, at: since }: Alias, sink: Node, scope: Node, isAlias = false): Node | null {
  const [root = path] = path.split('.');
  const all = occurrences(scope, root);
  const loops = loopsAround(sink);
  const isLater = (node: Node): boolean => node.start >= sink.end || isTargetAround(node, sink);
  /** It is another tensor by then. */
  const bindings = all.filter(
    (one) =>
      isBinding(one) &&
      one.parent?.kind !== 'augmented_assignment' &&
      !(isAlias && (one.start <= since || isShared(one))),
  );
  const isBoundAgain = (at: Node): boolean =>
    bindings.some(
      (one) =>
        (isLater(one) || (!isLater(at) && loops.some((loop) => within(loop, one)))) &&
        (one.start < at.start || isTargetAround(one, sink)) &&
        dominates(statementOf(one), statementOf(at)),
    );
  const isAfter = (node: Node): boolean =>
    isLater(node) || loops.some((loop) => within(loop, node) && !within(sink, node));
  const { names, calls } = writesIn(scope);
  const written = names
    .get(root)
    ?.find(
      (one) =>
        isAfter(one) && overlap(pathOf(one), path) && !(isAlias && isRebound(one, path, holds)) && !isBoundAgain(one),
    );
  if (written) return written;
  const uses = all.filter((name) => overlap(pathOf(name), path));
  const call = calls.find((one) => {
    if (one.node.start < sink.end) return false;
    const spread = one.splat ? (childOf(one.node, 'arguments')?.children ?? []).filter(isSplat) : [];
    const given = [...(one.receiver ? [one.receiver] : []), ...one.positional, ...one.keywords.values(), ...spread];
    const named = uses.some(
      (name) =>
        within(one.node, name) &&
        given.some((argument) => within(argument, name) && (argument === one.receiver || writesInto(one, argument))),
    );
    const own = path.startsWith('self.') && doingsOf(one).sets.has(path.split('.')[1] ?? '');
    return (own || (named && root !== 'self')) && !isBoundAgain(one.node);
  });
  return call?.node ?? null;
}

/** What writes into it by another name of it. */
function writeThrough(path: string, sink: Node, scope: Node): { readonly write: Node; readonly sure: boolean } | null {
  const { names, calls } = writesIn(scope);
  if (names.size === 0 && calls.length === 0) return null;
  for (const alias of aliasesOf(path, scope)) {
    const write = writeBehind(alias, sink, scope, true);
    if (write) return { write, sure: alias.sure };
  }
  return null;
}

const isSplat = ({ kind }: Node): boolean => kind === 'list_splat' || kind === 'dictionary_splat';

/** `self.cache = other`, `d[key] = other`: the name, or what it holds, is another tensor then, and none is written into. */
function isRebound(name: Node, path: string, holds: boolean): boolean {
  let at = name;
  let depth = 0;
  while (
    at.parent &&
    (at.parent.kind === 'attribute' || (holds && at.parent.kind === 'subscript')) &&
    at.field !== 'subscript'
  ) {
    at = at.parent;
    if (at.kind === 'subscript') depth++;
  }
  const assigned = at.field === 'left' && at.parent?.kind === 'assignment';
  return (assigned || at.parent?.kind === 'delete_statement') && (holds ? depth <= 1 : pathOf(name) === path);
}

interface Writes {
  /** Names that are written into, each where it is. */
  readonly names: ReadonlyMap<string, readonly Node[]>;
  /** Calls of what writes into tensors. */
  readonly calls: readonly Call[];
}

/** Looked for once per function, since every rewrite in it asks. */
const known = new WeakMap<Node, Writes>();

function writesIn(scope: Node): Writes {
  const before = known.get(scope);
  if (before) return before;
  const names = new Map<string, Node[]>();
  const calls: Call[] = [];
  visit(scope, (node) => {
    const call = callOf(node);
    if (call && doingsOf(call).writes) calls.push(call);
    if (node.kind !== 'identifier' || node.field === 'attribute' || !isMutation(node) || !isWritten(node)) return;
    addTo(names, textOf(node), node);
  });
  const found = { names, calls };
  known.set(scope, found);
  return found;
}

/** Of what a statement mentions that writes in place, is this what it writes into? `y.add_(x)` does not write into `x`. */
function isWritten(name: Node): boolean {
  const statement = statementOf(name);
  let free = true;
  for (let at = name.parent; at && at.start >= statement.start; at = at.parent) {
    const call = callOf(at);
    if (!call || !writesInPlace(call)) continue;
    free = false;
    const isFree = !call.receiver || LIBRARY.test(textOf(call.receiver));
    const target = isFree ? (call.keywords.get('out') ?? call.positional[0]) : call.receiver;
    const several = target?.kind === 'list' || target?.kind === 'tuple';
    const given = call.name === 'map' || (!!target && (several ? within(target, name) : rootOf(target) === name));
    if (given) return true;
  }
  return free;
}

const writesInPlace = ({ name, method, keywords, positional }: Call): boolean =>
  isInPlace(name, method) ||
  keywords.has('inplace') ||
  keywords.has('out') ||
  /^(setattr|exec|map)$/.test(name) ||
  (/^(torch|F|nn)\b/.test(name) && positional.some((one) => textOf(one) === 'True'));

const LIBRARY = /^(torch|nn|F|functional|init|operator|(torch\.)?(nn\.(functional|init)|Tensor))$/;

/** The tensor that an expression is a view of, as far as one can tell. */
function rootOf(expression: Node): Node {
  const node = unwrap(expression);
  const call = callOf(node);
  if (call) {
    const inner = call.receiver && !LIBRARY.test(textOf(call.receiver)) ? call.receiver : call.positional[0];
    return inner ? rootOf(inner) : node;
  }
  const inner =
    node.kind === 'attribute' ? childOf(node, 'object') : node.kind === 'subscript' ? childOf(node, 'value') : null;
  return inner ? rootOf(inner) : node;
}
