/**
 * A model as read: names, operators, attributes and types; of every tensor's data only where it lies. Every record
 * keeps its byte range, so that an edit can replace exactly that range.
 */
import type { ByteSource } from './source';
import type { Frame, Span } from './wire';

/** ONNX element types by their numbers in TensorProto.DataType. */
export const ELEMENT_TYPES = [
  'undefined', 'float', 'uint8', 'int8', 'uint16', 'int16', 'int32', 'int64', 'string', 'bool', 'float16', 'double',
  'uint32', 'uint64', 'complex64', 'complex128', 'bfloat16', 'float8e4m3fn', 'float8e4m3fnuz', 'float8e5m2',
  'float8e5m2fnuz', 'uint4', 'int4', 'float4e2m1', 'float8e8m0', 'uint2', 'int2',
] as const; // prettier-ignore

export interface Opset {
  readonly domain: string;
  readonly version: number;
  /** Tag to end of the import. */
  readonly span: Span;
}

/** A size as written in the file: a number, a symbol, or null when nothing is said. */
export type FileDim = number | string | null;

export type Type =
  | { readonly kind: 'tensor' | 'sparse'; readonly element: number; readonly shape: readonly FileDim[] | null }
  | { readonly kind: 'sequence' | 'optional'; readonly of: Type | null }
  | { readonly kind: 'map'; readonly key: number; readonly of: Type | null }
  | { readonly kind: 'opaque' };

export interface ValueInfo {
  readonly name: string;
  readonly type: Type | null;
  readonly span: Span;
}

/** Where a tensor's values are: fields of the message (tag to end, possibly several runs), or a file beside the model. */
export interface Tensor {
  readonly name: string;
  readonly element: number;
  readonly dims: readonly number[];
  /** The payload of raw_data. */
  readonly raw: Span | null;
  /** Runs of float_data, int32_data, string_data, int64_data, double_data or uint64_data fields, tags included. */
  readonly typed: { readonly field: number; readonly runs: readonly Span[] } | null;
  readonly external: { readonly location: string; readonly offset: number; readonly length: number | null } | null;
  /** Tag to end of the whole field, for replacing it. */
  readonly span: Span;
}

export interface SparseTensor {
  readonly values: Tensor | null;
  readonly indices: Tensor | null;
  readonly dims: readonly number[];
  readonly span: Span;
}

/** One attribute; exactly one of the values is meaningful, as `type` says (AttributeProto.AttributeType). */
export interface Attribute {
  readonly name: string;
  readonly type: number;
  readonly f: number;
  readonly i: bigint;
  /** Null when longer than 64 KiB (a compiled blob): then only `span` says where it is. */
  readonly s: string | null;
  readonly t: Tensor | null;
  readonly g: Graph | null;
  readonly floats: readonly number[];
  readonly ints: readonly bigint[];
  readonly strings: readonly (string | null)[];
  readonly tensors: readonly Tensor[];
  readonly graphs: readonly Graph[];
  /** Inside a function: the function's attribute that supplies the value. */
  readonly reference: string;
  readonly span: Span;
}

export interface Node {
  readonly name: string;
  readonly op: string;
  readonly domain: string;
  readonly overload: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: readonly Attribute[];
  /** Tag to end of the node. */
  readonly span: Span;
  /** The message that holds the node: a graph or a function. */
  readonly parent: Frame;
}

export interface Graph {
  readonly name: string;
  readonly nodes: readonly Node[];
  readonly initializers: readonly Tensor[];
  readonly sparse: readonly SparseTensor[];
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly valueInfo: readonly ValueInfo[];
  /** More than one when the file splits the graph over several fields, which protobuf merges. */
  readonly frames: readonly Frame[];
}

export interface FunctionDef {
  readonly name: string;
  readonly domain: string;
  readonly overload: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: readonly string[];
  /** Values of attributes that a call may leave out. */
  readonly defaults: readonly Attribute[];
  readonly nodes: readonly Node[];
  readonly opsets: readonly Opset[];
  readonly span: Span;
}

export interface Model {
  readonly source: ByteSource;
  readonly irVersion: number;
  readonly producer: string;
  readonly opsets: readonly Opset[];
  readonly graph: Graph;
  readonly functions: readonly FunctionDef[];
  readonly metadata: readonly (readonly [key: string, value: string])[];
}
