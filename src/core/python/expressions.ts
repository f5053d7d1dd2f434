/** Evaluates expressions. */
import { constant } from '../tensor/dim';
import { pointwise } from '../tensor/pointwise';
import type { Tensor } from '../tensor/value';
import { allocate, asTensor, placeOf, restOf, unpacked } from './access';
import { arithmetic, unary } from './arithmetic';
import { collectArgs, splatOfSeveral } from './arguments';
import { ANY_KEY, alike } from './by-key';
import { comprehension, iterate, timesIn } from './iterate';
import type { Frame, Run } from './run';
import { annotated, lift, matters, possible, something, unknown } from './state';
import { subscript } from './subscript';
import { type Node, childOf, textOf } from './syntax';
import { type Args, type Condition, NONE, NUMBER, TRUTH, type TupleValue, type Value, int } from './value';
import { truthOf } from './truth';

export function evaluateExpression(node: Node, frame: Frame, run: Run): Value {
  if (!run.step()) return unknown();
  switch (node.kind) {
    case 'identifier':
      return nameValue(textOf(node), frame, run);
    case 'integer': {
      const value = Number(textOf(node).replace(/_/g, ''));
      return Number.isSafeInteger(value) ? int(constant(value)) : NUMBER;
    }
    case 'float':
      return NUMBER;
    case 'none':
      return NONE;
    case 'true':
      return { kind: 'bool', value: true };
    case 'false':
      return { kind: 'bool', value: false };
    case 'ellipsis':
      return { kind: 'ellipsis' };
    case 'string':
      return { kind: 'string', value: stringValue(node) };
    case 'concatenated_string':
      return { kind: 'string', value: null };
    case 'parenthesized_expression':
    case 'list_splat':
    case 'await':
    case 'type':
    case 'expression_statement': {
      const [inner] = node.children;
      return inner ? run.evaluate(inner, frame) : NONE;
    }
    case 'tuple':
    case 'expression_list':
    case 'pattern_list':
      return tupleOf(node.children, frame, run);
    case 'list': {
      const items = tupleOf(node.children, frame, run);
      return allocate({ ...items, kind: 'list', tag: 'list' }, frame);
    }
    case 'set':
      return unknown();
    case 'dictionary':
      return dictionary(node, frame, run);
    case 'attribute': {
      const object = childOf(node, 'object');
      const name = childOf(node, 'attribute');
      if (!object || !name) return unknown();
      const owner = something(run.evaluate(object, frame));
      if (owner.kind !== 'union') return run.attribute(owner, textOf(name), node, frame);
      return lift([owner], frame.state.path, ([value]) =>
        value ? run.attribute(value, textOf(name), node, frame) : unknown(),
      );
    }
    case 'subscript': {
      const value = childOf(node, 'value');
      if (!value) return unknown();
      return lift([something(run.evaluate(value, frame))], frame.state.path, ([base]) =>
        base ? subscript(base, node, frame, run) : unknown(),
      );
    }
    case 'call':
      return callExpression(node, frame, run);
    case 'binary_operator':
      return binary(node, frame, run);
    case 'unary_operator': {
      const argument = childOf(node, 'argument');
      if (!argument) return unknown();
      const negative = node.file.text[node.start] === '-';
      return lift([run.evaluate(argument, frame)], frame.state.path, ([value]) =>
        value ? unary(value, negative, node) : unknown(),
      );
    }
    case 'not_operator': {
      const argument = childOf(node, 'argument');
      const truth = argument ? truthOf(argument, frame, run) : null;
      return truth === null ? TRUTH : { kind: 'bool', value: !truth };
    }
    case 'comparison_operator':
      return comparison(node, frame, run);
    case 'boolean_operator':
      return booleanOperator(node, frame, run);
    case 'conditional_expression':
      return conditional(node, frame, run);
    case 'named_expression': {
      const name = childOf(node, 'name');
      const value = childOf(node, 'value');
      if (!name || !value) return unknown();
      const result = run.evaluate(value, frame);
      run.assign(name, result, frame);
      return result;
    }
    case 'lambda':
      return {
        kind: 'function',
        model: { kind: 'function', name: '<lambda>', node, file: frame.file, owner: null, decorators: [] },
        self: null,
        closure: frame.state.names,
      };
    case 'list_comprehension':
    case 'generator_expression':
    case 'set_comprehension': {
      const made = comprehension(node, frame, run);
      const times = made.items.length === 1 && made.open ? timesIn(node, frame, run) : null;
      return allocate({ kind: 'list', ...made, tag: 'list', ...(times ? { times } : {}) }, frame);
    }
    case 'dictionary_comprehension': {
      return mapped(comprehension(node, frame, run), frame);
    }
    case 'assignment': {
      const right = childOf(node, 'right');
      const left = childOf(node, 'left');
      if (!right || !left) return unknown();
      const value = run.evaluate(right, frame);
      run.assign(left, value, frame);
      return value;
    }
    default:
      return unknown();
  }
}

function nameValue(name: string, frame: Frame, run: Run): Value {
  const local = frame.state.names.get(name);
  if (local) {
    if (local.kind !== 'union') return local;
    const options = possible(local, frame.state.path);
    const [only] = options;
    return options.length === 1 && only ? only.value : local;
  }
  const outer = frame.closure?.get(name);
  if (outer) return outer;
  return run.global(name, frame.file, frame) ?? unknown(name);
}

function stringValue(node: Node): string | null {
  const text = textOf(node);
  const match = /^[rRuUbB]{0,2}('''|"""|'|")([\s\S]*)\1$/.exec(text);
  if (!match || /^[a-zA-Z]*[fF]/.test(text) || (match[2] ?? '').includes('\\')) return null;
  return match[2] ?? null;
}

function tupleOf(nodes: readonly Node[], frame: Frame, run: Run): TupleValue {
  const items: Value[] = [];
  let open = false;
  let rest: Tensor | null = null;
  let inner: TupleValue['inner'];
  for (const node of nodes) {
    if (isUnpacked(node)) {
      const splat = run.evaluate(node.kind === 'list_splat' ? (unpacked(node) ?? node) : node, frame);
      const listed = run.items(splat, frame);
      if (listed) items.push(...listed.items);
      rest = open ? null : restOf(splat, listed);
      inner = rest ? { of: rest, at: items.length } : undefined;
      open ||= listed?.open ?? true;
    } else {
      items.push(run.evaluate(node, frame));
      rest = null;
    }
  }
  return { kind: 'tuple', items, open, ...(rest ? { rest } : inner && { inner }) };
}

/** Of `*x.shape, n` the grammar makes the shape of `*x`. */
const isUnpacked = (node: Node): boolean =>
  node.kind === 'list_splat' ||
  ((node.kind === 'attribute' || node.kind === 'call' || node.kind === 'subscript') &&
    node.file.text.charCodeAt(node.start) === STAR);

const STAR = 42;

function dictionary(node: Node, frame: Frame, run: Run): Value {
  const entries = new Map<string, Value>();
  let open = false;
  for (const child of node.children) {
    if (child.kind === 'pair') {
      const key = childOf(child, 'key');
      const value = childOf(child, 'value');
      const keyed = key ? run.evaluate(key, frame) : null;
      const result = value ? run.evaluate(value, frame) : unknown();
      if (keyed?.kind === 'string' && keyed.value !== null) entries.set(keyed.value, result);
      else open = true;
    } else if (child.kind === 'dictionary_splat') {
      const [inner] = child.children;
      const value = inner ? run.evaluate(inner, frame) : null;
      const item = value?.kind === 'ref' ? frame.state.heap.get(value.id) : null;
      if (item?.kind === 'dict') item.entries.forEach((v, k) => entries.set(k, v));
      else open = true;
    }
  }
  return allocate({ kind: 'dict', entries, open, tag: 'dict' }, frame);
}

/** A dictionary of pairs: under its keys where they are known, else one value for all that are made alike. */
function mapped({ items, open }: { items: readonly Value[]; open: boolean }, frame: Frame): Value {
  const pairs = items.map((item) => (item.kind === 'tuple' ? item.items : []));
  const keys = pairs.flatMap(([key]) => (key?.kind === 'string' && key.value !== null ? [key.value] : []));
  const values = pairs.flatMap(([, value]) => value ?? []);
  const [first] = values;
  if (keys.length === pairs.length && keys.length > 0 && values.some(matters))
    return allocate(
      { kind: 'dict', entries: new Map(keys.map((key, i) => [key, values[i] ?? unknown()])), open, tag: 'dict' },
      frame,
    );
  // Tensors under the keys of something that is not known: each made as the one that stands for them.
  const isOne = values.length === 1 && first?.kind === 'tensor';
  if (!first || !(isOne || alike(values, frame))) return unknown();
  return allocate({ kind: 'dict', entries: new Map([[ANY_KEY, first]]), open: true, tag: 'dict' }, frame);
}

function callExpression(node: Node, frame: Frame, run: Run): Value {
  const callee = childOf(node, 'function');
  const list = childOf(node, 'arguments');
  if (!callee || !list) return unknown();
  const target = run.evaluate(callee, frame);
  const several = target.kind === 'union' ? null : splatOfSeveral(list, frame, run);
  if (several)
    return lift([several.value], frame.state.path, ([value]) =>
      value ? run.call(target, collectArgs(list, frame, run, { node: several.node, value }), node, frame) : unknown(),
    );
  const collected = collectArgs(list, frame, run);
  if (target.kind !== 'union') return run.call(target, collected, node, frame);
  const alike = oneOfAlike(target, frame);
  if (alike) return run.call(alike, collected, node, frame);
  // Which of several it calls is a condition of whatever its arguments meet there, and of what it gives.
  return lift([target], frame.state.path, ([value]) => {
    const when = target.options.find((option) => option.value === value)?.when ?? [];
    return value ? annotated(run.call(value, conditionalArgs(collected, when), node, frame), when) : unknown();
  });
}

/** Modules that one call made, each time it ran: what is given to one of them meets in it what it meets in all. */
function oneOfAlike({ options }: Value & { kind: 'union' }, frame: Frame): Value | null {
  const [first, ...others] = options.map(({ value }) =>
    value.kind === 'ref' ? frame.state.heap.peek(value.id) : null,
  );
  if (first?.kind !== 'object' || !first.made) return null;
  const isAlike = others.every(
    (other) =>
      other?.kind === 'object' &&
      other.made === first.made &&
      other.model === first.model &&
      decidesAlike(first.args, other.args),
  );
  return isAlike ? (options[0]?.value ?? null) : null;
}

/** Do two calls of a constructor give what it may ask for, `norm=True`, the same values? */
function decidesAlike(a: Args | undefined, b: Args | undefined): boolean {
  const isSame = (one: Value, other: Value | undefined): boolean =>
    (one.kind === 'none') === (other?.kind === 'none') &&
    (one.kind !== 'bool' || other?.kind !== 'bool' || one.value === other.value);
  return (
    a === b ||
    (a !== undefined &&
      b !== undefined &&
      a.positional.every((value, at) => isSame(value, b.positional[at])) &&
      [...a.keywords].every(([name, value]) => isSame(value, b.keywords.get(name))))
  );
}

const conditionalArgs = (args: Args, when: readonly Condition[]): Args => ({
  ...args,
  positional: args.positional.map((value) => annotated(value, when)),
  keywords: new Map([...args.keywords].map(([key, value]) => [key, annotated(value, when)])),
});

function binary(node: Node, frame: Frame, run: Run): Value {
  const left = childOf(node, 'left');
  const right = childOf(node, 'right');
  const operator = childOf(node, 'operator');
  if (!left || !right || !operator) return unknown();
  const values = [run.evaluate(left, frame), run.evaluate(right, frame)];
  return lift(values, frame.state.path, ([a, b]) =>
    a && b ? arithmetic(a, b, textOf(operator), node, frame, run) : unknown(),
  );
}

function comparison(node: Node, frame: Frame, run: Run): Value {
  const truth = truthOf(node, frame, run);
  if (truth !== null) return { kind: 'bool', value: truth };
  const values = node.children.filter((c) => c.field !== 'operators').map((c) => run.evaluate(c, frame));
  const tensors = values.filter((v) => v.kind === 'tensor');
  if (tensors.length === 0) return values.some((v) => v.kind === 'unknown') ? unknown('mask') : TRUTH;
  const all = values.flatMap((v) => asTensor(v, run) ?? []);
  return { ...pointwise(all, placeOf(node), 'comparison'), content: 'mask' };
}

function booleanOperator(node: Node, frame: Frame, run: Run): Value {
  const left = childOf(node, 'left');
  const right = childOf(node, 'right');
  if (!left || !right) return unknown();
  const truth = truthOf(left, frame, run);
  const isAnd = textOf(childOf(node, 'operator') ?? node) === 'and';
  const first = run.evaluate(left, frame);
  // A size is not zero: `hidden or width` is hidden, where one is given.
  if (truth === !isAnd || (truth === null && !isAnd && first.kind === 'int')) return first;
  const second = run.evaluate(right, frame);
  // What makes layers unless something else is asked for: `norm_layer or nn.LayerNorm`.
  if (!isAnd && first.kind === 'unknown' && (makesLayers(second) || isNothingYet(right, frame))) return second;
  return truth === isAnd ? second : first.kind === 'bool' || second.kind === 'bool' ? TRUTH : unknown();
}

/** `layers or []` in a constructor, which fills the list unless it is handed one. */
const isNothingYet = (node: Node, frame: Frame): boolean => frame.building && textOf(node) === '[]';

const makesLayers = (value: Value): boolean =>
  value.kind === 'class' ||
  (value.kind === 'partial' && makesLayers(value.target)) ||
  (value.kind === 'name' && /(^|\.)nn\.[A-Z]\w*$/.test(value.path));

function conditional(node: Node, frame: Frame, run: Run): Value {
  const [yes, test, no] = node.children;
  if (!yes || !test || !no) return unknown();
  const truth = truthOf(test, frame, run);
  if (truth !== null) return run.evaluate(truth ? yes : no, frame);
  return iterate.choose(
    node,
    test,
    () => run.evaluate(yes, frame),
    () => run.evaluate(no, frame),
    frame,
  );
}
