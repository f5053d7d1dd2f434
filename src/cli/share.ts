/**
 * A list of paths that threads share out among themselves. Each has a piece of its own, since files of a folder import the
 * same others, and goes on with the pieces of the others when it is done, so that all end at about the same time.
 */

/** Few, since files differ in size; more than one, for fewer steps. */
const BATCH = 4;

/** A thread that is on no file yet. */
const NOWHERE = -1;

/** Words: per thread the next index of its piece that nobody has taken, then per thread the index that it is on. */
export function makeShare(threads: number, paths: number): SharedArrayBuffer {
  const share = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * 2 * threads);
  const words = new Int32Array(share).fill(NOWHERE, threads);
  for (let thread = 0; thread < threads; thread += 1) words[thread] = startOf(thread, threads, paths);
  return share;
}

const startOf = (thread: number, threads: number, paths: number): number => Math.floor((thread * paths) / threads);

/** The paths that one thread gets, one after another. */
export function* takeFrom(share: SharedArrayBuffer, thread: number, paths: readonly string[]): Generator<string> {
  const words = new Int32Array(share);
  const threads = words.length / 2;
  for (let step = 0; step < threads; step += 1) {
    const piece = (thread + step) % threads;
    const end = startOf(piece + 1, threads, paths.length);
    for (;;) {
      const start = Atomics.add(words, piece, BATCH);
      if (start >= end) break;
      for (let at = start; at < Math.min(end, start + BATCH); at += 1) {
        Atomics.store(words, threads + thread, at);
        const path = paths[at];
        if (path !== undefined) yield path;
      }
    }
  }
}

/** The path that a thread is on, or was on when it ended; null before the first. */
export function pathOn(share: SharedArrayBuffer, thread: number, paths: readonly string[]): string | null {
  const words = new Int32Array(share);
  return paths[Atomics.load(words, words.length / 2 + thread)] ?? null;
}

/** Whether all threads have taken a path: then their code is loaded. */
export function haveStarted(share: SharedArrayBuffer): boolean {
  const words = new Int32Array(share);
  for (let at = words.length / 2; at < words.length; at += 1) if (Atomics.load(words, at) === NOWHERE) return false;
  return true;
}
