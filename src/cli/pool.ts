/** Checks many files on several threads. The outcome does not depend on how many there are. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FileOutcome } from '../project/check-files';
import type { WorkerAnswer, WorkerRequest, WorkerSetup } from './worker';

/** Starting a thread costs as much as checking about this many files. */
const FILES_PER_THREAD = 40;
/** Small enough that the threads end at about the same time, large enough that messages do not matter. */
const BATCH = 8;

/** Threads worth starting for so many files; 1 means: check in this thread. */
export function threadsFor(files: number, jobs: number | null): number {
  return Math.max(1, Math.min(jobs ?? availableParallelism(), Math.ceil(files / FILES_PER_THREAD)));
}

/** Outcomes in the order of `paths`. Rejects when a thread dies, naming the files that it was on. */
export async function checkOnThreads(
  setup: WorkerSetup,
  paths: readonly string[],
  threads: number,
): Promise<readonly FileOutcome[]> {
  const outcomes = new Map<string, FileOutcome>();
  let next = 0;
  const take = (): WorkerRequest => paths.slice(next, (next += BATCH));
  await Promise.all(Array.from({ length: threads }, () => runThread(setup, take, outcomes)));
  return paths.flatMap((path) => outcomes.get(path) ?? []);
}

async function runThread(
  setup: WorkerSetup,
  take: () => WorkerRequest,
  outcomes: Map<string, FileOutcome>,
): Promise<void> {
  let batch = take();
  if (batch.length === 0) return;
  const worker = new Worker(join(setup.dist, 'worker.js'), { workerData: setup });
  try {
    await new Promise<void>((done, fail) => {
      worker.on('error', (error) => fail(new Error(`checking ${batch.join(', ')}: ${String(error)}`)));
      worker.on('exit', (code) => fail(new Error(`a checking thread ended with code ${code} on ${batch.join(', ')}`)));
      worker.on('message', (answer: WorkerAnswer) => {
        for (const outcome of answer) outcomes.set(outcome.path, outcome);
        batch = take();
        if (batch.length > 0) worker.postMessage(batch);
        else done();
      });
      worker.postMessage(batch);
    });
  } finally {
    worker.removeAllListeners();
    await worker.terminate();
  }
}
