/**
 * Lets a copy sink below everything that works row by row: products, activations, whole perceptrons and self-attention
 * run once per source row, and only what is left is copied.
 */
import { equal, isOne, type Dim } from '../../tensor/dim';
import type { Operator, Value } from '../graph';
import type { Event } from '../judge/events';
import { batchOf, sinkOf } from '../judge/sinks';
import type { Spread } from '../judge/spread';
import { collapse, type Replica } from '../judge/state';
import { giveName, madeOf, refuse, type Builder, type Place } from './builder';
import { shrink, type Shrinker } from './shrink';
import { spreadBack } from './spread-back';

export function sinkBroadcast(builder: Builder, spread: Spread, event: Event): void {
  const origins = new Set(event.replicas.flatMap(({ origin }) => (origin ? [origin.operator] : [])));
  const ends = event.sink.outputs.flatMap((start) => (start ? frontier(spread, start, origins) : []));
  if (ends.length === 0) refuse(`the results of ${event.sink.node.op} differ from copy to copy`);
  // In the order of the file, so that what one repeats on the source is there for the next.
  const done: Shrinker['done'] = new Map();
  ends.sort((a, b) => (a.producer?.node.span.start ?? 0) - (b.producer?.node.span.start ?? 0));
  for (const value of ends) copyLater(builder, spread, value, origins, done);
}

/** The copied axis of a value that comes from one of these operators. */
function copiedAxis(
  spread: Spread,
  value: Value,
  origins: ReadonlySet<Operator>,
): { axis: number; replica: Replica } | null {
  const state = spread.stateOf(value);
  if (!state) return null;
  const axes = collapse(state);
  for (const [axis, found] of axes.entries()) {
    if (found?.kind === 'replica' && found.origin && origins.has(found.origin.operator))
      return { axis, replica: found };
  }
  return null;
}

/**
 * The last values on every way that are still one row per source: they are read by something that tells copies apart.
 * Each is taken back over views and pointwise operators to where the copy is a plain one.
 */
function frontier(spread: Spread, start: Value, origins: ReadonlySet<Operator>): Value[] {
  const seen = new Set<Value>();
  const ends = new Set<Value>();
  const queue = [start];
  for (let value = queue.pop(); value; value = queue.pop()) {
    if (seen.has(value) || !copiedAxis(spread, value, origins)) continue;
    seen.add(value);
    // A shape does not tell copies apart.
    const readers = value.uses.filter(({ operator }) => operator.node.op !== 'Shape');
    const results = readers.map(({ operator }) => operator.outputs);
    const telling = results.some((outputs) => outputs.some((out) => out && !copiedAxis(spread, out, origins)));
    if (value.isOutput || telling) ends.add(plainBefore(spread, value, origins));
    for (const out of results.flat()) if (out) queue.push(out);
  }
  return [...ends];
}

function plainBefore(spread: Spread, value: Value, origins: ReadonlySet<Operator>): Value {
  const found = copiedAxis(spread, value, origins);
  const { producer } = value;
  if (!found || !producer || isPlain(found.replica)) return value;
  const [data] = producer.inputs;
  if (sinkOf(producer.node.domain, producer.node.op) || !data || !copiedAxis(spread, data, origins)) return value;
  return plainBefore(spread, data, origins);
}

const isPlain = ({ mapped }: Replica): boolean => mapped.map.kind === 'all' || mapped.map.kind === 'indexed';

function copyLater(
  builder: Builder,
  spread: Spread,
  value: Value,
  origins: ReadonlySet<Operator>,
  done: Shrinker['done'],
): void {
  const { producer } = value;
  if (!producer) refuse('the copy is lost on the way');
  // The same value may end the way of several copies: once is enough.
  if (builder.replaced.has(producer.node)) return;
  const read = producer.outputs.filter((out) => out !== null && (out.isOutput || out.uses.length > 0));
  if (read.length > 1 && !batchOf(producer, builder.program)) refuse(`${producer.node.op} has several outputs`);
  const place: Place = { builder, before: producer.node, stem: `${(producer.node.name || value.name) ?? ''}/ikbo` };
  for (const out of read) if (out) copyResult(place, spread, out, origins, done);
  builder.replaced.add(producer.node);
}

function copyResult(
  place: Place,
  spread: Spread,
  value: Value,
  origins: ReadonlySet<Operator>,
  done: Shrinker['done'],
): void {
  const { builder } = place;
  const { axis } = copiedAxis(spread, value, origins) ?? refuse('the copy is lost on the way');
  const extent = madeOf(builder, value).shape[axis] ?? null;
  const small = shrink({ place, spread, done }, value, axis);
  const lazy =
    small.back.kind === 'all' &&
    !value.isOutput &&
    value.uses.every((use) => broadcasts(builder, use.operator, value, axis, extent));
  const full = spreadBack(place, small, axis, extent, lazy);
  if (lazy) builder.reshaped.add(value.name);
  giveName(place, full.name, value.name);
  // What was made under another name is found under the old one from now on.
  for (const [key, made] of done)
    if (made.value.name === full.name && lazy) done.set(key, { ...made, value: { ...made.value, name: value.name } });
}

/** True when the operator gives the same result for one row: it broadcasts, and another input has the rows in full. */
function broadcasts(builder: Builder, op: Operator, value: Value, axis: number, extent: Dim): boolean {
  if (!/^(Add|Sub|Mul|Div)$/.test(op.node.op) || op.node.domain !== '') return false;
  const rank = madeOf(builder, value).shape.length;
  return op.inputs.some((input) => {
    const shape = input && input !== value ? builder.program.shape(input) : null;
    const at = axis - rank + (shape?.length ?? 0);
    return (
      shape !== null &&
      shape !== undefined &&
      at >= 0 &&
      !isOne(shape[at] ?? null) &&
      equal(shape[at] ?? null, extent) === true
    );
  });
}
