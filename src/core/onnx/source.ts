/**
 * Where a model's bytes come from. Offsets are plain numbers: exact up to 2^53, far above any file. The reader asks for
 * small ranges only, so that a model of many gigabytes costs a few hundred kilobytes.
 */
export interface ByteSource {
  readonly size: number;
  /** Exactly `length` bytes at `offset`; the caller stays inside `size`. The result may be overwritten by the next call. */
  read(offset: number, length: number): Uint8Array;
  /** An array that `read` returned, each byte as a character, where the platform has something fast for it. */
  readonly latin1?: (bytes: Uint8Array) => string;
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
  /** The text at index `at` of `bytes`, in UTF-8. */
  text(at: number, length: number): string;
  bytes: Uint8Array;
  base: number;
}

const SMALLEST = 4 << 10;
const LARGEST = 256 << 10;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export function openWindow(source: ByteSource): Window {
  let step = SMALLEST;
  const latin1 = source.latin1 ?? latin1Of;
  /** The bytes as text, one character each: ASCII names are cut from it, which is far cheaper than to make each. */
  let whole: string | null = null;
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
      whole = null;
      if (window.bytes.length < length) throw new OnnxError('the file ends too early', offset + window.bytes.length);
    },
    text(at, length) {
      const { bytes } = window;
      for (let i = at; i < at + length; i++)
        if ((bytes[i] as number) >= 0x80) return decoder.decode(bytes.subarray(at, at + length));
      whole ??= latin1(bytes);
      return whole.substring(at, at + length);
    },
  };
  return window;
}

const latin1Of = (bytes: Uint8Array): string => {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4096)
    text += String.fromCharCode.apply(null, bytes.subarray(at, at + 4096) as unknown as number[]);
  return text;
};
