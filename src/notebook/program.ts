/**
 * The code cells of a notebook as one program, in the order in which they stand, and the way back: places of a notebook
 * are lines and columns of a cell.
 */
import type { TextEdit } from '../core/finding';
import { isOpen, maskMagics, namesOf } from './magics';

export interface CodeCell {
  /** 1-based, counted over all cells, as editors show them. */
  readonly number: number;
  readonly text: string;
}

export interface Part {
  readonly cell: CodeCell;
  /** Offsets of the cell in the program, without the line break that follows it. */
  readonly start: number;
  readonly end: number;
  /** Line of the program that is the cell's first, 1-based. */
  readonly line: number;
}

export interface Program {
  readonly text: string;
  /** Cells of other languages have no part. */
  readonly parts: readonly Part[];
  /** The first cell whose brackets or strings do not close, of which nothing but the names is in the program. */
  readonly open: CodeCell | null;
}

export function programOf(cells: readonly CodeCell[]): Program {
  const parts: Part[] = [];
  const texts: string[] = [];
  let [start, line] = [0, 1];
  let open: CodeCell | null = null;
  for (const cell of cells) {
    const masked = maskMagics(cell.text);
    if (masked === null) continue;
    if (isOpen(masked)) open ??= cell;
    const text = isOpen(masked) ? namesOf(masked) : masked;
    parts.push({ cell, start, end: start + text.length, line });
    texts.push(text, '\n');
    start += text.length + 1;
    line += text.split(/\r\n|\r|\n/).length;
  }
  return { text: texts.join(''), parts, open };
}

/** Number and first line of every cell of the program. */
export const cellStarts = ({ parts }: Program) => parts.map(({ cell: { number }, line }) => ({ number, line }));

/** The cell that holds an offset; the place behind a cell's last character is still its own. */
export const partAt = ({ parts }: Program, offset: number): Part | undefined =>
  parts.find(({ end }) => offset <= end) ?? parts.at(-1);

export const partAtLine = ({ parts }: Program, line: number): Part | undefined =>
  parts.findLast((part) => part.line <= line);

/** Offsets are the cell's own. */
export interface CellEdit {
  readonly cell: CodeCell;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** An edit of the program as one of a cell; undefined where it reaches over two cells. */
export function cellEdit(program: Program, { start, end, text }: Omit<TextEdit, 'path'>): CellEdit | undefined {
  const part = partAt(program, start);
  if (!part) return undefined;
  const { cell } = part;
  const at = start - part.start;
  if (end <= part.end) return { cell, start: at, end: end - part.start, text };
  if (end > part.end + 1) return undefined;
  // Whole lines up to the cell's end: its last line has no line break that could go with them.
  const length = part.end - part.start;
  if (text.endsWith('\n')) return { cell, start: at, end: length, text: text.slice(0, -1) };
  return text === '' && at > 0 && cell.text.charAt(at - 1) === '\n'
    ? { cell, start: at - 1, end: length, text }
    : undefined;
}
