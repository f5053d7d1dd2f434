/**
 * The child process of the benchmark host that runs a model as it is and with one finding rewritten. JSON lines: a
 * `ModelQuestion` on standard input, its answer on standard output. It ends when its input does.
 */
import { createInterface } from 'node:readline';
import { probeInputs, probeSizes } from '../../core/onnx/probe';
import { readModel } from '../../core/onnx';
import { analyse } from '../../core/onnx/analyse';
import type { ModelLoaded, ModelQuestion } from '../../protocol/bench';
import { openFileBytes } from '../byte-source';
import { watchMemory } from './memory';
import { prepareRewrite } from './prepare';
import {
  compareModels,
  firstLine,
  judgeDifferences,
  loadRuntime,
  TOLERANCE,
  type Feeds,
  type Session,
} from './runtime';

interface Loaded {
  readonly original: Session;
  readonly rewritten: Session | null;
  readonly feeds: Feeds;
}

type Load = Extract<ModelQuestion, { type: 'load' }>;
type Sample = Extract<ModelQuestion, { type: 'sample' }>;

/** Besides the given sizes, results are compared at small primes and at a single source row, as every rewrite's are. */
async function load({ model: { path, finding, sizes, runtime }, threads }: Load): Promise<[Loaded, ModelLoaded]> {
  const { version, open, feeds: feedsOf } = loadRuntime(runtime, threads);
  const source = openFileBytes(path);
  try {
    const analysed = analyse(readModel(source));
    const sets = [sizes, {}].map((given) => probeSizes(analysed, false, given)).concat(probeSizes(analysed, true));
    const [feeds = {}, ...probes] = sets.map((at, i) => feedsOf(probeInputs(analysed, at, 17 + i)));
    const prepared = prepareRewrite(path, finding);
    const about = { version, sizes: Object.fromEntries(sets[0] ?? []), limit: TOLERANCE };
    const original = await open(path);
    await original.run(feeds);
    if (typeof prepared === 'string')
      return [
        { original, rewritten: null, feeds },
        { ...about, refused: prepared, error: 0 },
      ];
    try {
      const rewritten = await open(prepared.after);
      prepared.close(); // read: nothing stays behind when this process is ended
      const differences = [];
      for (const inputs of [feeds, ...probes]) differences.push(...(await compareModels(original, rewritten, inputs)));
      const { error, problem } = judgeDifferences(differences);
      if (problem !== null)
        return [
          { original, rewritten: null, feeds },
          { ...about, refused: `rewritten, ${problem}`, error },
        ];
      return [
        { original, rewritten, feeds },
        { ...about, refused: null, error },
      ];
    } finally {
      prepared.close();
    }
  } finally {
    source.close();
  }
}

let flushed = new Uint8Array(0);

/** Writes as much as the caches hold. */
function flush(bytes: number): void {
  if (flushed.length !== bytes) flushed = new Uint8Array(bytes);
  flushed.fill((flushed[0] ?? 0) + 1);
}

/** The last sample when `settle` has passed. */
async function settled(loaded: Loaded, question: Sample): Promise<number> {
  const start = performance.now();
  let last = await sample(loaded, question);
  while (performance.now() - start < question.settle) last = await sample(loaded, question);
  return last;
}

/** Milliseconds per call; what is written between the calls does not count. */
async function sample({ original, rewritten, feeds }: Loaded, { which, calls, flushBytes }: Sample): Promise<number> {
  const session = which === 'original' ? original : rewritten;
  if (!session) throw new Error('there is no rewritten model');
  let total = 0;
  for (let i = 0; i < calls; i++) {
    if (flushBytes > 0) flush(flushBytes);
    const start = performance.now();
    await session.run(feeds);
    total += performance.now() - start;
  }
  return total / calls;
}

async function main(): Promise<void> {
  watchMemory();
  let loaded: Loaded | null = null;
  for await (const line of createInterface({ input: process.stdin })) {
    const question = JSON.parse(line) as ModelQuestion;
    let answer: unknown;
    try {
      if (question.type === 'load') [loaded, answer] = await load(question);
      else if (loaded) answer = { milliseconds: await settled(loaded, question) };
    } catch (error) {
      answer = { error: firstLine(error) };
    }
    process.stdout.write(`${JSON.stringify(answer ?? { error: 'no model is loaded' })}\n`);
  }
}

void main();
