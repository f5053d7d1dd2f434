/**
 * Splits a linear operator over a concatenation: the columns that are copies are multiplied once per source row, the
 * others as before, and the products are added. y = W [a | b] = W1 a + W2 b.
 */
import { isOne, valueOf, type Dim } from '../../tensor/dim';
import { floatOf, intOf } from '../attributes';
import type { Value } from '../graph';
import { axisOf } from '../infer/info';
import type { Event } from '../judge/events';
import type { Spread } from '../judge/spread';
import {
  addNode,
  giveName,
  madeOf,
  placeBefore,
  refuse,
  splitAt,
  type Builder,
  type Linear,
  type Made,
  type Place,
  type Size,
} from './builder';
import { broadcastLinear } from './ikbo';
import { replicaOf, sameBack, shrink, type Shrinker, type Shrunk } from './shrink';
import { spreadBack } from './spread-back';

/** One column block of the concatenation: a value of its own. */
export interface Column {
  readonly value: Value;
  readonly width: number;
}

/** The concatenation's parts along the contracted axis, nested ones opened. Refuses where it is not read directly. */
export function columnsOf(builder: Builder, operand: Value, contracted: number): Column[] {
  const { producer } = operand;
  const shape = madeOf(builder, operand).shape;
  if (producer?.node.op !== 'Concat') refuse('something stands between the concatenation and the product');
  if (axisOf(intOf(producer, 'axis', 0), shape.length) !== contracted)
    refuse('the concatenation is along another axis');
  return producer.inputs.flatMap((value) => {
    if (!value) return [];
    if (value.producer?.node.op === 'Concat' && axisOf(intOf(value.producer, 'axis', 0), shape.length) === contracted) {
      return columnsOf(builder, value, contracted);
    }
    const width = valueOf(madeOf(builder, value).shape[contracted] ?? null);
    return width === null ? refuse(`the width of '${value.name}' is not a constant`) : [{ value, width }];
  });
}

export function linearOf(builder: Builder, event: Event): Linear {
  const { sink: op, operandIndex } = event;
  const weight = op.inputs[1 - operandIndex];
  if (!weight) refuse('there is no weight');
  const shape = madeOf(builder, weight).shape;
  switch (op.node.op) {
    case 'Gemm': {
      if (operandIndex !== 0 || intOf(op, 'transA', 0)) refuse('the product is transposed');
      const bias = op.inputs[2]?.name ?? null;
      const rows = op.inputs[2] && madeOf(builder, op.inputs[2]).shape;
      if (rows && rows.length > 1 && !isOne(rows[0] ?? null))
        refuse('the product adds a tensor that differs from row to row');
      return { op, weight, weightAxis: intOf(op, 'transB', 0) ? 1 : 0, operandIndex, bias };
    }
    case 'MatMul': {
      if (shape.length !== 2) refuse('the other operand has a batch of its own');
      return { op, weight, weightAxis: operandIndex === 0 ? 0 : 1, operandIndex, bias: null };
    }
    case 'Conv':
      return { op, weight, weightAxis: 1, operandIndex, bias: op.inputs[2]?.name ?? null };
    default:
      return refuse(`${op.node.op} is not split`);
  }
}

/** One product with a part of the weight. `add`: what is added inside, for operators that can. */
export function multiply(
  place: Place,
  linear: Linear,
  input: string,
  weight: string,
  add: string | null,
  output?: string,
): string {
  const { op, operandIndex } = linear;
  const outputs = output === undefined ? {} : { outputs: [output] };
  if (op.node.op === 'Gemm') {
    const alpha = floatOf(op, 'alpha', 1);
    const beta = add === linear.bias ? floatOf(op, 'beta', 1) : 1;
    const attributes = { alpha: { float: alpha }, beta: { float: beta }, transB: BigInt(intOf(op, 'transB', 0)) };
    return addNode(place, 'Gemm', add ? [input, weight, add] : [input, weight], { attributes, ...outputs });
  }
  const operands = operandIndex === 0 ? [input, weight] : [weight, input];
  if (op.node.op === 'Conv') {
    const bias = add && add === linear.bias ? [add] : [];
    return addNode(place, 'Conv', [...operands, ...bias], { like: op.node, ...outputs });
  }
  return addNode(place, op.node.op, operands, outputs);
}

interface Group {
  readonly back: Shrunk['back'];
  readonly parts: { readonly made: Made; readonly weight: string }[];
}

export function splitLinear(builder: Builder, spread: Spread, event: Event): void {
  const { sink, operand, contracted, axis } = event;
  const linear = linearOf(builder, event);
  const place = placeBefore(builder, sink);
  const columns = columnsOf(builder, operand, contracted);
  const weights = splitAt(
    place,
    linear.weight.name,
    linear.weightAxis,
    columns.map(({ width }) => width),
  );
  const shrinker: Shrinker = { place, spread, done: new Map() };
  const groups: Group[] = [];
  const kept: { made: Made; weight: string }[] = [];
  columns.forEach(({ value }, i) => {
    const weight = weights[i] ?? '';
    if (!replicaOf(spread, value, axis)) return void kept.push({ made: madeOf(builder, value), weight });
    const small = shrink(shrinker, value, axis);
    const group = groups.find(({ back }) => sameBack(back, small.back));
    if (group) group.parts.push({ made: small.value, weight });
    else groups.push({ back: small.back, parts: [{ made: small.value, weight }] });
  });
  finishSum(
    place,
    event,
    linear,
    groups.map((group) => joinGroup(place, group, linear, contracted)),
    joinParts(place, kept, linear, contracted),
  );
}

const joinGroup = (
  place: Place,
  { back, parts }: Group,
  linear: Linear,
  axis: number,
): { back: Shrunk['back']; made: Made; weight: string } => {
  const joined = joinParts(place, parts, linear, axis);
  return joined ? { back, ...joined } : refuse('an empty group');
};

/** Parts that are read alike are multiplied together: one product instead of several. */
function joinParts(
  place: Place,
  parts: readonly { made: Made; weight: string }[],
  linear: Linear,
  axis: number,
): { made: Made; weight: string } | null {
  const [first, ...rest] = parts;
  if (!first || rest.length === 0) return first ?? null;
  const join = (names: readonly string[], at: number): string =>
    addNode(place, 'Concat', names, { attributes: { axis: BigInt(at) } });
  const name = join(
    parts.map(({ made }) => made.name),
    axis,
  );
  const weight = join(
    parts.map((part) => part.weight),
    linear.weightAxis,
  );
  return { made: { name, shape: first.made.shape }, weight };
}

/** The sum of the small products, spread to full rows, and the product of what is left. */
export function finishSum(
  place: Place,
  event: Event,
  linear: Linear,
  small: readonly { back: Shrunk['back']; made: Made; weight: string }[],
  kept: { made: Made; weight: string } | null,
): void {
  const { builder } = place;
  const { sink, axis } = event;
  const out = sink.outputs[0];
  if (!out) refuse('the product has no output');
  if (broadcastLinear(place, event, linear, small, kept)) return;
  const shape = madeOf(builder, out).shape;
  const extent = madeOf(builder, event.operand).shape[axis] ?? null;
  const outAxis = outputAxis(event, axis, shape.length);
  const rows: Size | null = kept ? { of: kept.made.name, axis } : null;
  let sum: string | null = null;
  small.forEach(({ back, made, weight }, i) => {
    // The bias is added once, to the smallest product.
    const name = multiply(place, linear, made.name, weight, i === 0 ? linear.bias : null);
    const value: Made = { name, shape: shape.map((dim, j): Dim => (j === outAxis ? (made.shape[axis] ?? null) : dim)) };
    const full = spreadBack(place, { value, back }, outAxis, extent, true, rows);
    sum = sum === null ? full.name : addNode(place, 'Add', [sum, full.name]);
  });
  if (sum === null) refuse('nothing is shared');
  builder.replaced.add(sink.node);
  if (!kept) return finishWithout(place, small, sum, out.name);
  if (sink.node.op === 'Gemm') {
    multiply(place, { ...linear, bias: null }, kept.made.name, kept.weight, sum, out.name);
    return;
  }
  const rest = multiply(place, linear, kept.made.name, kept.weight, null);
  addNode(place, 'Add', [rest, sum], { outputs: [out.name] });
}

/** All columns are shared: the sum of the products is the result, if one of them has the rows in full. */
function finishWithout(place: Place, small: readonly { back: Shrunk['back'] }[], sum: string, output: string): void {
  if (small.every(({ back }) => back.kind === 'all')) refuse('no column has the full rows');
  giveName(place, sum, output);
}

/** The axis of the product that the rows of the operand become. */
export function outputAxis(event: Event, axis: number, rank: number): number {
  if (event.sink.node.op === 'Gemm' || event.sink.node.op === 'Conv') return axis;
  const own = event.form.blocks[0]?.terms[0]?.atoms[0]?.axes.length ?? rank;
  return axis + (rank - own);
}
