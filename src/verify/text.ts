/** A verification in words, for the terminal and for the editor's output channel. */
import type { Answer, DtypeRun } from './job';

/** How to name an interpreter that has PyTorch. */
export const NAME_PYTHON =
  'Name an interpreter that has it: --python PATH, the environment variable IKBO_PYTHON, or the setting ikboLens.python';

export function verdictLine({ ok, runs, missing }: Answer): string {
  if (missing) return 'not verified: arguments are missing';
  if (!runs) return 'not verified';
  return ok ? 'same results in evaluation mode, without gradients' : 'NOT the same results';
}

export function answerLines(answer: Answer): string[] {
  const { problem, noTorch, missing, call, runs, torch, python, memory } = answer;
  if (problem !== undefined) return [`not verified: ${problem}`, ...(noTorch ? [NAME_PYTHON] : [])];
  if (missing)
    return [
      `not verified: these arguments of ${call ?? 'the call'} are not known`,
      ...missing.map(({ parameter, of, what, how }) => `  ${parameter} of ${of}, ${what}: ${how}`),
      'The same can stand in the file: # ikbo: D=64, user=[B, D], index=[N] < B',
    ];
  return [
    `call    ${call ?? ''}`,
    `on      PyTorch ${torch ?? '?'} (${python ?? '?'})`,
    ...(runs ?? []).map(runLine),
    `memory: ${memory ?? ''}`,
    verdictLine(answer),
  ];
}

function runLine({ dtype, skipped, maxError, problem, peakBytes }: DtypeRun): string {
  const head = dtype.padEnd(7);
  if (skipped !== undefined) return `${head} not compared, the original does not run: ${skipped}`;
  const error =
    maxError === null || maxError === undefined ? '' : `max error ${maxError === 0 ? '0' : maxError.toExponential(1)}`;
  const peak = peakBytes ? `peak memory ${formatMemory(peakBytes[0])} -> ${formatMemory(peakBytes[1])}` : '';
  const measured = [error, peak].filter((part) => part !== '').join(', ');
  return `${head} ${[measured, problem ?? ''].filter((part) => part !== '').join('; ')}`;
}

function formatMemory(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes / 1000;
  let unit = 0;
  for (; value >= 999.5 && unit < units.length - 1; unit += 1) value /= 1000;
  return `${value.toPrecision(3)} ${units[unit]}`;
}
