/** Loops over known and unknown things, comprehensions, and choices between two expressions. */
import { conditionOf } from './asked';
import { type Dim, symbol } from '../tensor/dim';
import { applyView, select } from '../tensor/views';
import { asDim, placeOf } from './access';
import type { Frame, Run } from './run';
import { either, fork, join, opposite, possible, unknown } from './state';
import { type Node, childOf, textOf } from './syntax';
import { truthOf } from './truth';
import { type Value, int, tuple } from './value';

/** Passes of a loop, and items of a comprehension, which cost less: each is one expression. */
const MAX_PASSES = 4;
const MAX_ITEMS = 8;
const MOST = 16;

/** What a loop variable is bound to, pass by pass. Layers of a list each once; anything else a representative. */
export function passes(
  over: Value,
  node: Node,
  frame: Frame,
  run: Run,
  most = MAX_PASSES,
): { values: readonly Value[]; open: boolean } {
  if (over.kind === 'tensor') return { values: [applyView(over, select(0), placeOf(node))], open: true };
  if (over.kind === 'union') {
    // Whichever list it is: items of all of them, each once.
    const lists = possible(over, frame.state.path).map((o) => passes(o.value, node, frame, run, most));
    const values = [...new Set(lists.flatMap((l) => l.values))].filter((v) => v.kind !== 'unknown');
    return { values: values.length > 0 ? values.slice(0, most) : [unknown()], open: lists.some((l) => l.open) };
  }
  const listed = run.items(over, frame);
  if (!listed) return { values: [unknown()], open: true };
  const { items } = listed;
  if (items.length === 0) return { values: listed.open ? [unknown()] : [], open: listed.open };
  const values = [...items.slice(0, most), ...unlike(items, most, frame)];
  return { values, open: listed.open || items.length > values.length };
}

/** Behind the first few, those of a kind that is not among these. */
function unlike(items: readonly Value[], few: number, frame: Frame): readonly Value[] {
  if (items.length <= few) return [];
  const seen = new Set(items.slice(0, few).map((item) => kindOf(item, frame)));
  return items.slice(few, MOST).filter((item) => {
    const kind = kindOf(item, frame);
    const isNew = kind !== null && !seen.has(kind);
    seen.add(kind);
    return isNew;
  });
}

/** The class of a module. */
function kindOf(value: Value, frame: Frame): unknown {
  const item = value.kind === 'ref' ? frame.state.heap.peek(value.id) : null;
  return item?.kind === 'object' ? item.model : null;
}

/** `[x for _ in range(n)]`: how often a list holds the one value that is in it; null where each pass makes one of its own. */
export function timesIn(node: Node, frame: Frame, run: Run): Dim {
  const body = childOf(node, 'body');
  const [clause, ...more] = node.children.filter((c) => c.kind === 'for_in_clause' || c.kind === 'if_clause');
  const left = clause?.kind === 'for_in_clause' ? childOf(clause, 'left') : null;
  const range = clause && childOf(clause, 'right');
  if (body?.kind !== 'identifier' || left?.kind !== 'identifier' || more.length > 0) return null;
  const [, count] = /^range\(([^,]*)\)$/s.exec(range ? textOf(range) : '') ?? [];
  const argument = range && childOf(range, 'arguments')?.children[0];
  if (count === undefined || !argument || textOf(body) === textOf(left)) return null;
  return asDim(run.evaluate(argument, frame));
}

function pairOf(node: Node, frame: Frame, run: Run): Value {
  const parts = [childOf(node, 'key'), childOf(node, 'value')];
  return tuple(parts.map((part) => (part ? run.evaluate(part, frame) : unknown())));
}

/** What a comprehension makes, pass by pass; that of a dictionary makes pairs. */
export function comprehension(node: Node, frame: Frame, run: Run): { items: readonly Value[]; open: boolean } {
  const body = childOf(node, 'body');
  const clauses = node.children.filter((c) => c.kind === 'for_in_clause' || c.kind === 'if_clause');
  // Loop variables of a comprehension are its own.
  const outer = frame.state.names;
  frame.state = { ...frame.state, names: outer.fork() };
  const items: Value[] = [];
  let open = false;
  const visit = (i: number): void => {
    const clause = clauses[i];
    if (items.length > 16) {
      open = true;
      return;
    }
    if (!clause) {
      if (body) items.push(body.kind === 'pair' ? pairOf(body, frame, run) : run.evaluate(body, frame));
      return;
    }
    if (clause.kind === 'if_clause') {
      const [test] = clause.children;
      const truth = test ? truthOf(test, frame, run) : null;
      if (truth === null) open = true;
      if (truth !== false) visit(i + 1);
      return;
    }
    const left = childOf(clause, 'left');
    const right = childOf(clause, 'right');
    if (!left || !right) return;
    const { values, open: more } = passes(run.evaluate(right, frame), right, frame, run, MAX_ITEMS);
    open ||= more;
    for (const value of values) {
      run.assign(left, value, frame);
      visit(i + 1);
    }
  };
  visit(0);
  frame.state = { ...frame.state, names: outer };
  return { items, open };
}

export const iterate = {
  /** `a if test else b` where the test is not decided: each side under its condition. */
  choose(_node: Node, test: Node, yes: () => Value, no: () => Value, frame: Frame): Value {
    const condition = conditionOf(test, frame);
    const whole = frame.state;
    const left = fork(whole, condition);
    const right = fork(whole, opposite(condition));
    frame.state = left;
    const a = yes();
    frame.state = right;
    const b = no();
    frame.state = whole;
    join(whole, left, right, condition);
    return either(a, b, condition, opposite(condition));
  },
};

/** The variable of `for i in range(..)`: a size of its own that lasts as long as the loop. */
export const loopVariable = (node: Node): Value => int(symbol(`${textOf(node).slice(0, 20)}@${node.start}`), true);
