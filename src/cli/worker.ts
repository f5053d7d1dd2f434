/** One thread more of a run over many files: takes paths from the shared list until there are none, and answers once. */
import { parentPort, workerData } from 'node:worker_threads';
import { createEngine } from '../core/create-engine';
import type { CheckOptions } from '../core/engine';
import { createFileChecker, type FileOutcome } from '../project/check-files';
import { readGrammars } from '../project/grammars';
import { takeFrom } from './share';

/** Handed over when the thread starts. */
export interface WorkerSetup {
  readonly root: string;
  readonly dist: string;
  readonly options: Omit<CheckOptions, 'files'>;
  /** Where classes are looked for by name. */
  readonly folders: readonly string[];
  readonly paths: readonly string[];
  /** See `share.ts`. */
  readonly share: SharedArrayBuffer;
  /** Number of this thread, and how many there are. */
  readonly thread: number;
  readonly threads: number;
}

export type WorkerAnswer = readonly FileOutcome[];

export async function serve(): Promise<void> {
  if (!parentPort) throw new Error('this file runs as a worker thread only');
  const { root, dist, options, folders, paths, share, thread, threads } = workerData as WorkerSetup;
  const engine = await createEngine(readGrammars(dist), 1 / threads);
  const check = createFileChecker(engine, root, options, 1 / threads, folders);
  const answer: FileOutcome[] = [];
  for (const path of takeFrom(share, thread, paths)) answer.push(check(path));
  parentPort.postMessage(answer satisfies WorkerAnswer);
}
