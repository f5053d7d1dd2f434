/** Runs statements over the abstract state. */
import { symbol } from '../tensor/dim';
import { freshId } from '../tensor/shape';
import { assignedAs } from './annotations';
import { countAppended } from './appended';
import { conditionOf } from './asked';
import { extended } from './heap';
import { overwrite } from './in-place';
import { arithmetic } from './arithmetic';
import type { Heap } from './heap';
import { passes } from './iterate';
import { type Binding, importBindings } from './model';
import type { Frame, Run } from './run';
import { type LoopPass, decidedBy, fork, join, joinHeaps, lift, opposite, possible, something, unknown } from './state';
import { type Node, childOf, childrenOf, textOf } from './syntax';
import { truthOf } from './truth';
import { startState } from './carried';
import { type Condition, NONE, type Value } from './value';
import { assign } from './assign';
import { refine } from './refine';
import { leavesSomething } from './next-pass';

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
      const given = value ? run.evaluate(value, frame) : NONE;
      frame.returns.push({ value: given, when: frame.state.path, heap: frame.state.heap });
      return 'left';
    }
    case 'if_statement':
      return ifStatement(node, frame, run);
    case 'for_statement':
      return forStatement(node, frame, run);
    case 'while_statement': {
      const body = childOf(node, 'body');
      if (body) loop(frame, body, () => runBlock(body, frame, run));
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
      if (test) refine(test, true, frame, run, true);
      return 'next';
    }
    case 'function_definition':
    case 'decorated_definition':
      // Those of the module are found by name, from everywhere.
      if (frame.function) nestedFunction(node, frame);
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
    case 'match_statement':
      return matchStatement(node, frame, run);
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
  const value = run.evaluate(right, frame);
  const type = childOf(node, 'type');
  assign(left, type ? assignedAs(type, left, value, run, frame) : value, frame, run);
}

function augmented(node: Node, frame: Frame, run: Run): void {
  const left = childOf(node, 'left');
  const right = childOf(node, 'right');
  const operator = childOf(node, 'operator');
  if (!left || !right || !operator) return;
  const before = run.evaluate(left, frame);
  // None is added to nothing.
  const by = something(run.evaluate(right, frame));
  if (before.kind === 'ref' && frame.state.heap.get(before.id)?.kind === 'list') {
    const listed = run.items(by, frame);
    const item = frame.state.heap.get(before.id);
    if (item?.kind === 'list') frame.state.heap.set(before.id, extended(item, listed));
    return;
  }
  const sign = textOf(operator).replace('=', '');
  const pairs = before.kind === 'union' ? possible(before, frame.state.path) : [{ value: before, when: [] }];
  const results = pairs.map((option) => ({
    value: lift([by], [...frame.state.path, ...option.when], ([added]) =>
      arithmetic(option.value, added ?? by, sign, node, frame, run),
    ),
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

/** One case after the other, each on the condition that it is that one. */
function matchStatement(node: Node, frame: Frame, run: Run): Flow {
  const subject = childOf(node, 'subject');
  const arms = childrenOf(childOf(node, 'body') ?? node, 'alternative').flatMap((clause) => {
    const body = clause.children.find((c) => c.kind === 'block');
    const patterns = clause.children.filter((c) => c.kind === 'case_pattern');
    const guard = childOf(clause, 'guard');
    if (!body) return [];
    const text = patterns.map(textOf).join(', ');
    if (text === '_' && !guard) return [{ test: null, body }];
    const asked = `${subject ? textOf(subject) : 'value'} == ${text}${guard ? ` ${textOf(guard)}` : ''}`;
    const is: Condition = { key: `${asked}@${node.file.path}:${clause.start}`, text: asked, holds: true };
    return [{ test: null, is, body }];
  });
  return runArms(arms, frame, run);
}

interface Arm {
  readonly test: Node | null;
  /** What it is taken under where no test says so. */
  readonly is?: Condition;
  readonly body: Node;
}

function runArms(arms: readonly Arm[], frame: Frame, run: Run): Flow {
  const [arm, ...rest] = arms;
  if (!arm) return 'next';
  const { test } = arm;
  const condition = test ? conditionOf(test, frame) : arm.is;
  if (!condition) return runBlock(arm.body, frame, run);
  const truth = test && truthOf(test, frame, run);
  if (truth === true) return runBlock(arm.body, frame, run);
  if (truth === false) return runArms(rest, frame, run);
  // A chain of thousands of arms asks each of them of all before it.
  if (!run.step(frame.state.path.length >> 6)) return 'next';
  const known = decidedBy(frame.state.path, condition);
  if (known !== null) return known ? runBlock(arm.body, frame, run) : runArms(rest, frame, run);
  const whole = frame.state;
  const yes = fork(whole, condition);
  const no = fork(whole, opposite(condition));
  frame.state = yes;
  if (test) refine(test, true, frame, run);
  const first = runBlock(arm.body, frame, run);
  // Where an arm ends is its own state or, where one of its arms was left, that of the other.
  const held = frame.state;
  frame.state = no;
  if (test) refine(test, false, frame, run);
  const second = runArms(rest, frame, run);
  const failed = frame.state;
  if (first === 'left' && second === 'left') {
    frame.state = whole;
    joinHeaps(whole, held, failed, condition);
    return 'left';
  }
  if (first === 'left' || second === 'left') {
    frame.state = first === 'left' ? failed : held;
    return 'next';
  }
  frame.state = whole;
  join(whole, held, failed, condition);
  return 'next';
}

function forStatement(node: Node, frame: Frame, run: Run): Flow {
  const left = childOf(node, 'left');
  const right = childOf(node, 'right');
  const body = childOf(node, 'body');
  if (!left || !right || !body) return 'next';
  const { values, open } = passes(run.evaluate(right, frame), right, frame, run);
  const [first] = values;
  if (!first) return 'next';
  if (open && !frame.building) startState(right, values, body, frame, run);
  const around = frame.state.loops;
  if (open && values.length === 1) {
    const counts = countAppended(node, frame, run);
    const pass = counted(first, frame);
    const once = (): Flow => {
      assign(left, first, frame, run);
      return runBlock(body, frame, run);
    };
    loop(frame, body, once, () => {
      if (pass?.asked) counted(first, frame, false);
      return pass?.asked ?? false;
    });
    counts?.();
  } else {
    const each = (): void => {
      for (const value of values) {
        counted(value, frame, value === first);
        assign(left, value, frame, run);
        if (runBlock(body, frame, run) === 'left') break;
      }
    };
    if (open) growing(frame, each);
    else each();
  }
  if (frame.state.loops !== around) frame.state = { ...frame.state, loops: around ?? NO_LOOPS };
  const otherwise = childOf(node, 'alternative')?.children.find((c) => c.kind === 'block');
  return otherwise ? runBlock(otherwise, frame, run) : 'next';
}

const NO_LOOPS: ReadonlyMap<string, LoopPass> = new Map();

/** Says of a loop's variable (the first of several: `i, layer`) which pass follows. */
function counted(value: Value, frame: Frame, first = true): LoopPass | null {
  const variable = value.kind === 'tuple' ? value.items[0] : value;
  const [only] = variable?.kind === 'int' && variable.loop ? (variable.dim ?? []) : [];
  const [symbol] = only?.symbols ?? [];
  if (symbol === undefined) return null;
  const pass: LoopPass = { first, asked: false };
  frame.state = { ...frame.state, loops: new Map(frame.state.loops).set(symbol, pass) };
  return pass;
}

/** Two passes if the first one left something for the second: a replica, a list, a value in place of None. */
function loop(frame: Frame, body: Node, pass: () => Flow, more = (): boolean => false): void {
  const names = frame.state.names.all();
  growing(frame, (before) => {
    const flow = pass();
    if (more() || (flow === 'next' && leavesSomething(names, before, frame, body))) pass();
  });
}

/** Lists that grew in passes of which more may follow may have grown further. */
function growing(frame: Frame, passes: (before: Heap) => void): void {
  const before = frame.state.heap;
  frame.state = { ...frame.state, heap: before.fork() };
  passes(before);
  const changes = frame.state.heap.since(before);
  frame.state = { ...frame.state, heap: before };
  for (const [id, item] of changes) {
    const old = before.get(id);
    const grew = item.kind === 'list' && old?.kind === 'list' && item.items.length !== old.items.length;
    // What each pass adds several times is there more often than one of them adds it.
    const times = grew && item.times !== undefined ? { times: symbol(`?@${freshId()}`) } : {};
    before.set(id, grew ? { ...item, open: true, ...times } : item);
  }
}
