/**
 * `[F, I, J] @ [B, F, J, K]`: matmul expands the first operand over B and writes it; einsum makes B a part of the columns
 * and reads it once. IKB302.
 */
import type { Match } from '../judge/match';
import { valueOf } from '../tensor/dim';
import type { Written } from './decompose';
import { flat, quoteOf, replace } from './edit';
import { isView } from './expression';
import { conditionsOf } from './guards';
import { importTorch } from './imports';
import { matmulOperands } from './product';
import { refuse } from './refusal';

export function einsumProduct(match: Match): Written {
  const { node } = match.sink;
  const operands = matmulOperands(node);
  const facts = match.product?.operands.map((operand) => operand.dims) ?? [];
  const [left, right] = facts;
  if (!operands || !left || !right) refuse('the number of axes of the operands is not known');
  const [a, b] = operands;
  if (![a, b].every((operand) => isView(operand) || operand.kind === 'call'))
    refuse('an operand is an expression; name it');
  const torch = importTorch(node);
  if (!torch) refuse('torch is not imported as a whole');
  const [first, second] = [
    labels(left.length, valueOf(left[0] ?? null), 'ij'),
    labels(right.length, valueOf(right[0] ?? null), 'jk'),
  ];
  const letters = new Set(first.letters + second.letters);
  if (!letters.has('b') || first.letters.length === second.letters.length)
    refuse('the batch axes are not those of one operand alone');
  const equation = `${first.letters},${second.letters}->bfik`;
  const quote = quoteOf(node.file.text);
  // The batch comes out behind the rows: contiguous() gives the layout that matmul's result had, for a later view.
  const text = `${torch}.einsum(${quote}${equation}${quote}, ${flat(a)}${first.squeeze}, ${flat(b)}${second.squeeze}).contiguous()`;
  return { edits: [replace(node, text)], conditions: conditionsOf(match) };
}

/** Letters of an operand's axes; an axis of size 1 over the batch is squeezed out. */
function labels(
  rank: number,
  batch: number | null,
  matrix: string,
): { readonly letters: string; readonly squeeze: string } {
  if (rank === 3) return { letters: `f${matrix}`, squeeze: '' };
  if (rank !== 4) return refuse('only products of three and four axes are written as an einsum');
  return batch === 1 ? { letters: `f${matrix}`, squeeze: '.squeeze(0)' } : { letters: `bf${matrix}`, squeeze: '' };
}
