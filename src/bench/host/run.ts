/** One run from request to result: data, reference, checks, ceilings, interleaved rounds, statistics. */
import { availableParallelism, freemem } from 'node:os';
import { baseOf, plan as makePlan, type Plan } from '../plan';
import { armResult, clockWarning, comparisonsOf, type MeasuredArm } from '../summary';
import type { BenchRequest, BenchResult, ModelRun, Regime } from '../../protocol/bench';
import { CANDIDATE_ALONE } from '../arms';
import type { Addon, Device } from './addon';
import { acceptedError, readyNative, readyTorch, unavailable, type ReadyArm } from './arm-run';
import { COPY_BYTES, GEMM_SIZE, measureCeilings, type Ceilings } from './ceilings';
import { makeReference, type Reference } from './check';
import { openDevice, readClocks, type OpenDevice } from './environment';
import { startModel, type ModelArms } from './model';
import { busyNotes, cacheNotes } from './notes';
import { createProblem, type Problem } from './problem';
import { measureRounds } from './rounds';
import { flushBytes, type SamplerContext } from './sampler';
import { startTorch, type Torch } from './torch';

export interface RunHooks {
  progress(stage: string, done: number, total: number): void;
  sample(arm: string, regime: Regime, milliseconds: number): void;
  /** True once the run was cancelled. */
  cancelled(): boolean;
}

/** Thrown at the next step after a cancel. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';
}

/** The rounds are this part of the progress bar; one part is one arm got ready. */
const PARTS_OF_ROUNDS = 10;
const FREE_SHARE = 0.8;
const MOST_SETS = 8;
const ROTATED_BYTES = { cpu: 512 * 2 ** 20, cuda: 2 ** 34 } as const;

export async function run(addon: Addon, request: BenchRequest, hooks: RunHooks): Promise<BenchResult> {
  const opened = openDevice(addon, request.device);
  const free = opened.info.kind === 'cpu' ? freemem() : opened.info.memoryBytes;
  const plan = makePlan(request, opened.info, FREE_SHARE * free);
  const progress = stages(hooks, plan);
  const warnings = busyNotes(opened);
  const context: SamplerContext = {
    addon,
    device: opened.device,
    kind: opened.info.kind,
    op: request.op,
    flushBytes: flushBytes(opened.info.kind, opened.cacheBytes),
  };
  await progress('making random data');
  const sets = Math.max(1, setsOf(plan, opened));
  const problem = createProblem(addon, opened.device, plan, sets);
  let torch: Torch | null = null;
  let model: ModelArms | null = null;
  const ready: ReadyArm[] = [];
  try {
    await progress('computing the fp64 reference');
    const reference = makeReference(addon, problem);
    const limit = acceptedError(context, problem, reference);
    if (plan.arms.some(({ work }) => work.kind === 'torch')) {
      await progress('starting PyTorch');
      torch = await connectTorch(problem, opened, context, progress, warnings);
    }
    if (request.model) {
      await progress('running the model');
      model = await connectModel(request.model, opened, context, progress, warnings);
    }
    for (const arm of plan.arms) {
      await progress(`checking: ${arm.title}`);
      if (arm.work.kind === 'stage') ready.push(readyNative(context, problem, reference, limit, arm));
      else if (arm.work.kind === 'model') {
        if (model) ready.push(await model.ready(arm));
      } else if (torch) {
        const expected = CANDIDATE_ALONE.includes(arm.id) ? referenceAlone(addon, opened.device, problem) : reference;
        ready.push(await readyTorch(torch, expected, limit, arm));
      } else if (request.arms) ready.push(unavailable(arm, 'PyTorch did not start; see the warnings'));
    }
    await progress('measuring the ceilings');
    const ceilings = await ceilingsOf(context, plan, torch);
    const clocksBefore = await readClocks(opened);
    const measured = await measureAll(plan, ready, hooks, progress);
    const clocksAfter = await readClocks(opened);
    const clock = clockWarning(clocksBefore, clocksAfter);
    if (clock) warnings.push(clock);
    if (torch) warnings.push(...torchNotes(torch));
    if (model) warnings.push(...model.notes);
    const arms = measured.map((each) => armResult(each, plan.cost));
    return {
      schema: 'ikbo-bench/1',
      request,
      environment: {
        device: opened.info,
        date: new Date().toISOString(),
        version: addon.version,
        clocksBefore,
        clocksAfter,
        ceilings,
      },
      arms,
      comparisons: comparisonsOf(arms, baseOf(plan.arms)),
      warnings: [...warnings, ...cacheNotes(request, opened, context.flushBytes, sets * plan.cost.bytes)],
    };
  } finally {
    for (const { sampler } of ready) sampler?.close();
    torch?.close();
    model?.close();
    problem.free();
  }
}

/** What the candidates' product alone must give. */
function referenceAlone(addon: Addon, device: Device, problem: Problem): Reference {
  const zeros = new addon.Memory(device, problem.bytesOf('user'));
  try {
    zeros.fill(0);
    return makeReference(addon, problem, zeros);
  } finally {
    zeros.free();
  }
}

interface Progress {
  /** Looks for a cancel and gives the process a moment to read its messages. `share`: of the rounds of one regime. */
  (stage: string, share?: number): Promise<void>;
  /** Says the last stage again: a sign of life. */
  repeat(): void;
}

function stages(hooks: RunHooks, plan: Plan): Progress {
  const total = plan.arms.length + PARTS_OF_ROUNDS * plan.request.regimes.length + (plan.request.model ? 5 : 4);
  let done = 0;
  let last: [string, number] = ['starting', 0];
  const repeat = (): void => hooks.progress(last[0], last[1], total);
  const next = async (stage: string, share?: number): Promise<void> => {
    await breathe(hooks);
    last = [stage, Math.min(total, done + (share ?? 0) * PARTS_OF_ROUNDS)];
    repeat();
    if (share === undefined) done += 1;
    else if (share >= 1) done += PARTS_OF_ROUNDS;
  };
  return Object.assign(next, { repeat });
}

async function breathe(hooks: RunHooks): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  if (hooks.cancelled()) throw new Cancelled('cancelled');
}

async function measureAll(
  plan: Plan,
  ready: readonly ReadyArm[],
  hooks: RunHooks,
  progress: Progress,
): Promise<MeasuredArm[]> {
  const { regimes, seconds } = plan.request;
  const measured: MeasuredArm[] = [];
  for (const regime of regimes) {
    const stage = `measuring (${regime})`;
    await progress(stage, 0);
    const samples = await measureRounds(ready, regime, seconds / regimes.length, {
      sample: hooks.sample,
      progress: (round, share) => progress(`${stage}, round ${round}`, Math.min(share, 0.999)),
      breathe: () => breathe(hooks),
    });
    await progress(stage, 1);
    for (const { arm, check, problem, peakBytes } of ready)
      measured.push({
        id: arm.id,
        title: arm.title,
        regime,
        samples: samples.get(arm.id) ?? [],
        check,
        problem,
        peakBytes,
      });
  }
  return measured;
}

async function connectTorch(
  problem: Problem,
  opened: OpenDevice,
  context: SamplerContext,
  progress: Progress,
  warnings: string[],
): Promise<Torch | null> {
  const python = problem.plan.request.python ?? '';
  try {
    return await startTorch(problem, {
      python,
      device: opened.info,
      threads: opened.units,
      op: context.op,
      flushBytes: context.flushBytes,
      alive: () => void progress.repeat(),
    });
  } catch (error) {
    warnings.push(`No PyTorch arms: ${error instanceof Error ? error.message : String(error)}.`);
    return null;
  }
}

async function connectModel(
  model: ModelRun,
  opened: OpenDevice,
  context: SamplerContext,
  progress: Progress,
  warnings: string[],
): Promise<ModelArms | null> {
  const onCpu = opened.info.kind === 'cpu';
  try {
    return await startModel(model, {
      threads: onCpu ? opened.units : availableParallelism(),
      op: context.op,
      flushBytes: onCpu ? context.flushBytes : flushBytes('cpu', 0),
      alive: () => progress.repeat(),
    });
  } catch (error) {
    warnings.push(`No onnxruntime arms: ${error instanceof Error ? error.message : String(error)}.`);
    return null;
  }
}

async function ceilingsOf(context: SamplerContext, plan: Plan, torch: Torch | null): Promise<Ceilings | null> {
  const own = measureCeilings(context, plan.request.dtype);
  if (!own || !torch) return own;
  const theirs = await torch.ceilings(GEMM_SIZE[context.kind], COPY_BYTES[context.kind]).catch(() => own);
  return { gflops: Math.max(own.gflops, theirs.gflops), gbytes: Math.max(own.gbytes, theirs.gbytes) };
}

function torchNotes({ version, notCaptured }: Torch): string[] {
  const notes = [`PyTorch arms ran in PyTorch ${version}, eager unless named torch.compile.`];
  if (notCaptured.size > 0)
    notes.push(`Not captured in a CUDA graph, so timed with their launches: ${[...notCaptured].join(', ')}.`);
  return notes;
}

/** Sets of inputs that the loops without a flush go through, so that they find no cache warm. */
function setsOf({ request, cost }: Plan, { info, cacheBytes }: OpenDevice): number {
  if (request.regimes.every((regime) => regime === 'flush')) return 1;
  const affordable = Math.max(1, Math.floor(ROTATED_BYTES[info.kind] / cost.memoryBytes));
  return Math.min(Math.ceil((4 * cacheBytes) / cost.bytes), affordable, MOST_SETS);
}
