/** Conditions that are decided by what is known: `x is None`, `x.dim() == 3`, `isinstance`, and/or/not of those. */
import { equal, valueOf } from '../tensor/dim';
import type { Frame, Run } from './run';
import { type LoopPass, possible } from './state';
import { type Node, childOf, childrenOf, textOf } from './syntax';
import { type Condition, FROM_ZERO, type IntValue, type Value } from './value';

export function truthOf(node: Node, frame: Frame, run: Run): boolean | null {
  switch (node.kind) {
    case 'parenthesized_expression': {
      const [inner] = node.children;
      return inner ? truthOf(inner, frame, run) : null;
    }
    case 'not_operator': {
      const argument = childOf(node, 'argument');
      const truth = argument ? truthOf(argument, frame, run) : null;
      return truth === null ? null : !truth;
    }
    case 'boolean_operator': {
      const left = childOf(node, 'left');
      const right = childOf(node, 'right');
      if (!left || !right) return null;
      const first = truthOf(left, frame, run);
      const isAnd = textOf(childOf(node, 'operator') ?? node) === 'and';
      if (first === !isAnd) return first;
      const second = truthOf(right, frame, run);
      if (second === !isAnd) return second;
      return first === null || second === null ? null : second;
    }
    case 'comparison_operator':
      return comparisonTruth(node, frame, run);
    case 'true':
      return true;
    case 'false':
      return false;
    default:
      return decided(run.evaluate(node, frame), frame, truthOfValue);
  }
}

export function truthOfValue(value: Value): boolean | null {
  switch (value.kind) {
    case 'none':
      return false;
    case 'bool':
      return value.value;
    case 'int': {
      const n = valueOf(value.dim);
      return n === null ? null : n !== 0;
    }
    case 'string':
      return value.value === null ? null : value.value.length > 0;
    case 'layer':
    case 'function':
    case 'class':
      return true;
    case 'tuple':
      return value.items.length > 0 ? true : value.open ? null : false;
    default:
      return null;
  }
}

/** The answer if it is the same for all that the value may be here. */
function decided(value: Value, frame: Frame, test: (value: Value) => boolean | null): boolean | null {
  const answers = possible(value, frame.state.path).map((option) => test(option.value));
  const [first] = answers;
  return first !== undefined && answers.every((a) => a === first) ? first : null;
}

function comparisonTruth(node: Node, frame: Frame, run: Run): boolean | null {
  const operands = node.children.filter((c) => c.field !== 'operators');
  const operators = childrenOf(node, 'operators').map(textOf);
  const [left, right] = operands;
  const [operator] = operators;
  if (!left || !right || operands.length !== 2 || operator === undefined) return null;
  const a = run.evaluate(left, frame);
  if (operator === 'is' || operator === 'is not') {
    if (right.kind !== 'none') return null;
    const isNone = decided(a, frame, noneness);
    return isNone === null ? null : operator === 'is' ? isNone : !isNone;
  }
  const b = run.evaluate(right, frame);
  if (a.kind === 'string' && b.kind === 'string' && a.value !== null && b.value !== null) {
    if (operator === '==') return a.value === b.value;
    if (operator === '!=') return a.value !== b.value;
  }
  if (a.kind !== 'int' || b.kind !== 'int') return null;
  const same = equal(a.dim, b.dim);
  const pass = passOf(a, b, frame);
  if (pass) return pass.first ? (FIRST[operator] ?? null) : (LATER[operator] ?? null);
  const x = valueOf(a.dim);
  const y = valueOf(b.dim);
  if (operator === '==') return same;
  if (operator === '!=') return same === null ? null : !same;
  if (x === null || y === null) return null;
  return operator === '<'
    ? x < y
    : operator === '>'
      ? x > y
      : operator === '<='
        ? x <= y
        : operator === '>='
          ? x >= y
          : null;
}

/** `i op 0` in the first pass of a loop, and in the ones after it. */
const FIRST: Readonly<Record<string, boolean>> = { '==': true, '!=': false, '>': false, '<=': true };
const LATER: Readonly<Record<string, boolean>> = { '==': false, '!=': true, '>': true, '<=': false };

/** The pass that a comparison of a loop's variable with 0 asks for. */
function passOf(a: IntValue, b: IntValue, { state }: Frame): LoopPass | null {
  const [only] = a.dim ?? [];
  const [symbol] = only?.symbols ?? [];
  if (!a.loop || b.dim?.length !== 0 || !symbol?.startsWith(`${FROM_ZERO}@`) || a.dim?.length !== 1) return null;
  const pass = state.loops?.get(symbol);
  if (pass) pass.asked = true;
  return pass ?? null;
}

function noneness(value: Value): boolean | null {
  switch (value.kind) {
    case 'none':
      return true;
    case 'unknown':
    case 'union':
      return null;
    default:
      return false;
  }
}

/** A condition as it is in frames of each depth: variables are a frame's own; what only reads self is the same in every method. */
const conditions = new WeakMap<Node, Condition[]>();

/** The condition that a branch was taken under. Names in it that are assigned more than once make it unique. */
export function conditionOf(node: Node, frame: Frame): Condition {
  const known = conditions.get(node) ?? [];
  let condition = known[frame.depth];
  if (!condition) {
    const made = makeCondition(node, frame);
    const isOwn = VARIABLE.test(made.text.replace(/self(\.\w+)+|"[^"]*"|'[^']*'/g, ''));
    condition = isOwn ? { ...made, key: `${made.key}#${frame.depth}` } : made;
    known[frame.depth] = condition;
    conditions.set(node, known);
  }
  return condition;
}

const VARIABLE = /(^|[^.\w])(?!self\b|not\b|and\b|or\b|is\b|None\b|in\b)[A-Za-z_]\w*/;

function makeCondition(node: Node, frame: Frame): Condition {
  const text = textOf(node).replace(/\s+/g, ' ');
  const names = text.match(/[A-Za-z_][\w.]*/g) ?? [];
  const changing = frame.function ? assignedIn(frame.function.node) : null;
  const stable = names.every((name) => {
    const at = changing?.get(name);
    // Of an attribute that a constructor sets before it asks, the answer is every method's.
    return (
      at === undefined || (name.startsWith('self.') && at.length === 1 && at[0] !== undefined && at[0] < node.start)
    );
  });
  return { key: stable ? text : `${text}@${node.start}`, text, holds: true };
}

const assigned = new WeakMap<Node, ReadonlyMap<string, readonly number[]>>();

/** Names and attributes that a function assigns, by its text, and where. */
function assignedIn(scope: Node): ReadonlyMap<string, readonly number[]> {
  const known = assigned.get(scope);
  if (known) return known;
  const targets = textOf(scope).matchAll(/(?<!\w)([A-Za-z_][\w.]*)\s*(?==[^=]|[-+*/]=|,[^=\n()]*=[^=])/g);
  const names = new Map<string, readonly number[]>();
  for (const match of targets) {
    const name = match[1] ?? '';
    names.set(name, [...(names.get(name) ?? []), scope.start + match.index]);
  }
  assigned.set(scope, names);
  return names;
}
