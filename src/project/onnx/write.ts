/** Writes a rewritten model, in pieces, so that a file of any size passes through little memory. */
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { chunks, type ByteSource, type Piece } from '../../core/onnx';

/** Written beside the target and moved there when whole, so that a crash leaves no half model. Throws the system's error. */
export function writeModel(target: string, source: ByteSource, pieces: readonly Piece[]): void {
  const fresh = `${target}.tmp`;
  try {
    const descriptor = openSync(fresh, 'w');
    try {
      for (const bytes of chunks(source, pieces))
        for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done);
    } finally {
      closeSync(descriptor);
    }
    renameSync(fresh, target);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}
