/**
 * The state of an evaluation: variables, the heap of mutable things, and the conditions of the branch. Values are
 * immutable, so a branch copies two maps, and a join compares them.
 */
import { equal, isOne } from '../tensor/dim';
import { carriesReplica, freshId, replicasOf, tensor } from '../tensor/shape';
import { mapReplicas } from '../tensor/pointwise';
import type { Axis, Shape, Tensor } from '../tensor/value';
import { negated } from './condition';
import type { Heap, HeapItem } from './heap';
import type { Names } from './names';
import { oneOfNumbers } from './one-of-numbers';
import { type Condition, type Fact, NUMBER, type Option, TRUTH, type UnknownValue, type Value, tuple } from './value';

export interface State {
  readonly names: Names;
  readonly heap: Heap;
  readonly path: readonly Condition[];
  /** Variables of the loops that run, by their symbols. */
  readonly loops?: ReadonlyMap<string, LoopPass>;
}

export interface LoopPass {
  readonly first: boolean;
  /** Something asked which pass it is. */
  asked: boolean;
}

export const fork = (state: State, condition: Condition | null): State => ({
  ...state,
  names: state.names.fork(),
  heap: state.heap.fork(),
  path: condition ? [...state.path, condition] : state.path,
});

export const unknown = (label = '', foreign = false): UnknownValue => ({
  kind: 'unknown',
  id: freshId(),
  label,
  foreign,
});

const MAX_OPTIONS = 4;

export const opposite = (condition: Condition): Condition => ({ ...condition, holds: !condition.holds });

/** Overwrites `into` with what holds after either of two branches of a condition. */
export function join(into: State, a: State, b: State, yes: Condition): void {
  const no = opposite(yes);
  const set = a.names.since(into.names);
  const alsoSet = b.names.since(into.names);
  for (const key of alsoSet.size === 0 ? set.keys() : new Set([...set.keys(), ...alsoSet.keys()])) {
    const left = a.names.get(key);
    const right = b.names.get(key);
    if (left === right && left) into.names.set(key, left);
    else if (left && right)
      into.names.set(
        key,
        madeDifferent(left, right, into.names.get(key), yes) ??
          called(either(within(left, yes), within(right, no), yes, no), key),
      );
    else if (left) into.names.set(key, conditional(left, yes));
    else if (right) into.names.set(key, conditional(right, no));
  }
  joinHeaps(into, a, b, yes);
}

/** What either of two things is, under the name of both: its sizes are called so wherever they are asked for. */
function called(value: Value, label: string): Value {
  if (value.kind === 'union' && value.options.some((o) => o.value.kind === 'unknown' && o.value.label === ''))
    return { ...value, options: value.options.map((o) => ({ ...o, value: called(o.value, label) })) };
  return (value.kind === 'unknown' || value.kind === 'tensor') && value.label === '' ? { ...value, label } : value;
}

/** Of one of several, what it may be on this branch: `if cls: x = cat([token, x])`, and later `if cls: x = x[:, 1:]`. */
function within(value: Value, condition: Condition): Value {
  if (value.kind !== 'union') return value;
  const options = possible(value, [condition]);
  const [only] = options;
  return options.length === 1 && only ? only.value : options === value.options ? value : { kind: 'union', options };
}

/** `if noise > 0: x = ..`: the copies that x was are there to be given noise, whatever a function from elsewhere does to them. */
function madeDifferent(a: Value, b: Value, before: Value | undefined, { text }: Condition): Value | null {
  if (before?.kind !== 'tensor' || (a === before) === (b === before)) return null;
  return carriesReplica(before) && /noise/i.test(text) ? (a === before ? b : a) : null;
}

/** The part of `join` that is left where the code after the branches is not reached. */
export function joinHeaps(into: State, a: State, b: State, yes: Condition): void {
  const no = opposite(yes);
  for (const id of new Set([...a.heap.since(into.heap).keys(), ...b.heap.since(into.heap).keys()])) {
    const left = a.heap.peek(id);
    const right = b.heap.peek(id);
    if (left && right) into.heap.set(id, left === right ? left : eitherItem(left, right, yes, no));
    else if (left) into.heap.set(id, madeOn(left, yes));
    else if (right) into.heap.set(id, madeOn(right, no));
  }
}

/** A list or dict that is made on one branch holds its copies on that branch alone. */
function madeOn(item: HeapItem, condition: Condition): HeapItem {
  const isCopy = (value: Value): boolean => value.kind === 'tensor' && carriesReplica(value);
  if (item.kind === 'list' && item.items.some(isCopy))
    return { ...item, items: item.items.map((one) => annotated(one, [condition])) };
  if (item.kind === 'dict' && [...item.entries.values()].some(isCopy))
    return { ...item, entries: new Map([...item.entries].map(([key, one]) => [key, annotated(one, [condition])])) };
  return item;
}

/** A name bound on one branch only: code that reads it relies on that branch. */
const conditional = (value: Value, condition: Condition): Value => annotated(value, [condition]);

function eitherItem(a: HeapItem, b: HeapItem, yes: Condition, no: Condition): HeapItem {
  if (a.kind === 'list' && b.kind === 'list') {
    // Appended on one branch: keep the longer list, whose extra items are there on that branch.
    const [longer, shorter, when] = a.items.length >= b.items.length ? [a, b, yes] : [b, a, no];
    const items = longer.items.map((item, i) => {
      const other = shorter.items[i];
      return other === undefined
        ? annotated(item, [when])
        : other === item
          ? item
          : longer === a
            ? either(item, other, yes, no)
            : either(other, item, yes, no);
    });
    return { ...longer, items, open: a.open || b.open };
  }
  if (a.kind === 'dict' && b.kind === 'dict')
    return { ...a, entries: eitherMap(a.entries, b.entries, yes, no), open: a.open || b.open };
  if (a.kind === 'object' && b.kind === 'object') {
    if (a.build || b.build) return a.build ? b : a;
    return { ...a, attributes: eitherMap(a.attributes, b.attributes, yes, no) };
  }
  return a;
}

function eitherMap(
  a: ReadonlyMap<string, Value>,
  b: ReadonlyMap<string, Value>,
  yes: Condition,
  no: Condition,
): ReadonlyMap<string, Value> {
  const joined = new Map<string, Value>();
  for (const key of new Set([...a.keys(), ...b.keys()])) {
    const left = a.get(key);
    const right = b.get(key);
    if (left && right) joined.set(key, left === right ? left : either(left, right, yes, no));
    else if (left ?? right) joined.set(key, (left ?? right) as Value);
  }
  return joined;
}

/** One of two values. Plain ones are widened to what they have in common; those that matter are kept apart. */
export function either(a: Value, b: Value, yes: Condition, no: Condition): Value {
  if (a === b) return a;
  const same = common(a, b);
  if (same) return same;
  const options = alikeAsOne([...optionsOf(a, yes), ...optionsOf(b, no)]);
  options.sort((x, y) => Number(matters(y.value)) - Number(matters(x.value)));
  return { kind: 'union', options: fewest(options) };
}

/** Of those that are nothing in particular one is enough: `x` that is None, given or computed is None or something. */
function alikeAsOne(options: Option[]): Option[] {
  const plain = options.filter(
    ({ value }) => (value.kind === 'unknown' && !value.foreign) || (value.kind === 'tensor' && isBare(value)),
  );
  const isNeeded =
    plain.some(({ value }) => value.kind === 'unknown') && options.some(({ value }) => value.kind === 'none');
  return plain.length < 2 || !isNeeded
    ? options
    : [...options.filter((option) => !plain.includes(option)), { value: unknown(), when: [] }];
}

const optionsOf = (value: Value, condition: Condition): readonly Option[] =>
  value.kind === 'union'
    ? value.options.map((o) => ({ value: annotated(o.value, [condition]), when: [...o.when, condition] }))
    : [{ value: annotated(value, [condition]), when: [condition] }];

/** The replicas in a value exist only under these conditions. */
export function annotated(value: Value, conditions: readonly Condition[]): Value {
  if (value.kind === 'tensor') {
    if (!carriesReplica(value)) return value;
    const texts = conditions.map(conditionText);
    return mapReplicas(value, (r) => ({ ...r, when: [...r.when, ...texts.filter((t) => !r.when.includes(t))] }));
  }
  if (value.kind === 'tuple')
    return tuple(
      value.items.map((item) => annotated(item, conditions)),
      value.open,
    );
  return value;
}

export const conditionText = (condition: Condition): string =>
  condition.holds ? condition.text : negated(condition.text);

/** Worth keeping apart at a join: replicas, and whatever decides which code runs. */
export function matters(value: Value): boolean {
  switch (value.kind) {
    case 'tensor':
      return carriesReplica(value);
    case 'shape':
      return carriesReplica(value.of);
    case 'tuple':
      return value.items.some(matters);
    case 'union':
      return value.options.some((option) => matters(option.value));
    case 'layer':
    case 'function':
    case 'ref':
    case 'class':
    case 'method':
    case 'partial':
      return true;
    default:
      return false;
  }
}

/** What two values have in common when nothing is lost by forgetting which it is; null when they must be kept apart. */
function common(a: Value, b: Value): Value | null {
  if (a.kind === 'tensor' && b.kind === 'tensor') {
    if (a.id === b.id) return a;
    // Noise on one branch: the copies are there to be made different.
    if (a.noised) return a;
    if (b.noised) return b;
    return carriesReplica(a) || carriesReplica(b) ? null : eitherTensor(a, b);
  }
  if (a.kind === 'tensor' && b.kind === 'unknown') return isBare(a) && !b.foreign ? unknown() : null;
  if (b.kind === 'tensor' && a.kind === 'unknown') return isBare(b) && !a.foreign ? unknown() : null;
  if (a.kind === 'ref' && b.kind === 'ref') return a.id === b.id ? a : null;
  // One of two numbers is still one number, whichever it is.
  if (a.kind === 'int' && b.kind === 'int') return oneOfNumbers(a, b);
  if (a.kind === 'unknown' && b.kind === 'unknown') return a.id === b.id ? a : unknown('', a.foreign && b.foreign);
  if (a.kind === 'string' && b.kind === 'string') return a.value === b.value ? a : { kind: 'string', value: null };
  if (a.kind === 'bool' && b.kind === 'bool') return a.value === b.value ? a : TRUTH;
  if (a.kind === 'number' && b.kind === 'number') return NUMBER;
  if (a.kind === 'none' && b.kind === 'none') return a;
  if (a.kind === 'name' && b.kind === 'name') return a.path === b.path ? a : null;
  if (a.kind === 'class' && b.kind === 'class') return a.model === b.model ? a : null;
  if (a.kind === 'tuple' && b.kind === 'tuple' && a.items.length === b.items.length) {
    const items = a.items.map((item, i) => common(item, b.items[i] ?? item));
    return items.every((item): item is Value => item !== null) ? tuple(items, a.open || b.open) : null;
  }
  return null;
}

/** A tensor that nothing follows from where something that is not known may stand in its place: no copies, no axis that could grow. */
const isBare = ({ shape, content, index, noised, form }: Tensor): boolean =>
  form === null &&
  content === 'data' &&
  index.kind === 'unknown' &&
  !noised &&
  ![...shape.head, ...shape.tail].some((axis) => axis.replica !== null || isOne(axis.dim));

function eitherTensor(a: Tensor, b: Tensor): Tensor {
  const exact = a.shape.exact && b.shape.exact && a.shape.head.length === b.shape.head.length;
  const shared = (of: readonly Axis[], others: readonly Axis[]): readonly Axis[] =>
    of
      .slice(0, others.length)
      .map((axis, i) => (equal(axis.dim, others[i]?.dim ?? null) === true ? axis : { dim: null, replica: null }));
  const shape: Shape = exact
    ? { ...a.shape, head: shared(a.shape.head, b.shape.head) }
    : a.shape.exact || b.shape.exact
      ? { exact: false, head: [], tail: [] }
      : {
          exact: false,
          head: shared(a.shape.head, b.shape.head),
          tail: shared(a.shape.tail.toReversed(), b.shape.tail.toReversed()).toReversed(),
        };
  const content =
    a.content === b.content ? a.content : a.content === 'random' || b.content === 'random' ? 'random' : 'data';
  const index = a.index.kind === b.index.kind ? a.index : { kind: 'unknown' as const };
  const [own, other] = [a, b].map((t) => t.base ?? { id: t.id, label: t.label, front: 0, back: 0 });
  const isSame = own?.id === other?.id && own?.front === other?.front && own?.back === other?.back;
  const itemSize = a.itemSize === b.itemSize ? a.itemSize : null;
  return tensor(shape, {
    content,
    index,
    itemSize,
    uniform: a.uniform && b.uniform,
    base: isSame ? (own ?? null) : null,
  });
}

const contradicts = (a: readonly Condition[], b: readonly Condition[]): boolean =>
  a.some((x) => b.some((y) => excludes(x, y)));

/** Not both can be: `x` and `not x`, `x and y` and `not x`, `x == 1` and `x == 2`. */
function excludes(x: Condition, y: Condition): boolean {
  if (x.key === y.key) return x.holds !== y.holds;
  if (!x.facts || !y.facts) return false;
  const others = y.holds ? y.facts.yes : y.facts.no;
  return (x.holds ? x.facts.yes : x.facts.no).some((a) => others.some((b) => clash(a, b)));
}

const clash = (a: Fact, b: Fact): boolean =>
  a.key === b.key
    ? a.holds !== b.holds
    : a.holds && b.holds && a.equal !== null && a.equal.of === b.equal?.of && a.equal.to !== b.equal.to;

/** Whether a condition holds where these do; null where they do not tell. */
export const decidedBy = (path: readonly Condition[], condition: Condition): boolean | null =>
  contradicts(path, [condition]) ? false : contradicts(path, [opposite(condition)]) ? true : null;

/** The options of a value that the conditions of the branch (and other choices) leave. */
export function possible(value: Value, path: readonly Condition[]): readonly Option[] {
  if (value.kind !== 'union') return [{ value, when: [] }];
  const left = value.options.filter((o) => !contradicts(o.when, path));
  return left.length > 0 ? left : value.options;
}

/** What has attributes or items is not None, whatever else it may be. */
export function something(value: Value): Value {
  if (value.kind !== 'union') return value;
  const options = value.options.filter((option) => option.value.kind !== 'none');
  const [only] = options;
  if (!only || options.length === value.options.length) return value;
  return options.length === 1 ? only.value : { kind: 'union', options };
}

function hasUnion(values: readonly Value[]): boolean {
  for (const value of values) if (value.kind === 'union') return true;
  return false;
}

/** Applies a function to each choice of its arguments that is consistent, at most four, and joins the results. */
export function lift(
  values: readonly Value[],
  path: readonly Condition[],
  apply: (values: readonly Value[]) => Value,
): Value {
  if (!hasUnion(values)) return apply(values);
  let choices: { values: Value[]; when: readonly Condition[] }[] = [{ values: [], when: [] }];
  for (const value of values) {
    choices = choices.flatMap((choice) =>
      possible(value, [...path, ...choice.when]).map((o) => ({
        values: [...choice.values, o.value],
        when: [...choice.when, ...o.when],
      })),
    );
    if (choices.length > MAX_OPTIONS) choices = [...covering(choices, ({ values }) => values.flatMap(distinction))];
  }
  const results = choices.map((choice) => ({ value: apply(choice.values), when: choice.when }));
  const [first, ...rest] = results;
  if (!first) return unknown();
  if (rest.length === 0) return first.value;
  if (rest.every((r) => r.value === first.value)) return first.value;
  const plain = results.every((r) => !matters(r.value) && r.value.kind !== 'none');
  if (plain) return rest.reduce<Value>((sum, r) => common(sum, r.value) ?? unknown(), first.value);
  return {
    kind: 'union',
    options: fewest(
      results.flatMap((r) =>
        r.value.kind === 'union' ? r.value.options.map((o) => ({ value: o.value, when: [...r.when, ...o.when] })) : [r],
      ),
    ),
  };
}

/** Each value once; of too many, those that matter. */
function fewest(options: readonly Option[]): readonly Option[] {
  const unique = options.filter((o, i) => options.findIndex((other) => other.value === o.value) === i);
  return unique.length <= MAX_OPTIONS ? unique : covering(unique, ({ value }) => distinction(value));
}

/** As many as are allowed, so that most of what tells them apart is in one of them: first come, first served. */
function covering<T>(all: readonly T[], parts: (one: T) => readonly unknown[]): readonly T[] {
  const left = all.map((one) => ({ one, parts: parts(one) }));
  const seen = new Set<unknown>();
  const taken = new Set<T>();
  while (taken.size < MAX_OPTIONS && taken.size < left.length) {
    let best: (typeof left)[number] | null = null;
    let most = -1;
    for (const candidate of left) {
      const fresh = taken.has(candidate.one) ? -1 : candidate.parts.filter((part) => !seen.has(part)).length;
      if (fresh > most) [best, most] = [candidate, fresh];
    }
    if (!best) break;
    taken.add(best.one);
    for (const part of best.parts) seen.add(part);
  }
  return all.filter((one) => taken.has(one));
}

/** The copies in a value by where they are made, and whatever else decides which code runs. */
function distinction(value: Value): readonly unknown[] {
  if (value.kind === 'tensor') {
    const own = replicasOf(value.shape).map((replica) => `${replica.origin.path}:${replica.origin.start}`);
    const atoms = value.form?.blocks.flatMap((block) => block.terms.flatMap((term) => term.factors)) ?? [];
    return [...own, ...atoms.flatMap(distinction)];
  }
  if (value.kind === 'tuple') return value.items.flatMap(distinction);
  return matters(value) ? [value] : [];
}
