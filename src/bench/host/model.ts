/** The model that a finding is in, as it is and rewritten, through onnxruntime: a child on the CPU, in the same rounds. */
import { basename, join } from 'node:path';
import { existsSync } from 'node:fs';
import { RUNTIME_MISSING } from '../../protocol/onnx';
import type { ModelLoaded, ModelQuestion, ModelRun, Op } from '../../protocol/bench';
import { MODEL_AS_WRITTEN, type Arm } from '../arms';
import { unavailable, type ReadyArm } from './arm-run';
import { childSampler, numberOf, startChild, type JsonChild } from './json-child';

export interface ModelOptions {
  readonly threads: number;
  readonly op: Op;
  /** Of the CPU's caches. */
  readonly flushBytes: number;
  readonly alive: () => void;
}

export interface ModelArms {
  /** Sentences for the reader of the result. */
  readonly notes: readonly string[];
  ready(arm: Arm): Promise<ReadyArm>;
  close(): void;
}

/** The bundle beside this one, or the source beside this source. */
function script(): string {
  const places = [join(__dirname, 'onnx-bench.js'), join(__dirname, '../../project/onnx/bench-child.ts')];
  const found = places.find((path) => existsSync(path));
  if (found === undefined) throw new Error('onnx-bench.js is missing beside the benchmark host');
  return found;
}

/** Rejects with what is missing, in one line: onnxruntime-node, a size, an input that cannot be made up. */
export async function startModel(model: ModelRun, options: ModelOptions): Promise<ModelArms> {
  if (model.runtime === null) throw new Error(RUNTIME_MISSING);
  const args = [...process.execArgv, script()];
  const child = startChild({ command: process.execPath, args, alive: options.alive });
  try {
    const loaded = (await child.ask({
      type: 'load',
      model,
      threads: options.threads,
    } satisfies ModelQuestion)) as object as ModelLoaded;
    return {
      notes: notesOf(model, loaded),
      ready: (arm) => readyModel(child, loaded, options, arm),
      close: child.kill,
    };
  } catch (error) {
    child.kill();
    throw error;
  }
}

function notesOf({ path, finding }: ModelRun, { version, sizes, refused }: ModelLoaded): string[] {
  const at = Object.entries(sizes).map(([name, size]) => `${name}=${size}`).join(', '); // prettier-ignore
  const where = `${basename(path)}${at && ` at ${at}`}, in onnxruntime ${version} on this machine's CPU`;
  const ran = `The onnxruntime arms ran the whole model, ${where}: they say what ${finding} is worth to it, and nothing about the operator alone.`;
  return refused === null ? [ran] : [ran, `No rewritten model was measured: ${refused}.`];
}

async function readyModel(
  child: JsonChild,
  { version, refused, error, limit }: ModelLoaded,
  { op, flushBytes }: ModelOptions,
  arm: Arm,
): Promise<ReadyArm> {
  const named = { ...arm, title: arm.title.replace('onnxruntime', `onnxruntime ${version}`) };
  const which = arm.id === MODEL_AS_WRITTEN ? 'original' : 'rewritten';
  if (which === 'rewritten' && refused !== null) return unavailable(named, refused);
  const first = await child.ask({ type: 'sample', which, calls: 3, flushBytes: 0, settle: 0 });
  const times = { once: numberOf(first, 'milliseconds'), op, kind: 'cpu', flushBytes } as const;
  const sampler = childSampler(child, { type: 'sample', which }, times);
  // The original is what the rewritten model is checked against.
  const check = which === 'original' ? null : { ok: true, error, limit, unwritten: 0 };
  return { arm: named, check, problem: null, peakBytes: null, sampler };
}
