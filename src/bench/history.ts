/** Two runs of the same request, an earlier and a later one: what changed. Pure. */
import { milliseconds, times } from './format';
import { compare } from './stats';
import { OPS } from '../protocol/dims';
import type { BenchResult, Comparison, Regime } from '../protocol/bench';

export interface ArmChange {
  readonly id: string;
  readonly title: string;
  readonly regime: Regime;
  readonly before: number;
  readonly after: number;
  /** Ratio time(before) / time(after): above 1 is an improvement. */
  readonly change: Omit<Comparison, 'regime' | 'base' | 'arm'>;
}

/** Why two runs say nothing about each other, or null: another question, or another machine. */
export function incomparable(before: BenchResult, after: BenchResult): string | null {
  const [a, b] = [before.request, after.request];
  if (a.op !== b.op) return `the operator was ${a.op} and is ${b.op}`;
  for (const { name } of OPS[a.op].dims)
    if (a.dims[name] !== b.dims[name]) return `${name} was ${a.dims[name]} and is ${b.dims[name]}`;
  for (const field of ['dtype', 'grouping'] as const)
    if (a[field] !== b[field]) return `the ${field} was ${a[field]} and is ${b[field]}`;
  const [was, is] = [before.environment.device, after.environment.device];
  if (was.name !== is.name) return `the device was ${was.name} and is ${is.name}`;
  return null;
}

/** Arms that both runs timed in the same regime, in the later run's order. Empty for runs that are incomparable. */
export function changes(before: BenchResult, after: BenchResult): ArmChange[] {
  if (incomparable(before, after) !== null) return [];
  return after.arms.flatMap(({ id, title, regime, timing }) => {
    const earlier = before.arms.find((arm) => arm.id === id && arm.regime === regime)?.timing;
    if (!timing || !earlier) return [];
    return [{ id, title, regime, before: earlier.median, after: timing.median, change: compare(earlier, timing) }];
  });
}

/** As a Markdown section, to go below the later run's report. */
export function changesReport(before: BenchResult, after: BenchResult): string {
  const title = `## Against the run of ${before.environment.date}`;
  const reason = incomparable(before, after);
  if (reason !== null) return `${title}\n\nNot comparable: ${reason}.\n`;
  const rows = changes(before, after).map(
    ({ title: arm, regime, before: was, after: is, change }) =>
      `| ${arm.replace(/\|/g, '\\|')} | ${regime} | ${milliseconds(was)} | ${milliseconds(is)} | ` +
      `${change.verdict === 'no difference' ? change.verdict : `${times(change.ratio)} ${change.verdict}`} |`,
  );
  if (rows.length === 0) return `${title}\n\nNo arm was timed in both.\n`;
  return [title, '', '| Arm | Regime | Before | After | Change |', '| --- | --- | --: | --: | --- |', ...rows, ''].join(
    '\n',
  );
}
