/** Runs benchmarks in the host process and keeps the caller safe from it: a crash or a hang ends the run, not the caller. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  BENCH_PROTOCOL,
  type BenchRequest,
  type BenchResult,
  type DeviceInfo,
  type HostRequest,
  type HostResponse,
} from '../protocol/bench';
import { lines, parseResponse } from './wire';

export interface HostOptions {
  /** The bundled host; default: host.js beside this bundle. */
  readonly hostPath?: string;
  /** The native addon; default: IKBO_ADDON, else ikbo.node beside this bundle. */
  readonly addonPath?: string;
  /** Node options for the host, e.g. to run it from source in tests. */
  readonly execArgv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The host is taken for hung after this many seconds without a sign of life; default 60. */
  readonly silenceSeconds?: number;
}

export interface RunOptions extends HostOptions {
  readonly onProgress?: (progress: { stage: string; done: number; total: number }) => void;
  readonly onSample?: (sample: Extract<HostResponse, { type: 'sample' }>) => void;
  readonly signal?: AbortSignal;
}

export type FailureKind = 'no addon' | 'refused' | 'crashed' | 'hung' | 'cancelled';

/** Why a run or the list of devices could not be had. */
export class BenchError extends Error {
  override readonly name = 'BenchError';
  constructor(
    message: string,
    readonly kind: FailureKind,
    /** A command for a terminal that makes it work; null where there is none. */
    readonly command: string | null = null,
    /** What the host wrote last to its error stream; null when it wrote nothing. */
    readonly details: string | null = null,
  ) {
    super(message);
  }
}

/** A cancelled host gets this long to stop by itself; then it is ended. */
const CANCEL_MILLISECONDS = 700;

/** Rejects with a BenchError: 'refused' carries the host's own words about the request. */
export function runBench(request: BenchRequest, options: RunOptions = {}): Promise<BenchResult> {
  return converse(options, { id: 2, type: 'run', request }, (response) => {
    if (response.type === 'progress') options.onProgress?.(response);
    if (response.type === 'sample') options.onSample?.(response);
    return response.type === 'result' ? response.result : undefined;
  });
}

export function listDevices(
  options: HostOptions = {},
): Promise<{ readonly devices: readonly DeviceInfo[]; readonly notes: readonly string[] }> {
  return converse(options, { id: 2, type: 'devices' }, (response) =>
    response.type === 'devices' ? { devices: response.devices, notes: response.notes } : undefined,
  );
}

function locate(options: HostOptions): { host: string; addon: string } {
  const host = options.hostPath ?? join(__dirname, 'host.js');
  const addon = options.addonPath ?? process.env['IKBO_ADDON'] ?? join(__dirname, 'ikbo.node');
  if (!existsSync(host)) throw new BenchError(`The benchmark host is missing: ${host}`, 'no addon', 'npm run build');
  if (!existsSync(addon))
    throw new BenchError(
      'The native kernels are not built, so nothing can be measured. Building them needs cmake, ninja and g++.',
      'no addon',
      'node scripts/native.mjs build',
    );
  return { host, addon };
}

/** One host for one question after the greeting; `take` returns what ends the conversation, or undefined. */
async function converse<T>(
  options: RunOptions,
  question: HostRequest,
  take: (response: HostResponse) => T | undefined,
): Promise<T> {
  const { signal } = options;
  if (signal?.aborted) throw cancelledError();
  const { host, addon } = locate(options);
  const child = spawn(process.execPath, [...(options.execArgv ?? []), host, '--addon', addon], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Inside an editor the executable is Electron, which runs as Node with this variable.
    env: { ...process.env, ELECTRON_RUN_AS_NODE: '1', ...options.env },
  });
  try {
    return await new Promise<T>((resolve, reject) => listen(child, options, question, take, resolve, reject));
  } finally {
    child.kill('SIGKILL');
  }
}

function listen<T>(
  child: ChildProcessWithoutNullStreams,
  options: RunOptions,
  question: HostRequest,
  take: (response: HostResponse) => T | undefined,
  resolve: (value: T) => void,
  reject: (error: BenchError) => void,
): void {
  const silence = options.silenceSeconds ?? 60;
  let stage = 'starting';
  let errors = '';
  let watchdog: NodeJS.Timeout;
  let grace: NodeJS.Timeout | undefined;
  const details = (): string | null => errors.trim() || null;
  const finish = (settle: () => void): void => {
    clearTimeout(watchdog);
    clearTimeout(grace);
    options.signal?.removeEventListener('abort', cancel);
    settle();
  };
  const fail = (message: string, kind: FailureKind): void =>
    finish(() => reject(new BenchError(message, kind, null, details())));
  const alive = (): void => {
    clearTimeout(watchdog);
    watchdog = setTimeout(
      () =>
        fail(`The benchmark host gave no sign of life for ${silence} s and was ended (last stage: ${stage}).`, 'hung'),
      silence * 1000,
    );
  };
  const ask = (request: HostRequest): void => void child.stdin.write(`${JSON.stringify(request)}\n`);
  const cancel = (): void => {
    ask({ id: 3, type: 'cancel', run: question.id });
    grace = setTimeout(() => finish(() => reject(cancelledError())), CANCEL_MILLISECONDS);
  };
  const hear = (response: HostResponse): void => {
    alive();
    if (response.type === 'progress') stage = response.stage;
    if (response.type === 'error')
      return response.cancelled ? finish(() => reject(cancelledError())) : fail(response.message, 'refused');
    if (response.type === 'hello') {
      if (response.protocol !== BENCH_PROTOCOL)
        return fail(`The benchmark host speaks protocol ${response.protocol}, not ${BENCH_PROTOCOL}.`, 'refused');
      return ask(question);
    }
    const answer = take(response);
    if (answer !== undefined) finish(() => resolve(answer));
  };

  child.on('error', (error) => fail(`The benchmark host cannot be started: ${error.message}`, 'crashed'));
  child.stdin.on('error', () => undefined); // its end is reported by 'close'
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4000)));
  child.stdout.setEncoding('utf8').on(
    'data',
    lines((line) => {
      const response = parseResponse(line);
      if (response) hear(response);
    }),
  );
  child.on('close', (code, signal) =>
    // Ctrl-C in a terminal reaches the host, too.
    signal === 'SIGINT'
      ? finish(() => reject(cancelledError()))
      : fail(
          `The benchmark host ended unexpectedly (${signal ?? `exit code ${code}`}; last stage: ${stage}).`,
          'crashed',
        ),
  );
  options.signal?.addEventListener('abort', cancel);
  alive();
  ask({ id: 1, type: 'hello', protocol: BENCH_PROTOCOL });
}

const cancelledError = (): BenchError => new BenchError('The benchmark was cancelled.', 'cancelled');
