/** What looks like copies and is none. */
import { isOne, valueOf } from '../tensor/dim';
import { withoutReplicas } from '../tensor/shape';
import type { Tensor } from '../tensor/value';
import { argumentNode } from './access';
import { textOf } from './syntax';
import type { Args, Value } from './value';

/** Of sizes that are numbers it may be an example of what the program computes. */
export const isFilling = ({ shape }: Tensor): boolean =>
  !shape.exact || shape.head.every(({ dim }) => isOne(dim)) || shape.head.some(({ dim }) => valueOf(dim) === null);

/** Zeros that are repeated are zeros of another size: a state, a mask or a first frame is made so, nothing is copied. */
export const filled = (value: Value): Value =>
  value.kind === 'tensor'
    ? { ...value, shape: withoutReplicas(value.shape), content: 'constant', uniform: true }
    : value;

/** `F.dropout(x, 0.1)`: without its third argument it drops in evaluation, too, and copies are different from then on. */
export function alwaysDrops(args: Args): boolean {
  const training = argumentNode(args, 2, 'training');
  return !args.open && (training === null || textOf(training) === 'True');
}
