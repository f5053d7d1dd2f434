/**
 * Where a model's bytes come from. Offsets are plain numbers: exact up to 2^53, far above any file. The reader asks for
 * small ranges only, so that a model of many gigabytes costs a few hundred kilobytes.
 */
export interface ByteSource {
  readonly size: number;
  /** Exactly `length` bytes at `offset`; the caller stays inside `size`. The result may be overwritten by the next call. */
  read(offset: number, length: number): Uint8Array;
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
  bytes: Uint8Array;
  base: number;
}

const SMALLEST = 8 << 10;
const LARGEST = 256 << 10;

export function openWindow(source: ByteSource): Window {
  let step = SMALLEST;
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
  };
  return window;
}
