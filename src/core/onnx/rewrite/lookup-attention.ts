/**
 * An attention written out (product, scale, softmax, product) whose keys and values are looked up by one index: with
 * standard operators nothing can be gained, as one operator the lookup happens inside.
 */
import type { Operator, Value } from '../graph';
import { fillNumber } from '../judge/program';
import type { OnnxMatch } from '../judge/select';
import type { Spread } from '../judge/spread';
import { float, madeOf, placeBefore, refuse, type Builder } from './builder';
import { addOperator } from './ikbo';
import { sameBack, shrink, type Shrinker } from './shrink';

export function lookupAttention(builder: Builder, spread: Spread, match: OnnxMatch): void {
  if (builder.target !== 'ikbo' || match.events[0].code !== 'IKB201') refuse('no operator of ai.ikbo is asked for');
  const [first, second] = match.events;
  if (!second || match.events.length !== 2) refuse('keys and values are not looked up alike');
  const [scores, result] = [first.sink, second.sink];
  const out = result.outputs[0];
  const [query, turned] = scores.inputs;
  const [weights, value] = result.inputs;
  if (!query || !turned || !weights || !value || !out || scores.node.op !== 'MatMul' || result.node.op !== 'MatMul')
    refuse('the products are not plain ones');
  const key = turned.producer?.node.op === 'Transpose' ? turned.producer.inputs[0] : null;
  const order = turned.producer?.attributes.find(({ name }) => name === 'perm')?.ints.join();
  if (!key || order !== '0,1,3,2') refuse('the keys are not turned as an attention turns them');
  const scale = scaleBetween(builder, scores, weights);
  if (builder.program.infer.of(query).element !== 1) refuse('the operator is written for 32-bit floats');
  const place = placeBefore(builder, result);
  const shrinker: Shrinker = { place, spread, done: new Map() };
  const [k, v] = [shrink(shrinker, key, 0), shrink(shrinker, value, 0)];
  if (k.back.kind !== 'index' || v.back.kind !== 'index' || !sameBack(k.back, v.back))
    refuse('keys and values are not looked up alike');
  if (madeOf(builder, query).shape.length !== 4 || k.value.shape.length !== 4)
    refuse('the heads have no axis of their own');
  builder.replaced.add(result.node);
  addOperator(
    place,
    'BroadcastAttention',
    [query.name, k.value.name, v.value.name, k.back.index, float(builder, scale)],
    out.name,
  );
}

/** The number that the scores are multiplied with before the softmax. Refuses where anything else stands between. */
function scaleBetween(builder: Builder, scores: Operator, weights: Value): number {
  const softmax = weights.producer;
  if (softmax?.node.op !== 'Softmax') refuse('something stands between softmax and product');
  let factor = 1;
  for (let at = softmax.inputs[0]; at?.producer && at.producer !== scores; at = at.producer.inputs[0]) {
    const { op } = at.producer.node;
    const number = at.producer.inputs[1] ? fillNumber(builder.program, at.producer.inputs[1]) : null;
    if (number === null || !/^(Mul|Div)$/.test(op)) refuse('the scores are masked or changed before the softmax');
    factor = op === 'Mul' ? factor * number : factor / number;
    if (at.uses.length > 1) refuse('the scores are used elsewhere, too');
  }
  return factor;
}
