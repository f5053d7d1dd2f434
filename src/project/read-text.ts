import { readFileSync } from 'node:fs';
import { describeError } from './walk';

export type ReadText = { readonly text: string } | { readonly problem: string };

/** The largest file that is analysed as source, in bytes. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The text of a UTF-8 file; a byte order mark stays, so that offsets and a written file agree with the bytes. */
export function readText(path: string): ReadText {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    return { problem: describeError(error) };
  }
  return decodeText(bytes);
}

/** By its byte order mark. */
const isUtf16 = ([a, b]: Uint8Array): boolean => (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff);

export function decodeText(bytes: Uint8Array): ReadText {
  if (bytes.length > MOST_BYTES) return { problem: `larger than ${MOST_BYTES / 2 ** 20} MiB; not analysed` };
  if (isUtf16(bytes))
    return { problem: 'UTF-16, which Python does not read; not analysed. Convert it: iconv -f UTF-16 -t UTF-8' };
  if (bytes.includes(0)) return { problem: 'binary file (contains a NUL byte); not analysed' };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { problem: 'not UTF-8; not analysed. Convert it, e.g. with iconv -t UTF-8' };
  }
}
