/** What looks like copies and is none. */
import { isOne, valueOf } from '../tensor/dim';
import { drawnAt, mapReplicas, worked } from '../tensor/pointwise';
import { carriesReplica, tensor, withoutReplicas } from '../tensor/shape';
import type { Place, Tensor } from '../tensor/value';
import { argument, argumentNode, asNumber } from './access';
import { textOf } from './syntax';
import type { Args, LayerValue, Value } from './value';

/** Of sizes that are numbers it may be an example of what the program computes. */
export const isFilling = ({ shape }: Tensor): boolean =>
  !shape.exact || shape.head.every(({ dim }) => isOne(dim)) || shape.head.some(({ dim }) => valueOf(dim) === null);

/** Zeros that are repeated are zeros of another size: a state, a mask or a first frame is made so, nothing is copied. */
export const filled = (value: Value): Value =>
  value.kind === 'tensor'
    ? { ...value, shape: withoutReplicas(value.shape), content: 'constant', uniform: true }
    : value;

/**
 * Dropout leaves copies equal in evaluation. `F.dropout(x, 0.1)` without its third argument drops there, too, and copies are
 * different from then on.
 */
export function dropped(t: Tensor, layer: LayerValue | null, args: Args, place: Place): Tensor {
  if (!carriesReplica(t)) return { ...worked(t, place), place };
  const training = layer || args.open ? undefined : trainingOf(args);
  if (training === 'True') return tensor(withoutReplicas(t.shape), { place, noised: true });
  const draws = layer ? /Drop/.test(layer.name) && asNumber(argument(layer.args, 0, 'p')) !== 0 : training !== 'False';
  return { ...worked(draws ? mapReplicas(t, drawnAt(place)) : t, place), place };
}

const trainingOf = (args: Args): string => {
  const given = argumentNode(args, 2, 'training');
  return given ? textOf(given) : 'True';
};
