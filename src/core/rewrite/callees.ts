/**
 * What a call does besides giving a value, as far as the file says: in-place writes, attributes and outer variables that
 * it sets. Functions, methods and modules of the file are looked into; PyTorch's own are known.
 */
import { type Node, childOf, statementOf, textOf } from '../python/syntax';
import { isPure } from './effects';
import { type Call, callOf, isInPlaceModule, isSimple, isView, rootName, unwrap } from './expression';
import { indexOf } from './file-index';
import { isMutation, occurrences, visit } from './names';

export interface Doings {
  /** An in-place write, in the call or in what it calls. */
  readonly writes: Node | null;
  /** Names of attributes and of global or outer variables that it may set. */
  readonly sets: ReadonlySet<string>;
  /** True when something in it is not in the file. */
  readonly unknown: boolean;
}

const NOTHING: Doings = { writes: null, sets: new Set(), unknown: false };
const UNKNOWN: Doings = { ...NOTHING, unknown: true };

const join = (a: Doings, b: Doings): Doings => ({
  writes: a.writes ?? b.writes,
  sets: b.sets.size === 0 ? a.sets : new Set([...a.sets, ...b.sets]),
  unknown: a.unknown || b.unknown,
});

const LIBRARY = /^(torch|F|nn|einops|math|np|numpy|functools|itertools|operator)\.[\w.]+$/;
const HARMLESS = new Set(
  'print len isinstance hasattr getattr super zip enumerate map filter any all str repr'.split(' '),
);

const answers = new WeakMap<Node, Doings>();

export function doingsOf(call: Call): Doings {
  const known = answers.get(call.node);
  if (known) return known;
  const found = lookInto(call, new Set());
  answers.set(call.node, found);
  return found;
}

function lookInto(call: Call, seen: Set<Node>): Doings {
  const { functions, attributes, lambdas } = indexOf(call.node.file);
  const own = /^(self|cls|super\(.*\))\.\w+$/.exec(call.name) !== null;
  const plain = call.name === call.method;
  const bodies = [...(functions.get(call.method) ?? []), ...(plain ? (lambdas.get(call.method) ?? []) : [])];
  if (bodies.length > 0 && (plain || own || !isKnown(call))) {
    return bodies.map((body) => bodyDoings(body, seen)).reduce(join, NOTHING);
  }
  if (isKnown(call)) return given(call, seen);
  const made = own ? (attributes.get(call.method) ?? []) : [];
  if (made.length === 0) return UNKNOWN;
  return made.map((value) => moduleDoings(value, call, seen)).reduce(join, NOTHING);
}

/** May a call write into what it is given, where it is known to write into something? Its functions are read for that parameter. */
export function writesInto(call: Call, argument: Node, depth = 0): boolean {
  const own = /^(self|cls)\.\w+$/.test(call.name);
  const bodies = own || call.name === call.method ? (indexOf(call.node.file).functions.get(call.method) ?? []) : [];
  if (bodies.length === 0 || depth > MOST_CALLS) return true;
  const keyword = [...call.keywords].find(([, value]) => value === argument)?.[0];
  const position = call.positional.indexOf(argument);
  return bodies.some((body) => {
    const names = (childOf(body, 'parameters')?.children ?? []).map((one) => textOf(one.children[0] ?? one));
    const name =
      keyword ?? (position < 0 ? undefined : names[position + (own && /^(self|cls)$/.test(names[0] ?? '') ? 1 : 0)]);
    const block = childOf(body, 'body');
    if (name === undefined || !names.includes(name) || !block) return true;
    return occurrences(block, name).some((one) => isMutation(one) || isRenamed(one) || isGivenAway(one, depth));
  });
}

const MOST_CALLS = 4;

/** `y = x`, `y = x.view(-1)`: the same memory under another name. */
function isRenamed(name: Node): boolean {
  const assignment = statementOf(name).children[0];
  const value = assignment?.kind === 'assignment' ? childOf(assignment, 'right') : null;
  return (
    value !== null &&
    (isSimple(value) || isView(value) || value.kind === 'subscript') &&
    textOf(name) === rootName(value)
  );
}

/** It is handed to a call that writes, and may write into it. */
function isGivenAway(name: Node, depth: number): boolean {
  for (let at: Node | null = name.parent; at && at !== statementOf(name).parent; at = at.parent) {
    const call = callOf(at);
    if (!call || !doingsOf(call).writes) continue;
    const given = [...call.positional, ...call.keywords.values()].find(
      (one) => one.start <= name.start && name.end <= one.end,
    );
    if (!given || writesInto(call, given, depth + 1)) return true;
  }
  return false;
}

/** `map(scale, items)`: what functions do that are given by name. */
function given({ node, positional }: Call, seen: Set<Node>): Doings {
  const { functions, lambdas } = indexOf(node.file);
  const bodies = positional.flatMap((argument) => {
    const name = argument.kind === 'identifier' ? textOf(argument) : '';
    return [
      ...(functions.get(name) ?? []),
      ...(lambdas.get(name) ?? []),
      ...(argument.kind === 'lambda' ? [argument] : []),
    ];
  });
  return bodies.map((body) => bodyDoings(body, seen)).reduce(join, NOTHING);
}

/** A function of a library, or a method of a tensor; those that write in place are seen by their names. */
const isKnown = (call: Call): boolean => LIBRARY.test(call.name) || HARMLESS.has(call.name) || isPure(call);

function bodyDoings(body: Node, seen: Set<Node>): Doings {
  if (seen.has(body)) return NOTHING;
  // Inside a cycle of calls an answer is not whole.
  const outermost = seen.size === 0;
  const known = outermost ? answers.get(body) : undefined;
  if (known) return known;
  seen.add(body);
  let found = NOTHING;
  visit(body, (node) => {
    if (node.kind === 'identifier' && node.field !== 'attribute') {
      if (node.parent?.kind === 'global_statement' || node.parent?.kind === 'nonlocal_statement') {
        found = join(found, { ...NOTHING, sets: new Set([textOf(node)]) });
      } else if (isMutation(node)) found = join(found, mutation(node));
    }
    const call = callOf(node);
    if (call) found = join(found, lookInto(call, seen));
    else if (node.kind === 'call') found = join(found, UNKNOWN);
  });
  if (outermost) answers.set(body, found);
  return found;
}

/** `self.count += 1` sets an attribute; `x[0] = ..`, `x.mul_(..)` write into a tensor. */
function mutation(name: Node): Doings {
  const sets = new Set<string>();
  let at = name;
  while (at.parent?.kind === 'attribute' && at.field === 'object') {
    at = at.parent;
    sets.add(textOf(childOf(at, 'attribute') ?? at));
  }
  const kind = at.parent?.kind ?? '';
  const plain = sets.size > 0 && /^(assignment|delete_statement|pattern_list)$/.test(kind);
  const counted = sets.size > 0 && kind === 'augmented_assignment' && at.parent !== null && isCount(at.parent);
  return plain || counted ? { ...NOTHING, sets } : { ...NOTHING, sets, writes: name };
}

/** `self.steps += 1`: a number. */
const isCount = (assignment: Node): boolean => /^(integer|float)$/.test(childOf(assignment, 'right')?.kind ?? '');

/** What calling a module does that was made by this expression. */
function moduleDoings(value: Node, call: Call, seen: Set<Node>): Doings {
  const made = callOf(unwrap(value));
  if (!made) return unwrap(value).kind === 'lambda' ? bodyDoings(unwrap(value), seen) : UNKNOWN;
  const own = indexOf(value.file).classes.get(made.method) ?? [];
  if (own.length > 0) {
    const forwards = own.flatMap((one) => (childOf(one, 'body')?.children ?? []).filter(isForward));
    return forwards.length > 0 ? forwards.map((body) => bodyDoings(body, seen)).reduce(join, NOTHING) : UNKNOWN;
  }
  if (!/^(torch\.)?nn\.\w+$/.test(made.name) && !/^[A-Z]\w*$/.test(made.name)) return UNKNOWN;
  const first = firstStage(made);
  const given = call.positional[0];
  // What is computed for it alone may be written into.
  const shared = given !== undefined && (isSimple(given) || isView(given) || given.kind === 'subscript');
  if (isInPlaceModule(first) && shared) return { ...NOTHING, writes: given };
  return LAYER.test(made.name) ? NOTHING : UNKNOWN;
}

/** PyTorch's own, by its usual name. */
const LAYER = /^(torch\.)?nn\.\w+$|^(Linear|Sequential|Embedding|LayerNorm|Dropout|ReLU|GELU|Conv[123]d|Identity)$/;

function firstStage(made: Call): Call {
  const inner = made.method === 'Sequential' && made.positional[0] ? callOf(made.positional[0]) : null;
  return inner ? firstStage(inner) : made;
}

const isForward = (statement: Node): boolean => {
  const inner = statement.kind === 'decorated_definition' ? childOf(statement, 'definition') : statement;
  return inner?.kind === 'function_definition' && /^(forward|__call__)$/.test(textOf(childOf(inner, 'name') ?? inner));
};
