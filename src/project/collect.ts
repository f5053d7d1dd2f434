/** Garbage collection at moments that suit: between the files of a long run, and while an editor is idle. */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The heaps of a process may grow by this part of what was in use after the last collection, and by these bytes besides. */
const FACTOR = 0.35;
const GROWTH = 12 * 2 ** 20;

/** Room for what lives shortly in each of several threads, in MB: left alone, it grows to four times that. */
export const YOUNG = 8;

/**
 * Makes V8 begin a collection when the heap is this much larger than what was in use after the last one: left alone, it waits
 * for several times as much, and one check of a long file leaves a hundred megabytes behind. For a process that runs for days.
 */
export const limitHeapGrowth = (): void => setFlagsFromString('--heap-growing-percent=40');

/**
 * Call it at such moments. Left alone, V8 lets a heap grow to several times what is in use, per thread. A check of a million lines
 * takes 288 MiB at most on two threads so, 295 with a factor of 0.6 and 301 with 0.8, in the same time. `share` is this thread's part of
 * the growth; the young generation of a thread that has no limit of its own is held down once that is allowed, since the flag for it is one of
 * the whole process.
 */
export function createCollector(share = 1, mayLimitYoung: () => boolean = () => false): () => void {
  let limit = 4 * GROWTH;
  let isYoungLimited = false;
  let collect: (() => void) | undefined;
  return () => {
    isYoungLimited ||= mayLimitYoung() && limitYoung();
    if (getHeapStatistics().used_heap_size < limit) return;
    if (!collect) {
      setFlagsFromString('--expose-gc');
      collect = runInNewContext('gc') as () => void;
      setFlagsFromString('--no-expose-gc');
    }
    collect();
    const used = getHeapStatistics().used_heap_size;
    limit = used + share * (FACTOR * used + GROWTH);
  };
}

/** For a process that is about to end: undoes what its collectors have set, since V8 keeps code for the flags of the moment. */
export const undoLimits = (): void => setFlagsFromString('--semi-space-growth-factor=2');

/** The size is given to a thread when it starts, but to a process by its command line alone: what can be set later is that it stays. */
function limitYoung(): boolean {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  if (!young || young.space_size < YOUNG * 2 ** 20) return false;
  setFlagsFromString('--semi-space-growth-factor=1');
  return true;
}
