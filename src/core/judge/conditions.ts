/** Under which conditions a replica reaches a product, as far as the text around its making and its use says. */
import { negated } from '../python/condition';
import type { Frame } from '../python/run';
import { type Node, childOf, childrenOf, enclosing, scopeOf, textOf } from '../python/syntax';
import { hasWord } from '../python/words';

/**
 * What is left of the conditions of one way to a product when all the ways of the replica are known: one that the other
 * side of a branch reaches as well is none.
 */
export function needed(when: readonly string[], ways: readonly (readonly string[])[]): readonly string[] {
  const all = [...ways, when];
  // Two ways that differ in one condition are one way without it, which another pair of ways may meet again.
  for (let i = 0; i < all.length && all.length < MAX_MERGED; i++)
    for (let k = 0; k < i; k++) {
      const merged = without(all[i] ?? [], all[k] ?? []) ?? without(all[k] ?? [], all[i] ?? []);
      if (merged && !all.some((way) => isWithin(way, merged))) all.push(merged);
    }
  return all.reduce((least, way) => (way.length < least.length && isWithin(way, least) ? way : least), when);
}

const MAX_MERGED = 64;

const isWithin = (way: readonly string[], other: readonly string[]): boolean =>
  way.every((text) => other.includes(text));

/** `way` without a condition whose opposite leads there as well. */
function without(way: readonly string[], other: readonly string[]): readonly string[] | null {
  const spare = way.find((one) => other.every((text) => text === negated(one) || (text !== one && way.includes(text))));
  return spare === undefined ? null : way.filter((text) => text !== spare);
}

/** A text that stands there with its opposite is said of two values of one name, and tells a reader nothing. */
export const plain = (when: readonly string[]): readonly string[] =>
  when.filter((text) => !when.includes(negated(text)));

/** Without what the others imply. */
export const independent = (when: readonly string[]): readonly string[] =>
  when.filter((text) => !when.some((other) => other !== text && implies(other, text)));

/** `a and b` implies `a`; `x == 1` implies `x != 2`, since one of the two was asked behind the other. */
function implies(all: string, text: string): boolean {
  const [left, right] = text.split(' != ');
  return all
    .split(' and ')
    .some(
      (part) => part === text || (right !== undefined && part.startsWith(`${left} == `) && !text.includes(' and ')),
    );
}

/** Those that no way does without. */
export const common = (when: readonly string[], ways: readonly (readonly string[])[]): readonly string[] =>
  when.filter((text) => ways.every((way) => way.includes(text)));

/** The conditions that stand around one of the nodes, or let nothing else come that far. */
export function standing(when: readonly string[], nodes: readonly (Node | null)[]): readonly string[] {
  if (when.length === 0) return when;
  const texts = new Set<string>();
  for (const node of nodes) for (const text of node ? conditionsAround(node) : []) texts.add(text);
  if (texts.size === 0) return [];
  return when.filter((text) => texts.has(text) || texts.has(negated(text)));
}

/**
 * Those around places in functions that are called, without what is no other way for the copies: which pass of a loop it is,
 * whether there are any rows, whether training drops a layer.
 */
export const choices = (when: readonly string[], nodes: readonly (Node | null)[]): readonly string[] =>
  withoutPasses(standing(when, nodes), nodes).filter((text) => !NO_CHOICE.test(text));

/** Without those that a function that is called asks of the variable of a loop around the place: each pass has its own. */
export const withoutPasses = (when: readonly string[], nodes: readonly (Node | null)[]): readonly string[] =>
  when.filter((text) => !nodes.some((node) => node !== null && passesAround(node, text)));

const NO_CHOICE = /drop|(\.(shape|size)[[(]-?\d+[\])]|\.numel\(\)|^len\([\w.]+\)) (!=|>) 0$/i;

/** The text asks for the variable of a loop around the node. */
function passesAround(node: Node, text: string): boolean {
  for (let at = enclosing(node, 'for_statement'); at; at = at.parent && enclosing(at.parent, 'for_statement')) {
    const target = childOf(at, 'left');
    const names = target ? textOf(target).split(/[\s,()]+/) : [];
    if (names.some((name) => name !== '' && hasWord(text, name))) return true;
  }
  return false;
}

/** The conditions that stand around one node and not around another one of the same function. */
export function between(when: readonly string[], from: Node, to: Node): readonly string[] {
  const texts = standing(when, [to]);
  const shared = new Set(standing(texts, [from]));
  return texts.filter((text) => !shared.has(text));
}

/** Some branch of its function is taken for a place and not for the product, or the call that leads there. */
export function isOnOwnBranch(origin: Node, { node, frame }: { readonly node: Node; readonly frame: Frame }): boolean {
  const [own] = callsBetween(origin, node, frame);
  const shared = own ? conditionsAround(own) : [];
  return own != null && conditionsAround(origin).some((text) => !shared.includes(text));
}

/**
 * What the function that makes a copy does to bring it to a product: the product itself, or the call that leads there; then
 * the places in the functions that are called. Only the latter where the copy comes out of a call.
 */
export function callsBetween(origin: Node, sink: Node, around: Frame): readonly (Node | null)[] {
  const scope = scopeOf(origin);
  const places: Node[] = [];
  let node: Node | null = sink;
  for (let frame: Frame | null = around; node && frame; frame = frame.caller) {
    if (node.file === origin.file && scopeOf(node) === scope) return [node, ...places];
    places.push(node);
    node = frame.call;
  }
  return [null, ...places];
}

/**
 * The conditions, and their opposites, that stand around the only block that calls the function that makes the copy, where a
 * place that it comes to stands in that block: each copy that is made there gets that far.
 */
export function aroundMaking(origin: Node, places: readonly (Node | null)[]): readonly string[] {
  const made = scopeOf(origin);
  const name = made.kind === 'function_definition' ? childOf(made, 'name') : null;
  return places.flatMap((place) => {
    const calls = name && place ? callsAround(place, textOf(name)) : [];
    const block = calls[0] ? blockOf(calls[0]) : null;
    const isInside = block && place && block.start <= place.start && place.end <= block.end;
    return calls[0] && isInside && calls.every((call) => blockOf(call) === block)
      ? conditionsAround(calls[0]).flatMap((text) => [text, negated(text)])
      : [];
  });
}

const calling = new WeakMap<Node, Map<string, readonly Node[]>>();

/** Calls of functions or methods of that name in the function around the place. */
function callsAround(place: Node, name: string): readonly Node[] {
  const scope = scopeOf(place);
  if (scope.kind !== 'function_definition') return [];
  const known = calling.get(scope) ?? new Map<string, readonly Node[]>();
  calling.set(scope, known);
  let found = known.get(name);
  if (!found) known.set(name, (found = textOf(scope).includes(`${name}(`) ? callsIn(scope, name) : []));
  return found;
}

function callsIn(node: Node, name: string): readonly Node[] {
  const inner = node.children.flatMap((child) => callsIn(child, name));
  const callee = node.kind === 'call' ? childOf(node, 'function') : null;
  return callee && /\w+$/.exec(textOf(callee))?.[0] === name ? [node, ...inner] : inner;
}

/** The copy is made in front of a loop with the product in it, and the loop gives its name to another value each time. */
export function isFirstPass(origin: Node, sink: Node): boolean {
  const made = enclosing(origin, 'assignment');
  const left = made && childOf(made, 'left');
  if (left?.kind !== 'identifier' || origin.file !== sink.file || scopeOf(origin) !== scopeOf(sink)) return false;
  const name = textOf(left);
  for (let node: Node | null = sink; node; node = enclosing(node.parent ?? node.file.root, ...LOOPS)) {
    if (!LOOPS.includes(node.kind)) continue;
    if (node.start <= origin.start && origin.end <= node.end) return false;
    const body = childOf(node, 'body')?.children ?? [];
    if (body.some((statement) => statement.children.some((part) => assignsTo(part, name)))) return true;
  }
  return false;
}

const LOOPS = ['for_statement', 'while_statement'];

function assignsTo(part: Node, name: string): boolean {
  const left = part.kind === 'assignment' ? childOf(part, 'left') : null;
  const targets = left?.kind === 'pattern_list' ? left.children : [left];
  return targets.some((target) => target?.kind === 'identifier' && textOf(target) === name);
}

/**
 * What stands asserted in front of the product of the length of something that the block with the copies appends rows to: with
 * those rows it may not hold, and then nothing comes that far.
 */
export function assertedLengths(origin: Node, sink: Node): readonly string[] {
  const scope = scopeOf(origin);
  if (origin.file !== sink.file || scope !== scopeOf(sink) || !textOf(scope).includes('assert')) return [];
  const appended = (blockOf(origin)?.children ?? []).flatMap(
    (statement) => APPENDED.exec(textOf(statement))?.[1] ?? [],
  );
  const found: string[] = [];
  for (let block = blockOf(sink); block && appended.length > 0; block = block.parent && blockOf(block.parent))
    for (const { kind, start, end, children } of block.children) {
      const text = kind === 'assert_statement' && children[0] ? textOf(children[0]) : '';
      const of = LENGTH.exec(text)?.[1];
      if (of !== undefined && appended.includes(of) && start > origin.end && end < sink.start) found.push(text);
    }
  return found;
}

const APPENDED = /^(\w+) = torch\.(?:cat|concat)\(\s*[[(]\s*\1,/;
const LENGTH = /^(\w+)\.(?:size\(-?\d+\)|shape\[-?\d+\]) == [\w.]+$/;

function blockOf(node: Node): Node | null {
  for (let at: Node | null = node; at && !/_definition$/.test(at.kind); at = at.parent)
    if (at.kind === 'block') return at;
  return null;
}

/** Asked for every copy that comes to a product, of the same few places. */
const around = new WeakMap<Node, readonly string[]>();

function conditionsAround(node: Node): readonly string[] {
  const known = around.get(node);
  if (known) return known;
  const found = findAround(node);
  around.set(node, found);
  return found;
}

function findAround(from: Node): readonly string[] {
  const found: string[] = [];
  const add = (test: Node | null | undefined): void => {
    if (test) found.push(textOf(test).replace(/\s+/g, ' '));
  };
  let below = from;
  for (let node = from.parent; node && !/_definition$/.test(node.kind); node = node.parent) {
    if (node.kind === 'if_statement') testsOf(node).forEach(add);
    if (node.kind === 'conditional_expression') add(node.children[1]);
    if (node.kind === 'block')
      for (const before of node.children)
        if (before.end <= below.start && before.kind === 'if_statement' && leaves(before)) testsOf(before).forEach(add);
    below = node;
  }
  return found;
}

/** Where the last arm raises, the one before it is what is left: its test is none. */
function testsOf(statement: Node): readonly (Node | null)[] {
  const arms = [statement, ...childrenOf(statement, 'alternative')];
  const last = arms.at(-1);
  const raises = last?.kind === 'else_clause' && lastOf(last)?.kind === 'raise_statement';
  return arms.slice(0, raises ? -2 : undefined).map((arm) => childOf(arm, 'condition'));
}

function lastOf(arm: Node): Node | undefined {
  const last = (childOf(arm, 'consequence') ?? childOf(arm, 'body'))?.children.at(-1);
  return last?.kind === 'with_statement' ? lastOf(last) : last;
}

/** An `if` with an arm behind which nothing follows; one that raises is no other way. */
const leaves = (statement: Node): boolean =>
  [statement, ...childrenOf(statement, 'alternative')].some((arm) =>
    /^(return|continue|break)_statement$/.test(lastOf(arm)?.kind ?? ''),
  );

/**
 * Something in front of the node, in the blocks around it, that leaves on a branch of a branch: what is left then is no condition
 * that could be said in a word.
 */
export const isLeftBefore = (node: Node): boolean => {
  let below = node;
  for (let at = node.parent; at && !/_definition$/.test(at.kind); at = at.parent) {
    if (at.kind === 'block' && at.children.some((one) => one.end <= below.start && isLeftInside(one))) return true;
    below = at;
  }
  return false;
};

const isLeftInside = (statement: Node): boolean =>
  BRANCHES.test(statement.kind) &&
  LEAVING.test(textOf(statement)) &&
  leavesIn(statement, 0, LOOPS.includes(statement.kind));

const BRANCHES = /^(if|with|try|match|for|while)_statement$/;
const LEAVING = /\b(return|continue|break)\b/;

/** `depth`: how many branches are around; the first one is a condition of its own. */
function leavesIn(node: Node, depth: number, inLoop: boolean): boolean {
  return node.children.some((child) => {
    if (/^(lambda|function_definition|class_definition|decorated_definition|\w*expression\w*)$/.test(child.kind))
      return false;
    if (child.kind === 'return_statement') return depth > 0;
    if (/^(continue|break)_statement$/.test(child.kind)) return depth > 0 && !inLoop;
    const isBranch = BRANCHES.test(child.kind) && child.kind !== 'with_statement';
    return leavesIn(child, isBranch ? depth + 1 : depth, inLoop || LOOPS.includes(child.kind));
  });
}
