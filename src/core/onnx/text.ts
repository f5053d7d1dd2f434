/**
 * A model as text in ONNX's own textual syntax, one node a line, weights elided, with a map from lines to nodes. This is
 * what the editor shows and what findings point into: the same model always gives the same lines.
 */
import type { Attribute, FunctionDef, Graph, Model, Node, Opset, Tensor, Type, ValueInfo } from './model';
import { ELEMENT_TYPES } from './model';
import { elementCount, readValues } from './data';

export interface LineRange {
  /** 1-based, both inclusive. A node without subgraphs has one line. */
  readonly first: number;
  readonly last: number;
  /** 1-based column of the first character, and the column after the last one of the first line. */
  readonly column: number;
  readonly endColumn: number;
}

export interface ModelText {
  readonly text: string;
  readonly nodes: ReadonlyMap<Node, LineRange>;
  /** Lines that declare graph inputs and initializers, by name, of the main graph. */
  readonly declarations: ReadonlyMap<string, LineRange>;
}

interface Printer {
  readonly model: Model;
  readonly lines: string[];
  readonly nodes: Map<Node, LineRange>;
  readonly declarations: Map<string, LineRange>;
}

/** Tensors of at most so many elements are printed in full: axes, shapes and scalars are, weights are not. */
const MAX_ELEMENTS = 16;
/** Longer lists are data (the trees of a forest), not parameters. */
const MAX_ITEMS = 1024;

export function printModel(model: Model): ModelText {
  const out: Printer = { model, lines: [], nodes: new Map(), declarations: new Map() };
  out.lines.push('<');
  const header = [`ir_version: ${model.irVersion}`, `opset_import: ${opsets(model.opsets)}`];
  if (model.producer) header.push(`producer_name: ${quoted(model.producer)}`);
  if (model.metadata.length > 0) {
    header.push(
      `metadata_props: [${model.metadata.map(([key, value]) => `${quoted(key)}: ${quoted(value)}`).join(', ')}]`,
    );
  }
  header.forEach((line, i) => out.lines.push(`   ${line}${i + 1 < header.length ? ',' : ''}`));
  out.lines.push('>');
  printGraph(out, model.graph, '', true);
  for (const def of model.functions) printFunction(out, def);
  return { text: `${out.lines.join('\n')}\n`, nodes: out.nodes, declarations: out.declarations };
}

function printGraph(out: Printer, graph: Graph, indent: string, main = false): void {
  printSignature(out, graph, indent, main);
  if (graph.initializers.length > 0 || graph.sparse.length > 0) {
    const tensors = [
      ...graph.initializers,
      ...graph.sparse.flatMap(({ values, dims }) => (values ? [{ ...values, dims }] : [])),
    ];
    out.lines.push(`${indent}<`);
    tensors.forEach((tensor, i) => {
      const line = `${indent}   ${tensorType(tensor)} ${name(tensor.name)} = ${tensorValue(out.model, tensor)}`;
      if (main) out.declarations.set(tensor.name, lineRange(out, line, indent.length + 3));
      out.lines.push(`${line}${i + 1 < tensors.length ? ',' : ''}`);
    });
    out.lines.push(`${indent}>`);
  }
  out.lines.push(`${indent}{`);
  for (const node of graph.nodes) printNode(out, node, `${indent}   `);
  out.lines.push(`${indent}}`);
}

/** One parameter a line when there are several, so that a change of one is a change of one line. */
function printSignature(out: Printer, graph: Graph, indent: string, main: boolean): void {
  const title = name(graph.name || 'graph');
  const outputs = graph.outputs.map(valueText).join(', ');
  if (!main || graph.inputs.length <= 1) {
    const line = `${indent}${title} (${graph.inputs.map(valueText).join(', ')}) => (${outputs})`;
    for (const info of graph.inputs) if (main) out.declarations.set(info.name, lineRange(out, line, indent.length));
    out.lines.push(line);
    return;
  }
  out.lines.push(`${indent}${title} (`);
  graph.inputs.forEach((info, i) => {
    const line = `${indent}   ${valueText(info)}${i + 1 < graph.inputs.length ? ',' : ''}`;
    out.declarations.set(info.name, lineRange(out, line, indent.length + 3));
    out.lines.push(line);
  });
  out.lines.push(`${indent}) => (${outputs})`);
}

function lineRange(out: Printer, line: string, indent: number): LineRange {
  const at = out.lines.length + 1;
  return { first: at, last: at, column: indent + 1, endColumn: line.length + 1 };
}

function printNode(out: Printer, node: Node, indent: string): void {
  const label = node.name ? `[${name(node.name)}] ` : '';
  const outputs = node.outputs.map((output) => (output ? name(output) : '""')).join(', ');
  const operator = operatorText(node);
  const inputs = `(${node.inputs.map((input) => (input ? name(input) : '""')).join(', ')})`;
  const flat = node.attributes.filter((a) => !a.g && a.graphs.length === 0);
  const nested = node.attributes.filter((a) => a.g || a.graphs.length > 0);
  const attributes = flat.map((a) => attributeText(out.model, a)).join(', ');
  const start = `${indent}${label}${outputs} = ${operator}`;
  const range = lineRange(out, '', indent.length);
  out.nodes.set(node, range); // before those of its subgraphs
  if (nested.length === 0) {
    out.lines.push(`${start}${attributes ? ` <${attributes}>` : ''} ${inputs}`);
  } else {
    out.lines.push(`${start} ${inputs} <${attributes}${attributes ? ',' : ''}`);
    nested.forEach((a, i) => {
      const graphs = a.g ? [a.g, ...a.graphs] : a.graphs;
      out.lines.push(`${indent}   ${name(a.name)}${graphs.length === 1 && !a.g ? ': graphs' : ''} =`);
      for (const graph of graphs) printGraph(out, graph, `${indent}   `);
      if (i + 1 < nested.length) out.lines[out.lines.length - 1] += ',';
    });
    out.lines.push(`${indent}>`);
  }
  out.nodes.set(node, { ...range, last: out.lines.length, endColumn: (out.lines[range.first - 1]?.length ?? 0) + 1 });
}

function operatorText({ domain, op, overload }: Node): string {
  const place = /^[A-Za-z_][A-Za-z0-9_.]*$/.test(domain) ? domain : quoted(domain);
  return `${domain ? `${place}.` : ''}${name(op)}${overload ? `:${name(overload)}` : ''}`;
}

function printFunction(out: Printer, def: FunctionDef): void {
  out.lines.push('<', `   domain: ${quoted(def.domain)}${def.overload ? `, overload: ${quoted(def.overload)}` : ''},`);
  out.lines.push(`   opset_import: ${opsets(def.opsets)}`, '>');
  const attributes = def.attributes.length > 0 ? ` <${def.attributes.map(name).join(', ')}>` : '';
  out.lines.push(
    `${name(def.name)}${attributes} (${def.inputs.map(name).join(', ')}) => (${def.outputs.map(name).join(', ')})`,
  );
  out.lines.push('{');
  for (const node of def.nodes) printNode(out, node, '   ');
  out.lines.push('}');
}

const opsets = (list: readonly Opset[]): string =>
  `[${list.map(({ domain, version }) => `${quoted(domain)} : ${version}`).join(', ')}]`;

/** A name as the syntax takes it: bare when it is an identifier, else quoted. Dots stand in domains alone. */
export function name(text: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? text : quoted(text);
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(text: string): string {
  // Almost all names need no escape.
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`;
  const escape = (c: string): string => ESCAPES[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
  // eslint-disable-next-line no-control-regex -- control characters in names must not reach a terminal
  return `"${text.replace(/["\\\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escape)}"`;
}

const elementName = (element: number): string => ELEMENT_TYPES[element] ?? `type${element}`;

const valueText = (info: ValueInfo): string =>
  info.type ? `${typeText(info.type)} ${name(info.name)}` : name(info.name);

function typeText(type: Type | null): string {
  if (!type) return '?';
  switch (type.kind) {
    case 'tensor':
      return tensorTypeText(type);
    case 'sparse':
      return `sparse_tensor(${tensorTypeText(type)})`;
    case 'sequence':
      return `seq(${typeText(type.of)})`;
    case 'optional':
      return `optional(${typeText(type.of)})`;
    case 'map':
      return `map(${elementName(type.key)}, ${typeText(type.of)})`;
    case 'opaque':
      return 'opaque';
  }
}

/** `float` is a scalar, `float[]` a tensor of unknown rank. */
function tensorTypeText(type: Extract<Type, { kind: 'tensor' | 'sparse' }>): string {
  const element = elementName(type.element);
  if (!type.shape) return `${element}[]`;
  if (type.shape.length === 0) return element;
  return `${element}[${type.shape.map((dim) => (dim === null ? '?' : typeof dim === 'number' ? dim : name(dim))).join(',')}]`;
}

const tensorType = (tensor: Tensor): string =>
  elementName(tensor.element) + (tensor.dims.length > 0 ? `[${tensor.dims.join(',')}]` : '');

function tensorValue(model: Model, tensor: Tensor): string {
  if (tensor.external?.location) {
    const { location, offset, length } = tensor.external;
    return `["location": ${quoted(location)}, "offset": "${offset}"${length === null ? '' : `, "length": "${length}"`}]`;
  }
  const count = elementCount(tensor.dims);
  const values =
    count <= MAX_ELEMENTS && WRITTEN.has(tensor.element) ? readValues(model.source, tensor, MAX_ELEMENTS) : null;
  if (!values) return '{...}';
  const write = tensor.element === DOUBLE ? doubleText : FLOATS.has(tensor.element) ? floatText : intText;
  return `{${values.map(write).join(', ')}}`;
}

/** Element types that have a plain form as text: small floats and half bytes have none. */
const WRITTEN = new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16]);
const DOUBLE = 11;
const FLOATS = new Set([1, 10, 16]);

/** Values saturate at 2^53; the largest int64 is what exporters write for "to the end". */
const intText = (value: number): string => (value === Number.MAX_SAFE_INTEGER ? '9223372036854775807' : String(value));

/** The shortest text that gives the same 32-bit float again. */
function floatText(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return doubleText(short);
  }
  return doubleText(Number.isFinite(value) ? Number(value.toPrecision(9)) : value);
}

function doubleText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  const text = Object.is(value, -0) ? '-0' : String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function attributeText(model: Model, a: Attribute): string {
  if (a.reference) return `${name(a.name)}: ${ATTRIBUTE_TYPES[a.type] ?? 'undefined'} = @${a.reference}`;
  const value = attributeValue(model, a);
  // An empty list does not show what it is a list of.
  return `${name(a.name)}${value === '[]' ? `: ${ATTRIBUTE_TYPES[a.type] ?? 'undefined'}` : ''} = ${value}`;
}

/** AttributeProto.AttributeType by its name in the text. */
export const ATTRIBUTE_TYPES = [
  'undefined', 'float', 'int', 'string', 'tensor', 'graph', 'floats', 'ints', 'strings', 'tensors', 'graphs',
]; // prettier-ignore

function attributeValue(model: Model, a: Attribute): string {
  switch (a.type) {
    case 1:
      return floatText(a.f);
    case 2:
      return String(a.i);
    case 3:
      return a.s === null ? '"..."' : quoted(a.s);
    case 4:
      return a.t ? `${tensorType(a.t)} ${tensorValue(model, a.t)}` : '{...}';
    case 6:
      return list(a.floats.map(floatText));
    case 7:
      return list(a.ints.map(String));
    case 8:
      return list(a.strings.map((text) => (text === null ? '"..."' : quoted(text))));
    case 9:
      return list(a.tensors.map((t) => `${tensorType(t)} ${tensorValue(model, t)}`));
    default:
      return '{...}';
  }
}

const list = (items: readonly string[]): string =>
  `[${items.length > MAX_ITEMS ? [...items.slice(0, MAX_ITEMS), '...'].join(', ') : items.join(', ')}]`;
