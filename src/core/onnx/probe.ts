/**
 * Inputs to try a model with: sizes are primes, so that no two axes agree by accident, numbers are random, and indices
 * are unsorted, repeated and negative ones among them.
 */
import { evaluate, symbolsOf, valueOf, type Dim } from '../tensor/dim';
import { intOf } from './attributes';
import type { Analysed } from './analyse';
import type { Value } from './graph';
import { axisOf } from './infer/info';
import { originsOf } from './judge/select';

export interface ProbeInput {
  readonly name: string;
  /** ONNX element type. */
  readonly element: number;
  readonly dims: readonly number[];
  readonly values: readonly number[];
}

/** Larger inputs prove no more and take long to hand over. */
const MAX_VALUES = 20_000_000;

const PRIMES = [5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43];

/**
 * Numbers for the model's free sizes. `small`: every size that is copied from is 1, as with a single user.
 * `given` sizes win. Sizes that must equal an expression of others (4*U = B) get its value.
 */
export function probeSizes(
  analysed: Analysed,
  small: boolean,
  given: Readonly<Record<string, number>> = {},
): Map<string, number> {
  const { program, graph, matches } = analysed;
  const sources = new Set(
    matches.flatMap((match) => originsOf(match).flatMap(({ mapped }) => symbolsOf(mapped.source))),
  );
  const names = [...new Set(graph.main.inputs.flatMap((value) => (program.shape(value) ?? []).flatMap(symbolsOf)))];
  const equations = sizeEquations(analysed);
  const sizes = new Map<string, number>();
  const free = names.filter((name) => !equations.some(({ symbol }) => symbol === name));
  free.forEach((name, i) =>
    sizes.set(name, given[name] ?? (small && sources.has(name) ? 1 : (PRIMES[i % PRIMES.length] ?? 5))),
  );
  for (const { symbol, value } of equations)
    sizes.set(symbol, evaluate(value, (name) => sizes.get(name) ?? factorOf(name)) ?? 5);
  return sizes;
}

/** In `U*floor(B, U) = B` any factor will do: the quotient stands for a number of its own. */
const factorOf = (name: string): number | null => (/^floor\(/.test(name) ? 3 : null);

/** Sizes of inputs that the graph forces: those of the other parts of a concatenation. */
function sizeEquations({ program, graph }: Analysed): { symbol: string; value: Dim }[] {
  const found = new Map<string, Dim>();
  for (const op of graph.main.operators) {
    if (op.node.op !== 'Concat') continue;
    const shapes = op.inputs.flatMap((value) => (value ? [program.shape(value)] : []));
    const axis = axisOf(intOf(op, 'axis', 0), shapes[0]?.length ?? 0);
    shapes[0]?.forEach((_, i) => {
      const dims = i === axis ? [] : shapes.flatMap((shape) => (shape?.[i] ? [shape[i]] : []));
      for (const a of dims) for (const b of dims) addEquation(found, a ?? null, b ?? null);
    });
  }
  return [...found].map(([symbol, value]) => ({ symbol, value }));
}

function addEquation(found: Map<string, Dim>, a: Dim, b: Dim): void {
  const [only] = a ?? [];
  if (!a || !b || a.length !== 1 || only?.coef !== 1 || only.symbols.length !== 1) return;
  const symbol = only.symbols[0] ?? '';
  if (/\(/.test(symbol) || found.has(symbol) || symbolsOf(b).includes(symbol)) return;
  const product = b.length > 1 || (b[0]?.symbols.length ?? 0) > 1 || b[0]?.coef !== 1;
  if (product || valueOf(b) !== null) found.set(symbol, b);
}

/** One input per graph input that no initializer fills. Throws, in words, for inputs that cannot be made up. */
export function probeInputs(analysed: Analysed, sizes: ReadonlyMap<string, number>, seed: number): ProbeInput[] {
  const random = generator(seed);
  const { graph, program } = analysed;
  return graph.main.inputs.filter(({ isInput }) => isInput).map((value) => {
    const info = program.infer.of(value);
    if (!info.shape || info.sequence) throw new Error(`input '${value.name}' is not a tensor of known rank`);
    const dims = info.shape.map((dim) => evaluate(dim, (name) => sizes.get(name) ?? null) ?? 1);
    const count = dims.reduce((product, dim) => product * dim, 1);
      if (count > MAX_VALUES) throw new Error(`input '${value.name}' would have ${count} values`);
    const bound = indexBound(analysed, value, sizes);
    const values = Array.from({ length: count }, () => element(info.element, bound, random));
    return { name: value.name, element: info.element, dims, values };
  }); // prettier-ignore
}

const FLOATS = new Set([1, 10, 11, 16]);
const BOOL = 9;

function element(type: number, bound: number | null, random: () => number): number {
  if (FLOATS.has(type)) return random() * 2 - 1;
  if (type === BOOL) return random() < 0.5 ? 0 : 1;
  if (bound !== null) return Math.floor(random() * 2 * bound) - bound;
  return Math.floor(random() * 2);
}

/** The smallest axis that the value looks up in, through casts and views; null where it is no index. */
function indexBound(analysed: Analysed, value: Value, sizes: ReadonlyMap<string, number>): number | null {
  const seen = new Set<Value>();
  const queue = [value];
  let bound: number | null = null;
  for (let at = queue.pop(); at; at = queue.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    for (const { operator, index } of at.uses) {
      const [data] = operator.inputs;
      if (/^Gather/.test(operator.node.op) && index === 1 && data) {
        const shape = analysed.program.shape(data);
        const axis = shape && axisOf(intOf(operator, 'axis', 0), shape.length);
        const size =
          shape && axis !== null ? evaluate(shape[axis ?? 0] ?? null, (name) => sizes.get(name) ?? null) : null;
        if (size !== null) bound = Math.min(bound ?? size, size);
      } else if (
        /^(Cast|Unsqueeze|Squeeze|Reshape|Identity|Expand|Transpose|Concat|Gather)$/.test(operator.node.op) &&
        index === 0
      ) {
        for (const out of operator.outputs) if (out) queue.push(out);
      }
    }
  }
  return bound;
}

/** mulberry32: small, seeded, the same everywhere. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
