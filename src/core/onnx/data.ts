/** Reads the values of small tensors (shapes, indices, scalars); weights are never asked for. */
import type { Tensor } from './model';
import { memorySource, openWindow, type ByteSource } from './source';
import { eachFixed, eachInt, fields } from './wire';

const WIDTH: Readonly<Record<number, number>> = {
  1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2,
}; // prettier-ignore

/** Bytes of one element, null for strings and types below one byte. */
export const elementBytes = (element: number): number | null => WIDTH[element] ?? null;

export const elementCount = (dims: readonly number[]): number => dims.reduce((product, dim) => product * dim, 1);

/**
 * The values as numbers, in row-major order: int64 beyond 2^53 saturates, half floats are decoded. Null when there are
 * more than `limit`, when they are strings or complex, in another file, or not as many as the shape says.
 */
export function readValues(source: ByteSource, tensor: Tensor, limit: number): number[] | null {
  const count = elementCount(tensor.dims);
  if (tensor.external || count > limit) return null;
  if (count === 0) return [];
  const values = tensor.raw ? rawValues(source, tensor, count) : typedValues(source, tensor, count);
  return values?.length === count ? values : null;
}

function rawValues(source: ByteSource, tensor: Tensor, count: number): number[] | null {
  const width = elementBytes(tensor.element);
  if (!tensor.raw || !width || tensor.raw.end - tensor.raw.start !== count * width) return null;
  const bytes = source.read(tensor.raw.start, count * width);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = decoder(view, tensor.element);
  return read && Array.from({ length: count }, (_, i) => read(i * width));
}

function decoder(view: DataView, element: number): ((at: number) => number) | null {
  switch (element) {
    case 1:
      return (at) => view.getFloat32(at, true);
    case 2:
    case 9:
      return (at) => view.getUint8(at);
    case 3:
      return (at) => view.getInt8(at);
    case 4:
      return (at) => view.getUint16(at, true);
    case 5:
      return (at) => view.getInt16(at, true);
    case 6:
      return (at) => view.getInt32(at, true);
    case 7:
      return (at) => saturate(view.getBigInt64(at, true));
    case 10:
      return (at) => halfFloat(view.getUint16(at, true));
    case 11:
      return (at) => view.getFloat64(at, true);
    case 12:
      return (at) => view.getUint32(at, true);
    case 13:
      return (at) => saturate(view.getBigUint64(at, true));
    case 16:
      return (at) => brainFloat(view.getUint16(at, true));
    default:
      return null;
  }
}

function typedValues(source: ByteSource, tensor: Tensor, count: number): number[] | null {
  const { typed, element } = tensor;
  if (!typed || typed.field === 6 || element === 14 || element === 15) return null;
  const values: number[] = [];
  const int = (value: bigint): void => {
    if (values.length > count) return;
    const number = saturate(value);
    values.push(element === 10 ? halfFloat(number) : element === 16 ? brainFloat(number) : number);
  };
  for (const { start, end } of typed.runs) {
    // Every value takes a byte at least and eleven with its tag at most: a longer run has another count.
    if (end - start > 16 + 11 * count) return null;
    const window = openWindow(memorySource(source.read(start, end - start).slice()));
    for (const field of fields(window, { start: 0, end: end - start })) {
      if (typed.field === 4) eachFixed(window, field, 4, (value) => values.length <= count && values.push(value));
      else if (typed.field === 10) eachFixed(window, field, 8, (value) => values.length <= count && values.push(value));
      else eachInt(window, field, int);
    }
  }
  return values;
}

export function saturate(value: bigint): number {
  const limit = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(value > limit ? limit : value < -limit ? -limit : value);
}

function halfFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

function brainFloat(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint16(2, bits, true);
  return view.getFloat32(0, true);
}
