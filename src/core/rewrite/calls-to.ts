/** Where a file calls one of its functions, methods or modules, and what each parameter is given there. */
import { type Node, childOf, enclosing, textOf } from '../python/syntax';
import { type Call, callOf, unwrap } from './expression';
import { assignmentsIn, indexOf } from './file-index';
import { visit } from './names';

export interface Given {
  readonly node: Node;
  /** By the name of the parameter. */
  readonly given: ReadonlyMap<string, Node>;
}

/** Calls of `callee` whose arguments are all written out. */
export function callsTo(callee: Node): readonly Given[] {
  const names = parametersOf(callee).map(({ name }) => name);
  const owner = enclosing(callee, 'class_definition');
  const own = owner ? names.slice(1) : names;
  const found: Given[] = [];
  visit(callee.file.root, (node) => {
    const call = callOf(node);
    if (!call || call.splat || !isCallOf(call, callee, owner)) return;
    const given = new Map<string, Node>();
    call.positional.forEach((value, i) => given.set(own[i] ?? '', value));
    for (const [name, value] of call.keywords) given.set(name, value);
    found.push({ node, given });
  });
  return found;
}

function isCallOf(call: Call, callee: Node, owner: Node | null): boolean {
  const name = textOf(childOf(callee, 'name') ?? callee);
  if (!owner) return call.name === name && (indexOf(callee.file).functions.get(name) ?? []).length === 1;
  const holder = holderOf(call, callee);
  if (holder === 'self') return enclosing(call.node, 'class_definition') === owner;
  return holder !== null && madeBy(call.node, holder) === textOf(childOf(owner, 'name') ?? owner);
}

/** What is `self` in the method that is called: `self.net` in `self.net(x)` and `self.net.decode(x)`, `self` in `self.decode(x)`. */
export function holderOf(call: Call, callee: Node): string | null {
  const name = textOf(childOf(callee, 'name') ?? callee);
  const holder =
    name === 'forward' ? call.name : call.name.endsWith(`.${name}`) ? call.name.slice(0, -name.length - 1) : '';
  return /^self\.\w+$/.test(holder) || (holder === 'self' && name !== 'forward') ? holder : null;
}

/** The class that the class around `node` calls to make `self.x`, if it makes it once. */
export function madeBy(node: Node, text: string): string | null {
  const owner = enclosing(node, 'class_definition');
  const [assignment, ...more] = (owner && assignmentsIn(owner).get(text)) ?? [];
  const value = assignment && more.length === 0 ? childOf(assignment, 'right') : null;
  return (value && callOf(unwrap(value))?.method) ?? null;
}

export interface Parameter {
  readonly name: string;
  /** Text of its default, or null. */
  readonly value: string | null;
}

export const parametersOf = (callee: Node): readonly Parameter[] =>
  (childOf(callee, 'parameters')?.children ?? []).map((one) => ({
    name: textOf(one.kind === 'identifier' ? one : (childOf(one, 'name') ?? one.children[0] ?? one)),
    value: /default_parameter$/.test(one.kind) ? textOf(childOf(one, 'value') ?? one) : null,
  }));
