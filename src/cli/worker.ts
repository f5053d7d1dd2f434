/** One thread of a run over many files: gets batches of paths, answers with their outcomes. */
import { parentPort, workerData } from 'node:worker_threads';
import { createEngine } from '../core/create-engine';
import type { CheckOptions } from '../core/engine';
import { checkFile, type FileOutcome } from '../project/check-files';
import { fileSource } from '../project/file-source';
import { readGrammars } from '../project/grammars';

/** Handed over when the thread starts. */
export interface WorkerSetup {
  readonly root: string;
  readonly dist: string;
  readonly options: Omit<CheckOptions, 'files'>;
}

export type WorkerRequest = readonly string[];
export type WorkerAnswer = readonly FileOutcome[];

async function serve(): Promise<void> {
  const port = parentPort;
  if (!port) throw new Error('this file runs as a worker thread only');
  const { root, dist, options } = workerData as WorkerSetup;
  const engine = await createEngine(readGrammars(dist));
  const files = fileSource(root);
  port.on('message', (paths: WorkerRequest) => {
    const answer: WorkerAnswer = paths.map((path) => checkFile(engine, root, path, options, files));
    port.postMessage(answer);
  });
}

void serve();
