/** Checks many files on several threads, this one among them. The outcome does not depend on how many there are. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FileOutcome } from '../project/check-files';
import { YOUNG } from '../project/collect';
import { haveStarted, makeShare, pathOn, takeFrom } from './share';
import type { WorkerAnswer, WorkerSetup } from './worker';

/** Starting a thread costs as much as checking about this many files. */
const FILES_PER_THREAD = 40;

/** Threads worth using for so many files. */
export function threadsFor(files: number, jobs: number | null): number {
  return Math.max(1, Math.min(jobs ?? availableParallelism(), Math.ceil(files / FILES_PER_THREAD)));
}

/**
 * Outcomes in the order of `paths`. `check` makes what this thread does meanwhile, which may limit the young generation once it is
 * told so: the flag for that is one of all threads, and those that load their code later could not use what was kept. Rejects when a thread dies, naming the file
 * that it was on.
 */
export async function checkOnThreads(
  setup: Omit<WorkerSetup, 'paths' | 'share' | 'thread' | 'threads'>,
  paths: readonly string[],
  threads: number,
  check: (mayLimitYoung: () => boolean) => Promise<(path: string) => FileOutcome>,
): Promise<readonly FileOutcome[]> {
  const share = makeShare(threads, paths.length);
  const others = Array.from({ length: threads - 1 }, (_, at) =>
    runThread({ ...setup, paths, share, thread: at + 1, threads }),
  );
  const outcomes = new Map<string, FileOutcome>();
  const own = async (): Promise<readonly FileOutcome[]> => {
    const checkHere = await check(() => haveStarted(share));
    const done: FileOutcome[] = [];
    for (const path of takeFrom(share, 0, paths)) done.push(checkHere(path));
    return done;
  };
  for (const list of await Promise.all([own(), ...others])) for (const one of list) outcomes.set(one.path, one);
  return paths.flatMap((path) => outcomes.get(path) ?? []);
}

async function runThread(setup: WorkerSetup): Promise<WorkerAnswer> {
  const worker = new Worker(join(setup.dist, 'cli.js'), {
    workerData: setup,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG },
  });
  const on = () => pathOn(setup.share, setup.thread, setup.paths) ?? 'no file yet';
  try {
    return await new Promise<WorkerAnswer>((done, fail) => {
      worker.on('error', (error) => fail(new Error(`checking ${on()}: ${String(error)}`)));
      worker.on('exit', (code) => fail(new Error(`a checking thread ended with code ${code} on ${on()}`)));
      worker.on('message', done);
    });
  } finally {
    worker.removeAllListeners();
    await worker.terminate();
  }
}
