/**
 * A copy that is made on a condition right in front of a product: `if n is not None: x = spread(x, 1, n)`, `y = self.net(x)`.
 * The product runs first, and what it gives is copied on that condition. IKB102.
 */
import type { Match } from '../judge/match';
import { type Node, childOf, enclosing, scopeOf, statementOf, textOf, lineOf } from '../python/syntax';
import type { Written } from './decompose';
import { doingsOf } from './callees';
import { type Edit, indentOf, lineEnd, removeStatement, shortly } from './edit';
import { effectIn } from './effects';
import { type Call, argument, callOf, integer, isSize, unwrap } from './expression';
import { indexOf } from './file-index';
import { apartFrom, conditionsOf } from './guards';
import { layerOf } from './layer';
import { isBinding, occurrences } from './names';
import { refuse } from './refusal';
import { rowWise } from './sink-broadcast';
import { isText } from './split-forward';

export function copyBehind(match: Match): Written {
  const { sink, origin } = match;
  const { node, input, kind } = sink;
  const statement = statementOf(node);
  const result = resultOf(statement, node);
  const block = statement.parent?.children ?? [];
  const branch = block[block.indexOf(statement) - 1];
  if (kind !== 'linear' || input?.kind !== 'identifier' || result === null || branch?.kind !== 'if_statement')
    refuse(apartFrom(match));
  const name = textOf(input);
  const copy = copyIn(branch, name);
  if (!copy || !isWhereCopied(copy.value, origin)) refuse(apartFrom(match));
  const scope = scopeOf(node);
  const loop = enclosing(statement, 'for_statement', 'while_statement');
  if (loop && scopeOf(loop) === scope) refuse(`the loop of line ${lineOf(loop)} may copy again what was copied before`);
  const later = occurrences(scope, name).find(
    (one) =>
      scopeOf(one) !== scope ||
      (one.start >= statement.start &&
        one !== input &&
        (!isBinding(one) || one.parent?.kind === 'augmented_assignment')),
  );
  if (later && (name !== result || scopeOf(later) !== scope)) refuse(`line ${lineOf(later)} reads \`${name}\` too`);
  const condition = childOf(branch, 'condition');
  if (!condition || occurrences(branch, result).some((one) => name !== result || one.start < copy.statement.start))
    refuse(`line ${lineOf(branch)} reads \`${result}\``);
  const effect = effectOf(condition);
  if (effect) refuse(`line ${lineOf(effect)}: \`${shortly(effect)}\` may have an effect, and would run later`);
  if (textOf(branch).includes('#')) refuse(`line ${lineOf(branch)} has a comment inside`);
  const layer = layerOf(match);
  return {
    edits: moved(branch, statement, name, result),
    conditions: [...(layer?.conditions ?? []), ...conditionsOf(match), ...rowWise(layer)],
  };
}

/** What of a condition may change what the product reads; a function of the file that only looks does not. */
function effectOf(condition: Node): Node | null {
  const effect = effectIn(condition);
  const call = effect && callOf(effect);
  const { writes, sets, unknown } = call ? doingsOf(call) : { writes: effect, sets: new Set<string>(), unknown: true };
  return writes || sets.size > 0 || unknown ? effect : null;
}

/** The name in `y = self.net(x)`. */
function resultOf(statement: Node, value: Node): string | null {
  const [assignment] = statement.kind === 'expression_statement' ? statement.children : [];
  const left = assignment?.kind === 'assignment' ? childOf(assignment, 'left') : null;
  return left?.kind === 'identifier' && assignment && childOf(assignment, 'right') === value ? textOf(left) : null;
}

/** The one statement of an `if` without an `else`, which copies the rows of `name`: `x = x.unsqueeze(1).repeat_interleave(n, dim=1)`. */
function copyIn(branch: Node, name: string): { readonly statement: Node; readonly value: Node } | null {
  const body = childOf(branch, 'consequence')?.children ?? [];
  const [statement, ...more] = body;
  const [assignment] = statement?.kind === 'expression_statement' ? statement.children : [];
  const [left, value] =
    assignment?.kind === 'assignment' ? [childOf(assignment, 'left'), childOf(assignment, 'right')] : [];
  if (!statement || more.length > 0 || branch.children.length !== 2 || !left || !value || textOf(left) !== name)
    return null;
  const base = copiedBy(value, new Map());
  return base && textOf(base) === name && occurrences(value, name).length === 1 ? { statement, value } : null;
}

/**
 * What an expression copies along an axis counted from the front, and does nothing else to: `x` of `x.repeat_interleave(n, dim=1)`
 * and of the call of a function of the file that returns such an expression. `numbers` are what its parameters are given.
 */
function copiedBy(expression: Node, numbers: ReadonlyMap<string, Node>): Node | null {
  const value = unwrap(expression);
  if (value.kind === 'identifier') return value;
  const call = callOf(value);
  if (!call || call.splat) return null;
  if (call.name === call.method) return copiedByHelper(call);
  const counted = call.receiver && (call.method === 'unsqueeze' || call.method === 'repeat_interleave');
  const dim = counted ? argument(call, call.method === 'unsqueeze' ? 0 : 1, 'dim') : null;
  const axis = dim && integer(numbers.get(textOf(dim)) ?? dim);
  const count = call.method === 'repeat_interleave' ? argument(call, 0, 'repeats') : null;
  if (!call.receiver || axis === null || axis < 0 || (count && !isSize(count))) return null;
  return copiedBy(call.receiver, numbers);
}

function copiedByHelper(call: Call): Node | null {
  const [helper, ...more] = indexOf(call.node.file).functions.get(call.method) ?? [];
  if (!helper || more.length > 0 || helper.parent?.kind !== 'module' || /^async\b/.test(textOf(helper))) return null;
  const names = (childOf(helper, 'parameters')?.children ?? []).map((one) => textOf(one.children[0] ?? one));
  const body = (childOf(helper, 'body')?.children ?? []).filter((statement) => !isText(statement));
  const [result] = body.length === 1 && body[0]?.kind === 'return_statement' ? body[0].children : [];
  const given = new Map([...call.positional.map((value, i) => [names[i] ?? '', value] as const), ...call.keywords]);
  const others = names.slice(1).map((name) => given.get(name));
  const [x] = names;
  const base =
    result && x !== undefined && others.every((value) => value && isSize(value)) ? copiedBy(result, given) : null;
  return base && textOf(base) === x && x !== undefined ? (given.get(x) ?? null) : null;
}

/** The copy that the finding speaks of is this one: its text, or that of the function that it calls. */
function isWhereCopied(value: Node, origin: Node): boolean {
  if (value.file !== origin.file) return false;
  if (value.start <= origin.start && origin.end <= value.end) return true;
  const callee = enclosing(origin, 'function_definition');
  return callee !== null && callOf(unwrap(value))?.name === textOf(childOf(callee, 'name') ?? callee);
}

/** The `if` behind the statement of the product, about what that gives. */
function moved(branch: Node, statement: Node, name: string, result: string): readonly Edit[] {
  const { text } = branch.file;
  const places = occurrences(childOf(branch, 'consequence') ?? branch, name);
  let written = '';
  let at = branch.start;
  for (const { start, end } of places) {
    written += text.slice(at, start) + result;
    at = end;
  }
  written += text.slice(at, branch.end);
  const rest = /^[ \t\f]*(#[^\r\n]*)?(?=\r|\n|$)/.exec(text.slice(statement.end));
  if (!rest) refuse(`line ${lineOf(statement)} holds another statement too`);
  const end = statement.end + rest[0].length;
  return [removeStatement(branch), { start: end, end, text: lineEnd(text) + indentOf(statement) + written }];
}
