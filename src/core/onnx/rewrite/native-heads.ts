/**
 * An attention written out (product, scale, mask, softmax, product) over repeated key and value heads, as the standard
 * Attention of opset 23, which shares the heads itself.
 */
import { isOne } from '../../tensor/dim';
import { fillNumber } from '../judge/program';
import type { Operator, Value } from '../graph';
import type { OnnxMatch } from '../judge/select';
import type { Spread } from '../judge/spread';
import { addNode, madeOf, placeBefore, refuse, type Builder, type Place } from './builder';
import { shrink, type Shrinker, type Shrunk } from './shrink';

const SINCE = 23;

export function nativeHeads(builder: Builder, spread: Spread, match: OnnxMatch): void {
  const [first, second] = match.events;
  if (builder.opset < SINCE) refuse(`the standard Attention needs opset ${SINCE}`);
  if (first.code !== 'IKB202' || !second || match.events.length !== 2) refuse('keys and values are not repeated alike');
  const [scores, result] = [first.sink, second.sink];
  const out = result.outputs[0];
  const [query, turned] = scores.inputs;
  const [weights, value] = result.inputs;
  if (
    scores.node.op !== 'MatMul' ||
    result.node.op !== 'MatMul' ||
    first.operandIndex !== 1 ||
    second.operandIndex !== 1
  )
    refuse('the products are not plain ones');
  if (!query || !turned || !weights || !value || !out) refuse('the products lack an operand');
  if (madeOf(builder, query).shape.length !== 4 || first.axis !== 1 || second.axis !== 1)
    refuse('the heads have no axis of their own');
  const { scale, mask } = between(builder, scores, weights);
  const place = placeBefore(builder, result);
  const shrinker: Shrinker = { place, spread, done: new Map() };
  const keys = smallKeys(place, shrinker, turned);
  const values = shrink(shrinker, value, 1);
  if (!sharesHeads(values)) refuse('the heads are not repeated one by one');
  builder.replaced.add(result.node);
  const inputs = [query.name, keys, values.value.name, ...(mask ? [mask.name] : [])];
  addNode(place, 'Attention', inputs, { attributes: { scale: { float: scale } }, outputs: [out.name] });
}

/** The keys as [batch, heads, rows, width]: before they were turned, or turned back, which costs the small tensor only. */
function smallKeys(place: Place, shrinker: Shrinker, turned: Value): string {
  const { producer } = turned;
  const order = producer?.attributes.find(({ name }) => name === 'perm')?.ints.join();
  const before = producer?.node.op === 'Transpose' && order === '0,1,3,2' ? producer.inputs[0] : null;
  const small = shrink(shrinker, before ?? turned, 1);
  if (!sharesHeads(small)) refuse('the heads are not repeated one by one');
  if (before) return small.value.name;
  return addNode(place, 'Transpose', [small.value.name], { attributes: { perm: [0n, 1n, 3n, 2n] } });
}

/** Head i reads i // r, or the only one. */
const sharesHeads = ({ back, value }: Shrunk): boolean =>
  back.kind === 'blocks' || (back.kind === 'all' && isOne(value.shape[1] ?? null));

/** What happens to the scores before the softmax: a factor, then a mask that is added. Refuses anything else. */
function between(builder: Builder, scores: Operator, weights: Value): { scale: number; mask: Value | null } {
  const softmax = weights.producer;
  if (softmax?.node.op !== 'Softmax') refuse('something stands between softmax and product');
  let scale = 1;
  let mask: Value | null = null;
  for (let at = softmax.inputs[0]; at?.producer !== scores;) {
    const step: Operator = at?.producer ?? refuse('the scores do not reach the softmax');
    if (at?.uses.length !== 1) refuse('the scores are used elsewhere, too');
    const [a, b] = step.inputs;
    const number = b ? fillNumber(builder.program, b) : null;
    if (/^(Mul|Div)$/.test(step.node.op) && number !== null) scale *= step.node.op === 'Mul' ? number : 1 / number;
    // The mask comes last: a factor after it would change it, too.
    else if (step.node.op === 'Add' && b && scale === 1 && !mask) {
      mask = leadsTo(a, scores) ? b : (a ?? null);
      if (mask && (madeOf(builder, mask).shape.length > 4 || builder.program.infer.of(mask).element !== 1))
        refuse('the mask is not one that Attention takes');
      at = mask === b ? a : b;
      continue;
    } else refuse('the scores are changed before the softmax');
    at = a;
  }
  return { scale, mask };
}

function leadsTo(value: Value | null | undefined, scores: Operator): boolean {
  for (let at = value, step = 0; at?.producer && step < 4; at = at.producer.inputs[0], step++)
    if (at.producer === scores) return true;
  return false;
}
