/** One bar per arm: its median, the 95 % interval of the median as a whisker, and the speed-up. */
import { longest, shownRole, type ArmRow } from './arms';
import { h, setFraction } from './dom';
import { milliseconds, times } from './format';

const NOTES: Readonly<Record<ArmRow['role'], string>> = {
  base: 'with the bundled kernels',
  bound: 'not a fix: starts from finished copies',
  best: 'fastest',
  torch: 'your PyTorch, today',
  model: 'whole model',
  other: '',
};

/** Hidden from screen readers, which get the table. */
export function chart(rows: readonly ArmRow[]): HTMLElement {
  const scale = longest(rows);
  return h('div.chart', { 'aria-hidden': 'true' }, ...rows.map((row) => bar(row, scale)), scale > 0 && axis(scale));
}

function bar(row: ArmRow, scale: number): HTMLElement {
  const { arm, speedup } = row;
  const role = shownRole(row);
  const label = h(
    'div.label',
    {},
    h('span.name', { title: arm.title }, arm.title),
    NOTES[role] && h('span.note', {}, NOTES[role]),
  );
  if (!arm.timing) {
    return h(
      'div.bar.missing',
      { 'data-arm': arm.id },
      label,
      h('div.problem', { title: arm.problem ?? '' }, arm.problem ?? 'not measured'),
    );
  }
  const { median, low, high } = arm.timing;
  const track = h(
    'div.track',
    { title: `${milliseconds(median)}, 95 % interval ${milliseconds(low)} to ${milliseconds(high)}` },
    h('div.fill'),
    h('div.whisker'),
  );
  setFraction(track, 'median', median / scale);
  setFraction(track, 'low', low / scale);
  setFraction(track, 'high', high / scale);
  const ratio = speedup ? times(speedup.ratio) : '';
  const verdict = speedup ? speedup.verdict.replace(' ', '-') : 'none';
  return h(
    `div.bar.${role}`,
    { 'data-arm': arm.id },
    label,
    track,
    h('div.time', {}, milliseconds(median)),
    h(`div.ratio.${verdict}`, { title: speedup?.verdict ?? '' }, ratio),
  );
}

function axis(scale: number): HTMLElement {
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((at) => h('span', {}, at === 0 ? '0' : milliseconds(at * scale)));
  return h('div.bar.axis', {}, h('div.label', {}, 'time per call'), h('div.ticks', {}, ...ticks));
}
