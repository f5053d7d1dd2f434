/**
 * The child process that runs models: it alone loads onnxruntime-node, so that a crash or a runaway model ends a check
 * and not the program. Reads one job (JSON) on standard input and writes one result (JSON) on standard output.
 */
import { readFileSync } from 'node:fs';
import type { ProbeInput } from '../../core/onnx/probe';
import { watchMemory } from './memory';
import { compareModels, firstLine, loadRuntime, type Difference, type Feeds, type Session } from './runtime';

export interface Job {
  /** The original and the rewritten model. */
  readonly models: readonly [string, string];
  readonly probes: readonly (readonly ProbeInput[])[];
  /** Timed runs per model, for each probe; 0 for none. */
  readonly repeats: readonly number[];
  /** How onnxruntime-node is found; null for the ordinary way. */
  readonly runtime: string | null;
}

export interface ProbeResult {
  readonly differences: readonly Difference[];
  /** Milliseconds of each run, original and rewritten; null when not timed. */
  readonly milliseconds: readonly [readonly number[], readonly number[]] | null;
}

export type JobResult = { readonly probes: readonly ProbeResult[] } | { readonly error: string };

async function runJob(job: Job): Promise<JobResult> {
  const { open, feeds: feedsOf } = loadRuntime(job.runtime);
  const [before, after] = [await open(job.models[0]), await open(job.models[1])];
  const probes: ProbeResult[] = [];
  for (const [i, inputs] of job.probes.entries()) {
    const repeats = job.repeats[i] ?? 0;
    const feeds = feedsOf(inputs);
    const differences = await compareModels(before, after, feeds);
    probes.push({ differences, milliseconds: repeats > 0 ? await time(before, after, feeds, repeats) : null });
  }
  return { probes };
}

/** Alternating runs, so that a slow moment hits both. The first of each warms up. */
async function time(before: Session, after: Session, feeds: Feeds, repeats: number): Promise<[number[], number[]]> {
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
  watchMemory();
  let result: JobResult;
  try {
    result = await runJob(JSON.parse(readFileSync(0, 'utf8')) as Job);
  } catch (error) {
    result = { error: firstLine(error) };
  }
  process.stdout.write(JSON.stringify(result));
}

void main();
