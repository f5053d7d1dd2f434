/** Encodes the messages that a rewrite adds: nodes, initializers, values, functions. */

const encoder = new TextEncoder();

export function encodeVarint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

const tag = (number: number, wire: number): Uint8Array => encodeVarint(BigInt(number * 8 + wire));

export const varintOf = (number: number, value: number | bigint): Uint8Array =>
  concatBytes([tag(number, 0), encodeVarint(BigInt(value))]);

export const bytesOf = (number: number, bytes: Uint8Array): Uint8Array =>
  concatBytes([tag(number, 2), encodeVarint(BigInt(bytes.length)), bytes]);

export const textOf = (number: number, text: string): Uint8Array => bytesOf(number, encoder.encode(text));

const messageOf = (number: number, parts: readonly Uint8Array[]): Uint8Array => bytesOf(number, concatBytes(parts));

function floatOf(number: number, value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return concatBytes([tag(number, 5), bytes]);
}

/** An attribute's value: an integer, a list of integers, a float, a text, or a reference to a function's attribute. */
export type AttributeValue =
  | bigint
  | readonly bigint[]
  | { readonly float: number }
  | string
  | { readonly reference: string; readonly type: number };

export interface NewNode {
  readonly op: string;
  readonly domain?: string;
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  /** Encoded AttributeProto fields, copied from a node of the file. */
  readonly copied?: readonly Uint8Array[];
}

/** The node as field `number` of its parent: 1 in a graph, 7 in a function. */
export function encodeNode(node: NewNode, number: 1 | 7 = 1): Uint8Array {
  return messageOf(number, [
    ...node.inputs.map((name) => textOf(1, name)),
    ...node.outputs.map((name) => textOf(2, name)),
    textOf(3, node.name),
    textOf(4, node.op),
    ...Object.entries(node.attributes ?? {}).map(([name, value]) => encodeAttribute(name, value)),
    ...(node.copied ?? []),
    ...(node.domain ? [textOf(7, node.domain)] : []),
  ]);
}

export function encodeAttribute(name: string, value: AttributeValue): Uint8Array {
  const parts = [textOf(1, name)];
  if (typeof value === 'bigint') parts.push(varintOf(3, value), varintOf(20, 2));
  else if (typeof value === 'string') parts.push(textOf(4, value), varintOf(20, 3));
  else if ('float' in value) parts.push(floatOf(2, value.float), varintOf(20, 1));
  else if ('reference' in value) parts.push(varintOf(20, value.type), textOf(21, value.reference));
  else parts.push(...value.map((item) => varintOf(8, item)), varintOf(20, 7));
  return messageOf(5, parts);
}

/** An int64 initializer (field 5 of a graph). */
export function encodeInts(name: string, dims: readonly number[], values: readonly bigint[]): Uint8Array {
  const raw = new Uint8Array(values.length * 8);
  const view = new DataView(raw.buffer);
  values.forEach((value, i) => view.setBigInt64(i * 8, value, true));
  return encodeTensor(name, 7, dims, raw);
}

/** An initializer with the given raw little-endian data. */
export function encodeTensor(name: string, element: number, dims: readonly number[], raw: Uint8Array): Uint8Array {
  return messageOf(5, [...dims.map((dim) => varintOf(1, dim)), varintOf(2, element), textOf(8, name), bytesOf(9, raw)]);
}

export const encodeOpset = (domain: string, version: number, number: 8 | 9 = 8): Uint8Array =>
  messageOf(number, [textOf(1, domain), varintOf(2, version)]);

export interface NewFunction {
  readonly name: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: readonly string[];
  readonly nodes: readonly NewNode[];
  readonly opsets: readonly { readonly domain: string; readonly version: number }[];
  readonly documentation: string;
}

/** A model-local function (field 25 of the model). */
export function encodeFunction(def: NewFunction): Uint8Array {
  return messageOf(25, [
    textOf(1, def.name),
    ...def.inputs.map((name) => textOf(4, name)),
    ...def.outputs.map((name) => textOf(5, name)),
    ...def.attributes.map((name) => textOf(6, name)),
    ...def.nodes.map((node) => encodeNode(node, 7)),
    textOf(8, def.documentation),
    ...def.opsets.map(({ domain, version }) => encodeOpset(domain, version, 9)),
    textOf(10, def.domain),
  ]);
}
