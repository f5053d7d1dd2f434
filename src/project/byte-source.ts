/** A file as the source of the model reader: ranges are read on demand, the file is never held in memory. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { ByteSource } from '../core/onnx/source';

export interface FileBytes extends ByteSource {
  close(): void;
}

/** Throws the system's error when the file cannot be opened. */
export function openFileBytes(path: string): FileBytes {
  const descriptor = openSync(path, 'r');
  return {
    size: fstatSync(descriptor).size,
    read(offset, length) {
      const bytes = Buffer.allocUnsafe(length);
      let have = 0;
      while (have < length) {
        const got = readSync(descriptor, bytes, have, length - have, offset + have);
        if (got === 0) break;
        have += got;
      }
      return have === length ? bytes : bytes.subarray(0, have);
    },
    latin1: (bytes) => (bytes as Buffer).toString('latin1'),
    close: () => closeSync(descriptor),
  };
}
