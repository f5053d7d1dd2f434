/** The user's own Python with PyTorch as a second child: opponents on the same data, in the same rounds. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DeviceInfo, Op } from '../../protocol/bench';
import type { Ceilings } from './ceilings';
import { childSampler, numberOf, startChild, type JsonChild } from './json-child';
import type { Problem } from './problem';
import type { Sampler } from './sampler';
import { readRows, writeOperands } from './torch-files';

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

export interface TorchOptions {
  readonly python: string;
  readonly device: DeviceInfo;
  readonly threads: number;
  readonly op: Op;
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
  const python = startChild({ command: options.python, args: ['-u', '-B', script()], alive: options.alive });
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

async function torchSampler(
  python: JsonChild,
  form: string,
  options: TorchOptions,
  notCaptured: Set<string>,
): Promise<Sampler> {
  const { kind } = options.device;
  const question = { type: 'sample', form };
  const first = await python.ask({ ...question, calls: 3, discarded: 0, flushBytes: 0, idle: 0, settle: 0 });
  if (kind === 'cuda' && first['captured'] !== true) notCaptured.add(form);
  const { op, flushBytes } = options;
  return childSampler(python, question, { once: numberOf(first, 'milliseconds'), op, kind, flushBytes });
}
