/** Graphs and nodes of the textual syntax, encoded as the messages that they stand for. */
import { bytesOf, concatBytes, textOf } from '../encode';
import { parseAttributes } from './attributes';
import type { Lexer } from './lexer';
import type { TextSpan } from './spans';
import { elementOf, parseSizes, parseTensorValue, parseType } from './tensors';

/** What the parsing of nested graphs adds to. */
export interface Parse {
  readonly lexer: Lexer;
  readonly nodes: TextSpan[];
  readonly declarations: Map<string, TextSpan>;
}

const MAX_DEPTH = 32;

/** GraphProto: `name (inputs) => (outputs) <initializers> { nodes }`. */
export function parseGraph(parse: Parse, depth: number): Uint8Array {
  const { lexer } = parse;
  if (depth > MAX_DEPTH) return lexer.fail(`graphs nest deeper than ${MAX_DEPTH}`);
  const parts = [textOf(2, lexer.name('the name of a graph'))];
  parts.push(...values(parse, 11, depth === 0));
  lexer.expect('=>', 'between the inputs and outputs of a graph');
  parts.push(...values(parse, 12, false));
  if (lexer.take('<')) parts.push(...initializers(parse, depth === 0));
  lexer.expect('{', 'before the nodes of a graph');
  while (!lexer.is('}')) parts.push(bytesOf(1, parseNode(parse, depth)));
  lexer.expect('}', 'after the nodes of a graph');
  return concatBytes(parts);
}

/** ValueInfoProto fields of a graph: `(float[B] x, int64 n)`; a type may be left out, or be `?`. */
function values(parse: Parse, field: 11 | 12, main: boolean): Uint8Array[] {
  const { lexer } = parse;
  const parts: Uint8Array[] = [];
  lexer.expect('(', 'before the values of a graph');
  while (!lexer.is(')')) {
    const { start, kind, end } = lexer.peek();
    // A name without a type may be a word like any other, also `float`.
    const alone = kind === 'text' || isLast(lexer.source, end);
    const type = alone ? null : parseType(lexer);
    const name = lexer.name('the name of a value');
    parts.push(bytesOf(field, valueInfo(name, type)));
    if (main) parse.declarations.set(name, { start, end: lexer.last });
    if (!lexer.take(',')) break;
  }
  lexer.expect(')', 'after the values of a graph');
  return parts;
}

function isLast(source: string, offset: number): boolean {
  const next = /\s*[,)]/y;
  next.lastIndex = offset;
  return next.test(source);
}

const valueInfo = (name: string, type: Uint8Array | null): Uint8Array =>
  concatBytes([textOf(1, name), ...(type ? [bytesOf(2, type)] : [])]);

/** `float[4] w = {...}` is an initializer, `float[B] x` the type of a value inside the graph. */
function initializers(parse: Parse, main: boolean): Uint8Array[] {
  const { lexer } = parse;
  const parts: Uint8Array[] = [];
  while (!lexer.is('>')) {
    const { start, text } = lexer.peek();
    const element = elementOf(text);
    if (element === null || !isInitializer(lexer.source, start)) {
      const type = parseType(lexer);
      parts.push(bytesOf(13, valueInfo(lexer.name('the name of a value'), type)));
    } else {
      lexer.next();
      const sizes = parseSizes(lexer);
      const name = lexer.name('the name of an initializer');
      lexer.expect('=', 'after the name of an initializer');
      parts.push(bytesOf(5, parseTensorValue(lexer, element, sizes, name)));
      if (main) parse.declarations.set(name, { start, end: lexer.last });
    }
    if (!lexer.take(',')) break;
  }
  lexer.expect('>', 'after the initializers of a graph');
  return parts;
}

/** True when the declaration that begins at `start` has a value. */
function isInitializer(source: string, start: number): boolean {
  const declaration = /\w+\s*(?:\[[^\]"]*\])?\s*(?:[A-Za-z_][\w.]*|"(?:[^"\\\n]|\\.)*")\s*=/y;
  declaration.lastIndex = start;
  return declaration.test(source);
}

/** NodeProto: `[name] outputs = domain.Operator:overload <attributes> (inputs) <subgraphs>`. */
export function parseNode(parse: Parse, depth: number): Uint8Array {
  const { lexer, nodes } = parse;
  const { start } = lexer.peek();
  const at = nodes.push({ start, end: start }) - 1;
  const parts: Uint8Array[] = [];
  if (lexer.take('[')) {
    parts.push(textOf(3, lexer.name('the name of a node')));
    lexer.expect(']', 'after the name of a node');
  }
  while (!lexer.is('=')) {
    parts.push(textOf(2, lexer.name('the name of a result')));
    if (!lexer.take(',')) break;
  }
  lexer.expect('=', 'after the results of a node');
  const { domain, op, overload } = operator(lexer);
  parts.push(textOf(4, op), ...(domain ? [textOf(7, domain)] : []), ...(overload ? [textOf(8, overload)] : []));
  if (lexer.take('<')) parts.push(...parseAttributes(lexer, () => parseGraph(parse, depth + 1)));
  lexer.expect('(', 'before the inputs of a node');
  while (!lexer.is(')')) {
    parts.push(textOf(1, lexer.name('the name of an input')));
    if (!lexer.take(',')) break;
  }
  lexer.expect(')', 'after the inputs of a node');
  if (lexer.take('<')) parts.push(...parseAttributes(lexer, () => parseGraph(parse, depth + 1)));
  nodes[at] = { start, end: lexer.last };
  return concatBytes(parts);
}

/** `MatMul`, `com.microsoft.FusedMatMul`, `"odd domain".Op:overload`. */
function operator(lexer: Lexer): { domain: string; op: string; overload: string } {
  const first = lexer.next();
  if (first.kind !== 'name' && first.kind !== 'text') return lexer.fail('an operator expected', first);
  let domain = '';
  let op = first.text;
  if (lexer.take('.')) {
    domain = op;
    op = lexer.name('the operator after its domain');
  } else if (first.kind === 'name' && op.includes('.')) {
    const dot = op.lastIndexOf('.');
    domain = op.slice(0, dot);
    op = op.slice(dot + 1) || lexer.name('the operator after its domain');
  }
  return { domain, op, overload: lexer.take(':') ? lexer.name('an overload') : '' };
}
