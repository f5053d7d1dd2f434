/** `repeat_kv(x, n)`: a function that repeats each head n times in a row and does nothing else. */
import { type Node, childOf, statementOf, textOf, lineOf } from '../python/syntax';

import { callOf, integer, unwrap } from './expression';
import { isBinding, occurrences, visit } from './names';
import { refuse } from './refusal';
import { replicateOf } from './replicate';
import { trace } from './trace';

export interface HelperCopy {
  readonly source: Node;
  readonly count: Node;
  /** False when only the name of the function says what it does. */
  readonly proved: boolean;
  /** True where its body says that the tensor has four axes. */
  readonly ofFour: boolean;
}

/** Reads the call of a helper: in its body where that is in this file, else by its name. Null when it is no such call. */
export function helperCopy(value: Node): HelperCopy | null {
  const call = callOf(value);
  const [source, count, ...more] = call?.positional ?? [];
  if (!call || call.splat || call.keywords.size > 0 || !source || !count || more.length > 0) return null;
  const helpers = functionsNamed(value.file.root, call.method);
  const [helper] = helpers;
  if (helper) {
    const reason = helpers.length > 1 ? 'is defined several times' : otherWork(helper);
    if (reason !== null) refuse(`\`${call.method}\` ${reason}`);
    const proved = call.name === call.method || call.name === `self.${call.method}`;
    return { source, count, proved, ofFour: isOfFour(helper) };
  }
  return /repeat_kv$/.test(call.method) ? { source, count, proved: false, ofFour: false } : null;
}

function functionsNamed(root: Node, name: string): readonly Node[] {
  const found: Node[] = [];
  visit(root, (node) => {
    if (node.kind === 'function_definition' && textOf(childOf(node, 'name') ?? node) === name) found.push(node);
  });
  return found;
}

/** Decorators that leave what a function computes as it is. */
const NEUTRAL = /^@(staticmethod|(torch\.)?(jit\.(script|ignore|unused|export)|compile))(\(.*\))?$/s;

/**
 * Why a call of `helper(x, n)` is not plainly x with each of axis 1 n times in a row; null when it is: an unpacked shape,
 * `if n == 1: return x`, and the copy of the parameter as it came in. Whatever else is done there would be lost.
 */
function otherWork(helper: Node): string | null {
  const decorators = helper.parent?.kind === 'decorated_definition' ? helper.parent.children : [];
  const decorator = decorators.find((node) => node.kind === 'decorator' && !NEUTRAL.test(textOf(node)));
  if (decorator) return `is decorated with \`${textOf(decorator)}\``;
  if (/^async\b/.test(textOf(helper))) return 'is asynchronous';
  const list = childOf(helper, 'parameters');
  const parameters = (list?.children ?? []).map((p) => textOf(p.children[0] ?? p));
  const [x, n, ...others] = parameters[0] === 'self' ? parameters.slice(1) : parameters;
  if (!list || x === undefined || n === undefined || others.length > 0) return 'takes other arguments';
  const body = childOf(helper, 'body')?.children ?? [];
  for (const statement of body) {
    if (!isExpected(statement, x, n)) return `does something else at line ${lineOf(statement)}`;
  }
  const rebound = occurrences(helper, n).some((o) => isBinding(o) && !inside(o, list));
  const last = body.at(-1);
  const [result] = last?.kind === 'return_statement' ? last.children : [];
  const copy = result ? replicateOf(trace(result).value) : null;
  const [count] = copy?.arguments ?? [];
  const exact =
    copy?.kind === 'blocks' &&
    copy.suffix === '' &&
    copy.axis === 1 &&
    copy.arguments.length === 1 &&
    textOf(copy.source) === x &&
    count !== undefined &&
    textOf(count) === n;
  if (!exact || rebound) return 'does not plainly repeat its first argument along axis 1';
  const { source } = copy;
  const before = occurrences(helper, x).filter((o) => isBinding(o) && !inside(o, list));
  if (before.some((o) => statementOf(o).end <= source.start)) return `changes \`${x}\` before it repeats it`;
  return null;
}

/** `b, h, n, d = x.shape`, or five sizes for the axis that is put in between. */
function isOfFour(helper: Node): boolean {
  const result = (childOf(helper, 'body')?.children ?? []).at(-1)?.children[0];
  const unpacked = /^[ \t]*\(?(\w+ *, *){3}\w+\)? *= *\w+\.(shape|size\(\))[ \t]*(#.*)?$/m.test(textOf(helper));
  return unpacked || (!!result && replicateOf(trace(result).value)?.rank === 4);
}

const inside = (node: Node, outer: Node): boolean => outer.start <= node.start && node.end <= outer.end;

function isExpected(statement: Node, x: string, n: string): boolean {
  if (statement.kind === 'return_statement') return true;
  if (statement.kind === 'if_statement') return isEarlyReturn(statement, x, n);
  const [only, ...more] = statement.children;
  if (statement.kind !== 'expression_statement' || !only || more.length > 0) return false;
  if (only.kind === 'string') return true;
  const [left, right] = [childOf(only, 'left'), childOf(only, 'right')];
  if (only.kind !== 'assignment' || !left || !right) return false;
  if (/^(\w+\.shape|\w+\.size\(\))(\[-?\d+\])?$|^\w+\.size\(-?\d+\)$/.test(textOf(right))) {
    return /^[\w\s,()*]+$/.test(textOf(left)) && occurrences(left, x).length === 0 && occurrences(left, n).length === 0;
  }
  return left.kind === 'identifier' && isReshaping(right);
}

/** `if n == 1: return x` */
function isEarlyReturn(statement: Node, x: string, n: string): boolean {
  const condition = childOf(statement, 'condition');
  const inner = childOf(statement, 'consequence')?.children ?? [];
  const [left, right] =
    condition?.kind === 'comparison_operator' ? condition.children.filter((c) => c.field !== 'operators') : [];
  const equal = condition !== null && /^\w+\s*==\s*1$/.test(textOf(unwrap(condition)));
  return (
    statement.children.length === 2 &&
    equal &&
    left !== undefined &&
    right !== undefined &&
    textOf(left) === n &&
    integer(right) === 1 &&
    inner.length === 1 &&
    /^return\s+\w+$/.test(textOf(inner[0] ?? statement)) &&
    textOf(inner[0]?.children[0] ?? statement) === x
  );
}

const RESHAPING = new Set(['unsqueeze', 'expand', 'reshape', 'view', 'flatten', 'contiguous', 'repeat_interleave']);

/** A chain of views and copies over a name, that selects nothing: `x[:, :, None].expand(..).reshape(..)`. */
function isReshaping(node: Node): boolean {
  const at = unwrap(node);
  if (at.kind === 'identifier') return true;
  const call = callOf(at);
  if (call) {
    const free = call.name === 'torch.repeat_interleave' || call.name === 'torch.unsqueeze';
    const tensor = free ? call.positional[0] : call.receiver;
    return tensor !== undefined && tensor !== null && RESHAPING.has(call.method) && isReshaping(tensor);
  }
  const value = at.kind === 'subscript' ? childOf(at, 'value') : null;
  const parts = at.children.filter((c) => c.field === 'subscript');
  const whole = parts.every(
    (part) => part.kind === 'none' || part.kind === 'ellipsis' || (part.kind === 'slice' && part.children.length === 0),
  );
  return value !== null && whole && isReshaping(value);
}
