/** What `ikbo rewrite` says of a rewritten model: that it computes the same, and what changed. */
import { join } from 'node:path';
import { readModel } from '../../core/onnx';
import { analyse } from '../../core/onnx/analyse';
import { probeSizes } from '../../core/onnx/probe';
import { bytesWritten } from '../../core/onnx/traffic';
import { openFileBytes } from '../byte-source';
import { medianOf } from './median';
import { verifyRewrite, type Verdict } from './run-pair';
import { judgeDifferences } from './runtime';

export interface VerifyRequest {
  readonly before: string;
  readonly after: string;
  /** The folder of the built bundles, where the child is. */
  readonly dist: string;
  /** Sizes to time at, by symbol; nothing is timed when empty. */
  readonly shapes: Readonly<Record<string, number>>;
}

export interface Verified {
  readonly ok: boolean;
  readonly lines: readonly string[];
}

/** Compares two model files. Throws when one cannot be read. */
export async function verifyModel(request: VerifyRequest, runtime: string): Promise<Verified> {
  const [original, rewritten] = [openFileBytes(request.before), openFileBytes(request.after)];
  try {
    const before = analyse(readModel(original));
    // Counted as a runtime without kernels for ai.ikbo runs it.
    const after = analyse(readModel(rewritten), true);
    const child = [process.execPath, join(request.dist, 'onnx-child.js')] as const;
    const options = { child, runtime, seconds: 120, repeats: 20, shapes: request.shapes };
    const verdict = await verifyRewrite(before, request.before, request.after, options);
    const sizes = probeSizes(before, false, request.shapes);
    const nodes = `nodes ${before.model.graph.nodes.length} -> ${after.model.graph.nodes.length}`;
    const bytes = [bytesWritten(before, sizes), bytesWritten(after, sizes)];
    const moved = bytes.every((value) => value !== null)
      ? `; bytes written per run ${bytes[0]} -> ${bytes[1]}${at(Object.fromEntries(sizes))}${grown(bytes[0], bytes[1])}`
      : '';
    return {
      ok: verdict.ok,
      lines: [describe(verdict, Math.max(original.size, rewritten.size)), nodes + moved, ...timing(verdict)],
    };
  } finally {
    original.close();
    rewritten.close();
  }
}

/** Protobuf, and with it onnxruntime, reads no larger message. */
const LARGEST_MESSAGE = 2 ** 31 - 1;

function describe({ ok, problem, probes, error }: Verdict, size: number): string {
  if (!ok && probes.length > 0) return `NOT the same results: ${problem ?? 'unknown'}`;
  if (!ok && size > LARGEST_MESSAGE)
    return `not verified: onnxruntime reads files of up to 2 GiB; keep the weights in a file beside the model (${problem ?? ''})`;
  if (!ok) return `not verified: ${problem ?? 'unknown'}`;
  const sets = `${probes.length} set${probes.length === 1 ? '' : 's'} of inputs`;
  const outputs = [...new Set(probes.flatMap(({ differences }) => differences.map(({ output }) => output)))];
  const worst = outputs.map((output) => {
    const own = probes.flatMap(({ differences }) => differences.filter((one) => one.output === output));
    return `${output} ${short(judgeDifferences(own).error)}`;
  });
  const each = outputs.length > 1 ? ` (${listed(worst)})` : '';
  return `same results on ${sets}; largest error ${short(error)} of an output's largest value${each}`;
}

const short = (error: number): string => (error === 0 ? '0' : error.toExponential(1));

/** A model may have a cache of keys and values for every layer. */
const MOST_LISTED = 12;
const listed = (items: readonly string[]): string =>
  items.length > MOST_LISTED
    ? `${items.slice(0, MOST_LISTED).join(', ')} and ${items.length - MOST_LISTED} more`
    : items.join(', ');

/** ` at B=5, U=7`; nothing without sizes. */
export const at = (sizes: Readonly<Record<string, number>>): string => {
  const text = Object.entries(sizes).map(([name, size]) => `${name}=${size}`).join(', '); // prettier-ignore
  return text === '' ? '' : ` at ${text}`;
};

const median = (samples: readonly number[]): string => medianOf(samples).median.toFixed(3);

function timing({ ok, probes }: Verdict): string[] {
  if (ok && probes.every(({ milliseconds }) => milliseconds === null))
    return [`not timed: no size is given for ${Object.keys(probes[0]?.sizes ?? {}).join(', ')}`];
  return probes.flatMap(({ milliseconds, sizes }) =>
    milliseconds
      ? [`median time ${median(milliseconds[0])} -> ${median(milliseconds[1])} ms${at(sizes)}, on this machine's CPU`]
      : [],
  );
}

/** At small sizes the parts of a split product can be larger than the copy that they replace. */
const grown = (before: number | null | undefined, after: number | null | undefined): string =>
  (after ?? 0) > (before ?? 0) ? ' (more at these sizes: the saving is in operations, or comes with larger ones)' : '';
