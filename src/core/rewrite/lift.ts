/**
 * A product at the front of a module that the class holds: `self.mlp(x)` of a class whose forward begins with `self.fc(x)`.
 * Seen from the caller the call is the product, and its layer is `self.mlp.fc`. What the forward does behind it becomes a
 * method of its own, unless it is nothing.
 */
import { guardsOf } from '../judge/guards';
import type { Match, Sink } from '../judge/match';
import { type Node, childOf, enclosing, scopeOf, textOf } from '../python/syntax';
import { holdsLayer } from './conditions';
import { type Call, callOf, unwrap } from './expression';
import { madeBy } from './calls-to';
import { indexOf } from './file-index';
import { visit } from './names';
import { rowWiseForward } from './row-wise-forward';
import { type Split, isText, splitForward } from './split-forward';
import { splitLoop } from './split-loop';
import { replacedCall, requireUntouched } from './surgery';
import { trace } from './trace';

/**
 * The match as it looks from the function that makes the copies, or null when the callee does not begin with the product (or,
 * where the whole call is to run on the small tensor, does not work row by row).
 */
export function lift(match: Match): Match | null {
  const whole = match.code === 'IKB102' || (match.code === 'IKB304' && (match.form?.blocks.length ?? 0) <= 1);
  return whole ? (liftRowWise(match) ?? liftProduct(match, false)) : liftProduct(match, true);
}

/** A call of a module that works row by row as a whole. */
function liftRowWise(match: Match): Match | null {
  const { origin, sink } = match;
  const scope = scopeOf(origin);
  const [call, ...more] = callsOf(scope, null).filter(({ positional: [given] }) => leadsTo(given, origin));
  const input = call?.positional[0];
  if (!call || !input || more.length > 0 || call.positional.length !== 1 || call.keywords.size > 0) return null;
  const name = madeBy(scope, call.name);
  const owners = [...new Set([origin.file, sink.node.file])].flatMap(
    (file) => indexOf(file).classes.get(name ?? '') ?? [],
  );
  const [owner, ...others] = owners;
  const rows = owner && others.length === 0 && isPlainModule(owner) ? rowWiseForward(owner) : null;
  const holder = enclosing(scope, 'class_definition');
  if (!owner || !rows || !holder) return null;
  requireUntouched(origin.file, '', call.name, [holder]);
  for (const file of new Set([origin.file, owner.file])) {
    for (const attribute of rows.attributes) requireUntouched(file, ` of ${file.path}`, attribute, [owner]);
  }
  return {
    ...match,
    local: true,
    sink: { ...sink, kind: 'linear', node: call.node, input, module: null, weight: null, bias: null },
    facts: {
      ...guardsOf(call.node, origin),
      assumptions: match.facts.assumptions,
      needs: rows.conditions,
    },
  };
}

function liftProduct(match: Match, split: boolean): Match | null {
  const { sink, origin, form } = match;
  const callee = enclosing(sink.node, 'function_definition');
  const owner = callee && enclosing(callee, 'class_definition');
  const name = owner && isPlainModule(owner) ? textOf(childOf(owner, 'name') ?? owner) : '';
  if (!callee || !owner || name === '') return null;
  const same = split && origin.file === callee.file;
  const front = isPassedThrough(callee, sink)
    ? 'only'
    : same
      ? (splitForward(callee, sink) ?? splitLoop(callee, sink))
      : null;
  const target = form?.node ?? origin;
  const calls = callsOf(scopeOf(origin), name).filter((call) =>
    call.positional.some((given) => leadsTo(given, target)),
  );
  const [call, ...more] = calls;
  const input = call?.positional[front === 'only' ? 0 : (front?.position ?? 0)];
  if (!front || !call || !input || more.length > 0 || !leadsTo(input, target)) return null;
  if (front === 'only' && call.positional.length + call.keywords.size > 1) return null;
  const reached = (text: string): string => text.replace(/^self\b/, call.name);
  const { weight, bias } = sink;
  const layer = front === 'only' ? undefined : front.layer;
  const module = sink.module && { ...sink.module, text: layer ?? sink.module.text };
  if (!/^self\./.test(module?.text ?? weight ?? '')) return null;
  const behind = front === 'only' ? {} : { behind: behindOf(call, input, front) };
  return {
    ...match,
    local: true,
    sink: {
      ...sink,
      node: call.node,
      input,
      weight: weight && reached(weight),
      bias: bias && reached(bias),
      module: module && { ...module, text: reached(module.text), own: module.text, through: call.name },
      ...behind,
    },
    facts: {
      ...guardsOf(call.node, origin),
      assumptions: match.facts.assumptions,
      needs: front === 'only' || front.list === undefined ? [] : [holdsLayer(reached(front.list))],
    },
  };
}

/** The call of the new method, with what the product gives in the place of its input. */
function behindOf(call: Call, input: Node, { method, edits }: Split): NonNullable<Sink['behind']> {
  const list = childOf(call.node, 'arguments') ?? call.node;
  const { text } = call.node.file;
  const [before, after] = [text.slice(list.start, input.start), text.slice(input.end, list.end)];
  const written = (value: string): string => `${call.name}.${method}${before}${value}${after}`.replace(/\s+/g, ' ');
  return { written, edits };
}

/** A class of its name only in its file, and a module without further ado: its call is its forward and nothing else. */
export function isPlainModule(owner: Node): boolean {
  const name = textOf(childOf(owner, 'name') ?? owner);
  const [base, ...more] = childOf(owner, 'superclasses')?.children ?? [];
  const module = base !== undefined && more.length === 0 && /(^|\.)Module$/.test(textOf(base));
  const called = /\bdef __call__\b|\bself\.register_\w*hook\b|\bself\._call_impl\b/.test(textOf(owner));
  return (
    module && !called && replacedCall(owner) === null && (indexOf(owner.file).classes.get(name)?.length ?? 0) === 1
  );
}

/** The forward around a sink returns the sink of its one argument, and does nothing else. */
function isPassedThrough(callee: Node, { node, input }: Sink): boolean {
  const parameters = (childOf(callee, 'parameters')?.children ?? []).map((one) => textOf(one.children[0] ?? one));
  const [self, x, ...others] = parameters;
  const decorated = callee.parent?.kind === 'decorated_definition';
  if (decorated || self !== 'self' || x === undefined || others.length > 0) return false;
  if (textOf(childOf(callee, 'name') ?? callee) !== 'forward' || /^async\b/.test(textOf(callee))) return false;
  const body = (childOf(callee, 'body')?.children ?? []).filter((statement) => !isText(statement));
  const [first, second, ...more] = body;
  if (!first || more.length > 0 || !input || textOf(input) !== x) return false;
  if (!second) return first.kind === 'return_statement' && unwrap(first.children[0] ?? first) === node;
  const [assignment] = first.kind === 'expression_statement' ? first.children : [];
  const left = assignment?.kind === 'assignment' ? childOf(assignment, 'left') : null;
  const assigned = left?.kind === 'identifier' && assignment && childOf(assignment, 'right') === node;
  return assigned === true && textOf(second).replace(/\s+/g, ' ') === `return ${textOf(left)}`;
}

/** Calls `self.x(..)` in a function, where the class makes `self.x` once, by calling `name`, or any class. */
function callsOf(scope: Node, name: string | null): readonly Call[] {
  const found: Call[] = [];
  visit(scope, (node) => {
    const call = callOf(node);
    if (!call || call.splat || !/^self\.\w+$/.test(call.name)) return;
    const made = madeBy(scope, call.name);
    if (made !== null && (name === null || made === name)) found.push(call);
  });
  return found;
}

/** The operand is `target`, a name for it, or a view of it. */
export function leadsTo(operand: Node | undefined, target: Node): boolean {
  if (!operand) return false;
  const { value } = trace(operand);
  if (value.start <= target.start && target.end <= value.end && value.file === target.file) {
    const call = callOf(value);
    return value === target || unwrap(value) === unwrap(target) || !call?.receiver || leadsTo(call.receiver, target);
  }
  const receiver = callOf(value)?.receiver;
  return receiver ? leadsTo(receiver, target) : false;
}
