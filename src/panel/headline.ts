/** The answer in one sentence. */
import type { ArmRow } from './arms';
import { times } from './format';

export function headline(rows: readonly ArmRow[]): string {
  const base = rows.find(({ role }) => role === 'base');
  const best = rows.find(({ role }) => role === 'best');
  if (!base?.arm.timing) return 'The code as written could not be measured, so there is nothing to compare with.';
  if (!best) return 'No other form could be measured.';
  const { title } = best.arm;
  if (!best.speedup) return `Fastest: ${title}.`;
  const { ratio, low, high, verdict } = best.speedup;
  const interval = `95 % interval ${times(low)} to ${times(high)}`;
  if (verdict === 'faster') return `${title}: ${times(ratio)} as fast as the code as written (${interval}).`;
  if (verdict === 'slower')
    return `Nothing here beats the code as written. ${title} comes next, at ${times(ratio)} (${interval}).`;
  return `No difference between ${title} and the code as written (${interval}).`;
}
