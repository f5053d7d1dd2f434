// Draws sweep.svg from the recorded sweeps beside it: `node kernels/results/plot.mjs`; with --check, says whether it is up to date.
// Linear compression at the published sizes, over batches (70 candidates a user) and over candidates a user (B 1024).
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const folder = new URL('.', import.meta.url);
const WIDTH = 460;
const HEIGHT = 340;
const MARGIN = { left: 62, right: 14, top: 34, bottom: 46 };
const ARMS = [
  ['decomposed', 'decomposed: two products, gather, add', '#b04a3a'],
  ['torch-decomposed-padded', 'PyTorch decomposed, K padded before', '#c9902b'],
  ['ikbo', 'IKBO, fused (portable)', '#4f7cac'],
  ['ikbo-ws', 'IKBO, warp-specialized', '#2f7d4f'],
];

const recorded = readdirSync(folder)
  .filter((name) => /-(batch|ratio)-\d+\.json$/.test(name))
  .map((name) => ({ name, result: JSON.parse(readFileSync(new URL(name, folder), 'utf8')) }));

/** [x, microseconds per candidate] of one arm, in the order of x. */
function points(kind, arm) {
  return recorded
    .filter(({ name }) => name.includes(`-${kind}-`))
    .flatMap(({ result: { request, arms } }) => {
      const timing = arms.find(({ id, regime }) => id === arm && regime === 'flush')?.timing;
      const x = kind === 'batch' ? request.dims.B : request.dims.B / request.dims.U;
      return timing ? [[x, (1000 * timing.median) / request.dims.B]] : [];
    })
    .sort(([a], [b]) => a - b);
}

function panel(kind, title, axis, left) {
  const lines = ARMS.map(([id, , colour]) => ({ colour, at: points(kind, id) }));
  const xs = lines.flatMap(({ at }) => at.map(([x]) => x));
  const top = 1.08 * Math.max(...lines.flatMap(({ at }) => at.map(([, y]) => y)));
  const [low, high] = [Math.min(...xs), Math.max(...xs)].map(Math.log);
  const px = (x) => left + MARGIN.left + ((Math.log(x) - low) / (high - low)) * (WIDTH - MARGIN.left - MARGIN.right);
  const py = (y) => HEIGHT - MARGIN.bottom - (y / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const step = [0.1, 0.2, 0.25, 0.5, 1].find((each) => top / each <= 8) ?? 2;
  const out = [text(left + MARGIN.left, 20, title, 'start', 'font-weight="600"')];
  for (let y = 0; y <= top; y += step) {
    out.push(`<path d="M${left + MARGIN.left} ${py(y)}H${left + WIDTH - MARGIN.right}" stroke="#ddd"/>`);
    out.push(text(left + MARGIN.left - 6, py(y) + 4, y.toFixed(2), 'end'));
  }
  for (const x of new Set(xs)) out.push(text(px(x), HEIGHT - MARGIN.bottom + 16, String(Math.round(x)), 'middle'));
  out.push(text(left + (WIDTH + MARGIN.left) / 2, HEIGHT - 10, axis, 'middle'));
  for (const { colour, at } of lines) {
    const path = at.map(([x, y]) => `${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join('L');
    out.push(`<path d="M${path}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    for (const [x, y] of at) out.push(`<circle cx="${px(x).toFixed(1)}" cy="${py(y).toFixed(1)}" r="3" fill="${colour}"/>`);
  }
  return out.join('\n');
}

function text(x, y, words, anchor, more = '') {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" ${more}>${words}</text>`;
}

const { environment } = recorded[0].result;
const legend = ARMS.map(
  ([, title, colour], i) =>
    `<circle cx="${70 + (i % 2) * 300}" cy="${HEIGHT + 20 + 20 * Math.floor(i / 2)}" r="4" fill="${colour}"/>` +
    text(80 + (i % 2) * 300, HEIGHT + 24 + 20 * Math.floor(i / 2), title, 'start'),
).join('\n');
const drawn = `<svg xmlns="http://www.w3.org/2000/svg" width="${2 * WIDTH}" height="${HEIGHT + 80}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${panel('batch', 'Microseconds a candidate, by batch', 'candidates (70 a user)', 0)}
${panel('ratio', 'Microseconds a candidate, by ratio', 'candidates a user (of 1024)', WIDTH)}
${legend}
${text(70, HEIGHT + 68, `Linear compression, bf16, cache flushed before each call; ${environment.device.name}, ${environment.date.slice(0, 10)}`, 'start')}
</svg>
`;
const file = new URL('sweep.svg', folder);
if (!process.argv.includes('--check')) writeFileSync(file, drawn);
else if (readFileSync(file, 'utf8') !== drawn) throw new Error('sweep.svg is not what the recordings give: run node kernels/results/plot.mjs');
