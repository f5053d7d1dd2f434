/** The user's own Python with PyTorch as a second child: opponents on the same data, in the same rounds. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DeviceInfo, Regime } from '../../protocol/bench';
import { lines } from '../wire';
import type { Ceilings } from './ceilings';
import type { Problem } from './problem';
import { BURST_CALLS, IDLE_MILLISECONDS, pause, SUSTAINED_MILLISECONDS, type Sampler } from './sampler';
import { readRows, writeOperands } from './torch-files';

/** torch.compile may take minutes on a cold cache; everything else is quick. */
const PATIENCE_MILLISECONDS = 300_000;

export interface Torch {
  readonly version: string;
  /** Forms that could not be captured into a CUDA graph: their launches are in their times. */
  readonly notCaptured: ReadonlySet<string>;
  /** Runs a form once and returns the named rows of its output, and what it allocated at most (CUDA). */
  run(form: string, rows: readonly number[]): Promise<{ values: Float64Array; peakBytes: number | null }>;
  sampler(form: string): Promise<Sampler>;
  /** GFLOP/s of a large matmul and GB/s of a large copy; part of the ceilings. */
  ceilings(size: number, copyBytes: number): Promise<Ceilings>;
  close(): void;
}

type Answer = Readonly<Record<string, unknown>>;

export interface TorchOptions {
  readonly python: string;
  readonly device: DeviceInfo;
  readonly threads: number;
  readonly flushBytes: number;
  /** Called while an answer takes long, so that the host shows a sign of life. */
  readonly alive: () => void;
}

function script(): string {
  const places = [join(__dirname, 'torch/arms.py'), join(__dirname, '../torch/arms.py')];
  const found = places.find((path) => existsSync(path));
  if (!found) throw new Error('torch/arms.py is missing beside the benchmark host');
  return found;
}

/** Rejects with what is missing, in one line: no interpreter, no PyTorch, no CUDA in it. */
export async function startTorch(problem: Problem, options: TorchOptions): Promise<Torch> {
  const folder = mkdtempSync(join(tmpdir(), 'ikbo-bench-'));
  const python = connect(options);
  const close = (): void => {
    python.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { op, dims, dtype } = problem.plan.request;
    const hello = await python.ask({ type: 'hello', device: options.device.id, threads: options.threads });
    const files = writeOperands(problem, folder);
    const { repeats } = problem.plan;
    await python.ask({ type: 'load', op, dims, dtype, files, repeats, sets: problem.inputs.length });
    const out = join(folder, 'out');
    const notCaptured = new Set<string>();
    return {
      version: String(hello['torch']),
      notCaptured,
      async run(form, rows) {
        const answer = await python.ask({ type: 'run', form, out });
        const peak = answer['peakBytes'];
        const values = readRows(out, dtype, rows, problem.rowWidth);
        rmSync(out, { force: true });
        return { values, peakBytes: typeof peak === 'number' ? peak : null };
      },
      sampler: (form) => torchSampler(python, form, options, notCaptured),
      async ceilings(size, copyBytes) {
        const answer = await python.ask({ type: 'ceiling', size, copyBytes });
        return { gflops: numberOf(answer, 'gflops'), gbytes: numberOf(answer, 'gbytes') };
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

interface Python {
  ask(question: Answer): Promise<Answer>;
  kill(): void;
}

function connect({ python, alive }: TorchOptions): Python {
  const child = spawn(python, ['-u', '-B', script()], { stdio: ['pipe', 'pipe', 'pipe'] });
  let waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | null = null;
  let errors = '';
  let ended: string | null = null;
  const fail = (message: string): void => {
    ended ??= message;
    waiting?.reject(new Error(ended));
    waiting = null;
  };
  child.on('error', (error) => fail(`${python} cannot be started: ${error.message}`));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4000)));
  child.on('close', () => fail(`${python} ended: ${errors.trim().split('\n').pop() ?? 'without a word'}`));
  child.stdin.on('error', () => undefined); // its end is reported by 'close'
  child.stdout.setEncoding('utf8').on(
    'data',
    lines((line) => {
      const answer = JSON.parse(line) as Answer;
      const failed = answer['error'];
      if (typeof failed === 'string') waiting?.reject(new Error(failed));
      else waiting?.resolve(answer);
      waiting = null;
    }),
  );
  const ask = async (question: Answer): Promise<Answer> => {
    if (ended !== null) throw new Error(ended);
    const heartbeat = setInterval(alive, 1000);
    const limit = setTimeout(() => {
      fail(`${python} did not answer within ${PATIENCE_MILLISECONDS / 1000} s`);
      child.kill('SIGKILL');
    }, PATIENCE_MILLISECONDS);
    try {
      return await new Promise<Answer>((resolve, reject) => {
        waiting = { resolve, reject };
        child.stdin.write(`${JSON.stringify(question)}\n`);
      });
    } finally {
      clearInterval(heartbeat);
      clearTimeout(limit);
    }
  };
  return { ask, kill: () => void child.kill('SIGKILL') };
}

async function torchSampler(
  python: Python,
  form: string,
  options: TorchOptions,
  notCaptured: Set<string>,
): Promise<Sampler> {
  const { kind } = options.device;
  const first = await python.ask({ type: 'sample', form, calls: 3, flushBytes: 0 });
  if (kind === 'cuda' && first['captured'] !== true) notCaptured.add(form);
  const once = numberOf(first, 'milliseconds');
  const calls: Readonly<Record<Regime, number>> = {
    burst: Math.max(1, Math.min(BURST_CALLS, Math.round(200 / once))),
    flush: Math.max(1, Math.min(kind === 'cpu' ? 4 : 20, Math.round((kind === 'cpu' ? 1 : 10) / once))),
    sustained: Math.max(1, Math.round(SUSTAINED_MILLISECONDS[kind] / once)),
  };
  return {
    async sample(regime) {
      if (regime === 'burst') await pause(IDLE_MILLISECONDS);
      const flushBytes = regime === 'flush' ? options.flushBytes : 0;
      return numberOf(await python.ask({ type: 'sample', form, calls: calls[regime], flushBytes }), 'milliseconds');
    },
    close: () => undefined,
  };
}

function numberOf(answer: Answer, name: string): number {
  const value = answer[name];
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`PyTorch's answer has no ${name}`);
  return value;
}
