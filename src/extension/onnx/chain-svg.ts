/** Draws the way of a copy: source, replica, what lies between, sink. Colours are the editor's; boxes are links. */
import type { ChainBox, ChainPicture } from '../../protocol/onnx';

const BOX = { width: 190, height: 78, gap: 46, margin: 12, row: 118 } as const;
/** Characters that fit into a box. */
const FIT = 26;

export function chainSvg({ title, rows }: ChainPicture, hrefOf: (line: number) => string): string {
  const most = Math.max(1, ...rows.map((row) => row.length));
  const width = 2 * BOX.margin + most * BOX.width + (most - 1) * BOX.gap;
  const height = 2 * BOX.margin + rows.length * BOX.row;
  const drawn = rows.map((row, y) => row.map((box, x) => drawBox(box, x, y, hrefOf) + (x > 0 ? drawArrow(x, y) : '')));
  return `<svg xmlns="http://www.w3.org/2000/svg" role="group" aria-label="${escape(title)}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8 z" class="tip"/></marker></defs>
${drawn.flat().join('\n')}
</svg>`;
}

const left = (x: number): number => BOX.margin + x * (BOX.width + BOX.gap);
const top = (y: number): number => BOX.margin + y * BOX.row + 8;

function drawBox(
  { role, title, shape, bytes, line }: ChainBox,
  x: number,
  y: number,
  hrefOf: (line: number) => string,
): string {
  const [at, up] = [left(x), top(y)];
  const rect = (shift: number): string =>
    `<rect x="${at + shift}" y="${up - shift}" width="${BOX.width}" height="${BOX.height}" rx="4"/>`;
  // Copies lie on top of each other.
  const sheets = role === 'replica' ? [8, 4, 0] : [0];
  const texts = [ROLES[role], shorten(title), shorten(shape), bytes === null ? '' : shorten(bytes)];
  const rows = texts.map(
    (text, i) => `<text x="${at + 10}" y="${up + 17 + i * 18}" class="t${i}">${escape(text)}</text>`,
  );
  const label = [ROLES[role], title, shape, bytes, line === null ? '' : `line ${line}`].filter(Boolean).join(', ');
  const body = `<title>${escape(label)}</title>${sheets.map(rect).join('')}${rows.join('')}`;
  return line === null
    ? `<g class="box ${role}">${body}</g>`
    : `<a class="box ${role}" href="${escape(hrefOf(line))}" aria-label="${escape(label)}">${body}</a>`;
}

const ROLES = { source: 'source', replica: 'copies', step: 'then', sink: 'multiplied by' } as const;

function drawArrow(x: number, y: number): string {
  const middle = top(y) + BOX.height / 2;
  return `<path class="arrow" marker-end="url(#tip)" d="M${left(x) - BOX.gap + (x === 2 ? 10 : 2)} ${middle} H${left(x) - 3}"/>`;
}

const shorten = (text: string): string => (text.length > FIT ? `${text.slice(0, FIT - 1)}…` : text);

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? c);
