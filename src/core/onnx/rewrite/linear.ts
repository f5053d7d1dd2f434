/**
 * Splits a linear operator over a concatenation: the columns that are copies are multiplied once per source row, the
 * others as before, and the products are added. y = W [a | b] = W1 a + W2 b.
 */
import { isOne, valueOf, type Dim } from '../../tensor/dim';
import { floatOf, intOf, stringOf } from '../attributes';
import { parseEquation } from '../infer/contractions';
import type { Operator, Value } from '../graph';
import type { Event } from '../judge/events';
import { isShared } from '../judge/sinks';
import type { Spread } from '../judge/spread';
import type { Block } from '../judge/state';
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
import { carry, chainTo, copiedBy, type Chain } from './chain';
import { broadcastLinear } from './ikbo';
import { sameBack, shrink, type Shrinker, type Shrunk } from './shrink';
import { spreadBack } from './spread-back';

/** One column block of the concatenation: a value of its own. */
export interface Column {
  readonly value: Value;
  readonly width: number;
}

/** The concatenation's parts as its form has them: nested ones opened where they hold copies. */
export function columnsOf(builder: Builder, spread: Spread, concat: Value, axis: number): Column[] {
  const { producer } = concat;
  if (producer?.node.op !== 'Concat') refuse('no concatenation');
  return producer.inputs.flatMap((value) => {
    if (!value) return [];
    const state = spread.stateOf(value);
    const nested = value.producer?.node.op === 'Concat' && state?.axis === axis && state.blocks.length > 1;
    if (nested) return columnsOf(builder, spread, value, axis);
    const width = valueOf(madeOf(builder, value).shape[axis] ?? null);
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
    case 'FusedMatMul': {
      const plain = ['transA', 'transBatchA', 'transBatchB'].every((name) => intOf(op, name, 0) === 0);
      if (operandIndex !== 0 || shape.length !== 2 || !plain) refuse('the product is transposed');
      return { op, weight, weightAxis: intOf(op, 'transB', 0) ? 1 : 0, operandIndex, bias: null };
    }
    case 'Einsum': {
      const { own, other, contracted } = letters(op, operandIndex, event.contracted);
      const weightAxis = other.indexOf(contracted);
      if (weightAxis < 0 || own.length !== madeOf(builder, event.operand).shape.length) refuse('nothing is contracted');
      return { op, weight, weightAxis, operandIndex, bias: null };
    }
    default:
      return refuse(`${op.node.op} multiplies by its weight inside, and takes no product that is split already`);
  }
}

/** What the equation of an Einsum calls the axes of the operand, of the other one, and the contracted axis. */
function letters(
  op: Operator,
  operandIndex: number,
  contracted: number,
): { own: string; other: string; output: string; contracted: string } {
  const { operands, output } = parseEquation(stringOf(op, 'equation', '')) ?? refuse('the equation is not understood');
  const [own = '', other = ''] = operandIndex === 0 ? operands : [...operands].reverse();
  return { own, other, output, contracted: own[contracted] ?? '?' };
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
  const { domain, op: name } = op.node;
  return addNode(place, name, operands, name === 'MatMul' ? outputs : { like: op.node, domain, ...outputs });
}

/** A part of the product: its input and its part of the weight. */
export interface Part {
  readonly made: Made;
  readonly weight: string;
}

export interface SmallPart extends Part {
  readonly back: Shrunk['back'];
  /** The axis of the operand that is copied. */
  readonly axis: number;
}

/** `others`: events of the same operand along other axes, as where every row meets every other one. */
export function splitLinear(builder: Builder, spread: Spread, event: Event, others: readonly Event[] = []): void {
  const { sink, operand, contracted, form } = event;
  const axes = [event, ...others].map(({ axis }) => axis);
  const linear = linearOf(builder, event);
  const place = placeBefore(builder, sink);
  const chain = chainTo(place, spread, operand, contracted, false);
  const columns = columnsOf(builder, spread, chain.concat, chain.axis);
  if (columns.length !== form.blocks.length) refuse('the concatenation is put together in a way that is not followed');
  const widths = columns.map(({ width }) => width);
  const weights = splitAt(place, linear.weight.name, linear.weightAxis, widths);
  const shrinker: Shrinker = { place, spread, done: new Map() };
  const small: SmallPart[] = [];
  const kept: (Part & { readonly width: number })[] = [];
  columns.forEach(({ value, width }, i) => {
    const weight = weights[i] ?? '';
    const block = form.blocks[i];
    const axis = axes.find((axis) => block?.terms.every((term) => isShared(term, axis)));
    const origin = block && axis !== undefined ? originOf(block, axis) : null;
    if (!origin || axis === undefined) return void kept.push({ made: madeOf(builder, value), weight, width });
    small.push({ ...carriedSource(shrinker, chain, value, width, origin), weight, axis });
  });
  const rest = joinParts(place, kept, linear.weightAxis, chain.axis);
  const wide = kept.reduce((sum, { width }) => sum + width, 0);
  const full = rest && { made: carry(place, spread, chain, rest.made, wide, null), weight: rest.weight };
  finishSum(place, event, linear, grouped(place, small, linear, contracted), full);
}

function originOf(block: Block, axis: number): Operator | null {
  for (const { atoms } of block.terms) {
    for (const { axes } of atoms) {
      const found = axes[axis];
      if (found?.kind === 'replica' && found.origin) return found.origin.operator;
    }
  }
  return null;
}

/** The source of a copied value of the concatenation, carried through the chain to the product. */
export function carriedSource(
  s: Shrinker,
  chain: Chain,
  value: Value,
  width: number,
  origin: Operator,
): { made: Made; back: Shrunk['back'] } {
  const at = copiedBy(s.spread, value, origin) ?? refuse('the copy is lost on the way');
  const inner = shrink(s, value, at.axis);
  const last = chain.operators.at(-1)?.outputs[0];
  if (!last) return { made: inner.value, back: inner.back };
  const made = carry(s.place, s.spread, chain, inner.value, width, origin);
  const kind = copiedBy(s.spread, last, origin)?.replica.mapped.map.kind;
  if (inner.back.kind === 'index') {
    if (kind !== 'indexed') refuse('looked-up rows are merged with another axis');
    return { made, back: inner.back };
  }
  return kind === 'all' || kind === 'blocks' || kind === 'cycle'
    ? { made, back: { kind, origin } }
    : refuse('copies are mixed with other rows');
}

/** Parts that are read alike are multiplied together: one product instead of several. */
export function grouped(place: Place, parts: readonly SmallPart[], linear: Linear, axis: number): SmallPart[] {
  const groups: SmallPart[][] = [];
  for (const part of parts) {
    const group = groups.find(([first]) => first?.axis === part.axis && sameBack(first.back, part.back));
    if (group) group.push(part);
    else groups.push([part]);
  }
  return groups.flatMap((group) => {
    const joined = joinParts(place, group, linear.weightAxis, axis);
    const [first] = group;
    return joined && first ? [{ ...first, ...joined }] : [];
  });
}

export function joinParts(place: Place, parts: readonly Part[], weightAxis: number, axis: number): Part | null {
  const [first, ...rest] = parts;
  if (!first || rest.length === 0) return first ?? null;
  const join = (names: readonly string[], at: number): string =>
    addNode(place, 'Concat', names, { attributes: { axis: BigInt(at) } });
  const name = join(parts.map(({ made }) => made.name), axis); // prettier-ignore
  const weight = join(parts.map((part) => part.weight), weightAxis); // prettier-ignore
  return { made: { name, shape: first.made.shape }, weight };
}

/** The sum of the small products, spread to full rows, and the product of what is left. */
export function finishSum(
  place: Place,
  event: Event,
  linear: Linear,
  small: readonly SmallPart[],
  kept: Part | null,
): void {
  const { builder } = place;
  const { sink } = event;
  const out = sink.outputs[0];
  if (!out) refuse('the product has no output');
  if (broadcastLinear(place, event, linear, small, kept)) return;
  const shape = madeOf(builder, out).shape;
  const full = madeOf(builder, event.operand).shape;
  let sum: string | null = null;
  small.forEach(({ back, made, weight, axis }, i) => {
    const extent = full[axis] ?? null;
    const outAxis = outputAxis(event, axis, shape.length);
    const rows: Size | null = kept ? { of: kept.made.name, axis } : null;
    // The bias is added once, to the smallest product.
    const name = multiply(place, linear, made.name, weight, i === 0 ? linear.bias : null);
    const value: Made = { name, shape: shape.map((dim, j): Dim => (j === outAxis ? (made.shape[axis] ?? null) : dim)) };
    const spread = spreadBack(place, { value, back }, outAxis, extent, true, rows);
    sum = sum === null ? spread.name : addNode(place, 'Add', [sum, spread.name]);
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
function finishWithout(place: Place, small: readonly SmallPart[], sum: string, output: string): void {
  // Along every axis one part must have the rows in full, or nothing broadcasts the others.
  const inFull = (axis: number): boolean => small.some((part) => part.axis !== axis || part.back.kind !== 'all');
  if (!small.every(({ axis }) => inFull(axis))) refuse('no column has the full rows');
  giveName(place, sum, output);
}

/** The axis of the product that the rows of the operand become. */
function outputAxis(event: Event, axis: number, rank: number): number {
  if (event.sink.node.op === 'Gemm' || event.sink.node.op === 'Conv') return axis;
  if (event.sink.node.op === 'Einsum') {
    const { own, output } = letters(event.sink, event.operandIndex, event.contracted);
    return output.indexOf(own[axis] ?? '?');
  }
  const own = event.form.blocks[0]?.terms[0]?.atoms[0]?.axes.length ?? rank;
  return axis + (rank - own);
}
