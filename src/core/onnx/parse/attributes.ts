/** Attributes of the textual syntax: `axis = 1, to: int = @to, value = float[2] {1, 2}, body = name (...) => (...) {...}`. */
import { bytesOf, concatBytes, textOf, varintOf } from '../encode';
import { ATTRIBUTE_TYPES } from '../text';
import { integerOf, numberOf, elementOf, parseSizes, parseTensorValue } from './tensors';
import type { Lexer, Token } from './lexer';

const [FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS, TENSORS, GRAPHS] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** A sparse tensor: a type whose values the text never shows. */
const OTHER = 11;

/** AttributeProto fields of a node; the `<` before them has been read. `graph` reads a subgraph. */
export function parseAttributes(lexer: Lexer, graph: () => Uint8Array): Uint8Array[] {
  const attributes: Uint8Array[] = [];
  while (!lexer.is('>')) {
    attributes.push(bytesOf(5, parseAttribute(lexer, graph)));
    if (!lexer.take(',')) break;
  }
  lexer.expect('>', 'after the attributes of a node');
  return attributes;
}

function parseAttribute(lexer: Lexer, graph: () => Uint8Array): Uint8Array {
  const name = textOf(1, lexer.name('the name of an attribute'));
  let type: number | null = null;
  if (lexer.take(':')) {
    const word = lexer.name('the type of an attribute');
    type = ATTRIBUTE_TYPES.indexOf(word);
    if (type < 0) lexer.fail(`no attribute type '${word}'`);
  }
  lexer.expect('=', 'after the name of an attribute');
  if (lexer.take('@')) return concatBytes([name, textOf(21, lexer.name('an attribute')), ...typeField(type ?? 0)]);
  const [fields, found] = parseValue(lexer, graph, type);
  return concatBytes([name, ...fields, ...typeField(found)]);
}

const typeField = (type: number): Uint8Array[] => (type > 0 ? [varintOf(20, type)] : []);

type Value = readonly [fields: readonly Uint8Array[], type: number];

function parseValue(lexer: Lexer, graph: () => Uint8Array, type: number | null): Value {
  if (lexer.is('[')) return parseList(lexer, type);
  if (lexer.take('{')) {
    // A value that the text leaves out.
    lexer.expect('...', 'in the place of a value');
    lexer.expect('}', 'after ...');
    return [[], type ?? OTHER];
  }
  const token = lexer.peek();
  // The name of a graph may be quoted, as a text is.
  const isBody = isGraph(lexer.source, token);
  const scalar = isBody ? null : scalarOf(token, type);
  if (scalar) {
    lexer.next();
    return [[scalar.single], scalar.type];
  }
  if (isBody) {
    const graphs = [graph()];
    while (!lexer.is(',') && !lexer.is('>')) graphs.push(graph());
    if (type === GRAPHS || graphs.length > 1) return [graphs.map((g) => bytesOf(11, g)), GRAPHS];
    return [graphs.map((g) => bytesOf(6, g)), GRAPH];
  }
  return [[bytesOf(5, parseTensor(lexer))], TENSOR];
}

interface Scalar {
  readonly type: number;
  /** As the value of an attribute, and as an item of a list. */
  readonly single: Uint8Array;
  readonly item: Uint8Array;
}

function scalarOf({ kind, text }: Token, type: number | null): Scalar | null {
  if (kind === 'text') return { type: STRING, single: textOf(4, text), item: textOf(9, text) };
  if (kind !== 'number' && !(kind === 'name' && /^(?:inf|nan)$/.test(text))) return null;
  if (type !== FLOAT && type !== FLOATS && /^[-+]?\d+$/.test(text)) {
    const value = integerOf(text);
    return { type: INT, single: varintOf(3, value), item: varintOf(8, value) };
  }
  const value = numberOf(text);
  return { type: FLOAT, single: floatField(2, value), item: floatField(7, value) };
}

function floatField(field: number, value: number): Uint8Array {
  const bytes = new Uint8Array(5);
  bytes[0] = field * 8 + 5;
  new DataView(bytes.buffer).setFloat32(1, value, true);
  return bytes;
}

const LIST_OF: Readonly<Record<number, number>> = { [FLOAT]: FLOATS, [INT]: INTS, [STRING]: STRINGS };

/** Items of one kind. A list that the text cuts short has no value at all: half a list would be another one. */
function parseList(lexer: Lexer, given: number | null): Value {
  lexer.expect('[', 'before a list');
  const items: Uint8Array[] = [];
  let type = given;
  let whole = true;
  while (!lexer.is(']')) {
    const token = lexer.peek();
    if (lexer.take('...')) whole = false;
    else {
      const scalar = scalarOf(token, type);
      const found = scalar ? (LIST_OF[scalar.type] ?? 0) : TENSORS;
      if (type !== null && type !== found) lexer.fail('the items of a list are of one kind', token);
      type = found;
      if (scalar) {
        lexer.next();
        items.push(scalar.item);
      } else items.push(bytesOf(10, parseTensor(lexer)));
    }
    if (!lexer.take(',')) break;
  }
  lexer.expect(']', 'after a list');
  return [whole ? items : [], type ?? INTS];
}

/** A subgraph begins with its name and its inputs, a tensor with its element type. */
function isGraph(source: string, { kind, end }: Token): boolean {
  const open = /\s*\(/y;
  open.lastIndex = end;
  return (kind === 'name' || kind === 'text') && open.test(source);
}

function parseTensor(lexer: Lexer): Uint8Array {
  const token = lexer.peek();
  const element = elementOf(lexer.name('a value'));
  if (element === null) return lexer.fail('a value expected', token);
  const external = /\s*\[\s*"/y;
  external.lastIndex = lexer.last;
  const sizes = external.test(lexer.source) ? [] : parseSizes(lexer);
  return parseTensorValue(lexer, element, sizes, '');
}
