/** The same run as numbers: what the chart shows, and what it cannot. */
import type { BenchResult } from '../protocol/bench';
import { shownRole, type ArmRow } from './arms';
import { h } from './dom';
import { bytes, milliseconds, millisecondRange, significant, times } from './format';

const COLUMNS = ['Arm', 'Median', '95 % interval', 'Speed-up', 'Check', 'p10–p90', 'GFLOP/s', 'GB/s', 'Peak memory'];

export function table(rows: readonly ArmRow[], { ceilings }: BenchResult['environment'], caption: string): HTMLElement {
  const head = h('tr', {}, ...COLUMNS.map((name) => h('th', { scope: 'col' }, name)));
  const share = (value: number | null, ceiling: number | undefined) => {
    if (value === null) return '';
    return ceiling ? `${significant(value)} (${Math.round((100 * value) / ceiling)} %)` : significant(value);
  };
  const body = rows.map((row) => {
    const { arm, speedup } = row;
    const role = shownRole(row);
    const { timing } = arm;
    const cell = (text: string) => h('td', {}, text || '–');
    return h(
      `tr.${role}`,
      { 'data-arm': arm.id },
      h('th', { scope: 'row' }, arm.title),
      cell(timing ? milliseconds(timing.median) : ''),
      cell(timing ? millisecondRange(timing.low, timing.high) : ''),
      cell(role === 'base' || role === 'model' ? '1×' : speedup ? speedupText(speedup) : ''),
      h(
        `td.check.${arm.check?.ok || role === 'model' ? 'ok' : 'bad'}`,
        {},
        role === 'model' ? 'the reference' : checkText(arm.check, arm.problem),
      ),
      cell(timing ? millisecondRange(timing.p10, timing.p90) : ''),
      cell(share(arm.gflops, ceilings?.gflops)),
      cell(share(arm.gbytes, ceilings?.gbytes)),
      cell(arm.peakBytes === null ? '' : bytes(arm.peakBytes)),
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
