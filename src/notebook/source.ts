/**
 * Where the sources of a notebook's cells stand in its JSON, and edits of them that leave every other byte: indentation,
 * outputs, the style of escapes and the end of the file.
 */
import { applyEdits } from '../core/edits';
import { skipSpace, skipValue, stringEnd } from './json';

/** A JSON string token of a source, quotes included, or, of a source that is one string, a line inside of it. */
interface Unit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface Source {
  /** `lines`: an array of strings, as Jupyter writes it. `text`: one string. */
  readonly kind: 'lines' | 'text';
  readonly units: readonly Unit[];
  /** Offset behind the opening bracket or quote. */
  readonly open: number;
}

/** Sources of all cells of a notebook that JSON.parse accepts and that has an array of cells; null for cells without one. */
export function sourcesOf(raw: string): (Source | null)[] {
  const found: (Source | null)[] = [];
  const top = members(raw, skipSpace(raw, raw.charCodeAt(0) === 0xfeff ? 1 : 0));
  const cells = top.get('cells');
  if (cells === undefined) return found;
  for (let at = skipSpace(raw, cells + 1); raw.charAt(at) !== ']' && at < raw.length;) {
    const source = members(raw, at).get('source');
    found.push(source === undefined ? null : sourceAt(raw, source));
    at = skipSpace(raw, skipValue(raw, at));
    if (raw.charAt(at) === ',') at = skipSpace(raw, at + 1);
  }
  return found;
}

/** Offsets of the values of an object's members; the last one of a name counts, as for JSON.parse. */
function members(raw: string, start: number): Map<string, number> {
  const found = new Map<string, number>();
  if (raw.charAt(start) !== '{') return found;
  for (let at = skipSpace(raw, start + 1); raw.charAt(at) === '"';) {
    const end = stringEnd(raw, at);
    const value = skipSpace(raw, skipSpace(raw, end) + 1); // behind the colon
    found.set(JSON.parse(raw.slice(at, end)) as string, value);
    at = skipSpace(raw, skipValue(raw, value));
    if (raw.charAt(at) === ',') at = skipSpace(raw, at + 1);
  }
  return found;
}

function sourceAt(raw: string, start: number): Source | null {
  const open = start + 1;
  if (raw.charAt(start) === '"') return { kind: 'text', units: linesInside(raw, start), open };
  if (raw.charAt(start) !== '[') return null;
  const units: Unit[] = [];
  for (let at = skipSpace(raw, open); raw.charAt(at) === '"';) {
    const end = stringEnd(raw, at);
    units.push({ start: at, end, text: JSON.parse(raw.slice(at, end)) as string });
    at = skipSpace(raw, end);
    if (raw.charAt(at) === ',') at = skipSpace(raw, at + 1);
  }
  return { kind: 'lines', units, open };
}

/** A string's text line by line, each with its escaped form's offsets. */
function linesInside(raw: string, start: number): Unit[] {
  const end = stringEnd(raw, start) - 1;
  const units: Unit[] = [];
  let from = start + 1;
  const close = (to: number): void => {
    units.push({ start: from, end: to, text: JSON.parse(`"${raw.slice(from, to)}"`) as string });
    from = to;
  };
  for (let at = from; at < end; at += 1) {
    if (raw.charAt(at) !== '\\') continue;
    at += 1;
    if (raw.charAt(at) === 'n') close(at + 1);
  }
  if (from < end || units.length === 0) close(end);
  return units;
}

export const textOfSource = ({ units }: Source): string => units.map(({ text }) => text).join('');

export interface RawEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Edits of a cell's text as one edit of the file. */
export function rawEdit(raw: string, source: Source, edits: readonly RawEdit[]): RawEdit {
  const { units } = source;
  const lines = applyEdits(textOfSource(source), edits).match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const limit = Math.min(units.length, lines.length);
  let head = 0;
  while (head < limit && units[head]?.text === lines[head]) head += 1;
  let tail = 0;
  while (tail < limit - head && units.at(-1 - tail)?.text === lines.at(-1 - tail)) tail += 1;
  const fresh = lines.slice(head, lines.length - tail).map((line) => escapeLike(raw, line));
  return source.kind === 'text'
    ? replaceInside(source, head, units.length - tail, fresh)
    : replaceTokens(raw, source, head, units.length - tail, fresh);
}

function replaceInside({ units, open }: Source, from: number, to: number, fresh: readonly string[]): RawEdit {
  const start = units[from]?.start ?? units.at(-1)?.end ?? open;
  return { start, end: to > from ? (units[to - 1]?.end ?? start) : start, text: fresh.join('') };
}

function replaceTokens(raw: string, source: Source, from: number, to: number, fresh: readonly string[]): RawEdit {
  const { units, open } = source;
  const between = separator(raw, units, open);
  const text = fresh.map((line) => `"${line}"`).join(between);
  const [first, last, next, previous] = [units[from], units[to - 1], units[to], units[from - 1]];
  if (to > from && first && last) {
    if (fresh.length > 0) return { start: first.start, end: last.end, text };
    if (next) return { start: first.start, end: next.start, text };
    return { start: previous?.end ?? first.start, end: last.end, text };
  }
  if (next) return { start: next.start, end: next.start, text: fresh.length > 0 ? text + between : '' };
  const at = previous?.end ?? open;
  return { start: at, end: at, text: previous && fresh.length > 0 ? between + text : text };
}

/** What stands between two strings of the array; of an array with one, what it would be. */
function separator(raw: string, units: readonly Unit[], open: number): string {
  const [first, second] = units;
  if (!first) return ', ';
  return second ? raw.slice(first.end, second.start) : `,${raw.slice(open, first.start) || ' '}`;
}

/** The inside of a JSON string; in a file that is all ASCII, so is this. */
function escapeLike(raw: string, text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1);
  const isPlain = (part: string): boolean => !/[^\0-\x7f]/.test(part);
  if (isPlain(escaped) || !isPlain(raw)) return escaped;
  return escaped.replace(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
