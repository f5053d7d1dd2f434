/** What the test of a branch asks, so that two tests that ask the same, or what cannot both be, are known for it. */
import { negated } from './condition';
import type { Frame } from './run';
import { type Node, childOf, childrenOf, textOf } from './syntax';
import type { Condition, Fact } from './value';

/** A condition as it is in frames of each depth: variables are a frame's own; what only reads self is the same in every method. */
const conditions = new WeakMap<Node, Condition[]>();

/** The condition that a branch was taken under. Names in it that are assigned more than once make it unique. */
export function conditionOf(node: Node, frame: Frame): Condition {
  const known = conditions.get(node) ?? [];
  let condition = known[frame.depth];
  if (!condition) {
    const text = textOf(node).replace(/\s+/g, ' ');
    const asked = positive(text);
    const key = `${asked}${scopeOfNames(text, node, frame)}`;
    const [yes, no] = [factsOf(node, true, frame), factsOf(node, false, frame)];
    condition = { key, text: asked, holds: asked === text, facts: asked === text ? { yes, no } : { yes: no, no: yes } };
    known[frame.depth] = condition;
    conditions.set(node, known);
  }
  return condition;
}

/** `not x`, `x is not None` and `x != y` ask what `x`, `x is None` and `x == y` ask. */
function positive(text: string): string {
  const other = negated(text);
  return /^not | is not None$| != /.test(text) && negated(other) === text ? other : text;
}

/** What is known where a test holds, or where it does not: `a and b` tells of both where it does, of neither where not. */
function factsOf(node: Node, holds: boolean, frame: Frame): readonly Fact[] {
  switch (node.kind) {
    case 'parenthesized_expression':
      return node.children.flatMap((inner) => factsOf(inner, holds, frame));
    case 'not_operator':
      return factsOf(childOf(node, 'argument') ?? node, !holds, frame);
    case 'boolean_operator': {
      const isAnd = textOf(childOf(node, 'operator') ?? node) === 'and';
      const sides = [childOf(node, 'left'), childOf(node, 'right')];
      return isAnd === holds ? sides.flatMap((side) => (side ? factsOf(side, holds, frame) : [])) : [];
    }
    default:
      return [factOf(node, holds, frame)];
  }
}

function factOf(node: Node, holds: boolean, frame: Frame): Fact {
  const text = textOf(node).replace(/\s+/g, ' ');
  const where = scopeOfNames(text, node, frame);
  const isOutside = childrenOf(node, 'operators').some((operator) => textOf(operator) === 'not in');
  const asked = isOutside ? text.replace(' not in ', ' in ') : positive(text);
  const [, of, constant] = /^([^=!<>]+) == ("[^"]*"|'[^']*'|-?\d+)$/.exec(asked) ?? [];
  const equal =
    of !== undefined && constant !== undefined ? { of: `${of}${where}`, to: constant.replaceAll('"', "'") } : null;
  return { key: `${asked}${where}`, holds: (asked === text) === holds, equal };
}

const VARIABLE = /(^|[^.\w])(?!self\b|not\b|and\b|or\b|is\b|None\b|in\b)[A-Za-z_]\w*/;

/** Where the answer is the same: variables are a frame's own, and those that are assigned more than once make a test unique. */
function scopeOfNames(text: string, node: Node, frame: Frame): string {
  const names = text.match(/[A-Za-z_][\w.]*/g) ?? [];
  const changing = frame.function ? assignedIn(frame.function.node) : null;
  const stable = names.every((name) => {
    const at = changing?.get(name);
    // Of an attribute that a constructor sets before it asks, the answer is every method's.
    return (
      at === undefined || (name.startsWith('self.') && at.length === 1 && at[0] !== undefined && at[0] < node.start)
    );
  });
  const isOwn = VARIABLE.test(text.replace(/self(\.\w+)+|"[^"]*"|'[^']*'/g, ''));
  return `${stable ? '' : `@${node.start}`}${isOwn ? `#${frame.depth}` : ''}`;
}

const assigned = new WeakMap<Node, ReadonlyMap<string, readonly number[]>>();

/** Names and attributes that a function assigns, by its text, and where. */
function assignedIn(scope: Node): ReadonlyMap<string, readonly number[]> {
  const known = assigned.get(scope);
  if (known) return known;
  // What a parameter is by default is no further value of it.
  const from = childOf(scope, 'parameters')?.end ?? scope.start;
  const targets = textOf(scope)
    .slice(from - scope.start)
    .matchAll(/(?<!\w)([A-Za-z_][\w.]*)\s*(?==[^=]|[-+*/]=|,[^=\n()]*=[^=])/g);
  const names = new Map<string, readonly number[]>();
  for (const match of targets) {
    const name = match[1] ?? '';
    names.set(name, [...(names.get(name) ?? []), from + match.index]);
  }
  assigned.set(scope, names);
  return names;
}
