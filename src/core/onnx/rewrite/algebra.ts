/**
 * Exact algebra for differences and products of copied rows: W [q, k, q-k, q*k] = (W1+W3) q + (W2-W3) k + W4 (q*k).
 * Every distinct term is multiplied once, with the sum of the weights of the blocks it stands in.
 */
import type { Value } from '../graph';
import type { Event } from '../judge/events';
import type { Spread } from '../judge/spread';
import {
  addNode,
  isVisible,
  madeOf,
  placeBefore,
  refuse,
  splitAt,
  type Builder,
  type Made,
  type Place,
} from './builder';
import { carry, chainTo, copiedBy } from './chain';
import {
  carriedSource,
  columnsOf,
  finishSum,
  grouped,
  joinParts,
  linearOf,
  type Column,
  type Part,
  type SmallPart,
} from './linear';
import { replicaOf, shrink, type Shrinker } from './shrink';

/** coefficient * factor * factor ... */
interface Product {
  readonly coefficient: number;
  readonly factors: readonly Value[];
}

/** A value as a sum of products of values, through Add, Sub, Neg and Mul of operands of the same rank. */
function productsOf(place: Place, value: Value, depth = 0): readonly Product[] {
  const atom = [{ coefficient: 1, factors: [value] }];
  const { producer } = value;
  if (!producer || depth > 6 || !isVisible(producer, place)) return atom;
  const { builder } = place;
  const rank = madeOf(builder, value).shape.length;
  const parts = producer.inputs.map((input) =>
    input && builder.program.shape(input)?.length === rank ? productsOf(place, input, depth + 1) : null,
  );
  const [a, b] = parts;
  const scale = (products: readonly Product[], by: number): Product[] =>
    products.map((p) => ({ ...p, coefficient: p.coefficient * by }));
  switch (producer.node.op) {
    case 'Add':
      return a && b ? [...a, ...b] : atom;
    case 'Sub':
      return a && b ? [...a, ...scale(b, -1)] : atom;
    case 'Neg':
      return a ? scale(a, -1) : atom;
    case 'Mul': {
      const [x, y] = [a?.[0], b?.[0]];
      if (!a || !b || !x || !y || a.length > 1 || b.length > 1) return atom;
      return [{ coefficient: x.coefficient * y.coefficient, factors: [...x.factors, ...y.factors] }];
    }
    default:
      return atom;
  }
}

interface Entry {
  readonly factors: readonly Value[];
  readonly width: number;
  /** Which block's weight counts how often. */
  readonly weights: { readonly block: number; readonly coefficient: number }[];
}

export function splitAlgebra(builder: Builder, spread: Spread, event: Event): void {
  const { sink, operand, contracted } = event;
  const linear = linearOf(builder, event);
  const place = placeBefore(builder, sink);
  const chain = chainTo(place, spread, operand, contracted, true);
  const columns = columnsOf(builder, spread, chain.concat, chain.axis);
  const origin = event.replicas[0]?.origin?.operator ?? refuse('the copy has no operator of its own');
  const { axis } = copiedBy(spread, chain.concat, origin) ?? refuse('the copy is lost on the way');
  const entries = entriesOf(place, columns);
  const widths = columns.map(({ width }) => width);
  const parts = splitAt(place, linear.weight.name, linear.weightAxis, widths);
  const shrinker: Shrinker = { place, spread, done: new Map() };
  const isCopied = (value: Value): boolean => replicaOf(spread, value, axis)?.origin?.operator === origin;
  const small: SmallPart[] = [];
  const kept: (Part & { readonly width: number })[] = [];
  for (const entry of entries) {
    const { factors, width } = entry;
    const weight = weightOf(place, parts, entry);
    const [alone, another] = factors;
    // Rows of the same kind looked up in another way, as at both ends of an edge, are multiplied at their source, too.
    const by = alone && !another ? replicaOf(spread, alone, axis)?.origin?.operator : undefined;
    if (alone && by) small.push({ ...carriedSource(shrinker, chain, alone, width, by), weight, axis: event.axis });
    else if (factors.every(isCopied)) refuse('a product of several copied tensors');
    else kept.push({ made: factorProduct(shrinker, entry, axis), weight, width });
  }
  if (small.length === 0) refuse('no term is the same for every copy');
  if (kept.length >= columns.length) refuse('as many products would be left as there are');
  const rest = joinParts(place, kept, linear.weightAxis, chain.axis);
  const wide = kept.reduce((sum, { width }) => sum + width, 0);
  const full = rest && { made: carry(place, spread, chain, rest.made, wide, null), weight: rest.weight };
  finishSum(place, event, linear, grouped(place, small, linear, contracted), full);
}

/** The distinct terms of all blocks, each with the blocks it stands in. */
function entriesOf(place: Place, columns: readonly Column[]): Entry[] {
  const entries: Entry[] = [];
  columns.forEach(({ value, width }, block) => {
    for (const { coefficient, factors } of productsOf(place, value)) {
      const known = entries.find((entry) => entry.width === width && sameFactors(entry.factors, factors));
      if (known) known.weights.push({ block, coefficient });
      else entries.push({ factors, width, weights: [{ block, coefficient }] });
    }
  });
  return entries;
}

/** A term with a free factor stays at full size, but reads the copied factor by broadcasting. */
function factorProduct(s: Shrinker, { factors }: Entry, axis: number): Made {
  const names = factors.map((value): Made => {
    if (!replicaOf(s.spread, value, axis)) return madeOf(s.place.builder, value);
    const small = shrink(s, value, axis);
    if (small.back.kind !== 'all') refuse('a product with looked-up rows needs the copy');
    return small.value;
  });
  const [first, ...rest] = names;
  const full = factors.find((value) => !replicaOf(s.spread, value, axis));
  if (!first || !full) return refuse('a term without factors');
  const name = rest.reduce((product, { name }) => addNode(s.place, 'Mul', [product, name]), first.name);
  return { name, shape: madeOf(s.place.builder, full).shape };
}

/** coefficient1 * W1 + coefficient2 * W2 ...: constant, so that a runtime computes it once at loading. */
function weightOf(place: Place, parts: readonly string[], { weights }: Entry): string {
  let sum: string | null = null;
  // A positive one first, so that no negation is needed where there is one.
  for (const { block, coefficient } of [...weights].sort((a, b) => b.coefficient - a.coefficient)) {
    const part = parts[block] ?? '';
    if (Math.abs(coefficient) !== 1) refuse(`a block counts ${coefficient} times`);
    if (sum === null) sum = coefficient > 0 ? part : addNode(place, 'Neg', [part]);
    else sum = addNode(place, coefficient > 0 ? 'Add' : 'Sub', [sum, part]);
  }
  return sum ?? refuse('a term without a weight');
}

function sameFactors(a: readonly Value[], b: readonly Value[]): boolean {
  const rest = [...b];
  return a.length === b.length && a.every((value) => {
    const at = rest.indexOf(value);
    if (at >= 0) rest.splice(at, 1);
    return at >= 0;
  }); // prettier-ignore
}
