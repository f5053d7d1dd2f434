/** Small models written down in a test. */
import {
  bytesOf,
  concatBytes,
  encodeFunction,
  encodeInts,
  encodeNode,
  encodeTensor,
  textOf,
  varintOf,
  type AttributeValue,
  type NewFunction,
} from '../../../src/core/onnx/encode';

const message = (number: number, ...parts: Uint8Array[]): Uint8Array => bytesOf(number, concatBytes(parts));

export type Sizes = readonly (number | string)[];

const FLOAT = 1;
const INT64 = 7;

function value(field: number, name: string, element: number, sizes: Sizes | null): Uint8Array {
  const shape =
    sizes &&
    message(2, ...sizes.map((size) => message(1, typeof size === 'number' ? varintOf(1, size) : textOf(2, size))));
  return message(field, textOf(1, name), message(2, message(1, varintOf(1, element), ...(shape ? [shape] : []))));
}

export const input = (name: string, ...sizes: Sizes): Uint8Array => value(11, name, FLOAT, sizes);
export const index = (name: string, ...sizes: Sizes): Uint8Array => value(11, name, INT64, sizes);
export const output = (name: string, rank: number): Uint8Array =>
  value(
    12,
    name,
    FLOAT,
    Array.from({ length: rank }, (_, i) => `out${i}`),
  );

export const bool = (name: string): Uint8Array => value(11, name, 9, []);
export const boolOutput = (name: string): Uint8Array => value(12, name, 9, []);

/** A weight with small, different numbers. */
export function weight(name: string, ...dims: number[]): Uint8Array {
  const count = dims.reduce((product, dim) => product * dim, 1);
  const values = Float32Array.from({ length: count }, (_, i) => Math.sin(i * 12.9898 + 1) / 2);
  return encodeTensor(name, FLOAT, dims, new Uint8Array(values.buffer));
}

/** A float weight whose data lie at `offset` of another file. */
export function externalWeight(name: string, location: string, offset: number, ...dims: number[]): Uint8Array {
  const entry = (key: string, text: string): Uint8Array => message(13, textOf(1, key), textOf(2, text));
  const length = dims.reduce((product, dim) => product * dim, 4);
  const places = [entry('location', location), entry('offset', `${offset}`), entry('length', `${length}`)];
  return message(
    5,
    ...dims.map((dim) => varintOf(1, dim)),
    varintOf(2, FLOAT),
    textOf(8, name),
    ...places,
    varintOf(14, 1),
  );
}

export const ints = (name: string, ...values: number[]): Uint8Array =>
  encodeInts(name, [values.length], values.map(BigInt));
export const int = (name: string, value: number): Uint8Array => encodeInts(name, [], [BigInt(value)]);

export type Attributes = Readonly<Record<string, number | readonly number[] | string | { float: number }>>;

function attributesOf(attributes: Attributes): Record<string, AttributeValue> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, given]) => [
      name,
      typeof given === 'number'
        ? BigInt(given)
        : Array.isArray(given)
          ? given.map((item: number) => BigInt(item))
          : (given as AttributeValue),
    ]),
  );
}

/** `node('MatMul', 'x w', 'y')`; `-` leaves an input out. `op` may be `domain:Op`. */
export function node(
  op: string,
  inputs: string,
  outputs: string,
  attributes: Attributes = {},
  graphs: Record<string, Uint8Array> = {},
): Uint8Array {
  const [domain, name] = op.includes(':') ? (op.split(':') as [string, string]) : ['', op];
  const names = inputs
    .split(' ')
    .filter(Boolean)
    .map((input) => (input === '-' ? '' : input));
  const copied = Object.entries(graphs).map(([name, graph]) =>
    message(5, textOf(1, name), bytesOf(6, graph), varintOf(20, 5)),
  );
  return encodeNode({
    op: name,
    domain,
    name: `n_${outputs.split(' ')[0]}`,
    inputs: names,
    outputs: outputs.split(' '),
    attributes: attributesOf(attributes),
    copied,
  });
}

export const graph = (...parts: Uint8Array[]): Uint8Array => concatBytes([...parts, textOf(2, 'body')]);

export interface ModelParts {
  readonly opset?: number;
  readonly domains?: readonly string[];
  readonly functions?: readonly NewFunction[];
}

export function model(
  parts: readonly Uint8Array[],
  { opset = 17, domains = [], functions = [] }: ModelParts = {},
): Uint8Array {
  const imports = [
    message(8, textOf(1, ''), varintOf(2, opset)),
    ...domains.map((domain) => message(8, textOf(1, domain), varintOf(2, 1))),
  ];
  return concatBytes([
    varintOf(1, 10),
    ...imports,
    message(7, ...parts, textOf(2, 'g')),
    ...functions.map(encodeFunction),
  ]);
}
