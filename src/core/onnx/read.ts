/** Reads a model: the graph's structure in full, of tensors only where their data lies. */
import type { Attribute, FunctionDef, Graph, Model, Node, Opset, SparseTensor, Tensor, ValueInfo } from './model';
import { readSparse, readTensor, readType } from './read-tensor';
import { bytesText, spend, type Input } from './input';
import { OnnxError, openWindow, type ByteSource, type Window } from './source';
import {
  eachFixed,
  eachInt,
  frameOf,
  int32,
  int64,
  cursorOf,
  nextField,
  schemaOf,
  text,
  type Field,
  type Frame,
} from './wire';

/** Deepest nesting of graphs in attributes; real models stay below 5. */
const MAX_DEPTH = 32;
const MODEL = schemaOf({ 1: '0', 2: '2', 7: '2', 8: '2', 14: '2', 25: '2' });
const GRAPH = schemaOf({ 1: '2', 2: '2', 5: '2', 11: '2', 12: '2', 13: '2', 15: '2' });
const NODE = schemaOf({ 1: '2', 2: '2', 3: '2', 4: '2', 5: '2', 7: '2', 8: '2' });
const ATTRIBUTE = schemaOf({
  1: '2', 2: '5', 3: '0', 4: '2', 5: '2', 6: '2', 7: '25', 8: '02', 9: '2', 10: '2', 11: '2', 20: '0', 21: '2',
}); // prettier-ignore
const FUNCTION = schemaOf({ 1: '2', 4: '2', 5: '2', 6: '2', 7: '2', 9: '2', 10: '2', 11: '2', 13: '2' });
const OPSET = schemaOf({ 1: '2', 2: '0' });
const PAIR = schemaOf({ 1: '2', 2: '2' });

/** Throws `OnnxError` with the byte offset when the bytes are not a readable model. */
export function readModel(source: ByteSource): Model {
  if (source.size === 0) throw new OnnxError('the file is empty', 0);
  const input: Input = { window: openWindow(source), records: 0 };
  const window = input.window;
  let irVersion = 0;
  let producer = '';
  const opsets: Opset[] = [];
  const functions: FunctionDef[] = [];
  const metadata: [string, string][] = [];
  const graph: Frame[] = [];
  for (const field = cursorOf({ start: 0, end: source.size }); nextField(window, field, MODEL);) {
    spend(input, field.tag);
    if (field.number === 1) irVersion = int32(window, field);
    else if (field.number === 2) producer = text(window, field);
    else if (field.number === 7) graph.push(frameOf(field, null, 'the graph'));
    else if (field.number === 8) opsets.push(readOpset(window, field));
    else if (field.number === 14) metadata.push(readEntry(window, field));
    else if (field.number === 25) functions.push(readFunction(input, frameOf(field, null, 'a function'), field.tag));
  }
  if (graph.length === 0) throw new OnnxError('there is no graph: the file is not an ONNX model', 0);
  return { source, irVersion, producer, opsets, functions, metadata, graph: readGraph(input, graph, 0) };
}

function readGraph(input: Input, frames: readonly Frame[], depth: number): Graph {
  const window = input.window;
  const nodes: Node[] = [];
  const initializers: Tensor[] = [];
  const sparse: SparseTensor[] = [];
  const inputs: ValueInfo[] = [];
  const outputs: ValueInfo[] = [];
  const valueInfo: ValueInfo[] = [];
  let name = '';
  for (const frame of frames) {
    if (depth > MAX_DEPTH) throw new OnnxError(`graphs nest deeper than ${MAX_DEPTH}`, frame.tag);
    for (const field = cursorOf(frame); nextField(window, field, GRAPH);) {
      spend(input, field.tag);
      if (field.number === 1) nodes.push(readNode(input, frameOf(field, frame, 'a node'), depth));
      else if (field.number === 2) name = text(window, field);
      else if (field.number === 5) initializers.push(readTensor(input, field));
      else if (field.number === 11) inputs.push(readValueInfo(input, field));
      else if (field.number === 12) outputs.push(readValueInfo(input, field));
      else if (field.number === 13) valueInfo.push(readValueInfo(input, field));
      else if (field.number === 15) sparse.push(readSparse(input, field));
    }
  }
  return { name, nodes, initializers, sparse, inputs, outputs, valueInfo, frames };
}

function readNode(input: Input, frame: Frame, depth: number): Node {
  const window = input.window;
  const inputs: string[] = [];
  const outputs: string[] = [];
  const attributes: Attribute[] = [];
  let name = '';
  let op = '';
  let domain = '';
  let overload = '';
  for (const field = cursorOf(frame); nextField(window, field, NODE);) {
    spend(input, field.tag);
    if (field.number === 1) inputs.push(text(window, field));
    else if (field.number === 2) outputs.push(text(window, field));
    else if (field.number === 3) name = text(window, field);
    else if (field.number === 4) op = text(window, field);
    else if (field.number === 5) attributes.push(readAttribute(input, field, frame, depth));
    else if (field.number === 7) domain = text(window, field);
    else if (field.number === 8) overload = text(window, field);
  }
  // Both spellings name the standard operators.
  if (domain === 'ai.onnx') domain = '';
  const span = { start: frame.tag, end: frame.end };
  return { name, op, domain, overload, inputs, outputs, attributes, span, parent: frame.parent ?? frame };
}

function readAttribute(input: Input, field: Field, node: Frame, depth: number): Attribute {
  const window = input.window;
  const frame = frameOf(field, node, 'an attribute');
  let name = '';
  let type = 0;
  let f = 0;
  let i = 0n;
  let s: string | null = '';
  let t: Tensor | null = null;
  let reference = '';
  const floats: number[] = [];
  const ints: bigint[] = [];
  const strings: (string | null)[] = [];
  const tensors: Tensor[] = [];
  const graphs: Graph[] = [];
  const graph: Frame[] = [];
  for (const part = cursorOf(frame); nextField(window, part, ATTRIBUTE);) {
    spend(input, part.tag);
    if (part.number === 1) name = text(window, part);
    else if (part.number === 2) eachFixed(window, part, 4, (value) => (f = value));
    else if (part.number === 3) i = int64(window, part);
    else if (part.number === 4) s = bytesText(window, part);
    else if (part.number === 5) t = readTensor(input, part);
    else if (part.number === 6) graph.push(frameOf(part, frame, 'a graph'));
    else if (part.number === 7) eachFixed(window, part, 4, (value) => (spend(input, part.tag), floats.push(value)));
    else if (part.number === 8) eachInt(window, part, (value) => (spend(input, part.tag), ints.push(value)));
    else if (part.number === 9) strings.push(bytesText(window, part));
    else if (part.number === 10) tensors.push(readTensor(input, part));
    else if (part.number === 11) graphs.push(readGraph(input, [frameOf(part, frame, 'a graph')], depth + 1));
    else if (part.number === 20) type = int32(window, part);
    else if (part.number === 21) reference = text(window, part);
  }
  const g = graph.length > 0 ? readGraph(input, graph, depth + 1) : null;
  // Models before IR version 2 leave the type out: it follows from the value.
  if (type === 0) type = g ? 5 : t ? 4 : ints.length ? 7 : floats.length ? 6 : strings.length ? 8 : s ? 3 : f ? 1 : 2;
  const span = { start: field.tag, end: field.end };
  return { name, type, f, i, s, t, g, floats, ints, strings, tensors, graphs, reference, span };
}

function readFunction(input: Input, frame: Frame, tag: number): FunctionDef {
  const window = input.window;
  const inputs: string[] = [];
  const outputs: string[] = [];
  const attributes: string[] = [];
  const defaults: Attribute[] = [];
  const nodes: Node[] = [];
  const opsets: Opset[] = [];
  let name = '';
  let domain = '';
  let overload = '';
  for (const field = cursorOf(frame); nextField(window, field, FUNCTION);) {
    spend(input, field.tag);
    if (field.number === 1) name = text(window, field);
    else if (field.number === 4) inputs.push(text(window, field));
    else if (field.number === 5) outputs.push(text(window, field));
    else if (field.number === 6) attributes.push(text(window, field));
    else if (field.number === 7) nodes.push(readNode(input, frameOf(field, frame, 'a node'), 0));
    else if (field.number === 9) opsets.push(readOpset(window, field));
    else if (field.number === 10) domain = text(window, field);
    else if (field.number === 11) defaults.push(readAttribute(input, field, frame, 0));
    else if (field.number === 13) overload = text(window, field);
  }
  attributes.push(...defaults.map((attribute) => attribute.name));
  const span = { start: tag, end: frame.end };
  return { name, domain, overload, inputs, outputs, attributes, defaults, nodes, opsets, span };
}

function readValueInfo(input: Input, field: Field): ValueInfo {
  const window = input.window;
  let name = '';
  let type: ValueInfo['type'] = null;
  for (const part = cursorOf(frameOf(field, null, 'a value')); nextField(window, part, PAIR);) {
    spend(input, part.tag);
    if (part.number === 1) name = text(window, part);
    else if (part.number === 2) type = readType(input, part, 0);
  }
  return { name, type, span: { start: field.tag, end: field.end } };
}

function readOpset(window: Window, field: Field): Opset {
  let domain = '';
  let version = 0;
  for (const part = cursorOf(frameOf(field, null, 'an opset import')); nextField(window, part, OPSET);) {
    if (part.number === 1) domain = text(window, part);
    else if (part.number === 2) version = int32(window, part);
  }
  return { domain: domain === 'ai.onnx' ? '' : domain, version, span: { start: field.tag, end: field.end } };
}

function readEntry(window: Window, field: Field): [string, string] {
  let key = '';
  let value = '';
  for (const part = cursorOf(frameOf(field, null, 'a metadata entry')); nextField(window, part, PAIR);) {
    if (part.number === 1) key = bytesText(window, part) ?? '';
    else if (part.number === 2) value = bytesText(window, part) ?? '';
  }
  return [key, value];
}
