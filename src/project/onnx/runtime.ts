/** onnxruntime-node as the child processes use it: models opened from files, inputs made, outputs compared. */
import type * as Ort from 'onnxruntime-node';
import type { ProbeInput } from '../../core/onnx/probe';

export type Session = Ort.InferenceSession;
export type Feeds = Ort.InferenceSession.FeedsType;

export interface Difference {
  readonly output: string;
  /** Largest absolute difference, and largest absolute value of the original. */
  readonly error: number;
  readonly scale: number;
  /** Null when shapes and types agree. */
  readonly mismatch: string | null;
}

export interface Runtime {
  readonly version: string;
  open(path: string): Promise<Session>;
  feeds(inputs: readonly ProbeInput[]): Feeds;
}

/** `place`: how onnxruntime-node is found; null for the ordinary way. Never loaded in the program itself. */
export function loadRuntime(place: string | null, threads = 2): Runtime {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- optional, and found where the caller says
  const ort = require(place ?? 'onnxruntime-node') as typeof Ort;
  return {
    version: ort.env.versions.node ?? ort.env.versions.common,
    // By path: from a buffer, the weights would be in memory twice.
    open: (path) =>
      ort.InferenceSession.create(path, {
        graphOptimizationLevel: 'all',
        intraOpNumThreads: threads,
        logSeverityLevel: 3,
      }),
    feeds: (inputs) => Object.fromEntries(inputs.map((input) => [input.name, tensorOf(ort, input)])),
  };
}

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

/** Runs both on the same inputs. */
export async function compareModels(before: Session, after: Session, feeds: Feeds): Promise<Difference[]> {
  const [x, y] = [await before.run(feeds), await after.run(feeds)];
  return Object.entries(x).map(([name, tensor]) =>
    compare(name, tensor as Ort.Tensor, y[name] as Ort.Tensor | undefined),
  );
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

/** Sums are taken in another order: float results differ in their last bits, by this much of the largest value. */
export const TOLERANCE = 1e-4;

/** The largest error relative to the largest value of its output, and what is wrong with it in words. */
export function judgeDifferences(differences: readonly Difference[]): { error: number; problem: string | null } {
  const mismatch = differences.find((difference) => difference.mismatch !== null);
  const error = Math.max(
    0,
    ...differences.map(({ error, scale }) => (error === 0 ? 0 : error / Math.max(scale, 1e-6))),
  );
  if (mismatch) return { error, problem: `output '${mismatch.output}': ${mismatch.mismatch}` };
  return {
    error,
    problem: error <= TOLERANCE ? null : `results differ by ${error.toExponential(1)} of the largest value`,
  };
}

/** What went wrong, without the list of files that Node and onnxruntime add. */
export const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
