/** The protobuf wire format, read in place: a message is a byte range, a field is a tag and a byte range. */
import { OnnxError, type Window } from './source';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Wire types: 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes. Groups (3, 4) come as one field of type 3. */
export interface Field extends Span {
  readonly number: number;
  readonly wire: number;
  /** Where the field's tag starts; `start .. end` is the payload alone. */
  readonly tag: number;
}

/** A length-delimited message and the messages around it: what a splice must repair when its size changes. */
export interface Frame extends Span {
  /** Offset of the length prefix; the payload starts right after it. */
  readonly lengthAt: number;
  readonly tag: number;
  readonly parent: Frame | null;
}

const MAX_GROUPS = 32;
/** Longest text that is decoded at all; names are far below, blobs in string attributes far above. */
export const MAX_TEXT = 1 << 16;

/** The offset after the varint at `offset`, and its low 32 and high 32 bits in `low` and `high`. */
interface Varint {
  low: number;
  high: number;
  end: number;
}
const varint: Varint = { low: 0, high: 0, end: 0 };

function readVarint(input: Window, offset: number, limit: number): void {
  const available = Math.min(10, limit - offset);
  if (available <= 0) throw new OnnxError('a message ends inside a number', offset);
  input.need(offset, available);
  const { bytes, base } = input;
  let low = 0;
  let high = 0;
  for (let i = 0; i < available; i++) {
    const byte = bytes[offset - base + i] as number;
    const part = byte & 0x7f;
    if (i < 4) low |= part << (7 * i);
    else if (i === 4) {
      low |= part << 28;
      high = part >>> 4;
    } else high |= part << (7 * i - 32);
    if (byte < 0x80) {
      varint.low = low >>> 0;
      varint.high = high >>> 0;
      varint.end = offset + i + 1;
      return;
    }
  }
  throw new OnnxError(available < 10 ? 'a message ends inside a number' : 'a number has more than ten bytes', offset);
}

/** A varint as an unsigned number; above 2^53 it loses low bits, which only a hostile length can reach. */
function readUnsigned(input: Window, offset: number, limit: number): number {
  // Almost all take one byte.
  const byte = offset < limit ? input.bytes[offset - input.base] : undefined;
  if (byte !== undefined && byte < 0x80) {
    varint.low = byte;
    varint.high = 0;
    varint.end = offset + 1;
    return byte;
  }
  readVarint(input, offset, limit);
  return varint.high * 0x1_0000_0000 + varint.low;
}

/** The int64 value of a varint field. */
export function int64(input: Window, field: Span): bigint {
  readVarint(input, field.start, field.end);
  return BigInt.asIntN(64, (BigInt(varint.high) << 32n) | BigInt(varint.low));
}

/** The value of a varint field that is meant to be small (an enum, a version); large ones saturate. */
export function int32(input: Window, field: Span): number {
  readVarint(input, field.start, field.end);
  return varint.high === 0 || varint.high === 0xffff_ffff ? varint.low | 0 : Number.MAX_SAFE_INTEGER;
}

/** Which wire types a message's fields have, by number: `{ 1: '2', 3: '0', 8: '02' }` (packed or not). */
export type Schema = Uint8Array;

/** One bit per wire type for each field number. */
export function schemaOf(types: Readonly<Record<number, string>>): Schema {
  const schema = new Uint8Array(32);
  for (const [number, wires] of Object.entries(types))
    for (const wire of wires) schema[Number(number)] = (schema[Number(number)] ?? 0) | (1 << Number(wire));
  return schema;
}

/** A field of a message, moved on from field to field by `nextField`: a model has too many for an object each. */
export interface Cursor extends Field {
  number: number;
  wire: number;
  tag: number;
  start: number;
  end: number;
  /** Where the next field starts, and where the message ends. */
  next: number;
  readonly limit: number;
}

export const cursorOf = ({ start, end }: Span): Cursor => ({
  number: 0,
  wire: 0,
  tag: start,
  start,
  end: start,
  next: start,
  limit: end,
});

/**
 * Moves to the next field that the schema knows, in file order; false at the end of the message. Others, and known ones of
 * another wire type, are unknown fields and are skipped. Throws `OnnxError` where the bytes are no message.
 */
export function nextField(input: Window, cursor: Cursor, schema: Schema): boolean {
  while (cursor.next < cursor.limit) {
    fieldAt(input, cursor, cursor.next, cursor.limit, 0);
    cursor.next = cursor.wire === 3 ? groupEnd(input, cursor, cursor.limit) : cursor.end;
    if ((schema[cursor.number] ?? 0) & (1 << cursor.wire)) return true;
  }
  return false;
}

/** All fields of a message, unknown ones too. */
export function* fields(input: Window, message: Span): Generator<Field> {
  const cursor = cursorOf(message);
  while (cursor.next < cursor.limit) {
    fieldAt(input, cursor, cursor.next, cursor.limit, 0);
    cursor.next = cursor.wire === 3 ? groupEnd(input, cursor, cursor.limit) : cursor.end;
    const { number, wire, tag, start, end } = cursor;
    yield { number, wire, tag, start, end };
  }
}

/** Reads the field at `tag` into `into`. */
function fieldAt(input: Window, into: Cursor, tag: number, limit: number, depth: number): void {
  const key = readUnsigned(input, tag, limit);
  const number = Math.floor(key / 8);
  const wire = key % 8;
  let start = varint.end;
  if (number === 0 || number > 0x1fff_ffff)
    throw new OnnxError(`there is no field ${number}; the file is not ONNX or is damaged`, tag);
  let end: number;
  if (wire === 2) {
    const length = readUnsigned(input, start, limit);
    start = varint.end;
    end = start + length;
  } else if (wire === 0) {
    readUnsigned(input, start, limit);
    end = varint.end;
  } else if (wire === 1) end = start + 8;
  else if (wire === 5) end = start + 4;
  else if (wire === 3) end = skipGroup(input, start, limit, number, depth);
  else throw new OnnxError(`wire type ${wire} does not exist here`, tag);
  if (end > limit)
    throw new OnnxError(`field ${number} claims ${end - start} bytes, ${end - limit} more than its message holds`, tag);
  into.number = number;
  into.wire = wire;
  into.tag = tag;
  into.start = start;
  into.end = end;
}

/** The offset of the end-group tag that closes the group `number`. */
function skipGroup(input: Window, start: number, limit: number, number: number, depth: number): number {
  if (depth >= MAX_GROUPS) throw new OnnxError(`groups nest deeper than ${MAX_GROUPS}`, start);
  let offset = start;
  for (;;) {
    const key = readUnsigned(input, offset, limit);
    if (key % 8 === 4) {
      if (Math.floor(key / 8) !== number) throw new OnnxError('a group is closed by another group', offset);
      return offset;
    }
    const inner = cursorOf({ start: offset, end: limit });
    fieldAt(input, inner, offset, limit, depth + 1);
    offset = inner.wire === 3 ? groupEnd(input, inner, limit) : inner.end;
  }
}

function groupEnd(input: Window, group: Field, limit: number): number {
  readVarint(input, group.end, limit);
  return varint.end;
}

/** The frame of a length-delimited field. Throws if the field is not one. */
export function frameOf(field: Field, parent: Frame | null, what: string): Frame {
  if (field.wire !== 2) throw new OnnxError(`${what} has wire type ${field.wire} instead of 2`, field.tag);
  return { lengthAt: field.tag + tagLength(field.number), tag: field.tag, start: field.start, end: field.end, parent };
}

function tagLength(number: number): number {
  return number < 16 ? 1 : number < 2048 ? 2 : number < 1 << 18 ? 3 : number < 1 << 25 ? 4 : 5;
}

/** The text of a string field. Names beyond 64 KiB are refused: no exporter writes them. */
export function text(input: Window, field: Field): string {
  const { start, end, wire } = field;
  const length = end - start;
  if (wire !== 2) throw new OnnxError(`a text has wire type ${wire} instead of 2`, field.tag);
  if (length > MAX_TEXT) throw new OnnxError(`a name of ${length} bytes`, field.tag);
  input.need(start, length);
  return input.text(start - input.base, length);
}

/** Calls `each` for every varint of a repeated integer field, packed or not. */
export function eachInt(input: Window, field: Field, each: (value: bigint) => void): void {
  if (field.wire === 0) return each(int64(input, field));
  if (field.wire !== 2) throw new OnnxError(`an integer has wire type ${field.wire}`, field.tag);
  let offset = field.start;
  while (offset < field.end) {
    each(int64(input, { start: offset, end: field.end }));
    offset = varint.end;
  }
}

/** Calls `each` for every fixed-width value (4 or 8 bytes) of a repeated field, packed or not. */
export function eachFixed(input: Window, field: Field, width: 4 | 8, each: (value: number) => void): void {
  const alone = width === 4 ? 5 : 1;
  if (field.wire !== alone && field.wire !== 2) throw new OnnxError(`a float has wire type ${field.wire}`, field.tag);
  if ((field.end - field.start) % width !== 0) throw new OnnxError('packed floats end inside a float', field.tag);
  for (let offset = field.start; offset < field.end; offset += width) {
    input.need(offset, width);
    const view = new DataView(input.bytes.buffer, input.bytes.byteOffset + offset - input.base, width);
    each(width === 4 ? view.getFloat32(0, true) : view.getFloat64(0, true));
  }
}
