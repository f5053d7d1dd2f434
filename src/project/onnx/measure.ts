/** Measures what rewriting one finding does to a whole model, by running both through onnxruntime. */
import { linkSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { readModel, rewriteModel, type Model } from '../../core/onnx';
import { analyse } from '../../core/onnx/analyse';
import { openFileBytes } from '../byte-source';
import { describeError } from '../walk';
import { medianOf, type Median } from './median';
import { verifyRewrite } from './run-pair';
import { at } from './verify';
import { writeModel } from './write';

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
  const source = openFileBytes(path);
  let folder = '';
  try {
    const rewritten = rewriteModel(path, source, { only: [finding], force: true });
    const [outcome] = rewritten.outcomes;
    if (!outcome) return `there is no finding ${finding}`;
    if (outcome.reason !== null) return `${finding} is not rewritten: ${outcome.reason}`;
    const model = readModel(source);
    const places = externalPlaces(model);
    // Links to weights must be on their file system.
    folder = mkdtempSync(join(places.length > 0 ? dirname(path) : tmpdir(), '.ikbo-measure-'));
    const after = join(folder, 'rewritten.onnx');
    writeModel(after, source, rewritten.pieces);
    linkExternal(places, dirname(path), folder);
    const verdict = await verifyRewrite(analyse(model), path, after, {
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
  } catch (error) {
    if (error instanceof Error && 'code' in error) return describeError(error);
    throw error;
  } finally {
    source.close();
    if (folder !== '') rmSync(folder, { recursive: true, force: true });
  }
}

const externalPlaces = ({ graph }: Model): string[] => [
  ...new Set(graph.initializers.flatMap(({ external }) => (external ? [external.location] : []))),
];

/** The rewritten model finds the weights of the original beside itself. They are not copied; runtimes follow no soft links. */
function linkExternal(places: readonly string[], from: string, to: string): void {
  for (const place of places) {
    const target = resolve(to, place);
    if (!target.startsWith(`${resolve(to)}/`)) continue; // one that leaves its folder is not followed
    mkdirSync(dirname(target), { recursive: true });
    linkSync(resolve(from, place), target);
  }
}

export function describeMeasured({ before, after, sizes, error }: Measured): string {
  const text = ({ median, low, high }: Median): string =>
    `${median.toPrecision(3)} ms [${low.toPrecision(3)}, ${high.toPrecision(3)}]`;
  const ratio = after.median > 0 ? `, ${(before.median / after.median).toFixed(2)}x` : '';
  return `whole model through onnxruntime on this machine's CPU${at(sizes)}: ${text(before)} as it is, ${text(after)} with the finding rewritten${ratio}; same results, largest error ${error.toExponential(1)}`;
}
