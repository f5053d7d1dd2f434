/** Broadcasts that go by other names: tensors expanded to each other's sizes, a product with ones, a sum with zeros. */
import { ONE, isOne } from '../tensor/dim';
import { mapReplicas, multiply, writtenAt } from '../tensor/pointwise';
import { type Size, expand } from '../tensor/replicate';
import { UNKNOWN_SHAPE, carriesReplica, rankOf, replicasOf, tensor } from '../tensor/shape';
import type { Place, Tensor } from '../tensor/value';
import { argument, argumentNode, asTensor, placeOf } from './access';
import type { Run } from './run';
import { type Node, childOf, textOf } from './syntax';
import { type Args, type Value, tuple } from './value';

/** `torch.broadcast_tensors`: views, each of its own argument. */
export function broadcastTensors(args: Args, node: Node, run: Run): Value {
  const place = placeOf(node);
  const tensors = args.positional.map((value) => asTensor(value, run) ?? tensor(UNKNOWN_SHAPE));
  return tuple(
    tensors.map((t, i) => {
      const given = args.nodes.get(i);
      return from(expandToAll(t, tensors, place), place, given ? placeOf(given) : null);
    }),
    args.open,
  );
}

/**
 * `x * torch.ones(b, n, 1)`: the copies of x that an operand filled with one number asks for. Null where it asks for none,
 * as far as is known.
 */
export function filledOut(a: Tensor, b: Tensor, node: Node): Tensor | null {
  const [x, filled] = b.uniform ? [a, b] : [b, a];
  if (!filled.uniform || x.uniform || rankOf(x.shape) === 0) return null;
  const [given, operand] = [filled, x].map((one) => childOf(node, one === a ? 'left' : 'right'));
  // Sums that begin with zeros stand in a variable: there the copies are there to be made different.
  if (given?.kind !== 'call') return null;
  const place = placeOf(node);
  const expanded = expandToAll(x, [x, filled], place);
  if (replicasOf(expanded.shape).length === replicasOf(x.shape).length) return null;
  const written = mapReplicas(expanded, writtenAt(place, 'the operator writes the copy'));
  const fresh = tensor(written.shape);
  return { ...from(written, place, operand ? placeOf(operand) : null), id: fresh.id, storage: fresh.id };
}

const from = (t: Tensor, origin: Place, source: Place | null): Tensor =>
  mapReplicas(t, (replica) =>
    replica.origin === origin ? { ...replica, argument: null, helper: { source } } : replica,
  );

/** Every axis that is missing or of size 1 grows to what another tensor has there. */
function expandToAll(t: Tensor, all: readonly Tensor[], place: Place): Tensor {
  const ranks = all.map((one) => rankOf(one.shape));
  if (!ranks.every((rank) => rank !== null)) return t;
  const rank = Math.max(...ranks);
  const sizes = Array.from({ length: rank }, (_, i): Size => {
    const dims = all.flatMap(({ shape }) => shape.head[i - rank + shape.head.length]?.dim ?? []);
    const large = all
      .map(({ shape }) => shape.head[i - rank + shape.head.length])
      .find((axis) => axis && !isOne(axis.dim));
    const own = t.shape.head[i - rank + t.shape.head.length];
    if (own && !isOne(own.dim)) return 'keep';
    return large ? large.dim : dims.length > 0 ? ONE : 'keep';
  });
  return expand(t, sizes, place);
}

/** `x.masked_fill(mask, 0)` of a mask over rows multiplies each by 0 or 1. */
export function clearedRows(t: Tensor, args: Args, place: Place, run: Run): Tensor | null {
  const mask = argument(args, 1, 'mask');
  const by = mask && carriesReplica(t) ? asTensor(mask, run) : null;
  const zero = argumentNode(args, 2, 'value');
  return by && zero && /^0?\.?0*$/.test(textOf(zero)) ? multiply([t, { ...by, content: 'data' }], place) : null;
}
