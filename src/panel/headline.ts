/** The answer in one sentence, and a second one where the user's own PyTorch is faster than all of it. */
import type { ArmRow } from './arms';
import { milliseconds, times } from './format';

export function headline(rows: readonly ArmRow[]): string {
  const base = rows.find(({ role }) => role === 'base');
  const best = rows.find(({ role }) => role === 'best');
  if (!base?.arm.timing) return 'The code as written could not be measured, so there is nothing to compare with.';
  if (!best?.arm.timing) return 'No other form could be measured.';
  const torch = rows.find(({ role }) => role === 'torch')?.arm;
  const faster = torch?.timing && torch.timing.median < best.arm.timing.median;
  return faster
    ? `${verdict(best)} ${torch.title} is faster still: ${milliseconds(torch.timing.median)}.`
    : verdict(best);
}

/** What rewriting is worth to the whole model. */
export function modelHeadline(rows: readonly ArmRow[]): string {
  const [, rewritten] = rows;
  if (!rewritten?.arm.timing || !rewritten.speedup) return 'The whole model was not measured rewritten.';
  const { ratio, low, high, verdict: found } = rewritten.speedup;
  const interval = `95 % interval ${times(low)} to ${times(high)}`;
  if (found === 'no difference') return `The whole model, rewritten: no difference (${interval}).`;
  return `The whole model, rewritten: ${times(ratio)} as fast as it is (${interval}).`;
}

function verdict({ arm: { title }, speedup }: ArmRow): string {
  if (!speedup) return `Fastest: ${title}.`;
  const { ratio, low, high, verdict: found } = speedup;
  const interval = `95 % interval ${times(low)} to ${times(high)}`;
  if (found === 'faster') return `${title}: ${times(ratio)} as fast as the code as written (${interval}).`;
  if (found === 'slower')
    return `Nothing here beats the code as written. ${title} comes next, at ${times(ratio)} (${interval}).`;
  return `No difference between ${title} and the code as written (${interval}).`;
}
