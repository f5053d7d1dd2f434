/** One finished run: the answer, the warnings, the bars, the numbers, where they come from, and the way out. */
import { regimeText, type BenchResult, type Regime } from '../protocol/bench';
import { OPS } from '../protocol/dims';
import type { ExportFormat, FromPanel } from '../protocol/panel';
import { modelRowsOf, rowsOf, type ArmRow } from './arms';
import { chart } from './chart';
import { fill, h } from './dom';
import { integer, significant } from './format';
import { headline, modelHeadline } from './headline';
import { table } from './table';
import { memo, type Dispatch, type View } from './view';

export function resultView(dispatch: Dispatch, send: (message: FromPanel) => void): View {
  const menu = h('div.runs');
  const page = h('div.page');
  const drawRuns = memo((own: readonly BenchResult[], recorded: readonly BenchResult[], shown: BenchResult | null) =>
    fill(menu, runMenu(own, recorded, shown, dispatch)),
  );
  const draw = memo((shown: BenchResult | null, regime: Regime | null, isRecorded: boolean) => {
    if (!shown || !regime) return fill(page, nothingYet());
    const result = shown;
    const rows = rowsOf(result, regime);
    const said = headline(rows);
    fill(
      page,
      isRecorded && recordedNote(result),
      h('h2.headline', { tabindex: -1 }, said),
      h('p.shape', {}, shapeOf(result)),
      regimes(result, regime, dispatch),
      ...result.warnings.map((warning) => h('div.banner.warning', {}, h('p', {}, warning))),
      ...measurements(rows, result, said, 'Measurements'),
      ...wholeModel(result, regime),
      environment(result),
      exports(result, send),
    );
  });
  return {
    element: h('div.result', {}, menu, page),
    update({ results, recorded, shown, regimeShown }) {
      drawRuns(results, recorded, shown);
      draw(shown, regimeShown, shown !== null && recorded.includes(shown));
    },
  };
}

function measurements(rows: readonly ArmRow[], { environment: at }: BenchResult, said: string, label: string) {
  return [chart(rows), h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': label }, table(rows, at, said))];
}

/** On its own scale: a model is more than the operator. */
function wholeModel(result: BenchResult, regime: Regime): HTMLElement[] {
  const rows = modelRowsOf(result, regime);
  if (rows.length === 0) return [];
  const said = modelHeadline(rows);
  return [h('h3.headline', {}, said), ...measurements(rows, result, said, 'Measurements of the whole model')];
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

/** Nothing to choose from before the second run, unless there are recorded ones. */
function runMenu(
  own: readonly BenchResult[],
  recorded: readonly BenchResult[],
  shown: BenchResult | null,
  dispatch: Dispatch,
): HTMLElement | null {
  if (own.length + 2 * recorded.length < 2) return null;
  const all = [...own, ...recorded];
  const option = (result: BenchResult, title: string) =>
    h('option', { value: all.indexOf(result), selected: result === shown }, `${title}: ${shapeOf(result)}`);
  const time = ({ environment: { date } }: BenchResult) => new Date(date).toLocaleTimeString();
  const select = h(
    'select',
    { id: 'runs', 'aria-label': 'Run to show' },
    shown === null && h('option', { value: -1, selected: true, disabled: true }, 'Show a recorded run …'),
    own.length > 0 &&
      h('optgroup', { label: 'This panel' }, ...own.map((run, i) => option(run, `Run ${i + 1}, ${time(run)}`))),
    recorded.length > 0 &&
      h('optgroup', { label: 'Recorded' }, ...recorded.map((run) => option(run, run.environment.device.name))),
  ) as HTMLSelectElement;
  select.addEventListener('change', () => {
    const result = all[Number(select.value)];
    if (result) dispatch({ type: 'show', result });
  });
  return select;
}

function recordedNote({ environment: { device, date } }: BenchResult): HTMLElement {
  const day = new Date(date).toLocaleDateString();
  return h('div.banner.info', {}, h('p', {}, `Recorded on ${device.name} on ${day}. Not measured on this machine.`));
}

function regimes(result: BenchResult, shown: Regime, dispatch: Dispatch): HTMLElement {
  if (result.request.regimes.length < 2) return h('p.regime', {}, `Regime: ${shown}. ${regimeText(shown)?.how ?? ''}`);
  const buttons = result.request.regimes.map((id) =>
    h(
      'button.tab',
      {
        type: 'button',
        'aria-pressed': String(id === shown),
        title: regimeText(id)?.how ?? '',
        onclick: () => dispatch({ type: 'showRegime', regime: id }),
      },
      regimeText(id)?.title ?? id,
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
