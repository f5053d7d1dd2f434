/**
 * The child process that runs models: it alone loads onnxruntime-node, so that a crash or a runaway model ends a check
 * and not the program. Reads one job (JSON) on standard input and writes one result (JSON) on standard output.
 */
import { readFileSync } from 'node:fs';
import type * as Ort from 'onnxruntime-node';
import type { ProbeInput } from '../../core/onnx/probe';

export interface Job {
  /** The original and the rewritten model. */
  readonly models: readonly [string, string];
  readonly probes: readonly (readonly ProbeInput[])[];
  /** Timed runs per model, for each probe; 0 for none. */
  readonly repeats: readonly number[];
  /** How onnxruntime-node is found; null for the ordinary way. */
  readonly runtime: string | null;
}

export interface Difference {
  readonly output: string;
  /** Largest absolute difference, and largest absolute value of the original. */
  readonly error: number;
  readonly scale: number;
  /** Null when shapes and types agree. */
  readonly mismatch: string | null;
}

export interface ProbeResult {
  readonly differences: readonly Difference[];
  /** Milliseconds of each run, original and rewritten; null when not timed. */
  readonly milliseconds: readonly [readonly number[], readonly number[]] | null;
}

export type JobResult = { readonly probes: readonly ProbeResult[] } | { readonly error: string };

const TYPES: Readonly<Record<number, Ort.Tensor.Type>> = {
  1: 'float32', 2: 'uint8', 3: 'int8', 4: 'uint16', 5: 'int16', 6: 'int32', 7: 'int64', 9: 'bool', 11: 'float64', 12: 'uint32', 13: 'uint64',
}; // prettier-ignore

function tensorOf(ort: typeof Ort, { element, dims, values, name }: ProbeInput): Ort.Tensor {
  const type = TYPES[element];
  if (!type) throw new Error(`input '${name}' has element type ${element}, which cannot be made up`);
  if (type === 'int64') return new ort.Tensor('int64', BigInt64Array.from(values.map(BigInt)), dims);
  if (type === 'uint64') return new ort.Tensor('uint64', BigUint64Array.from(values.map(BigInt)), dims);
  if (type === 'bool') return new ort.Tensor('bool', Uint8Array.from(values), dims);
  return new ort.Tensor(type as 'float32', values, dims);
}

function compare(name: string, a: Ort.Tensor, b: Ort.Tensor | undefined): Difference {
  if (!b || a.type !== b.type || a.dims.join() !== b.dims.join()) {
    const seen = b ? `${b.type}[${b.dims.join()}]` : 'nothing';
    return { output: name, error: NaN, scale: NaN, mismatch: `${a.type}[${a.dims.join()}] became ${seen}` };
  }
  let error = 0;
  let scale = 0;
  const [x, y] = [a.data, b.data];
  for (let i = 0; i < x.length; i++) {
    const [p, q] = [Number(x[i]), Number(y[i])];
    if (Number.isNaN(p) && Number.isNaN(q)) continue;
    const difference = p === q ? 0 : Math.abs(p - q);
    if (!(difference <= error)) error = difference;
    if (Math.abs(p) > scale) scale = Math.abs(p);
  }
  return { output: name, error, scale, mismatch: null };
}

async function runJob(job: Job): Promise<JobResult> {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- optional, and found where the caller says
  const ort = require(job.runtime ?? 'onnxruntime-node') as typeof Ort;
  const open = (path: string): Promise<Ort.InferenceSession> =>
    ort.InferenceSession.create(path, { graphOptimizationLevel: 'all', intraOpNumThreads: 2, logSeverityLevel: 3 });
  const [before, after] = [await open(job.models[0]), await open(job.models[1])];
  const probes: ProbeResult[] = [];
  for (const [i, inputs] of job.probes.entries()) {
    const repeats = job.repeats[i] ?? 0;
    const feeds = Object.fromEntries(inputs.map((input) => [input.name, tensorOf(ort, input)]));
    const [x, y] = [await before.run(feeds), await after.run(feeds)];
    const differences = Object.entries(x).map(([name, tensor]) =>
      compare(name, tensor as Ort.Tensor, y[name] as Ort.Tensor | undefined),
    );
    probes.push({ differences, milliseconds: repeats > 0 ? await time(before, after, feeds, repeats) : null });
  }
  return { probes };
}

/** Alternating runs, so that a slow moment hits both. The first of each warms up. */
async function time(
  before: Ort.InferenceSession,
  after: Ort.InferenceSession,
  feeds: Ort.InferenceSession.FeedsType,
  repeats: number,
): Promise<[number[], number[]]> {
  const samples: [number[], number[]] = [[], []];
  for (let i = -1; i < repeats; i++) {
    for (const [which, session] of [
      [0, before],
      [1, after],
    ] as const) {
      // prettier-ignore
      const start = performance.now();
      await session.run(feeds);
      if (i >= 0) samples[which].push(performance.now() - start);
    }
  }
  return samples;
}

/** Everything that goes wrong is told to the parent in words. */
async function main(): Promise<void> {
  let result: JobResult;
  try {
    result = await runJob(JSON.parse(readFileSync(0, 'utf8')) as Job);
  } catch (error) {
    result = { error: error instanceof Error ? error.message : String(error) };
  }
  process.stdout.write(JSON.stringify(result));
}

void main();
