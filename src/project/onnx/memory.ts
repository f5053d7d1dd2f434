/** Ends a child process that runs a model before it takes the whole machine. */
import { freemem } from 'node:os';
import { Worker } from 'node:worker_threads';

const SHARE = 0.75;

/**
 * A run blocks this thread, so another one looks. The limit is a share of what was free at the start; IKBO_MODEL_MEMORY, in
 * bytes, sets another. What is said on the error stream is what the parent reports.
 */
export function watchMemory(): void {
  const limit = Number(process.env['IKBO_MODEL_MEMORY'] ?? SHARE * freemem());
  new Worker(
    `const { writeSync } = require('node:fs');
     setInterval(() => {
       if (process.memoryUsage.rss() <= ${limit}) return;
       writeSync(2, 'running the model takes more than ${(limit / 1e9).toFixed(1)} GB of memory\\n');
       process.kill(process.pid, 'SIGKILL');
     }, 50);`,
    { eval: true },
  ).unref();
}
