/**
 * Reads ONNX's textual syntax as `printModel` writes it and people change it: to the bytes of the model, and the place of
 * every node and declaration in the text. Weights that the text leaves out (`{...}`) are tensors without values.
 */
import { bytesOf, concatBytes, encodeOpset, textOf, varintOf } from '../encode';
import { parseGraph, parseNode, type Parse } from './graph';
import { openLexer, type Lexer } from './lexer';
import type { TextSpan } from './spans';

export interface ParsedText {
  /** ModelProto. */
  readonly bytes: Uint8Array;
  /** The nodes in the order of the file: each before those of its subgraphs. */
  readonly nodes: readonly TextSpan[];
  /** Inputs and initializers of the main graph. */
  readonly declarations: ReadonlyMap<string, TextSpan>;
}

/** Throws `OnnxTextError`. */
export function parseModelText(text: string): ParsedText {
  const lexer = openLexer(text);
  const parse: Parse = { lexer, nodes: [], declarations: new Map() };
  const parts = header(lexer);
  parts.push(bytesOf(7, parseGraph(parse, 0)));
  while (lexer.peek().kind !== 'end') parts.push(bytesOf(25, parseFunction(parse)));
  return { bytes: concatBytes(parts), nodes: parse.nodes, declarations: parse.declarations };
}

/** `< ir_version: 8, opset_import: ["" : 17], ... >`: fields of ModelProto. */
function header(lexer: Lexer): Uint8Array[] {
  const parts: Uint8Array[] = [];
  lexer.expect('<', 'at the beginning of a model');
  while (!lexer.is('>')) {
    const token = lexer.peek();
    const key = lexer.name('a property of the model');
    lexer.expect(':', `after '${key}'`);
    if (key === 'ir_version') parts.push(varintOf(1, integer(lexer)));
    else if (key === 'model_version') parts.push(varintOf(5, integer(lexer)));
    else if (key === 'producer_name') parts.push(textOf(2, lexer.name('a quoted name')));
    else if (key === 'producer_version') parts.push(textOf(3, lexer.name('a quoted version')));
    else if (key === 'domain') parts.push(textOf(4, lexer.name('a quoted domain')));
    else if (key === 'doc_string') parts.push(textOf(6, lexer.name('a quoted text')));
    else if (key === 'opset_import') parts.push(...opsets(lexer, 8));
    else if (key === 'metadata_props') parts.push(...entries(lexer).map((entry) => bytesOf(14, entry)));
    else lexer.fail('no such property of a model', token);
    if (!lexer.take(',')) break;
  }
  lexer.expect('>', 'after the properties of the model');
  return parts;
}

function integer(lexer: Lexer): bigint {
  const text = lexer.number('a number');
  return /^\d+$/.test(text) ? BigInt(text) : lexer.fail(`'${text}' is no whole number`);
}

function opsets(lexer: Lexer, field: 8 | 9): Uint8Array[] {
  return bracketed(lexer, () => {
    const domain = lexer.name('a quoted domain');
    lexer.expect(':', 'after the domain');
    return encodeOpset(domain, Number(integer(lexer)), field);
  });
}

function entries(lexer: Lexer): Uint8Array[] {
  return bracketed(lexer, () => {
    const key = lexer.name('a quoted key');
    lexer.expect(':', 'after the key');
    return concatBytes([textOf(1, key), textOf(2, lexer.name('a quoted value'))]);
  });
}

function bracketed(lexer: Lexer, item: () => Uint8Array): Uint8Array[] {
  const items: Uint8Array[] = [];
  lexer.expect('[', 'before the list');
  while (!lexer.is(']')) {
    items.push(item());
    if (!lexer.take(',')) break;
  }
  lexer.expect(']', 'after the list');
  return items;
}

/** FunctionProto: `< domain: "own", opset_import: [...] > name <attributes> (inputs) => (outputs) { nodes }`. */
function parseFunction(parse: Parse): Uint8Array {
  const { lexer } = parse;
  const parts: Uint8Array[] = [];
  lexer.expect('<', 'before the properties of a function');
  while (!lexer.is('>')) {
    const token = lexer.peek();
    const key = lexer.name('a property of the function');
    lexer.expect(':', `after '${key}'`);
    if (key === 'domain') parts.push(textOf(10, lexer.name('a quoted domain')));
    else if (key === 'overload') parts.push(textOf(13, lexer.name('a quoted overload')));
    else if (key === 'doc_string') parts.push(textOf(8, lexer.name('a quoted text')));
    else if (key === 'opset_import') parts.push(...opsets(lexer, 9));
    else lexer.fail('no such property of a function', token);
    if (!lexer.take(',')) break;
  }
  lexer.expect('>', 'after the properties of a function');
  parts.push(textOf(1, lexer.name('the name of a function')));
  if (lexer.take('<')) parts.push(...names(lexer, '>', 6));
  lexer.expect('(', 'before the inputs of a function');
  parts.push(...names(lexer, ')', 4));
  lexer.expect('=>', 'between the inputs and outputs of a function');
  lexer.expect('(', 'before the outputs of a function');
  parts.push(...names(lexer, ')', 5));
  lexer.expect('{', 'before the nodes of a function');
  while (!lexer.is('}')) parts.push(bytesOf(7, parseNode(parse, 0)));
  lexer.expect('}', 'after the nodes of a function');
  return concatBytes(parts);
}

function names(lexer: Lexer, close: string, field: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  while (!lexer.is(close)) {
    parts.push(textOf(field, lexer.name('a name')));
    if (!lexer.take(',')) break;
  }
  lexer.expect(close, 'after the names');
  return parts;
}
