/**
 * An attention written out (product, scale, softmax, product) whose keys and values are looked up by one index: with
 * standard operators nothing can be gained, as one operator the lookup happens inside.
 */
import { equal } from '../../tensor/dim';
import type { Operator, Value } from '../graph';
import { fillNumber } from '../judge/program';
import type { OnnxMatch } from '../judge/select';
import type { Spread } from '../judge/spread';
import { float, madeOf, placeBefore, refuse, type Builder } from './builder';
import { addOperator } from './ikbo';
import { sameBack, shrink, type Shrinker } from './shrink';

export function lookupAttention(builder: Builder, spread: Spread, match: OnnxMatch): void {
  if (builder.target !== 'ikbo' || match.events[0].code !== 'IKB201') refuse('no operator of ai.ikbo is asked for');
  // The values always come last; the keys may have lost their copies in views that merge batch and heads.
  const result = match.events.at(-1)?.sink ?? refuse('there is no product with the values');
  const out = result.outputs[0];
  const [weights, value] = result.inputs;
  if (!weights || !value || !out || result.node.op !== 'MatMul') refuse('the products are not plain ones');
  const { scores, factor } = scoresBefore(builder, weights);
  if (match.events.length > 2 || (match.events.length === 2 && match.events[0].sink !== scores))
    refuse('keys and values are not looked up alike');
  const [query, turned] = scores.inputs;
  if (!query || !turned) refuse('the products are not plain ones');
  const key = unturned(builder, turned);
  if (builder.program.infer.of(query).element !== 1) refuse('the operator is written for 32-bit floats');
  const place = placeBefore(builder, result);
  const shrinker: Shrinker = { place, spread, done: new Map() };
  const [k, v] = [shrink(shrinker, key.value, 0), shrink(shrinker, value, 0)];
  if (k.back.kind !== 'index' || v.back.kind !== 'index' || !sameBack(k.back, v.back))
    refuse('keys and values are not looked up alike');
  if (madeOf(builder, query).shape.length !== 4 || k.value.shape.length !== 4)
    refuse('the heads have no axis of their own');
  builder.replaced.add(result.node);
  const inputs = [query.name, k.value.name, v.value.name, k.back.index, float(builder, factor * key.factor)];
  addOperator(place, 'BroadcastAttention', inputs, out.name);
}

/** The product that makes the scores, and the number that they are multiplied with before the softmax. */
function scoresBefore(builder: Builder, weights: Value): { scores: Operator; factor: number } {
  const softmax = weights.producer;
  if (softmax?.node.op !== 'Softmax') refuse('something stands between softmax and product');
  let factor = 1;
  let at = softmax.inputs[0];
  for (; at?.producer && at.producer.node.op !== 'MatMul'; at = at.producer.inputs[0]) {
    factor *= factorOf(builder, at.producer) ?? refuse('the scores are masked or changed before the softmax');
    if (at.uses.length > 1) refuse('the scores are used elsewhere, too');
  }
  return at?.producer ? { scores: at.producer, factor } : refuse('the products are not plain ones');
}

/** The number that an operator multiplies its first input with; null where it does anything else. */
function factorOf(builder: Builder, { node, inputs }: Operator): number | null {
  const number = inputs[1] ? fillNumber(builder.program, inputs[1]) : null;
  if (number === null || !/^(Mul|Div)$/.test(node.op)) return null;
  return node.op === 'Mul' ? number : 1 / number;
}

/** The keys [batch, heads, rows, width] of which `turned` is the transpose, times a number. */
function unturned(builder: Builder, turned: Value): { value: Value; factor: number } {
  const reason = 'the keys are not turned as an attention turns them';
  const producer = turned.producer ?? refuse(reason);
  const [data] = producer.inputs;
  const factor = factorOf(builder, producer);
  if (data && factor !== null) {
    const inner = unturned(builder, data);
    return { value: inner.value, factor: inner.factor * factor };
  }
  if (data && orderOf(producer) === '0,1,3,2') return { value: data, factor: 1 };
  // Batch and heads merged, turned, and taken apart again.
  const middle = data?.producer;
  const merging = middle?.inputs[0]?.producer;
  const keys = merging?.inputs[0];
  if (producer.node.op !== 'Reshape' || orderOf(middle) !== '0,2,1' || merging?.node.op !== 'Reshape' || !keys)
    return refuse(reason);
  const [k, t] = [madeOf(builder, keys).shape, madeOf(builder, turned).shape];
  const same = k.length === 4 && [0, 1, 3, 2].every((axis, i) => equal(k[axis] ?? null, t[i] ?? null) === true);
  const rows = merging.outputs[0] && madeOf(builder, merging.outputs[0]).shape;
  const kept = rows?.length === 3 && [2, 3].every((axis) => equal(k[axis] ?? null, rows[axis - 1] ?? null) === true);
  return same && kept ? { value: keys, factor: 1 } : refuse(reason);
}

const orderOf = (op: Operator | null | undefined): string | undefined =>
  op?.node.op === 'Transpose' ? op.attributes.find(({ name }) => name === 'perm')?.ints.join() : undefined;
