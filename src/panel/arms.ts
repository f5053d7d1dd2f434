/** The arms of one regime as the chart and the table show them. */
import type { ArmResult, BenchResult, Comparison, Regime } from '../protocol/bench';

/** The arm that everything is compared with, and the one that no program can run: copies that nobody had to make. */
export const AS_WRITTEN = 'as-written';
export const EXCLUDED = 'broadcast-excluded';

export interface ArmRow {
  readonly arm: ArmResult;
  readonly role: 'base' | 'bound' | 'best' | 'other';
  /** Against the code as written; null for the code itself and where nothing was measured. */
  readonly speedup: Comparison | null;
}

export function rowsOf(result: BenchResult, regime: Regime): readonly ArmRow[] {
  const arms = result.arms.filter((arm) => arm.regime === regime);
  const best = bestOf(arms)?.id;
  return arms.map((arm) => ({
    arm,
    role: arm.id === AS_WRITTEN ? 'base' : arm.id === EXCLUDED ? 'bound' : arm.id === best ? 'best' : 'other',
    speedup: speedupOf(result, regime, arm.id),
  }));
}

/** The longest time that a bar or its interval reaches. */
export function longest(rows: readonly ArmRow[]): number {
  return Math.max(0, ...rows.map(({ arm }) => Math.max(arm.timing?.median ?? 0, arm.timing?.high ?? 0)));
}

/** The fastest arm that a program could run and that is not the code as written. */
function bestOf(arms: readonly ArmResult[]): ArmResult | undefined {
  let best: ArmResult | undefined;
  for (const arm of arms) {
    if (!arm.timing || arm.id === AS_WRITTEN || arm.id === EXCLUDED) continue;
    if (!best?.timing || arm.timing.median < best.timing.median) best = arm;
  }
  return best;
}

function speedupOf(result: BenchResult, regime: Regime, id: string): Comparison | null {
  return result.comparisons.find((c) => c.regime === regime && c.base === AS_WRITTEN && c.arm === id) ?? null;
}
