/** Runs statements over the abstract state. */
import { UNKNOWN_SHAPE, rankOf, tensor, unknownDim, withRank, withoutReplicas } from '../tensor/shape';
import type { Tensor } from '../tensor/value';
import { applyView, select } from '../tensor/views';
import { asString, asTensor, nameSymbol, placeOf } from './access';
import { overwrite } from './calls';
import { arithmetic } from './expressions';
import type { Heap } from './heap';
import { passes } from './iterate';
import { type Binding, importBindings } from './model';
import type { Frame, Run } from './run';
import { either, fork, join, matters, possible, unknown } from './state';
import { type Node, childOf, childrenOf, textOf } from './syntax';
import { conditionOf, truthOf } from './truth';
import { NONE, type Value, int, tuple } from './value';

/** How a block ends: `next` runs on, `left` does not (return, raise, break, continue). */
export type Flow = 'next' | 'left';

export function runBlock(node: Node, frame: Frame, run: Run): Flow {
  for (const statement of node.children) if (runStatement(statement, frame, run) === 'left') return 'left';
  return 'next';
}

export function runStatement(node: Node, frame: Frame, run: Run): Flow {
  if (!run.step()) return 'left';
  switch (node.kind) {
    case 'expression_statement': {
      for (const child of node.children) {
        if (child.kind === 'assignment') assignment(child, frame, run);
        else if (child.kind === 'augmented_assignment') augmented(child, frame, run);
        else run.evaluate(child, frame);
      }
      return 'next';
    }
    case 'return_statement': {
      const [value] = node.children;
      frame.returns.push({ value: value ? run.evaluate(value, frame) : NONE, when: frame.state.path });
      return 'left';
    }
    case 'if_statement':
      return ifStatement(node, frame, run);
    case 'for_statement':
      return forStatement(node, frame, run);
    case 'while_statement': {
      const body = childOf(node, 'body');
      if (body) loop(frame, () => runBlock(body, frame, run));
      return 'next';
    }
    case 'with_statement': {
      for (const item of node.children.flatMap((c) => (c.kind === 'with_clause' ? c.children : []))) {
        const value = childOf(item, 'value');
        const [as] = value?.kind === 'as_pattern' ? value.children : [];
        if (value) run.evaluate(as ?? value, frame);
        const target = value?.kind === 'as_pattern' ? childOf(value, 'alias') : null;
        if (target?.children[0]) run.assign(target.children[0], unknown(), frame);
      }
      const body = childOf(node, 'body');
      return body ? runBlock(body, frame, run) : 'next';
    }
    case 'try_statement': {
      const body = childOf(node, 'body');
      const flow = body ? runBlock(body, frame, run) : 'next';
      for (const clause of node.children) {
        if (clause.kind !== 'finally_clause' && clause.kind !== 'else_clause') continue;
        const inner = clause.children.find((c) => c.kind === 'block');
        if (inner && flow === 'next') runBlock(inner, frame, run);
      }
      return flow;
    }
    case 'raise_statement':
    case 'break_statement':
    case 'continue_statement':
      return 'left';
    case 'assert_statement': {
      const [test] = node.children;
      if (test) run.evaluate(test, frame);
      return 'next';
    }
    case 'function_definition':
    case 'decorated_definition':
      nestedFunction(node, frame);
      return 'next';
    case 'import_statement':
    case 'import_from_statement': {
      const bindings = new Map<string, Binding>();
      importBindings(node, bindings, []);
      for (const [key, binding] of bindings) {
        if (binding.kind !== 'import') continue;
        const names = new Map([...frame.file.names, [key, binding] as const]);
        frame.state.names.set(key, run.global(key, { ...frame.file, names }, frame) ?? unknown(key));
      }
      return 'next';
    }
    case 'delete_statement':
    case 'pass_statement':
    case 'global_statement':
    case 'nonlocal_statement':
      return 'next';
    case 'match_statement': {
      for (const clause of childrenOf(childOf(node, 'body') ?? node, 'alternative')) {
        const inner = clause.children.find((c) => c.kind === 'block');
        if (inner) runBlock(inner, frame, run);
      }
      return 'next';
    }
    default:
      return 'next';
  }
}

function nestedFunction(node: Node, frame: Frame): void {
  const inner = node.kind === 'decorated_definition' ? childOf(node, 'definition') : node;
  const name = inner && childOf(inner, 'name');
  if (!inner || !name || inner.kind !== 'function_definition') return;
  frame.state.names.set(textOf(name), {
    kind: 'function',
    model: {
      kind: 'function',
      name: textOf(name),
      node: inner,
      file: frame.file,
      owner: frame.function?.owner ?? null,
      decorators: ['staticmethod'],
    },
    self: null,
    closure: frame.state.names,
  });
}

function assignment(node: Node, frame: Frame, run: Run): void {
  const left = childOf(node, 'left');
  const right = childOf(node, 'right');
  if (!left || !right) return;
  const value = right.kind === 'assignment' ? run.evaluate(right, frame) : run.evaluate(right, frame);
  assign(left, value, frame, run);
}

/** Binds a target: a name, an attribute, an item, or several at once. */
export function assign(target: Node, value: Value, frame: Frame, run: Run): void {
  switch (target.kind) {
    case 'identifier':
      frame.state.names.set(textOf(target), labelled(value, textOf(target)));
      if (value.kind === 'int') nameSymbol(value.dim, textOf(target), run);
      return;
    case 'pattern_list':
    case 'tuple_pattern':
    case 'list_pattern':
    case 'tuple':
    case 'list':
      unpack(target.children, value, target, frame, run);
      return;
    case 'attribute':
      setAttribute(target, value, frame, run);
      return;
    case 'subscript':
      setItem(target, value, frame, run);
      return;
    case 'parenthesized_expression':
    case 'type': {
      const [inner] = target.children;
      if (inner) assign(inner, value, frame, run);
      return;
    }
  }
}

const labelled = (value: Value, label: string): Value => {
  if (value.kind === 'tensor' && value.label === '') return { ...value, label };
  if (value.kind === 'unknown' && value.label === '' && value.id >= 0) return { ...value, label };
  return value;
};

function unpack(targets: readonly Node[], value: Value, node: Node, frame: Frame, run: Run): void {
  const star = targets.findIndex((t) => t.kind === 'list_splat_pattern' || t.kind === 'list_splat');
  if (value.kind === 'union') {
    const [first] = possible(value, frame.state.path);
    const same = value.options.filter((o) => o.value.kind === 'tuple');
    if (same.length > 1 && star < 0) {
      unpackUnion(targets, value, node, frame, run);
      return;
    }
    unpack(targets, same[0]?.value ?? first?.value ?? unknown(), node, frame, run);
    return;
  }
  if (value.kind === 'shape' && star < 0 && !value.of.shape.exact) {
    unpackShape(targets, value.of, frame, run);
    return;
  }
  const listed = run.items(value, frame);
  if (!listed) {
    const t = asTensor(value, run);
    const rows = t && (t.index.kind === 'edge-index' || t.shape.exact || value.kind === 'tensor');
    for (const target of targets) {
      assign(target, rows && t ? row(t, node) : unknown(), frame, run);
    }
    return;
  }
  const { items, open } = listed;
  targets.forEach((target, i) => {
    if (i === star) {
      const count = Math.max(0, items.length - targets.length + 1);
      const [inner] = target.children;
      if (inner) assign(inner, tuple(items.slice(i, i + count), open), frame, run);
      return;
    }
    const at = star >= 0 && i > star ? items.length - (targets.length - i) : i;
    const item = items[at] ?? (open ? items[items.length - 1] : undefined);
    assign(target, item ?? unknown(), frame, run);
  });
}

/** One row of a tensor that is unpacked: of an edge index, node ids of many edges. */
function row(t: Tensor, node: Node): Tensor {
  const value = applyView(t, select(0), placeOf(node));
  if (t.index.kind !== 'edge-index') return value;
  return {
    ...value,
    content: 'index',
    index: { kind: 'many-to-one', evidence: 'strong', map: 'indexed', edges: true },
  };
}

function unpackUnion(
  targets: readonly Node[],
  value: Value & { kind: 'union' },
  node: Node,
  frame: Frame,
  run: Run,
): void {
  targets.forEach((target, i) => {
    const options = value.options.flatMap((o) => {
      const listed = run.items(o.value, frame);
      const item = listed?.items[i];
      return item ? [{ value: item, when: o.when }] : [];
    });
    const [first] = options;
    const single = first && options.every((o) => o.value === first.value) ? first.value : null;
    const joined =
      single ??
      options.slice(1).reduce<Value | null>((sum, o) => {
        const [when] = o.when;
        return sum && when ? either(o.value, sum, when, { ...when, holds: !when.holds }) : sum;
      }, first?.value ?? null);
    void node;
    assign(target, joined ?? unknown(), frame, run);
  });
}

/** `b, t, d = x.shape` fixes the rank of x and names its sizes. */
function unpackShape(targets: readonly Node[], of: Tensor, frame: Frame, run: Run): void {
  const shape = withRank(of, targets.length);
  targets.forEach((target, i) => {
    const dim = shape?.head[i]?.dim ?? unknownDim(of, i);
    assign(target, int(dim), frame, run);
  });
  if (!shape) return;
  const refined: Tensor = { ...of, shape };
  for (const [key, old] of frame.state.names) {
    if ((old.kind === 'tensor' && old.id === of.id) || (old.kind === 'unknown' && old.id === of.id)) {
      frame.state.names.set(key, { ...refined, label: of.label || key });
    }
  }
}

function setAttribute(target: Node, value: Value, frame: Frame, run: Run): void {
  const object = childOf(target, 'object');
  const name = childOf(target, 'attribute');
  if (!object || !name) return;
  const owner = run.evaluate(object, frame);
  if (value.kind === 'int') nameSymbol(value.dim, textOf(name), run);
  const item = owner.kind === 'ref' ? frame.state.heap.get(owner.id) : null;
  if (owner.kind === 'ref' && item?.kind === 'object') {
    const attributes = new Map(item.attributes).set(textOf(name), labelled(value, textOf(target)));
    frame.state.heap.set(owner.id, { ...item, attributes });
  } else if (owner.kind === 'tensor' && textOf(name) === 'data')
    overwrite(owner, tensor(withoutReplicas(owner.shape)), frame);
}

function setItem(target: Node, value: Value, frame: Frame, run: Run): void {
  const container = childOf(target, 'value');
  const [index] = childrenOf(target, 'subscript');
  if (!container || !index) return;
  const owner = run.evaluate(container, frame);
  const item = owner.kind === 'ref' ? frame.state.heap.get(owner.id) : null;
  if (owner.kind === 'ref' && item) {
    const key = index.kind === 'slice' ? null : asString(run.evaluate(index, frame));
    if (item.kind === 'dict') {
      const entries = new Map(item.entries);
      if (key !== null) entries.set(key, value);
      frame.state.heap.set(owner.id, { ...item, entries, open: item.open || key === null });
    } else if (item.kind === 'list') {
      const at = run.evaluate(index, frame);
      const n = at.kind === 'int' && at.dim?.length === 0 ? 0 : null;
      const items =
        n === 0 && item.items.length > 0
          ? [value, ...item.items.slice(1)]
          : item.items.map((old) => (old.kind === 'tensor' ? unknown() : old));
      frame.state.heap.set(owner.id, { ...item, items, open: true });
    } else if (item.kind === 'object' && key !== null) {
      frame.state.heap.set(owner.id, { ...item, attributes: new Map(item.attributes).set(key, value) });
    }
    return;
  }
  if (owner.kind === 'unknown') {
    const key = index.kind === 'slice' ? null : run.evaluate(index, frame);
    if (key?.kind === 'string' && container.kind === 'identifier') {
      // A mapping of unknown class: what is stored under a key is what it now hands to whoever gets it.
      const entries = new Map<string, Value>(key.value === null ? [] : [[key.value, value]]);
      const id = tensor(UNKNOWN_SHAPE).id;
      frame.state.heap.set(id, { kind: 'dict', entries, open: true, tag: 'dict' });
      frame.state.names.set(textOf(container), { kind: 'ref', id });
      return;
    }
  }
  if (owner.kind === 'union') {
    for (const option of owner.options) if (option.value.kind === 'tensor') written(option.value, frame);
    return;
  }
  const t = asTensor(owner, run);
  if (t && rankOf(t.shape) !== 0) written(t, frame);
}

const written = (t: Tensor, frame: Frame): void =>
  overwrite(t, { ...tensor(withoutReplicas(t.shape), { label: t.label }), storage: t.storage }, frame);

function augmented(node: Node, frame: Frame, run: Run): void {
  const left = childOf(node, 'left');
  const right = childOf(node, 'right');
  const operator = childOf(node, 'operator');
  if (!left || !right || !operator) return;
  const before = run.evaluate(left, frame);
  const by = run.evaluate(right, frame);
  if (before.kind === 'ref' && frame.state.heap.get(before.id)?.kind === 'list') {
    const listed = run.items(by, frame);
    const item = frame.state.heap.get(before.id);
    if (item?.kind === 'list')
      frame.state.heap.set(before.id, {
        ...item,
        items: [...item.items, ...(listed?.items ?? [])],
        open: item.open || (listed?.open ?? true),
      });
    return;
  }
  const sign = textOf(operator).replace('=', '');
  const pairs = before.kind === 'union' ? possible(before, frame.state.path) : [{ value: before, when: [] }];
  const results = pairs.map((option) => ({
    value: arithmetic(option.value, by, sign, node, frame, run),
    when: option.when,
  }));
  const [only] = results;
  const value: Value = results.length === 1 && only ? only.value : { kind: 'union', options: results };
  if (before.kind === 'tensor' && left.kind === 'identifier') {
    // In place: other names of the same memory see the change, too.
    overwrite(before, unknown(), frame);
  }
  assign(left, value, frame, run);
}

function ifStatement(node: Node, frame: Frame, run: Run): Flow {
  const arms: { test: Node | null; body: Node }[] = [];
  const test = childOf(node, 'condition');
  const body = childOf(node, 'consequence');
  if (!test || !body) return 'next';
  arms.push({ test, body });
  for (const alternative of childrenOf(node, 'alternative')) {
    const inner = childOf(alternative, alternative.kind === 'elif_clause' ? 'consequence' : 'body');
    if (inner)
      arms.push({ test: alternative.kind === 'elif_clause' ? childOf(alternative, 'condition') : null, body: inner });
  }
  return runArms(arms, frame, run);
}

function runArms(arms: readonly { test: Node | null; body: Node }[], frame: Frame, run: Run): Flow {
  const [arm, ...rest] = arms;
  if (!arm) return 'next';
  if (!arm.test) return runBlock(arm.body, frame, run);
  const truth = truthOf(arm.test, frame, run);
  if (truth === true) return runBlock(arm.body, frame, run);
  if (truth === false) return runArms(rest, frame, run);
  const condition = conditionOf(arm.test, frame);
  const known = frame.state.path.find((c) => c.key === condition.key);
  if (known) return known.holds ? runBlock(arm.body, frame, run) : runArms(rest, frame, run);
  const whole = frame.state;
  const yes = fork(whole, condition);
  const no = fork(whole, { ...condition, holds: false });
  frame.state = yes;
  refine(arm.test, true, frame, run);
  const first = runBlock(arm.body, frame, run);
  frame.state = no;
  refine(arm.test, false, frame, run);
  const second = runArms(rest, frame, run);
  if (first === 'left' && second === 'left') {
    frame.state = whole;
    mergeHeap(whole, yes, no, condition);
    return 'left';
  }
  if (first === 'left' || second === 'left') {
    frame.state = first === 'left' ? no : yes;
    return 'next';
  }
  frame.state = whole;
  whole.names.clear();
  join(whole, yes, no, condition);
  return 'next';
}

const mergeHeap = (
  whole: Frame['state'],
  yes: Frame['state'],
  no: Frame['state'],
  condition: Parameters<typeof join>[3],
): void => join({ ...whole, names: new Map() }, yes, no, condition);

/** What a condition says of shapes: `x.dim() == 3`, `x.ndim == 2`, `len(x.shape) == 2`. */
function refine(test: Node, holds: boolean, frame: Frame, run: Run): void {
  refineNone(test, holds, frame);
  if (!holds) return;
  const conjuncts: Node[] = [];
  const split = (node: Node): void => {
    if (node.kind === 'boolean_operator' && textOf(childOf(node, 'operator') ?? node) === 'and')
      node.children.filter((c) => c.field !== 'operator').forEach(split);
    else if (node.kind === 'parenthesized_expression') node.children.forEach(split);
    else conjuncts.push(node);
  };
  split(test);
  for (const node of conjuncts) {
    const match = /^(?:len\((\w+)\.(?:shape|size\(\))\)|(\w+)\.(?:dim\(\)|ndim))\s*==\s*(\d)$/.exec(textOf(node));
    const name = match?.[1] ?? match?.[2];
    if (!match || name === undefined) continue;
    const value = frame.state.names.get(name);
    const t = value && asTensor(value, run);
    const shape = t ? withRank(t, Number(match[3])) : null;
    if (t && shape) frame.state.names.set(name, { ...t, shape });
  }
}

/** `x is None`, `x is not None`, `exists(x)`: which of its options x is on this branch. */
function refineNone(test: Node, holds: boolean, frame: Frame): void {
  const match = /^(?:(\w+) is (not )?None|exists\((\w+)\)|(\w+))$/.exec(textOf(test));
  const name = match?.[1] ?? match?.[3] ?? match?.[4];
  if (!match || name === undefined) return;
  const value = frame.state.names.get(name);
  if (value?.kind !== 'union') return;
  const present = match[1] !== undefined ? (match[2] !== undefined) === holds : holds;
  const options = value.options.filter((o) => (o.value.kind === 'none') !== present);
  const [only] = options;
  if (only && options.length === 1) frame.state.names.set(name, only.value);
  else if (only) frame.state.names.set(name, { ...value, options });
}

function forStatement(node: Node, frame: Frame, run: Run): Flow {
  const left = childOf(node, 'left');
  const right = childOf(node, 'right');
  const body = childOf(node, 'body');
  if (!left || !right || !body) return 'next';
  const { values, open } = passes(run.evaluate(right, frame), right, frame, run);
  const [first] = values;
  if (!first) return 'next';
  if (open && values.length === 1) {
    loop(frame, () => {
      assign(left, first, frame, run);
      return runBlock(body, frame, run);
    });
  } else {
    for (const value of values) {
      assign(left, value, frame, run);
      if (runBlock(body, frame, run) === 'left') break;
    }
  }
  const otherwise = childOf(node, 'alternative')?.children.find((c) => c.kind === 'block');
  return otherwise ? runBlock(otherwise, frame, run) : 'next';
}

/**
 * Two passes if the first one left something for the second: a replica, a list, a value in place of None. Lists that grew
 * may grow further.
 */
function loop(frame: Frame, pass: () => Flow): void {
  const before = frame.state.heap;
  const names = new Map(frame.state.names);
  frame.state = { ...frame.state, heap: before.fork() };
  if (pass() === 'next' && leavesSomething(names, before, frame)) pass();
  const changes = frame.state.heap.since(before);
  frame.state = { ...frame.state, heap: before };
  for (const [id, item] of changes) {
    const old = before.get(id);
    const grew = item.kind === 'list' && old?.kind === 'list' && item.items.length !== old.items.length;
    before.set(id, grew ? { ...item, open: true } : item);
  }
}

function leavesSomething(names: ReadonlyMap<string, Value>, before: Heap, frame: Frame): boolean {
  for (const [key, old] of names) {
    const now = frame.state.names.get(key);
    if (now !== old && now && (old.kind === 'none' || old.kind === 'union' || matters(now))) return true;
  }
  for (const [id, item] of frame.state.heap.since(before)) {
    const old = before.get(id);
    if (old && item.kind === 'list' && old.kind === 'list' && item.items.length !== old.items.length) return true;
    if (old && item.kind !== 'list' && item !== old) return true;
  }
  return false;
}
