/**
 * A copy that is made in one function and read in another, by a product or an addition that reads a view as well: a view of
 * stride 0 is handed over instead. IKB301, and IKB101 on sums.
 */
import type { Match } from '../judge/match';
import { type Node, childOf, enclosing, statementOf, textOf, lineOf } from '../python/syntax';
import { isInteger } from './attention';
import type { Written } from './decompose';
import { flat, replace } from './edit';
import { integer, isSimple, unwrap } from './expression';
import { hasThreeAxes, isNumber, nobodyWrites } from './conditions';
import { conditionsOf } from './guards';
import { isMutation, occurrences, readersOf } from './names';
import { refuse } from './refusal';
import { type Replicate, replicateOf } from './replicate';

export function lazyCopy(match: Match): Written {
  const { origin, product, sink, replicas } = match;
  const replicate = replicateOf(origin);
  if (!replicate || replicate.node !== unwrap(origin)) refuse('the copy is not made in a form that is known');
  if (match.code === 'IKB301' && !product)
    refuse('each of the copies meets a weight of its own, and is written out on the way to it');
  if (sink.kind === 'einsum')
    refuse('the copy is made in another function, and handing a view to an einsum instead is not offered');
  const [fact] = replicas;
  if (fact?.map.kind !== 'all') {
    refuse(`\`${flat(replicate.source)}\` is not known to have only one row along the axis that is copied`);
  }
  const rank = product?.operands[product.replicated]?.dims?.length ?? null;
  const matrices = product?.operands.some((operand) => operand.dims?.length === 3) ?? false;
  if (product && ((rank !== 3 && !(rank === null && matrices)) || fact.axis !== 0))
    refuse('the product is not known to have three axes with the copies on the first; else it writes the copy itself');
  requireUnwrittenBy(sink.node);
  const count = countOf(replicate);
  const name = requireRead(origin);
  return {
    edits: [replace(replicate.node, viewText(replicate, rank))],
    conditions: [
      nobodyWrites(name),
      ...(count && !isInteger(count) ? [isNumber(flat(count))] : []),
      ...(product && rank === null ? [hasThreeAxes(name)] : []),
      ...conditionsOf(match),
    ],
  };
}

/** How often a `repeat_interleave` repeats. */
const countOf = (replicate: Replicate): Node | null =>
  replicate.kind === 'blocks' ? (replicate.arguments[0] ?? null) : null;

function viewText(replicate: Replicate, rank: number | null): string {
  const { source, suffix, kind, arguments: sizes } = replicate;
  const text = textOf(source);
  if (kind === 'repeat') {
    const copied = sizes.filter((size) => integer(size) !== 1);
    if (copied.length !== 1) refuse('the copies are made along several axes');
    return `${text}.expand(${sizes.map((size) => (integer(size) === 1 ? '-1' : flat(size))).join(', ')})${suffix}`;
  }
  const [count] = sizes;
  if (kind !== 'blocks' || !count || replicate.axis !== 0) refuse('the copies are not made along the first axis');
  const inner = /^([\w.]+)\.unsqueeze\((?:dim=)?0\)$/.exec(text)?.[1];
  if (rank === null && !inner) refuse(`\`${flat(source)}\` is not known to have its first axis put in for the copies`);
  const others = rank === null ? [`*${inner}.shape`] : Array.from({ length: rank - 1 }, () => '-1');
  return `${text}.expand(${[flat(count), ...others].join(', ')})${suffix}`;
}

/** The name that holds the copy, null for one that a message could not call so. Refuses where the function around writes into it, or takes a view that may merge axes. */
function requireRead(origin: Node): string | null {
  const statement = statementOf(origin);
  const assignment = statement.children[0];
  const left = assignment?.kind === 'assignment' ? childOf(assignment, 'left') : null;
  if (left?.kind !== 'identifier') return null;
  const name = textOf(left);
  for (const reader of readersOf({ statement, value: origin }, name)) {
    if (isMutation(reader)) refuse(`\`${name}\` may be written into at line ${lineOf(reader)}`);
    const method = reader.parent?.kind === 'attribute' ? childOf(reader.parent, 'attribute') : null;
    if (method && /^(view|view_as|requires_grad_|data_ptr|stride)$/.test(textOf(method)))
      refuse(`line ${lineOf(reader)} calls \`${textOf(method)}\` on the copy, which a view may not take`);
  }
  return isSimple(left) ? name : null;
}

/** Refuses where the function around the product writes into one of its parameters: the view may be it. */
function requireUnwrittenBy(sink: Node): void {
  const callee = enclosing(sink, 'function_definition');
  const list = callee && childOf(callee, 'parameters');
  if (!callee || !list) return;
  for (const parameter of list.children) {
    const name = textOf(parameter.children[0] ?? parameter);
    const write = occurrences(callee, name).find((one) => one.start > list.end && isMutation(one));
    if (write && name !== 'self')
      refuse(`\`${name}\` may be written into at line ${lineOf(write)} of ${sink.file.path}`);
  }
}
