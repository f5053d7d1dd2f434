/** Runs jobs in the user's interpreter: a child process with a time limit that can be cancelled. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer, Job } from './job';

export interface RunOptions {
  readonly python: string;
  readonly seconds: number;
  readonly signal?: AbortSignal;
  readonly onAnswer?: (answer: Answer) => void;
}

/** More than any answer has; user code that writes to the answers' stream is ended. */
const MOST_OUTPUT = 1 << 22;

/** Milliseconds for what a process has written before it ended. */
const LAST_WORDS = 500;

/** The package beside the bundles, or beside this file when it runs from source. */
function harness(): string {
  const places = [join(__dirname, 'verify/ikbo_verify'), join(__dirname, 'ikbo_verify')];
  const found = places.find((path) => existsSync(path));
  if (!found) throw new Error('ikbo_verify is missing beside the bundles: run npm run build');
  return found;
}

/** Where `ikbo_lens` is, for rewritten code that calls it and an interpreter that lacks it. */
export function bundledPackages(): readonly string[] {
  const places = [join(__dirname, '../kernels/python'), join(__dirname, '../../kernels/python')];
  return places.filter((path) => existsSync(join(path, 'ikbo_lens'))).slice(0, 1);
}

/** One answer per job, in order. A process that dies, is late or cancelled leaves that as the answer of the jobs that are left. */
export function runJobs(jobs: readonly Job[], { python, seconds, signal, onAnswer }: RunOptions): Promise<Answer[]> {
  return new Promise((resolve) => {
    const answers: Answer[] = [];
    const child = spawn(python, ['-B', '-u', '-W', 'ignore', harness()], { stdio: ['pipe', 'pipe', 'pipe'] });
    let why: string | null = null;
    let errors = '';
    let rest = '';
    const stop = (reason: string): void => {
      why ??= reason;
      child.kill('SIGKILL');
      release();
    };
    /** Processes that user code started may hold the streams open for ever. */
    const release = (): void => {
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const cancel = (): void => stop('cancelled');
    let timer: NodeJS.Timeout | undefined;
    const wind = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => stop(`not done within ${seconds} s; --timeout gives it longer`), seconds * 1000);
    };
    const finish = (reason: string): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      while (answers.length < jobs.length) answers.push({ ok: false, problem: why ?? reason });
      resolve(answers);
    };
    wind();
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    child.stdin.on('error', () => undefined); // its end is reported by 'close'
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4000)));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      rest += text;
      if (rest.length > MOST_OUTPUT) stop('the answer is longer than any honest one');
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const answer = parseAnswer(line);
        answers.push(answer);
        onAnswer?.(answer);
        wind();
      }
      // Threads that user code started may keep the process for ever.
      if (answers.length >= jobs.length) stop('done');
    });
    child.on('error', (error) => finish(`${python} cannot be started: ${error.message}`));
    child.on('exit', () => setTimeout(release, LAST_WORDS));
    child.on('close', (code, killed) => {
      const last = errors.trim().split('\n').pop();
      finish(`${python} ended early (${killed ?? `code ${code}`})${last ? `: ${last}` : ''}`);
    });
    child.stdin.end(jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
  });
}

function parseAnswer(line: string): Answer {
  try {
    const value = JSON.parse(line) as Answer | null;
    if (typeof value === 'object' && value !== null && typeof value.ok === 'boolean') return value;
  } catch {
    // Falls through: user code wrote to the stream.
  }
  return { ok: false, problem: `not an answer: ${line.slice(0, 200)}` };
}
