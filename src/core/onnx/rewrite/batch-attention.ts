/**
 * The standard Attention whose keys and values are copied over the batch: the queries of all copies become further rows
 * of one attention per source. [U*r, H, L, D] is turned to [U, H, r*L, D] and the result back.
 */
import { valueOf, type Dim } from '../../tensor/dim';
import { intOf } from '../attributes';
import type { Value } from '../graph';
import type { OnnxMatch } from '../judge/select';
import type { Spread } from '../judge/spread';
import { addNode, madeOf, placeBefore, refuse, shapeVector, type Builder, type Place, type Size } from './builder';
import { sameBack, shrink, type Shrinker } from './shrink';

export function foldBatchAttention(builder: Builder, spread: Spread, match: OnnxMatch): void {
  const [first, second] = match.events;
  const { sink } = first;
  if (first.code !== 'IKB201' || sink.node.op !== 'Attention' || sink.node.domain !== '')
    refuse('no standard attention');
  if (second?.sink !== sink || match.events.length !== 2 || first.axis !== 0 || second.axis !== 0)
    refuse('keys and values are not copied alike');
  if (sink.inputs.slice(3).some((input) => input !== null) || sink.outputs.slice(1).some((output) => output !== null))
    refuse('a mask or a cache has rows for every copy');
  // The rows of one copy may not see fewer keys than those of the next.
  if (intOf(sink, 'is_causal', 0) !== 0) refuse('a causal mask counts the rows of each copy');
  const [query, key, value] = sink.inputs;
  const out = sink.outputs[0];
  if (!query || !key || !value || !out) refuse('the attention lacks an operand');
  const [q, y] = [madeOf(builder, query), madeOf(builder, out)];
  if (q.shape.length !== 4) refuse('the heads have no axis of their own');
  const place = placeBefore(builder, sink);
  const shrinker: Shrinker = { place, spread, done: new Map() };
  const [k, v] = [shrink(shrinker, key, 0), shrink(shrinker, value, 0)];
  if (!sameBack(k.back, v.back) || (k.back.kind !== 'all' && k.back.kind !== 'blocks'))
    refuse('which copy reads what is known at run time only');
  const size = (of: Value, shape: readonly Dim[], axis: number): Size =>
    valueOf(shape[axis] ?? null) ?? { of: of.name, axis };
  const users = valueOf(k.value.shape[0] ?? null) ?? { of: k.value.name, axis: 0 };
  const [heads, rows] = [size(query, q.shape, 1), size(query, q.shape, 2)];
  const width = valueOf(y.shape[3] ?? null) ?? { of: v.value.name, axis: 3 };
  const opened = reshape(place, query.name, [users, -1, heads, rows, size(query, q.shape, 3)]);
  const folded = reshape(place, swap(place, opened), [users, heads, -1, size(query, q.shape, 3)]);
  builder.replaced.add(sink.node);
  const made = addNode(place, 'Attention', [folded, k.value.name, v.value.name], { like: sink.node });
  const cut = reshape(place, made, [users, heads, -1, rows, width]);
  const shape = shapeVector(place, [-1, heads, rows, width]);
  addNode(place, 'Reshape', [swap(place, cut), shape], { outputs: [out.name] });
}

const reshape = (place: Place, from: string, sizes: readonly Size[]): string =>
  addNode(place, 'Reshape', [from, shapeVector(place, sizes)]);

/** The copies and the heads change places. */
const swap = (place: Place, from: string): string =>
  addNode(place, 'Transpose', [from], { attributes: { perm: [0n, 2n, 1n, 3n, 4n] } });
