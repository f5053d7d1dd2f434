/**
 * What is known of a value before anything runs: element type, shape, and, for the small integer tensors that shapes are
 * computed from, the elements themselves as polynomials over the input's sizes.
 */
import { constant, divide, equal, format, isOne, multiply, symbol, valueOf, type Dim } from '../../tensor/dim';

export interface Info {
  /** ONNX element type; 0 when unknown. */
  readonly element: number;
  /** Null when not even the rank is known. */
  readonly shape: readonly Dim[] | null;
  /** All elements in row-major order, where known and few; an element may be unknown by itself. */
  readonly data: readonly Dim[] | null;
  /** The value of every element, where all are equal. */
  readonly fill: Dim;
  /** For a sequence: what its elements look like and how many there are. */
  readonly sequence: { readonly of: Info; readonly length: Dim } | null;
}

/** Most elements that are followed one by one. */
export const MAX_DATA = 256;
/** Polynomials that grow beyond this say nothing any more and cost time. */
const MAX_TERMS = 24;

export const UNKNOWN: Info = { element: 0, shape: null, data: null, fill: null, sequence: null };

export function tensor(element: number, shape: readonly Dim[] | null, data: readonly Dim[] | null = null): Info {
  const small = shape ? shape.map(simple) : null;
  const kept = data && data.length <= MAX_DATA ? data.map(simple) : null;
  return { element, shape: small, data: kept, fill: kept ? fillOf(kept) : null, sequence: null };
}

export function filled(element: number, shape: readonly Dim[] | null, fill: Dim): Info {
  const count = shape && countOf(shape);
  const data = fill && count !== null && count <= MAX_DATA ? Array<Dim>(count).fill(fill) : null;
  return { ...tensor(element, shape, data), fill };
}

/** The number of elements when it is a constant. */
export function countOf(shape: readonly Dim[]): number | null {
  let count = 1;
  for (const dim of shape) {
    const size = valueOf(dim);
    // A damaged model may say anything.
    if (size === null || size < 0 || !Number.isInteger(size)) return null;
    count *= size;
  }
  return count;
}

function fillOf(data: readonly Dim[]): Dim {
  const [first] = data;
  return first && data.every((item) => equal(item, first) === true) ? first : null;
}

function simple(dim: Dim): Dim {
  return dim && (dim.length > MAX_TERMS || dim.some(({ symbols }) => symbols.length > MAX_TERMS)) ? null : dim;
}

/** A size that depends on others in a way that is no polynomial: one symbol that equals itself wherever it is made. */
export function opaque(name: string, ...parts: readonly Dim[]): Dim {
  if (parts.some((part) => part === null)) return null;
  const text = `${name}(${parts.map((part) => format(part)).join(', ')})`;
  return text.length > 200 ? null : symbol(text);
}

/** floor(a / b). */
export function quotient(a: Dim, b: Dim): Dim {
  const [x, y] = [valueOf(a), valueOf(b)];
  if (y === 0) return null;
  if (x !== null && y !== null) return constant(Math.floor(x / y));
  if (a && b && equal(a, b) === true) return constant(1);
  const exact = divide(a, b);
  return exact ?? opaque('floor', a, b);
}

/** The size that two sizes broadcast to. Where neither is known to be 1, they are equal or the model is wrong. */
export function broadcastDim(a: Dim, b: Dim): Dim {
  if (isOne(a)) return b;
  if (isOne(b)) return a;
  if (!a || !b) return valueOf(a) === null ? (valueOf(b) === null ? null : b) : a;
  if (equal(a, b) === true || valueOf(a) !== null) return a;
  if (valueOf(b) !== null) return b;
  const [first, second] = [format(a), format(b)].sort();
  return symbol(`max(${first}, ${second})`);
}

export function broadcastShapes(shapes: readonly (readonly Dim[] | null)[]): readonly Dim[] | null {
  let result: readonly Dim[] = [];
  for (const shape of shapes) {
    if (!shape) return null;
    const rank = Math.max(shape.length, result.length);
    const at = (dims: readonly Dim[], i: number): Dim => {
      const j = i - (rank - dims.length);
      return j < 0 ? constant(1) : (dims[j] ?? null);
    };
    const before = result;
    result = Array.from({ length: rank }, (_, i) => broadcastDim(at(before, i), at(shape, i)));
  }
  return result;
}

/** Two facts about the same size: the one that says more. */
export function bestDim(a: Dim, b: Dim): Dim {
  return valueOf(b) !== null && valueOf(a) === null ? b : (a ?? b);
}

export function bestShape(a: readonly Dim[] | null, b: readonly Dim[] | null): readonly Dim[] | null {
  if (!a || !b || a.length !== b.length) return a ?? b;
  return a.map((dim, i) => bestDim(dim, b[i] ?? null));
}

/** What holds after either of two branches. */
export function joinInfo(a: Info, b: Info): Info {
  const same = (x: Dim, y: Dim): Dim => (equal(x, y) === true ? x : null);
  const lists = (x: readonly Dim[] | null, y: readonly Dim[] | null): readonly Dim[] | null =>
    x && y && x.length === y.length ? x.map((dim, i) => same(dim, y[i] ?? null)) : null;
  const sequence =
    a.sequence && b.sequence
      ? { of: joinInfo(a.sequence.of, b.sequence.of), length: same(a.sequence.length, b.sequence.length) }
      : null;
  return {
    element: a.element === b.element ? a.element : 0,
    shape: lists(a.shape, b.shape),
    data: lists(a.data, b.data),
    fill: same(a.fill, b.fill),
    sequence,
  };
}

/** An axis counted from the end made one counted from the start; null when it lies outside. */
export function axisOf(axis: number, rank: number): number | null {
  const at = axis < 0 ? axis + rank : axis;
  return at >= 0 && at < rank ? at : null;
}

/** The elements of a tensor that must be plain integers (axes, permutations), or null. */
export function integers(info: Info | null | undefined): number[] | null {
  if (!info?.data) return null;
  const values = info.data.map((item) => valueOf(item));
  return values.every((value) => value !== null) ? values : null;
}

export const sizeOfShape = (shape: readonly Dim[]): Dim => shape.reduce<Dim>(multiply, constant(1));
