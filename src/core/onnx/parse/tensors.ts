/** Types and tensors of the textual syntax, encoded as the messages that they stand for. */
import { bytesOf, concatBytes, textOf, varintOf } from '../encode';
import { ELEMENT_TYPES } from '../model';
import type { Lexer } from './lexer';

/** `float`, `int64`, ... or `type99` for one that has no name yet; null for any other word. */
export function elementOf(word: string): number | null {
  const known = (ELEMENT_TYPES as readonly string[]).indexOf(word);
  if (known >= 0) return known;
  const number = /^type(\d{1,4})$/.exec(word)?.[1];
  return number === undefined ? null : Number(number);
}

const MAX_DEPTH = 32;

/** TypeProto without its tag; null for `?`, a value without a type. */
export function parseType(lexer: Lexer, depth = 0): Uint8Array | null {
  if (lexer.take('?')) return null;
  if (depth > MAX_DEPTH) return lexer.fail(`types nest deeper than ${MAX_DEPTH}`);
  const token = lexer.peek();
  const word = lexer.name('a type');
  const nested = (field: number, part: Uint8Array | null): Uint8Array =>
    bytesOf(field, part ? bytesOf(1, part) : new Uint8Array(0));
  const inner = (): Uint8Array | null => {
    lexer.expect('(', `after '${word}'`);
    const type = parseType(lexer, depth + 1);
    lexer.expect(')', `after the type in '${word}'`);
    return type;
  };
  switch (word) {
    case 'seq':
      return nested(4, inner());
    case 'optional':
      return nested(9, inner());
    case 'opaque':
      return bytesOf(7, new Uint8Array(0));
    case 'sparse_tensor': {
      lexer.expect('(', `after '${word}'`);
      const type = tensorType(lexer, lexer.name('an element type'));
      lexer.expect(')', 'after the tensor type');
      return bytesOf(8, type);
    }
    case 'map': {
      lexer.expect('(', `after '${word}'`);
      const key = elementOf(lexer.name('a key type')) ?? lexer.fail('no such element type');
      lexer.expect(',', 'between key and value type');
      const type = parseType(lexer, depth + 1);
      lexer.expect(')', 'after the value type');
      return bytesOf(5, concatBytes([varintOf(1, key), ...(type ? [bytesOf(2, type)] : [])]));
    }
    default:
      return elementOf(word) === null ? lexer.fail('a type expected', token) : bytesOf(1, tensorType(lexer, word));
  }
}

/** `float` is a scalar, `float[]` has an unknown rank, `float[B, 32, ?]` a shape. */
function tensorType(lexer: Lexer, word: string): Uint8Array {
  const element = varintOf(1, elementOf(word) ?? lexer.fail(`no element type '${word}'`));
  if (!lexer.take('[')) return concatBytes([element, bytesOf(2, new Uint8Array(0))]);
  if (lexer.take(']')) return element;
  const dims: Uint8Array[] = [];
  do {
    const token = lexer.next();
    if (token.kind === 'number' && /^\d+$/.test(token.text)) dims.push(bytesOf(1, varintOf(1, BigInt(token.text))));
    else if (token.kind === 'name' || token.kind === 'text') dims.push(bytesOf(1, textOf(2, token.text)));
    else if (token.kind === 'mark' && token.text === '?') dims.push(bytesOf(1, new Uint8Array(0)));
    else lexer.fail('a size expected: a number, a name or ?', token);
  } while (lexer.take(','));
  lexer.expect(']', 'after the sizes');
  return concatBytes([element, bytesOf(2, concatBytes(dims))]);
}

/** The sizes of a tensor, which are all numbers; `[` has not been read yet. A `[` before a text begins its values. */
export function parseSizes(lexer: Lexer): number[] {
  const sizes: number[] = [];
  if (!lexer.take('[')) return sizes;
  do {
    const text = lexer.number('a size');
    sizes.push(/^\d+$/.test(text) ? Number(text) : lexer.fail(`'${text}' is no size`));
  } while (lexer.take(','));
  lexer.expect(']', 'after the sizes');
  return sizes;
}

/**
 * TensorProto without its tag. Values are `{1, 2}`, `{...}` for ones that the text leaves out (the tensor has none then),
 * or `["location": "file", ...]` in another file.
 */
export function parseTensorValue(lexer: Lexer, element: number, sizes: readonly number[], name: string): Uint8Array {
  const facts = [...sizes.map((size) => varintOf(1, size)), varintOf(2, element), ...(name ? [textOf(8, name)] : [])];
  if (lexer.take('[')) return concatBytes([...facts, ...externalEntries(lexer), varintOf(14, 1)]);
  lexer.expect('{', 'before the values');
  if (lexer.take('...')) {
    lexer.expect('}', 'after ...');
    return concatBytes(facts);
  }
  const start = lexer.peek();
  const values: string[] = [];
  const texts: string[] = [];
  while (!lexer.is('}')) {
    const token = lexer.next();
    if (token.kind === 'text') texts.push(token.text);
    else if (token.kind === 'number' || /^(?:inf|nan)$/.test(token.text)) values.push(token.text);
    else lexer.fail('a value expected', token);
    if (!lexer.take(',')) break;
  }
  lexer.expect('}', 'after the values');
  const count = sizes.reduce((product, size) => product * size, 1);
  const given = element === STRING ? texts : values;
  if (given.length !== count || texts.length + values.length !== count)
    lexer.fail(`${texts.length + values.length} values for ${count} elements`, start);
  if (element === STRING) return concatBytes([...facts, ...texts.map((text) => textOf(6, text))]);
  const data = encodeValues(element, values);
  return data ? concatBytes([...facts, data]) : lexer.fail('values of this type cannot be written as text', start);
}

function externalEntries(lexer: Lexer): Uint8Array[] {
  const entries: Uint8Array[] = [];
  do {
    const key = lexer.name('an entry');
    lexer.expect(':', 'after the entry');
    entries.push(bytesOf(13, concatBytes([textOf(1, key), textOf(2, lexer.name('a quoted value'))])));
  } while (lexer.take(','));
  lexer.expect(']', 'after the entries');
  return entries;
}

const STRING = 8;
const HALF_TYPES = new Set([10, 16]);
const INT32_TYPES = new Set([2, 3, 4, 5, 6, 9]);

/** float_data, double_data, int32_data, int64_data or uint64_data, packed; null for a type that has none of them. */
function encodeValues(element: number, values: readonly string[]): Uint8Array | null {
  if (element === 1) return packed(4, values, 4, (view, at, text) => view.setFloat32(at, numberOf(text), true));
  if (element === 11) return packed(10, values, 8, (view, at, text) => view.setFloat64(at, numberOf(text), true));
  if (element === 7) return packed(9, values, 8, (view, at, text) => view.setBigInt64(at, integerOf(text), true));
  if (element === 12 || element === 13)
    return packed(9, values, element === 12 ? 4 : 8, (view, at, text) =>
      element === 12 ? view.setUint32(at, numberOf(text), true) : view.setBigUint64(at, integerOf(text), true),
    );
  if (HALF_TYPES.has(element))
    return packed(9, values, 2, (view, at, text) => view.setUint16(at, halfBits(numberOf(text), element), true));
  if (!INT32_TYPES.has(element)) return null;
  const width = element === 6 ? 4 : element === 4 || element === 5 ? 2 : 1;
  const set = { 1: 'setInt8', 2: 'setInt16', 4: 'setInt32' } as const;
  return packed(9, values, width, (view, at, text) => view[set[width]](at, numberOf(text), true));
}

/** One field with all values; 9 is raw_data. */
function packed(
  field: number,
  values: readonly string[],
  width: number,
  put: (view: DataView, at: number, text: string) => void,
): Uint8Array {
  const bytes = new Uint8Array(values.length * width);
  const view = new DataView(bytes.buffer);
  values.forEach((text, i) => put(view, i * width, text));
  return bytesOf(field, bytes);
}

export function numberOf(text: string): number {
  const special = /^([-+]?)(inf|nan)$/.exec(text);
  if (!special) return Number(text);
  return special[2] === 'nan' ? NaN : special[1] === '-' ? -Infinity : Infinity;
}

export const integerOf = (text: string): bigint =>
  /^[-+]?\d+$/.test(text) ? BigInt(text) : BigInt(Math.trunc(Number.isFinite(numberOf(text)) ? numberOf(text) : 0));

/** The nearest half (10) or brain (16) float; values of the text come from such bits, so that nothing is lost. */
function halfBits(value: number, element: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  const bits = view.getUint32(0);
  if (element === 16) return bits >>> 16;
  const sign = (bits >>> 16) & 0x8000;
  if (Number.isNaN(value)) return 0x7e00;
  const size = Math.abs(value);
  if (size >= 65520) return sign | 0x7c00;
  if (size < 2 ** -14) return sign | Math.round(size * 2 ** 24);
  const exponent = Math.floor(Math.log2(size));
  const scaled = Math.round((size / 2 ** exponent) * 1024);
  return sign | (((exponent + 15) << 10) + scaled - 1024);
}
