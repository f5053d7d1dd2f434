/** A product whose batch operand is copied to meet the other, though the product reads a stride-0 view as well. IKB301. */
import { writesViews } from '../judge/batch-axes';
import type { Match } from '../judge/match';
import { equal } from '../tensor/dim';
import { type Node, textOf, lineOf } from '../python/syntax';
import type { Written } from './decompose';
import { requireUndisturbed } from './disturbance';
import { flat, replace, shortly } from './edit';
import { argument, callOf, elements, integer, rootName, unwrap } from './expression';
import { anotherHasRows } from './conditions';
import { conditionsOf } from './guards';
import { matmulOperands } from './product';
import { type Draft, draftFor, finished, otherReader, requireUnwritten, sourceText } from './producers';
import { refuse } from './refusal';
import { type Replicate, agrees, broadcasts, replicateOf } from './replicate';
import { type Traced, trace } from './trace';

/**
 * `w.repeat(b, 1, 1)` becomes `w.expand(b, -1, -1)`. Dropping it altogether would let matmul broadcast, but with a weight
 * that requires grad matmul then folds the batch and writes a second result.
 */
export function dropExpand(match: Match): Written {
  const { node } = match.sink;
  const operands = matmulOperands(node);
  if (!operands) refuse('the product is not a plain matmul or bmm');
  const draft = draftFor(node);
  const { operand, made, replicate } = copiedOperand(match, operands);
  const rank = match.product?.operands[operands.indexOf(operand)]?.dims?.length ?? null;
  if (writesViews(match))
    refuse(`the product has ${rank ?? 'four'} axes, and writes a view of this operand out itself`);
  if (rank !== 3) refuse('the product is not known to have three axes; with four it may write the copy itself');
  requireOnlyReader(draft, made);
  const [size, ...rest] = replicate.arguments.map(flat);
  const stays = rest.every((text) => text === '1' || text === '-1');
  if (size === undefined || size === '-1' || rest.length !== 2 || !stays) refuse('more than the first axis is copied');
  const view = `${textOf(replicate.source)}.expand(${size}, -1, -1)${replicate.suffix}`;
  requireUndisturbed(replicate.source, made.definitions.at(-1)?.statement ?? draft.target, draft.at, 'writes');
  return { edits: [replace(replicate.node, view)], conditions: conditionsOf(match) };
}

/** Takes the copied letter out of an einsum's operand. */
export function dropLetter(match: Match): Written {
  const { node } = match.sink;
  const call = callOf(node);
  const equation = call ? argument(call, 0, 'equation') : null;
  if (!call || call.method !== 'einsum' || equation?.kind !== 'string') {
    refuse('the product is not an einsum with a written equation');
  }
  const inside = textOf(equation).slice(1, -1);
  const operands = call.positional.slice(1);
  const [inputs, output] = inside.replace(/\s/g, '').split('->');
  const terms = inputs?.split(',') ?? [];
  if (output === undefined || terms.length !== operands.length || /["'.\\]/.test(inside)) {
    refuse('the equation is not written out');
  }
  const draft = draftFor(node);
  const { operand, made, replicate } = copiedOperand(match, operands);
  const at = operands.indexOf(operand);
  const [axis, ...more] = match.product?.operands[at]?.replicas.map((replica) => replica.axis) ?? [];
  const letter = axis === undefined || axis < 0 ? undefined : terms[at]?.charAt(axis);
  if (axis === undefined || !letter || more.length > 0) refuse('several axes of the operand are copies');
  if (!terms.some((term, i) => i !== at && term.includes(letter))) refuse(`the letter ${letter} is the copy's alone`);
  // `w.unsqueeze(0)` had the axis put in only for the copy; else the axis of size 1 is squeezed out.
  const raised = callOf(unwrap(replicate.source));
  const put = raised?.method === 'unsqueeze' && integer(argument(raised, 0, 'dim')) === axis ? raised.receiver : null;
  const source = put ? { ...replicate, source: put } : replicate;
  draft.emitted.push(...operands.filter((one) => one !== operand), ...call.keywords.values());
  const text = sourceText(draft, source, made, operand) + (put ? '' : `.squeeze(${axis})`);
  const fewer = terms.map((term, i) => (i === at ? term.slice(0, axis) + term.slice(axis + 1) : term)).join(',');
  const quote = textOf(equation).charAt(0);
  const reordered = terms.length !== 2 || naturalOrder(fewer) !== output;
  const rows = terms.flatMap((term, i) => {
    const place = i === at ? -1 : term.indexOf(letter);
    return place < 0 ? [] : [match.product?.operands[i]?.dims?.[place] ?? null];
  });
  const copied = match.product?.operands[at]?.dims?.[axis] ?? null;
  const alone = rows.some((size) => size !== null && equal(size, copied) === true) ? [] : [anotherHasRows(letter)];
  const edits = [replace(equation, `${quote}${fewer}->${output}${quote}`), replace(operand, text)];
  // A view of the result may rely on its layout.
  if (reordered) edits.push({ start: node.end, end: node.end, text: '.contiguous()' });
  return { edits: finished(draft, edits), conditions: [...alone, ...conditionsOf(match), ...draft.stays] };
}

/** The order in which a product without shared axes in its result writes it: the left operand's own, then the right's. */
function naturalOrder(inputs: string): string {
  const [left = '', right = ''] = inputs.split(',');
  const own = (letters: string, other: string): string => [...letters].filter((l) => !other.includes(l)).join('');
  return own(left, right) + own(right, left);
}

interface CopiedOperand {
  readonly operand: Node;
  readonly made: Traced;
  readonly replicate: Replicate;
}

function copiedOperand(match: Match, operands: readonly Node[]): CopiedOperand {
  const { product } = match;
  const operand = product ? operands[product.replicated] : undefined;
  const facts = product?.operands[product.replicated];
  if (!product || !operand || !facts) refuse('the copied operand is not known');
  const made = trace(operand);
  const replicate = replicateOf(made.value);
  if (!replicate && /^(cat|concat|concatenate)$/.test(callOf(made.value)?.method ?? '')) {
    const others = operands.filter((one) => one !== operand);
    refuse(
      `how many axes the operands have is not known, so that the concatenation cannot be split; a comment can say it: \`# ikbo: ${stating(made.value, others)}\``,
    );
  }
  if (facts.replicas.some(({ map }) => map.kind === 'indexed'))
    refuse(
      'an index says which row each copy is of, by which no product broadcasts: only a kernel could look the rows up',
    );
  if (!replicate || !agrees(replicate, facts.replicas))
    refuse(`\`${shortly(made.value)}\` is not a copy in a form that is known`);
  if (!broadcasts(replicate, facts.replicas)) {
    refuse('groups of rows share one operand: the product does not broadcast that by itself');
  }
  const others = product.operands.filter((_, i) => i !== product.replicated);
  if (others.some((other) => other.replicas.length > 0)) refuse('the other operand is a copy too');
  return { operand, made, replicate };
}

/** Nobody else may meet the view that takes the place of the copy: it cannot be written into. */
function requireOnlyReader(draft: Draft, made: Traced): void {
  requireUnwritten(made.definitions, draft.at);
  const reader = made.definitions.map((definition) => otherReader(draft, definition)).find((found) => found);
  if (reader) refuse(`line ${lineOf(reader)} reads the copy too`);
}

/** `user=[U, K1], item=[B, K2], w=[K, N]`: what would say how many axes the blocks and the other operand have. */
function stating(concatenation: Node, others: readonly Node[]): string {
  const blocks = elements(callOf(concatenation)?.positional[0] ?? null) ?? [];
  const names = blocks.map((block) => {
    const { value } = trace(block);
    return rootName(replicateOf(value)?.source ?? value);
  });
  const rows = [...new Set(names)].map((name, i) => `${name}=[B${i + 1}, K${i + 1}]`);
  return [...rows, ...others.map((one) => `${rootName(one)}=[K, N]`)].join(', ');
}
