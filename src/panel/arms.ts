/** The arms of one regime as the chart and the table show them. */
import {
  isModelArm,
  MODEL_AS_WRITTEN,
  type ArmResult,
  type BenchResult,
  type Comparison,
  type Regime,
} from '../protocol/bench';

/** The arm that everything is compared with. */
const AS_WRITTEN = 'as-written';
/** The same code in the user's own PyTorch: an opponent, not a way around the copy. */
const TORCH_AS_WRITTEN = 'torch-as-written';
/** Start from copies that somebody else has made, or leave the shared part out: no program can run them. */
const BOUNDS: readonly string[] = ['broadcast-excluded', 'padded', 'torch-candidate-alone', 'torch-candidate-fastest'];

export interface ArmRow {
  readonly arm: ArmResult;
  readonly role: 'base' | 'model' | 'torch' | 'bound' | 'best' | 'other';
  /** Against the code as written; null for the code itself and where nothing was measured. */
  readonly speedup: Comparison | null;
}

/** The operator's arms. */
export function rowsOf(result: BenchResult, regime: Regime): readonly ArmRow[] {
  const arms = result.arms.filter((arm) => arm.regime === regime && !isModelArm(arm.id));
  const best = bestOf(arms)?.id;
  const roleOf = (id: string): ArmRow['role'] => (id === best ? 'best' : (fixedRole(id) ?? 'other'));
  return arms.map((arm) => ({ arm, role: roleOf(arm.id), speedup: speedupOf(result, regime, arm.id) }));
}

/** The whole model as it is and rewritten; empty where none was run. */
export function modelRowsOf(result: BenchResult, regime: Regime): readonly ArmRow[] {
  const arms = result.arms.filter((arm) => arm.regime === regime && isModelArm(arm.id));
  return arms.map((arm) => ({
    arm,
    role: arm.id === MODEL_AS_WRITTEN ? 'model' : 'other',
    speedup: speedupOf(result, regime, arm.id, MODEL_AS_WRITTEN),
  }));
}

function fixedRole(id: string): ArmRow['role'] | null {
  if (id === AS_WRITTEN) return 'base';
  if (id === TORCH_AS_WRITTEN) return 'torch';
  return BOUNDS.includes(id) ? 'bound' : null;
}

/** As drawn: only a difference that the statistics confirm is pointed out. */
export function shownRole({ role, speedup }: ArmRow): ArmRow['role'] {
  return role === 'best' && speedup?.verdict !== 'faster' ? 'other' : role;
}

/** The longest time that a bar or its interval reaches. */
export function longest(rows: readonly ArmRow[]): number {
  return Math.max(0, ...rows.map(({ arm }) => Math.max(arm.timing?.median ?? 0, arm.timing?.high ?? 0)));
}

/** The fastest way around the copy. */
function bestOf(arms: readonly ArmResult[]): ArmResult | undefined {
  let best: ArmResult | undefined;
  for (const arm of arms) {
    if (!arm.timing || fixedRole(arm.id)) continue;
    if (!best?.timing || arm.timing.median < best.timing.median) best = arm;
  }
  return best;
}

function speedupOf(result: BenchResult, regime: Regime, id: string, base = AS_WRITTEN): Comparison | null {
  return result.comparisons.find((c) => c.regime === regime && c.base === base && c.arm === id) ?? null;
}
