/** A verification in words, for the terminal and for the editor's output channel. */
import type { Answer, DtypeRun, GradientRun } from './job';

/** How to name an interpreter that has PyTorch. */
export const NAME_PYTHON =
  'Name an interpreter that has it: --python PATH, the environment variable IKBO_PYTHON, or the setting ikboLens.python';

export function verdictLine({ ok, runs, missing, keepsGradients = true }: Answer): string {
  if (missing) return 'not verified: arguments are missing';
  if (!runs) return 'not verified';
  const results = runs.every(({ problem }) => (problem ?? null) === null);
  if (!results) return 'NOT the same results';
  if (!ok) return 'same results in evaluation mode, but NOT the same gradients';
  const gradients = runs.flatMap((run) => (run.gradients ? [run.gradients] : []));
  const differ = gradients.some(({ problem }) => (problem ?? null) !== null);
  if (!keepsGradients && differ) return 'same results in evaluation mode, other gradients, as the condition says';
  const compared = gradients.some(({ count }) => count !== undefined);
  return `same results${compared ? ' and gradients' : ''} in evaluation mode${compared ? '' : '; gradients were not compared'}`;
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

function runLine({ dtype, skipped, maxError, problem, peakBytes, gradients }: DtypeRun): string {
  const head = dtype.padEnd(7);
  if (skipped !== undefined) return `${head} not compared, the original does not run: ${skipped}`;
  const peak = peakBytes ? `peak memory ${formatMemory(peakBytes[0])} -> ${formatMemory(peakBytes[1])}` : '';
  const measured = [errorText('max error', maxError), gradients ? gradientText(gradients) : '', peak];
  const problems = [problem ?? '', gradients?.problem ?? ''].filter((part) => part !== '');
  return `${head} ${[measured.filter((part) => part !== '').join(', '), ...problems].filter((part) => part !== '').join('; ')}`;
}

const errorText = (what: string, error: number | null | undefined): string =>
  error === null || error === undefined ? '' : `${what} ${error === 0 ? '0' : error.toExponential(1)}`;

function gradientText({ skipped, count = 0, maxError, largest }: GradientRun): string {
  if (skipped !== undefined) return `no gradients: ${skipped}`;
  const size = largest === undefined ? '' : ` (values to ${largest.toPrecision(2)})`;
  const text = errorText(`of ${count} gradient${count === 1 ? '' : 's'}`, maxError);
  return text === '' ? '' : text + size;
}

function formatMemory(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes / 1000;
  let unit = 0;
  for (; value >= 999.5 && unit < units.length - 1; unit += 1) value /= 1000;
  return `${value.toPrecision(3)} ${units[unit]}`;
}
