/**
 * A copy that is only added to a full tensor in front of a layer: the addition broadcasts the small one by itself, or,
 * for groups of rows, over an axis that the full tensor is split into. IKB101 on sums.
 */
import type { Condition } from '../finding';
import type { Match } from '../judge/match';
import { type Node, childOf, textOf } from '../python/syntax';
import { isInteger } from './attention';
import type { Written } from './decompose';
import { flat, replace } from './edit';
import { isSimple, isView, unwrap } from './expression';
import { hasSizesOf, isShareOf } from './full-rows';
import { hasAsManyRows } from './conditions';
import { conditionsOf } from './guards';
import { draftFor, finished, sourceText } from './producers';
import { refuse } from './refusal';
import { type Replicate, agrees, broadcasts, replicateOf } from './replicate';
import { trace } from './trace';

/** True for a form that is a sum and no concatenation. */
export const isSum = ({ form }: Match): boolean => form?.blocks.length === 1 && (form.blocks[0]?.terms.length ?? 0) > 1;

export function broadcastAdd(match: Match): Written {
  const { form } = match;
  const terms = form?.blocks[0]?.terms ?? [];
  if (!form?.node) refuse('the sum is not known');
  const facts = terms.flatMap((term) => term.factors.flatMap((atom) => atom.replicas));
  const full = terms.some((term) => term.factors.every((atom) => atom.replicas.length === 0));
  if (!full) refuse('no term of the sum has all rows by itself');
  const sum = unwrap(form.node);
  const copies = leavesOf(sum).flatMap((leaf) => {
    const made = trace(leaf);
    const replicate = replicateOf(made.value);
    return replicate && agrees(replicate, facts) ? [{ leaf, made, replicate }] : [];
  });
  const [copy, ...more] = copies;
  if (!copy || more.length > 0) refuse('the sum does not hold one copy whose form is known');
  const { leaf, made, replicate } = copy;
  const draft = draftFor(sum);
  draft.gone.splice(0, draft.gone.length, leaf);
  const text = sourceText(draft, replicate, made, leaf);
  // A bias or a position table has rows for no group, and would broadcast along with a small tensor.
  const others = leavesOf(sum)
    .filter((other) => other !== leaf)
    .map(flat);
  const conditions = (known: boolean): readonly Condition[] => [
    ...(known ? [] : [hasAsManyRows(others, flat(leaf))]),
    ...conditionsOf(match),
    ...draft.stays,
  ];
  if (!broadcasts(replicate, facts)) {
    const edit = replace(sum, grouped(sum, leaf, replicate, text));
    return { edits: finished(draft, [edit]), conditions: conditions(isShareOf(replicate, text, others)) };
  }
  return {
    edits: finished(draft, [replace(leaf, text)]),
    conditions: conditions(hasSizesOf(replicate, facts, others)),
  };
}

/** Operands of a sum, through nested sums, differences and negations. */
function leavesOf(node: Node): readonly Node[] {
  const at = unwrap(node);
  const operator = childOf(at, 'operator');
  const linear = operator !== null && ['+', '-'].includes(textOf(operator));
  if (!linear || (at.kind !== 'binary_operator' && at.kind !== 'unary_operator')) return [node];
  return at.children.filter((c) => c.field !== 'operator').flatMap(leavesOf);
}

/** `(x.unsqueeze(1) + full.unflatten(0, (x.shape[0], n))).flatten(0, 1)` for `x.repeat_interleave(n, dim=0) + full`. */
function grouped(sum: Node, leaf: Node, replicate: Replicate, text: string): string {
  const [count] = replicate.arguments;
  const operator = childOf(sum, 'operator');
  const [left, right] = [childOf(sum, 'left'), childOf(sum, 'right')];
  if (replicate.kind !== 'blocks' || replicate.axis === null || !count || !operator || !left || !right)
    refuse('only rows that are repeated in a row are added group by group');
  if (!isInteger(count)) refuse(`\`${flat(count)}\` may be a tensor of counts: groups of different sizes`);
  if (!/^[\w.]+$/.test(text)) refuse('the tensor that is copied has no name of its own');
  const other = left === leaf ? right : right === leaf ? left : refuse('the copy is not an operand of the outer sum');
  const { axis } = replicate;
  const atom = isSimple(other) || isView(other) || other.kind === 'call' ? flat(other) : `(${flat(other)})`;
  const full = `${atom}.unflatten(${axis}, (${text}.shape[${axis}], ${flat(count)}))`;
  // Behind the axis; counted from the back, that is its own place.
  const behind = axis < 0 ? axis : axis + 1;
  const small = `${text}.unsqueeze(${behind})`;
  const [a, b] = left === leaf ? [small, full] : [full, small];
  return `(${a} ${textOf(operator)} ${b}).flatten(${behind - 1}, ${behind})`;
}
