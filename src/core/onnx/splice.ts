/**
 * Edits a model without decoding and encoding it: the result is a list of pieces, ranges of the old file and new bytes.
 * Every byte outside the edits and the length prefixes around them is the old file's.
 */
import type { ByteSource } from './source';
import type { Frame } from './wire';
import { encodeVarint } from './encode';

/** Replaces `start .. end` of the file; an insertion has `start === end`. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly bytes: Uint8Array;
  /** The message whose payload holds the range (its own prefix and those around it are repaired); null at top level. */
  readonly within: Frame | null;
}

export type Piece = { readonly start: number; readonly end: number } | Uint8Array;

/** Throws on edits that overlap or lie outside their message: a mistake of the caller. */
export function splice(size: number, edits: readonly Splice[]): Piece[] {
  const sorted = [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  const all = [...sorted, ...prefixes(sorted)].sort((a, b) => a.start - b.start || a.end - b.end);
  const pieces: Piece[] = [];
  let at = 0;
  for (const edit of all) {
    if (edit.start < at || edit.end < edit.start || edit.end > size)
      throw new Error(`edits overlap at byte ${edit.start}`);
    if (edit.start > at) pieces.push({ start: at, end: edit.start });
    if (edit.bytes.length > 0) pieces.push(edit.bytes);
    at = edit.end;
  }
  if (at < size) pieces.push({ start: at, end: size });
  return pieces;
}

/** New length prefixes for every message around an edit whose size changes, innermost first. */
function prefixes(edits: readonly Splice[]): Splice[] {
  const growth = new Map<number, { frame: Frame; delta: number }>();
  for (const { start, end, bytes, within } of edits) {
    if (within && (start < within.start || end > within.end))
      throw new Error(`an edit leaves its message at byte ${start}`);
    for (let frame = within; frame; frame = frame.parent) {
      const known = growth.get(frame.lengthAt) ?? { frame, delta: 0 };
      known.delta += bytes.length - (end - start);
      growth.set(frame.lengthAt, known);
    }
  }
  const result: Splice[] = [];
  // An inner prefix that gets longer makes the outer messages longer: inner ones start later.
  const inner = [...growth.values()].sort((a, b) => b.frame.lengthAt - a.frame.lengthAt);
  for (const { frame, delta } of inner) {
    if (delta === 0) continue;
    const bytes = encodeVarint(BigInt(frame.end - frame.start + delta));
    const longer = bytes.length - (frame.start - frame.lengthAt);
    for (let outer = frame.parent; outer; outer = outer.parent) {
      const entry = growth.get(outer.lengthAt);
      if (entry) entry.delta += longer;
    }
    result.push({ start: frame.lengthAt, end: frame.start, bytes, within: frame.parent });
  }
  return result;
}

export function sizeOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + (piece instanceof Uint8Array ? piece.length : piece.end - piece.start), 0);
}

const CHUNK = 1 << 20;

/** The pieces' bytes in order, at most a mebibyte at a time, so that a file of any size can be written. */
export function* chunks(source: ByteSource, pieces: readonly Piece[]): Generator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) yield piece;
    else {
      for (let at = piece.start; at < piece.end; at += CHUNK) yield source.read(at, Math.min(CHUNK, piece.end - at));
    }
  }
}

/** The whole result in memory, for small models. */
export function assemble(source: ByteSource, pieces: readonly Piece[]): Uint8Array {
  const out = new Uint8Array(sizeOf(pieces));
  let at = 0;
  for (const chunk of chunks(source, pieces)) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}

/** Two edits one after the other as one: `second` is made of ranges of what `first` makes. */
export function compose(first: readonly Piece[], second: readonly Piece[]): Piece[] {
  let start = 0;
  const placed = first.map((piece) => {
    const at = start;
    start += sizeOf([piece]);
    return { piece, at, end: start };
  });
  return second.flatMap((part) => {
    if (part instanceof Uint8Array) return [part];
    return placed
      .filter(({ at, end }) => at < part.end && part.start < end)
      .map(({ piece, at, end }): Piece => {
        const [from, to] = [Math.max(at, part.start) - at, Math.min(end, part.end) - at];
        return piece instanceof Uint8Array
          ? piece.subarray(from, to)
          : { start: piece.start + from, end: piece.start + to };
      });
  });
}

/** The result as a source of its own: it can be read before it is written. */
export function pieceSource(source: ByteSource, pieces: readonly Piece[]): ByteSource {
  const starts: number[] = [];
  let size = 0;
  for (const piece of pieces) {
    starts.push(size);
    size += sizeOf([piece]);
  }
  return {
    size,
    read(offset, length) {
      const out = new Uint8Array(length);
      let at = lastAtOrBefore(starts, offset);
      for (let done = 0; done < length; at++) {
        const piece = pieces[at];
        const start = starts[at];
        if (!piece || start === undefined) break;
        const from = offset + done - start;
        const count = Math.min(sizeOf([piece]) - from, length - done);
        out.set(
          piece instanceof Uint8Array ? piece.subarray(from, from + count) : source.read(piece.start + from, count),
          done,
        );
        done += count;
      }
      return out;
    },
  };
}

function lastAtOrBefore(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
