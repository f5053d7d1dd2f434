/** Getting each arm ready: created, run once on poisoned output, checked; then it can be timed. */
import { STAGE, type Arm } from '../arms';
import type { Check } from '../../protocol/bench';
import { statusOf, STATUS } from './addon';
import { checkOutput, judge, limitOf, POISON, problemOf, UNIT, type Reference } from './check';
import type { Problem } from './problem';
import { nativeSampler, type Sampler, type SamplerContext } from './sampler';
import type { Torch } from './torch';

/** An arm after its check. Without a sampler it is not timed, and `problem` says why. */
export interface ReadyArm {
  readonly arm: Arm;
  readonly check: Check | null;
  readonly problem: string | null;
  readonly peakBytes: number | null;
  readonly sampler: Sampler | null;
}

const failed = (arm: Arm, problem: string, check: Check | null = null): ReadyArm => ({
  arm,
  check,
  problem,
  peakBytes: null,
  sampler: null,
});

/** The decomposed form's error, which sets what the others may be off; from the dtype alone where it cannot run. */
export function acceptedError(context: SamplerContext, problem: Problem, reference: Reference): number {
  const { dtype } = problem.plan.request;
  const call = problem.call({ kind: 'stage', stage: STAGE.decomposed, input: 'mapped' });
  const fallback = dtype === 'fp32' ? 2 ** -20 : UNIT[dtype];
  const elements = reference.values.length;
  const [args = {}] = call.args;
  try {
    const operation = new context.addon.Operation(context.device, call.shape);
    try {
      problem.out.fill(POISON);
      operation.prepare(args);
      operation.run(args);
      return limitOf(dtype, Math.min(fallback, checkOutput(problem, reference, Infinity).error), elements);
    } finally {
      operation.destroy();
    }
  } catch (error) {
    if (statusOf(error) === STATUS.unsupported) return limitOf(dtype, fallback, elements);
    throw error;
  }
}

export function readyNative(
  context: SamplerContext,
  problem: Problem,
  reference: Reference,
  limit: number,
  arm: Arm,
): ReadyArm {
  if (arm.work.kind !== 'stage') throw new Error(`${arm.id} is not an arm of the bundled kernels`);
  try {
    const call = problem.call(arm.work);
    const [args = {}] = call.args;
    const operation = new context.addon.Operation(context.device, call.shape);
    problem.out.fill(POISON);
    operation.prepare(args);
    operation.run(args);
    const check = checkOutput(problem, reference, limit);
    const start = performance.now();
    operation.run(args);
    const once = performance.now() - start;
    const wrong = problemOf(check);
    if (wrong !== null) {
      operation.destroy();
      return failed(arm, wrong, check);
    }
    const peakBytes = inputBytes(problem, arm) + operation.workspaceBytes();
    return { arm, check, problem: null, peakBytes, sampler: nativeSampler(context, operation, call, once) };
  } catch (error) {
    const status = statusOf(error);
    if (status === STATUS.unsupported) return failed(arm, `not available: ${messageOf(error)}`);
    if (status === STATUS.outOfMemory) return failed(arm, `out of memory: ${messageOf(error)}`);
    throw error;
  }
}

/** Operands and output, with ready copies in place of what they replicate. */
function inputBytes(problem: Problem, arm: Arm): number {
  const copied = arm.work.kind === 'stage' && arm.work.input === 'copies';
  return problem.operandBytes(copied);
}

export async function readyTorch(torch: Torch, reference: Reference, limit: number, arm: Arm): Promise<ReadyArm> {
  if (arm.work.kind !== 'torch') throw new Error(`${arm.id} is not an arm of PyTorch`);
  try {
    const { values, peakBytes } = await torch.run(arm.work.form, reference.rows);
    // PyTorch's kernels are not ours to judge by our own error: twice the limit catches a wrong arm, not a rounding.
    const check = judge(values, reference, 2 * limit, 0);
    const wrong = problemOf(check);
    if (wrong !== null) return failed(arm, wrong, check);
    return { arm, check, problem: null, peakBytes, sampler: await torch.sampler(arm.work.form) };
  } catch (error) {
    return failed(arm, messageOf(error));
  }
}

export const unavailable = (arm: Arm, problem: string): ReadyArm => failed(arm, problem);

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
