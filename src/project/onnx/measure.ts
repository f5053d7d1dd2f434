/** Measures what rewriting one finding does to a whole model, by running both through onnxruntime. */
import { join } from 'node:path';
import { describeError } from '../walk';
import { medianOf, type Median } from './median';
import { prepareRewrite } from './prepare';
import { verifyRewrite } from './run-pair';
import { at } from './verify';

export interface MeasureRequest {
  readonly model: string;
  /** `IKB101:27`: the finding that is rewritten. */
  readonly finding: string;
  /** Sizes by the model's own symbols; the others are small primes. */
  readonly shapes: Readonly<Record<string, number>>;
  /** The folder of the built bundles, where the child is. */
  readonly dist: string;
  /** Path of onnxruntime-node. */
  readonly runtime: string;
  readonly repeats: number;
}

export interface Measured {
  /** Milliseconds per run of the whole model on this machine's CPU. */
  readonly before: Median;
  readonly after: Median;
  readonly sizes: Readonly<Record<string, number>>;
  /** Largest difference over all outputs, relative to the largest value of that output. */
  readonly error: number;
}

/** The reason, in words, where the finding is not rewritten or the models do not run. */
export async function measureRewrite(request: MeasureRequest): Promise<Measured | string> {
  const { model: path, finding, shapes, dist, runtime, repeats } = request;
  try {
    const prepared = prepareRewrite(path, finding);
    if (typeof prepared === 'string') return prepared;
    try {
      const verdict = await verifyRewrite(prepared.analysed, path, prepared.after, {
        child: [process.execPath, join(dist, 'onnx-child.js')],
        runtime,
        seconds: 300,
        repeats,
        shapes,
      });
      const timed = verdict.probes.find(({ milliseconds }) => milliseconds !== null);
      if (!verdict.ok) return verdict.problem ?? 'the results differ';
      if (!timed?.milliseconds) return 'nothing was timed: no size is given';
      const [a, b] = timed.milliseconds;
      return { before: medianOf(a), after: medianOf(b), sizes: timed.sizes, error: verdict.error };
    } finally {
      prepared.close();
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error) return describeError(error);
    throw error;
  }
}

export function describeMeasured({ before, after, sizes, error }: Measured): string {
  const text = ({ median, low, high }: Median): string =>
    `${median.toPrecision(3)} ms [${low.toPrecision(3)}, ${high.toPrecision(3)}]`;
  const ratio = after.median > 0 ? `, ${(before.median / after.median).toFixed(2)}x` : '';
  return `whole model through onnxruntime on this machine's CPU${at(sizes)}: ${text(before)} as it is, ${text(after)} with the finding rewritten${ratio}; same results, largest error ${error.toExponential(1)}`;
}
