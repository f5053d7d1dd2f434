/**
 * Where a model's bytes come from. Offsets are plain numbers: exact up to 2^53, far above any file. The reader asks for
 * small ranges only, so that a model of many gigabytes costs a few hundred kilobytes.
 */
export interface ByteSource {
  readonly size: number;
  /** Exactly `length` bytes at `offset`; the caller stays inside `size`. The result may be overwritten by the next call. */
  read(offset: number, length: number): Uint8Array;
  /** UTF-8 bytes of an array that `read` returned as text, where the platform has something fast for it. */
  readonly decode?: (bytes: Uint8Array, start: number, end: number) => string;
}

export function memorySource(bytes: Uint8Array): ByteSource {
  return { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) };
}

/** A model that cannot be read: what is wrong, and at which byte. */
export class OnnxError extends Error {
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(`${message} (byte ${offset})`);
    this.name = 'OnnxError';
  }
}

/** A sliding window over a source: sequential reads grow it, a jump (over a weight) starts small again. */
export interface Window {
  readonly size: number;
  /** Makes bytes `offset .. offset + length` available in `bytes` at index `offset - base`. Needs `length <= 1 MiB`. */
  need(offset: number, length: number): void;
  /** UTF-8 as text. Names come again, as inputs and as types of operators: those at hand are not made anew. */
  text(bytes: Uint8Array, at: number, length: number): string;
  bytes: Uint8Array;
  base: number;
}

const SMALLEST = 4 << 10;
const LARGEST = 256 << 10;
/** Slots for texts that were read before; a power of two. */
const NAMES = 1 << 12;
/** Names differ at their ends. */
const HASHED = 12;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export function openWindow(source: ByteSource): Window {
  let step = SMALLEST;
  const decode = source.decode ?? decodeText;
  let names: string[] | undefined;
  const window: Window = {
    size: source.size,
    bytes: new Uint8Array(0),
    base: 0,
    need(offset, length) {
      const have = window.base + window.bytes.length;
      if (offset >= window.base && offset + length <= have) return;
      const sequential = offset >= window.base && offset <= have;
      step = sequential ? Math.min(step * 2, LARGEST) : SMALLEST;
      window.bytes = source.read(offset, Math.min(Math.max(step, length), source.size - offset));
      window.base = offset;
      if (window.bytes.length < length) throw new OnnxError('the file ends too early', offset + window.bytes.length);
    },
    text(bytes, at, length) {
      let hash = length;
      for (let i = Math.max(at, at + length - HASHED); i < at + length; i++)
        hash = Math.imul(hash ^ (bytes[i] as number), 0x0100_0193);
      names ??= new Array<string>(NAMES).fill('');
      const slot = hash & (NAMES - 1);
      const known = names[slot] as string;
      if (known.length === length && isAt(bytes, at, known)) return known;
      const made = decode(bytes, at, at + length);
      // Of as many characters as bytes, it is ASCII, and equal to no other bytes.
      return made.length === length ? (names[slot] = made) : made;
    },
  };
  return window;
}

function isAt(bytes: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}

const decodeText = (bytes: Uint8Array, start: number, end: number): string =>
  decoder.decode(bytes.subarray(start, end));
