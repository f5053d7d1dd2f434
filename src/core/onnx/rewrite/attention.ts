/**
 * Products in which a batch axis of one operand is a copy: keys and values of an attention repeated over heads or over
 * the batch, or any operand that the product would broadcast by itself. The copies become rows of the other operand, or
 * a broadcast axis; what stands between the products stays as it is.
 */
import { divide, isOne, multiply, type Dim } from '../../tensor/dim';
import { intOf } from '../attributes';
import type { Operator } from '../graph';
import type { Event } from '../judge/events';
import type { Spread } from '../judge/spread';
import {
  addNode,
  giveName,
  madeOf,
  placeBefore,
  refuse,
  reshapeTo,
  unsqueezeAt,
  type Builder,
  type Made,
  type Place,
} from './builder';
import { shrink, type Shrunk } from './shrink';
import { spreadBack } from './spread-back';

export function foldProduct(builder: Builder, spread: Spread, event: Event): void {
  const { sink, operand, axis } = event;
  const place = placeBefore(builder, sink);
  const small = shrink({ place, spread, done: new Map() }, operand, axis);
  if (sink.node.op === 'Attention' && sink.node.domain === '') return nativeAttention(place, event, small);
  if (/Attention$/.test(sink.node.op)) refuse(`${sink.node.op} needs keys and values in full`);
  if (!isProduct(sink)) refuse(`${sink.node.op} is not folded`);
  const other = sink.inputs[1 - event.operandIndex];
  const out = sink.outputs[0];
  if (!other || !out) refuse('a product without a second operand');
  const full = madeOf(builder, other);
  const result = madeOf(builder, out);
  if (small.back.kind === 'index') return lookUpLater(place, event, small, other.name, out.name);
  builder.replaced.add(sink.node);
  if (small.back.kind === 'all' && isOne(small.value.shape[axis] ?? null)) {
    product(place, event, full.name, small.value.name, out.name);
    return;
  }
  const at = axis + full.shape.length - madeOf(builder, operand).shape.length;
  const source = small.value.shape[axis] ?? null;
  const ratio = divide(full.shape[at] ?? null, source);
  const asRows = small.back.kind === 'blocks' && at === full.shape.length - 3 && event.operandIndex === 1;
  if (asRows && intOf(sink, 'transA', 0) === 0) {
    foldIntoRows(place, event, full, small, at, ratio, result, out.name);
  } else broadcastInside(place, event, full, small, at, ratio, result, out.name);
}

/** FusedMatMul is MatMul with a factor, and with the last two axes of an operand turned. */
const isProduct = (op: Operator): boolean =>
  op.node.op === 'MatMul' ||
  (op.node.op === 'FusedMatMul' && ['transBatchA', 'transBatchB'].every((name) => intOf(op, name, 0) === 0));

/** Nothing can be folded where the run decides which copy reads what; but a projection on the way is done once per source. */
function lookUpLater(place: Place, event: Event, small: Shrunk, other: string, output: string): void {
  if (event.replicas.every(({ sunk }) => sunk.length === 0)) {
    refuse('which copy reads what is known at run time only, so that nothing can be folded');
  }
  place.builder.replaced.add(event.sink.node);
  const extent = madeOf(place.builder, event.operand).shape[event.axis] ?? null;
  const full = spreadBack(place, small, event.axis, extent, false);
  product(place, event, other, full.name, output);
}

/** One node with the operands on their sides. */
function product(place: Place, event: Event, other: string, operand: string, output?: string): string {
  const inputs = event.operandIndex === 1 ? [other, operand] : [operand, other];
  const { node } = event.sink;
  const named = output === undefined ? {} : { outputs: [output] };
  return addNode(place, node.op, inputs, { like: node, domain: node.domain, ...named });
}

/** [.., s*r, L, D] becomes [.., s, r*L, D]: the copies are further rows of the same product. */
function foldIntoRows(
  place: Place,
  event: Event,
  full: Made,
  small: Shrunk,
  at: number,
  ratio: Dim,
  result: Made,
  output: string,
): void {
  const fold = (shape: readonly Dim[]): Dim[] =>
    shape.map((dim, i) =>
      i === at ? (small.value.shape[event.axis] ?? null) : i === at + 1 ? multiply(ratio, dim) : dim,
    );
  const folded = reshapeTo(place, full, fold(full.shape));
  const name = product(place, event, folded.name, small.value.name);
  const back = reshapeTo(place, { name, shape: fold(result.shape) }, result.shape);
  giveName(place, back.name, output);
}

/** The copied axis is cut in two, and the small operand has size 1 where it is copied. */
function broadcastInside(
  place: Place,
  event: Event,
  full: Made,
  small: Shrunk,
  at: number,
  ratio: Dim,
  result: Made,
  output: string,
): void {
  const source = small.value.shape[event.axis] ?? null;
  const [outer, inner] = small.back.kind === 'blocks' ? [source, ratio] : [ratio, source];
  const cut = (shape: readonly Dim[]): Dim[] => shape.flatMap((dim, i) => (i === at ? [outer, inner] : [dim]));
  const opened = reshapeTo(place, full, cut(full.shape));
  const ones = small.back.kind === 'blocks' ? event.axis + 1 : event.axis;
  // A leading axis that is missing broadcasts by itself.
  const operand = ones === 0 ? small.value : unsqueezeAt(place, small.value, [ones]);
  const name = product(place, event, opened.name, operand.name);
  const back = reshapeTo(place, { name, shape: cut(result.shape) }, result.shape);
  giveName(place, back.name, output);
}

/** The standard operator shares key and value heads itself. */
function nativeAttention(place: Place, event: Event, small: Shrunk): void {
  const { sink, operandIndex } = event;
  if (event.code === 'IKB201') refuse('Attention wants keys and values for every row of the batch');
  if (small.back.kind !== 'blocks') refuse('the heads are not repeated one by one');
  const inputs = sink.inputs.map((value, i) => (i === operandIndex ? small.value.name : (value?.name ?? '')));
  const { builder } = place;
  // Keys and values are two events of one node: the second one edits what the first one made.
  const at = builder.placed.findIndex(({ like }) => like === sink.node);
  const made = builder.placed[at];
  if (made) {
    const merged = made.node.inputs.map((name, i) => (i === operandIndex ? small.value.name : name));
    builder.placed.splice(at, 1);
    builder.placed.push({ ...made, node: { ...made.node, inputs: merged } });
    return;
  }
  builder.replaced.add(sink.node);
  addNode(place, 'Attention', inputs, { like: sink.node, outputs: sink.outputs.map((value) => value?.name ?? '') });
}
