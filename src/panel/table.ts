/** The same run as numbers: what the chart shows, and what it cannot. */
import type { BenchResult } from '../protocol/bench';
import type { ArmRow } from './arms';
import { h } from './dom';
import { bytes, milliseconds, millisecondRange, significant, times } from './format';

const COLUMNS = ['Arm', 'Median', '95 % interval', 'p10–p90', 'Speed-up', 'GFLOP/s', 'GB/s', 'Peak memory', 'Check'];

export function table(rows: readonly ArmRow[], { ceilings }: BenchResult['environment'], caption: string): HTMLElement {
  const head = h('tr', {}, ...COLUMNS.map((name) => h('th', { scope: 'col' }, name)));
  const share = (value: number | null, ceiling: number | undefined) => {
    if (value === null) return '';
    return ceiling ? `${significant(value)} (${Math.round((100 * value) / ceiling)} %)` : significant(value);
  };
  const body = rows.map(({ arm, role, speedup }) => {
    const { timing } = arm;
    const cells = [
      timing ? milliseconds(timing.median) : '',
      timing ? millisecondRange(timing.low, timing.high) : '',
      timing ? millisecondRange(timing.p10, timing.p90) : '',
      role === 'base' ? '1×' : speedup ? speedupText(speedup) : '',
      share(arm.gflops, ceilings?.gflops),
      share(arm.gbytes, ceilings?.gbytes),
      arm.peakBytes === null ? '' : bytes(arm.peakBytes),
    ];
    return h(
      `tr.${role}`,
      { 'data-arm': arm.id },
      h('th', { scope: 'row' }, arm.title),
      ...cells.map((text) => h('td', {}, text || '–')),
      h(`td.check.${arm.check?.ok ? 'ok' : 'bad'}`, {}, checkText(arm.check, arm.problem)),
    );
  });
  return h('table', {}, h('caption', {}, caption), h('thead', {}, head), h('tbody', {}, ...body));
}

function speedupText({ ratio, low, high, verdict }: NonNullable<ArmRow['speedup']>): string {
  const text = `${times(ratio)} (${significant(low)}–${significant(high)})`;
  return verdict === 'no difference' ? `≈ ${text}` : text;
}

function checkText(check: ArmRow['arm']['check'], problem: string | null): string {
  if (!check) return problem ?? 'not checked';
  const error = `error ${check.error.toExponential(1)}`;
  if (check.ok) return `✓ ${error}`;
  const unwritten = check.unwritten > 0 ? `, ${check.unwritten} elements never written` : '';
  return `✗ ${error} above ${check.limit.toExponential(1)}${unwritten}`;
}
