/** Proves a rewritten model against the original by running both in a child process. */
import { spawn } from 'node:child_process';
import type { Analysed } from '../../core/onnx/analyse';
import { probeInputs, probeSizes, type ProbeInput } from '../../core/onnx/probe';
import type { Job, JobResult, ProbeResult } from './child';
import { judgeDifferences } from './runtime';

export interface VerifyOptions {
  /** How the child is started: a command and its arguments (`[node, dist/onnx-child.js]`). */
  readonly child: readonly [string, ...string[]];
  /** Where onnxruntime-node is, or null for the ordinary way. */
  readonly runtime: string | null;
  readonly seconds: number;
  /** Timed runs per model at `shapes`; 0 for none. */
  readonly repeats: number;
  /** Sizes for a further, timed set of inputs, where one of them is the model's; a model that leaves none open is timed, too. */
  readonly shapes?: Readonly<Record<string, number>>;
}

export interface Verdict {
  readonly ok: boolean;
  /** What went wrong, for people; null when nothing did. */
  readonly problem: string | null;
  readonly probes: readonly (ProbeResult & { readonly sizes: Readonly<Record<string, number>> })[];
  /** Largest error over all outputs and inputs, relative to the largest value of that output. */
  readonly error: number;
}

/** More output than any honest result has. */
const MAX_OUTPUT = 1 << 24;

/** Runs `before` and `after` on two sets of inputs: sizes that are different primes, and a single source row. */
export async function verifyRewrite(
  analysed: Analysed,
  before: string,
  after: string,
  options: VerifyOptions,
): Promise<Verdict> {
  let timed = false;
  let probes: { sizes: Map<string, number>; inputs: ProbeInput[] }[];
  try {
    const sets = [probeSizes(analysed, false), probeSizes(analysed, true)];
    // A model whose sizes are all fixed needs none to be given.
    const free = [...(sets[0]?.keys() ?? [])];
    timed = options.repeats > 0 && (free.length === 0 || free.some((name) => options.shapes?.[name] !== undefined));
    if (timed) sets.push(probeSizes(analysed, false, options.shapes));
    probes = sets.map((sizes, i) => ({ sizes, inputs: probeInputs(analysed, sizes, 17 + i) }));
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  }
  const job: Job = {
    models: [before, after],
    probes: probes.map(({ inputs }) => inputs),
    repeats: probes.map((_, i) => (timed && i === 2 ? options.repeats : 0)),
    runtime: options.runtime,
  };
  const result = await runChild(job, options);
  if ('error' in result) return failure(result.error);
  const results = result.probes.map((probe, i) => ({ ...probe, sizes: Object.fromEntries(probes[i]?.sizes ?? []) }));
  const differences = results.flatMap((probe) => probe.differences);
  const { error, problem } = judgeDifferences(differences);
  return { ok: problem === null, problem, probes: results, error };
}

const failure = (problem: string): Verdict => ({ ok: false, problem, probes: [], error: NaN });

function runChild(job: Job, { child, seconds }: VerifyOptions): Promise<JobResult> {
  const [command, ...args] = child;
  return new Promise((resolve) => {
    const run = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let out = '';
    let errors = '';
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      run.kill('SIGKILL');
    }, seconds * 1000);
    run.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (out.length > MAX_OUTPUT) run.kill('SIGKILL');
    });
    run.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-2000)));
    run.stdin.on('error', () => undefined);
    run.on('error', (error) => {
      clearTimeout(timer);
      resolve({ error: `could not start ${command}: ${error.message}` });
    });
    run.on('close', (code) => {
      clearTimeout(timer);
      if (late) return resolve({ error: `the models ran longer than ${seconds} s` });
      try {
        resolve(JSON.parse(out) as JobResult);
      } catch {
        resolve({ error: `the run ended with ${code ?? 'a signal'}: ${errors.trim().split('\n').at(-1) ?? ''}` });
      }
    });
    run.stdin.end(JSON.stringify(job));
  });
}
