/** A list of paths that threads share out among themselves: each takes the next few, so that all end at about the same time. */

/** Few, since files differ in size; more than one, since files of a folder import the same others. */
const BATCH = 4;

/** Words: the next index that nobody has taken, then per thread the index that it is on. */
export const makeShare = (threads: number): SharedArrayBuffer =>
  new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * (threads + 1));

/** The paths of one thread, one after another. */
export function* takeFrom(share: SharedArrayBuffer, thread: number, paths: readonly string[]): Generator<string> {
  const words = new Int32Array(share);
  for (;;) {
    const start = Atomics.add(words, 0, BATCH);
    if (start >= paths.length) return;
    for (let at = start; at < Math.min(paths.length, start + BATCH); at += 1) {
      Atomics.store(words, thread + 1, at);
      const path = paths[at];
      if (path !== undefined) yield path;
    }
  }
}

/** The path that a thread is on, or was on when it ended. */
export function pathOn(share: SharedArrayBuffer, thread: number, paths: readonly string[]): string {
  return paths[Atomics.load(new Int32Array(share), thread + 1)] ?? '';
}
