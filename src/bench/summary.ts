/** From samples to the arms and comparisons of a result. Pure. */
import { AS_WRITTEN, BROADCAST_EXCLUDED, CANDIDATE_ALONE, isModelArm, MODEL_AS_WRITTEN } from './arms';
import type { Cost } from './plan';
import { compare, summarize } from './stats';
import type { ArmResult, Check, Comparison, Regime } from '../protocol/bench';

export interface MeasuredArm {
  readonly id: string;
  readonly title: string;
  readonly regime: Regime;
  readonly samples: readonly number[];
  readonly check: Check | null;
  readonly problem: string | null;
  readonly peakBytes: number | null;
}

export function armResult({ samples, ...arm }: MeasuredArm, cost: Cost): ArmResult {
  const timing = arm.problem === null && samples.length > 0 ? summarize(samples) : null;
  const counted = timing && !isModelArm(arm.id) && !CANDIDATE_ALONE.includes(arm.id); // the operations are those of the operator
  const perSecond = (amount: number): number | null => (counted ? amount / timing.median / 1e6 : null);
  return { ...arm, timing, gflops: perSecond(cost.flops), gbytes: perSecond(cost.bytes) };
}

/**
 * Every arm against the code as written, and the fastest IKBO arm against each opponent that a program could run. Ready
 * copies are nobody's program: that arm is only ever the one compared. The candidates' product alone is no program, either; the
 * fastest arm is compared with it to show how near the bound it comes. A whole model is compared with itself.
 */
export function comparisonsOf(arms: readonly ArmResult[], base: string): Comparison[] {
  const pairs: [string, string, Regime][] = [];
  for (const regime of new Set(arms.map((arm) => arm.regime))) {
    const inRegime = arms.filter((arm) => arm.regime === regime && arm.timing);
    const timed = inRegime.filter(({ id }) => !isModelArm(id));
    for (const { id } of inRegime)
      if (isModelArm(id) && id !== MODEL_AS_WRITTEN) pairs.push([MODEL_AS_WRITTEN, id, regime]);
    for (const { id } of timed) if (id !== base) pairs.push([base, id, regime]);
    const best = fastest(timed.filter(({ id }) => id.startsWith('ikbo')));
    for (const { id } of timed)
      if (best && id !== base && id !== AS_WRITTEN && id !== BROADCAST_EXCLUDED && !id.startsWith('ikbo'))
        pairs.push([id, best.id, regime]);
  }
  return pairs.flatMap(([from, to, regime]) => {
    const timing = (id: string) => arms.find((arm) => arm.id === id && arm.regime === regime)?.timing;
    const [a, b] = [timing(from), timing(to)];
    return a && b ? [{ regime, base: from, arm: to, ...compare(a, b) }] : [];
  });
}

function fastest(arms: readonly ArmResult[]): ArmResult | undefined {
  return arms.reduce<ArmResult | undefined>(
    (best, arm) => (!best?.timing || (arm.timing && arm.timing.median < best.timing.median) ? arm : best),
    undefined,
  );
}

/** More than 2 % between the clocks before and after is worth saying. */
export function clockWarning(
  before: Readonly<Record<string, number>> | null,
  after: Readonly<Record<string, number>> | null,
): string | null {
  const name = ['smMhz', 'mhz'].find((each) => before?.[each] && after?.[each]);
  if (!name || !before || !after) return null;
  const [first = 0, last = 0] = [before[name], after[name]];
  if (Math.abs(last / first - 1) <= 0.02) return null;
  return `The clock was ${Math.round(first)} MHz before the run and ${Math.round(last)} MHz after it.`;
}
