/** A product whose batch operand is copied to meet the other: it broadcasts by itself. IKB301. */
import type { Match } from '../judge/match';
import { type Node, textOf } from '../python/syntax';
import type { Written } from './decompose';
import { type Edit, flat, inOrder, replace } from './edit';
import { type Call, argument, callOf } from './expression';
import { conditionsOf } from './guards';
import { matmulOperands } from './product';
import { draftFor, sourceText } from './producers';
import { refuse } from './refusal';
import { type Replicate, agrees, broadcasts, replicateOf } from './replicate';
import { trace } from './trace';

/** Drops the expand; a `bmm`, which does not broadcast, becomes a matmul. */
export function dropExpand(match: Match): Written {
  const { node } = match.sink;
  const operands = matmulOperands(node);
  if (!operands) refuse('the product is not a plain matmul or bmm');
  const draft = draftFor(node);
  const { operand, replicate } = copiedOperand(match, operands);
  const facts = match.product?.operands[operands.indexOf(operand)];
  const rank = facts?.dims?.length ?? null;
  if (rank !== 3)
    refuse('the product is not known to have three axes; with four the copy is written inside it all the same');
  const text = sourceText(draft, replicate, trace(operand), operand);
  const edits: Edit[] = [...draft.edits];
  const call = callOf(node);
  if (call?.receiver === operand && call.method === 'bmm') {
    edits.push(replace(node, `${text} @ ${flat(operands[1])}`));
    if (!['assignment', 'return_statement', 'argument_list'].includes(node.parent?.kind ?? ''))
      refuse('the product stands inside an expression');
  } else {
    edits.push(replace(operand, text));
    if (call?.method === 'bmm') edits.push(...asMatmul(call));
  }
  return { edits: inOrder(edits), conditions: [...conditionsOf(match), ...draft.stays] };
}

/** `torch.bmm(` and `x.bmm(`: the same with matmul. */
function asMatmul(call: Call): Edit[] {
  return [{ start: call.callee.end - 'bmm'.length, end: call.callee.end, text: 'matmul' }];
}

/** Takes the copied letter out of an einsum's operand. */
export function dropLetter(match: Match): Written {
  const { node } = match.sink;
  const call = callOf(node);
  const equation = call ? argument(call, 0, 'equation') : null;
  if (!call || call.method !== 'einsum' || equation?.kind !== 'string')
    refuse('the product is not an einsum with a written equation');
  const operands = call.positional.slice(1);
  const [inputs, output] = textOf(equation).slice(1, -1).replace(/\s/g, '').split('->');
  const terms = inputs?.split(',') ?? [];
  if (output === undefined || terms.length !== operands.length || /["'.]/.test(textOf(equation).slice(1, -1))) {
    refuse('the equation is not explicit');
  }
  const draft = draftFor(node);
  const { operand, replicate } = copiedOperand(match, operands);
  const at = operands.indexOf(operand);
  const axes = match.product?.operands[at]?.replicas.map((replica) => replica.axis) ?? [];
  const [axis] = axes;
  const letter = axis === undefined ? undefined : terms[at]?.at(axis);
  if (axis === undefined || letter === undefined || axes.length !== 1) refuse('several axes of the operand are copies');
  if (!terms.some((term, i) => i !== at && term.includes(letter)))
    refuse(`the letter ${letter} belongs to the copy alone`);
  const text = withoutAxis(sourceText(draft, replicate, trace(operand), operand), axis);
  const fewer = terms.map((term, i) => (i === at ? [...term].filter((l) => l !== letter).join('') : term)).join(',');
  const quote = textOf(equation).charAt(0);
  const edits = [...draft.edits, replace(equation, `${quote}${fewer}->${output}${quote}`), replace(operand, text)];
  return { edits: inOrder(edits), conditions: [...conditionsOf(match), ...draft.stays] };
}

/** `w.unsqueeze(0)` has its axis put in last: `w`; else the axis of size 1 is squeezed out. */
function withoutAxis(text: string, axis: number): string {
  const raised = new RegExp(`^(.*)\\.unsqueeze\\((dim=)?${axis}\\)$`).exec(text);
  return raised?.[1] ?? `${text}.squeeze(${axis})`;
}

function copiedOperand(match: Match, operands: readonly Node[]): { operand: Node; replicate: Replicate } {
  const { product } = match;
  const operand = product ? operands[product.replicated] : undefined;
  const facts = product?.operands[product.replicated];
  if (!product || !operand || !facts) refuse('the copied operand is not known');
  const replicate = replicateOf(trace(operand).value);
  if (!replicate || !agrees(replicate, facts.replicas)) refuse('the copy is not made in a form that is known');
  if (!broadcasts(replicate, facts.replicas))
    refuse('groups of rows share one operand: the product does not broadcast that by itself');
  const others = product.operands.filter((_, i) => i !== product.replicated);
  if (others.some((other) => other.replicas.length > 0)) refuse('the other operand is a copy too');
  return { operand, replicate };
}
