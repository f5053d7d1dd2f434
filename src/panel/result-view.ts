/** One finished run: the answer, the warnings, the bars, the numbers, where they come from, and the way out. */
import type { BenchResult, Regime } from '../protocol/bench';
import { OPS } from '../protocol/dims';
import { REGIMES, type ExportFormat, type FromPanel } from '../protocol/panel';
import { rowsOf } from './arms';
import { chart } from './chart';
import { fill, h } from './dom';
import { integer, significant } from './format';
import { headline } from './headline';
import { table } from './table';
import { memo, type Dispatch, type View } from './view';

export function resultView(dispatch: Dispatch, send: (message: FromPanel) => void): View {
  const element = h('div.result');
  const draw = memo((results: readonly BenchResult[], index: number, regime: Regime | null) => {
    const result = results[index];
    if (!result || !regime) return fill(element, nothingYet());
    const rows = rowsOf(result, regime);
    const said = headline(rows);
    fill(
      element,
      runs(results, index, dispatch),
      h('h2.headline', { tabindex: -1 }, said),
      h('p.shape', {}, shapeOf(result)),
      regimes(result, regime, dispatch),
      ...result.warnings.map((warning) => h('div.banner.warning', {}, h('p', {}, warning))),
      chart(rows),
      h(
        'div.scroll',
        { tabindex: 0, role: 'region', 'aria-label': 'Measurements' },
        table(rows, result.environment, said),
      ),
      environment(result),
      exports(result, send),
    );
  });
  return { element, update: ({ results, shown, regimeShown }) => draw(results, shown, regimeShown) };
}

function nothingYet(): HTMLElement {
  return h(
    'div.empty',
    {},
    h('h2', {}, 'What would you gain on your shapes?'),
    h(
      'p',
      {},
      'A run measures the code as written and every way around its copy, all in one run, in turns, on the same data.',
    ),
    h(
      'ul',
      {},
      h('li', {}, 'Every output is checked against a double-precision reference before its time counts.'),
      h('li', {}, 'Bars show the median with its 95 % interval. Differences under 3 % are called no difference.'),
      h('li', {}, 'Numbers of a CPU say nothing about a GPU.'),
    ),
  );
}

function runs(results: readonly BenchResult[], shown: number, dispatch: Dispatch): HTMLElement | null {
  if (results.length < 2) return null;
  const options = results.map((result, index) => {
    const time = new Date(result.environment.date).toLocaleTimeString();
    return h('option', { value: index, selected: index === shown }, `Run ${index + 1}, ${time}: ${shapeOf(result)}`);
  });
  const select = h('select', { 'aria-label': 'Run to show' }, ...options) as HTMLSelectElement;
  select.addEventListener('change', () => dispatch({ type: 'show', index: Number(select.value) }));
  return h('div.runs', {}, select);
}

function regimes(result: BenchResult, shown: Regime, dispatch: Dispatch): HTMLElement {
  const titles = new Map(REGIMES.map(({ id, title, what }) => [id, { title, what }]));
  if (result.request.regimes.length < 2)
    return h('p.regime', {}, `Regime: ${shown}, ${titles.get(shown)?.what ?? ''}.`);
  const buttons = result.request.regimes.map((id) =>
    h(
      'button.tab',
      {
        type: 'button',
        'aria-pressed': String(id === shown),
        title: titles.get(id)?.what ?? '',
        onclick: () => dispatch({ type: 'showRegime', regime: id }),
      },
      titles.get(id)?.title ?? id,
    ),
  );
  return h('div.tabs', { role: 'group', 'aria-label': 'Regime to show' }, ...buttons);
}

function shapeOf({ request }: BenchResult): string {
  const sizes = OPS[request.op].dims.flatMap(({ name }) => {
    const size = request.dims[name];
    return size === undefined ? [] : `${name}=${integer(size)}`;
  });
  return `${OPS[request.op].title}, ${sizes.join(', ')}, ${request.dtype}, ${request.grouping}`;
}

function environment({ environment: at, request }: BenchResult): HTMLElement {
  const clocks = (values: Readonly<Record<string, number>> | null) =>
    Object.entries(values ?? {})
      .map(([name, value]) => `${name} ${significant(value)}`)
      .join(', ');
  const lines: [string, string][] = [
    ['Device', `${at.device.name} (${at.device.detail})`],
    ['Measured', new Date(at.date).toLocaleString()],
    ['Version', at.version],
    [
      'Ceilings',
      at.ceilings
        ? `${significant(at.ceilings.gflops)} GFLOP/s, ${significant(at.ceilings.gbytes)} GB/s in this run`
        : '',
    ],
    ['Clocks before', clocks(at.clocksBefore)],
    ['Clocks after', clocks(at.clocksAfter)],
    ['Seed', String(request.seed)],
  ];
  const shown = lines.filter(([, value]) => value !== '');
  return h('dl.environment', {}, ...shown.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

function exports(result: BenchResult, send: (message: FromPanel) => void): HTMLElement {
  const button = (format: ExportFormat, title: string) =>
    h('button', { type: 'button', onclick: () => send({ type: 'export', format, result }) }, title);
  return h(
    'div.exports',
    {},
    button('json', 'Export JSON'),
    button('markdown', 'Markdown'),
    button('csv', 'CSV'),
    button('svg', 'SVG'),
  );
}
