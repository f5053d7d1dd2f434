/** Conditions that are decided by what is known: `x is None`, `x.dim() == 3`, `isinstance`, and/or/not of those. */
import { equal, valueOf } from '../tensor/dim';
import { isSetLater } from './attributes';
import { isInstance } from './instances';
import type { Frame, Run } from './run';
import { isSpare } from './spare';
import { type LoopPass, possible } from './state';
import { type Node, childOf, childrenOf, textOf } from './syntax';
import { FROM_ZERO, type IntValue, type Value } from './value';

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
    case 'name':
      return value.path === 'typing.TYPE_CHECKING' ? false : null;
    case 'layer':
    case 'function':
    case 'class':
    case 'partial':
      return true;
    case 'tuple':
      return value.items.length > 0 ? true : value.open ? null : false;
    default:
      return null;
  }
}

/** The answer if it is the same for all that the value may be here. */
function decided(value: Value, frame: Frame, test: (value: Value) => boolean | null): boolean | null {
  const options = possible(value, frame.state.path);
  // A constructor makes layers for what it is handed; what its methods do without it is another way.
  if (!frame.building && options.some((option) => isSpare(option.value))) return null;
  const answers = options.map((option) => test(option.value));
  const [first] = answers;
  return first !== undefined && answers.every((a) => a === first) ? first : null;
}

function comparisonTruth(node: Node, frame: Frame, run: Run): boolean | null {
  const operands = node.children.filter((c) => c.field !== 'operators');
  const operators = childrenOf(node, 'operators').map(textOf);
  const [left, right] = operands;
  const [operator] = operators;
  if (!left || !right || operands.length !== 2 || operator === undefined) return null;
  const typed = /^(is|is not|==|!=|in|not in)$/.test(operator) ? typeAsked(left, frame, run) : null;
  if (typed) {
    const is = isInstance(typed, run.evaluate(right, frame), frame, run);
    return is === null ? null : /^(is|==|in)$/.test(operator) ? is : !is;
  }
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
  if (a.kind !== 'int' || b.kind !== 'int' || operands.some((operand) => changes(operand, frame))) return null;
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

/** `self.step`, which another method of the class counts on. */
function changes(node: Node, frame: Frame): boolean {
  const name = node.kind === 'attribute' ? /^self\.(\w+)$/.exec(textOf(node))?.[1] : undefined;
  const self = name === undefined ? undefined : frame.state.names.get('self');
  const item = self?.kind === 'ref' ? frame.state.heap.peek(self.id) : undefined;
  return name !== undefined && item?.kind === 'object' && item.model !== null && isSetLater(name, item.model, frame);
}

/** The x of `type(x)`. */
function typeAsked(node: Node, frame: Frame, run: Run): Value | null {
  if (node.kind !== 'call' || textOf(childOf(node, 'function') ?? node) !== 'type') return null;
  const [asked, more] = childOf(node, 'arguments')?.children ?? [];
  return asked && !more ? run.evaluate(asked, frame) : null;
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
