/**
 * What stands between a concatenation and the product that reads it: views and pointwise operators, which work on every
 * part of the concatenation by itself and can be repeated for each.
 */
import type { Dim } from '../../tensor/dim';
import { intOf, intsOf } from '../attributes';
import type { Operator, Value } from '../graph';
import { axisOf } from '../infer/info';
import type { Spread } from '../judge/spread';
import type { Replica } from '../judge/state';
import { addNode, isVisible, madeOf, refuse, reshapeTo, type Made, type Place } from './builder';

export interface Chain {
  readonly concat: Value;
  /** The axis of the concatenation. */
  readonly axis: number;
  /** From the concatenation to the product. */
  readonly operators: readonly Operator[];
}

const VIEWS = new Set(['Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Transpose', 'Identity']);
const POINTWISE = new Set(
  'Relu Sigmoid Tanh LeakyRelu Elu Selu Gelu HardSwish HardSigmoid Softplus Erf Sqrt Exp Abs Neg Cast'.split(' '),
);

/** `linear`: only operators that keep sums as they are. Refuses where the parts do not stay apart. */
export function chainTo(place: Place, spread: Spread, operand: Value, contracted: number, linear: boolean): Chain {
  const operators: Operator[] = [];
  let value = operand;
  for (;;) {
    const { producer } = value;
    if (!producer || !isVisible(producer, place)) refuse('the parts of the product come from another graph');
    if (producer.node.op === 'Concat') break;
    const [data] = producer.inputs;
    const allowed = VIEWS.has(producer.node.op) || (!linear && POINTWISE.has(producer.node.op));
    if (!allowed || !data) refuse(`${producer.node.op} stands between the concatenation and the product`);
    if (spread.stateOf(data)?.axis === null || spread.stateOf(value)?.axis == null)
      refuse(`${producer.node.op} mixes the parts of the concatenation`);
    operators.unshift(producer);
    value = data;
  }
  const axis = axisOf(
    intOf(value.producer ?? refuse('no concatenation'), 'axis', 0),
    madeOf(place.builder, value).shape.length,
  );
  const expected = operators.length === 0 ? contracted : spread.stateOf(value)?.axis;
  if (axis === null || axis !== expected) refuse('the concatenation is along another axis');
  return { concat: value, axis, operators };
}

/** Where a value carries the copies of this operator, whatever its other parts are. */
export function copiedBy(spread: Spread, value: Value, origin: Operator): { axis: number; replica: Replica } | null {
  for (const { terms } of spread.stateOf(value)?.blocks ?? []) {
    for (const { atoms } of terms) {
      for (const { axes } of atoms) {
        const axis = axes.findIndex((found) => found?.kind === 'replica' && found.origin?.operator === origin);
        const replica = axes[axis];
        if (replica?.kind === 'replica') return { axis, replica };
      }
    }
  }
  return null;
}

/** Repeats the chain on one part of the concatenation, or on the source of a copied one. */
export function carry(
  place: Place,
  spread: Spread,
  chain: Chain,
  part: Made,
  width: number,
  origin: Operator | null,
): Made {
  let made = part;
  for (const op of chain.operators) {
    const out = op.outputs[0] ?? refuse('an operator without a result');
    const wide = spread.stateOf(out)?.axis;
    const copied = origin && copiedBy(spread, out, origin);
    const full = madeOf(place.builder, out).shape;
    const shape = full.map((dim, i): Dim => {
      if (i === wide) return [{ coef: width, symbols: [] }];
      return copied && i === copied.axis ? copied.replica.mapped.source : dim;
    });
    if (/^(Reshape|Flatten|Squeeze|Unsqueeze)$/.test(op.node.op)) made = reshapeTo(place, made, shape);
    else if (op.node.op === 'Transpose') {
      const order = intsOf(op, 'perm') ?? full.map((_, i) => full.length - 1 - i);
      made = { name: addNode(place, 'Transpose', [made.name], { attributes: { perm: order.map(BigInt) } }), shape };
    } else made = { name: addNode(place, op.node.op, [made.name], { like: op.node }), shape };
  }
  return made;
}
