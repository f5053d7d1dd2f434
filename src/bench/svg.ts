/** A result as a standalone SVG: one bar per arm with its interval, for documents and commit messages. */
import { AS_WRITTEN, BROADCAST_EXCLUDED, CANDIDATE_ALONE } from './arms';
import { milliseconds } from './format';
import { OPS } from '../protocol/dims';
import type { ArmResult, BenchResult, Regime } from '../protocol/bench';

const WIDTH = 760;
const LABEL = 300;
const VALUE = 90;
const ROW = 26;
const TOP = 46;

/** Light and dark themes both: the colours have contrast on either, text follows the scheme. */
const STYLE = `text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:11px;fill:#59636e}
.bar{fill:#4c8dd6}.base{fill:#c7603f}.bound{fill:#8b949e}.whisker{stroke:#1f2328;stroke-width:1.5}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.whisker{stroke:#e6edf3}}`;

export function svgReport(result: BenchResult, regime: Regime): string {
  const arms = result.arms.filter((arm) => arm.regime === regime);
  const longest = Math.max(0, ...arms.map(({ timing }) => Math.max(timing?.median ?? 0, timing?.high ?? 0)));
  const scale = longest > 0 ? (WIDTH - LABEL - VALUE) / longest : 0;
  const height = TOP + arms.length * ROW + 10;
  const { request, environment } = result;
  const dims = Object.entries(request.dims).map(([name, size]) => `${name} ${size}`);
  const subtitle = `${dims.join(', ')}, ${request.dtype}, ${request.grouping}; ${environment.device.name}, ${regime}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escape(OPS[request.op].title)}: time per call</title><style>${STYLE}</style>`,
    `<text x="8" y="18">${escape(OPS[request.op].title)}: time per call, median and 95 % interval</text>`,
    `<text x="8" y="35" class="small">${escape(subtitle)}</text>`,
    ...arms.map((arm, i) => bar(arm, TOP + i * ROW, scale)),
    '</svg>\n',
  ].join('\n');
}

function bar({ id, title, timing, problem }: ArmResult, y: number, scale: number): string {
  const label = `<text x="8" y="${y + 16}">${escape(title)}</text>`;
  if (!timing)
    return `${label}<text x="${LABEL}" y="${y + 16}" class="small">${escape(problem ?? 'not measured')}</text>`;
  const kind = id === AS_WRITTEN ? 'base' : id === BROADCAST_EXCLUDED || CANDIDATE_ALONE.includes(id) ? 'bound' : 'bar';
  const at = (value: number): string => (LABEL + value * scale).toFixed(1);
  const end = (LABEL + Math.max(timing.median, timing.high) * scale + 8).toFixed(1);
  return [
    label,
    `<rect class="${kind}" x="${LABEL}" y="${y + 4}" width="${(timing.median * scale).toFixed(1)}" height="${ROW - 10}" rx="2"/>`,
    `<line class="whisker" x1="${at(timing.low)}" x2="${at(timing.high)}" y1="${y + 12}" y2="${y + 12}"/>`,
    `<text x="${end}" y="${y + 16}">${milliseconds(timing.median)}</text>`,
  ].join('');
}

function escape(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
}
