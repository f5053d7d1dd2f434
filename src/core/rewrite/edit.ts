/** Text edits that respect the file: its indentation, its line ends, and everything that stands beside a statement. */
import { type Node, textOf, lineOf } from '../python/syntax';
import { refuse } from './refusal';

/** Longest line that is written where it can be avoided. */
export const LONGEST_LINE = 110;

/** Half-open, in UTF-16 code units. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The line end that the file uses, by its first line. */
export function lineEnd(text: string): string {
  const at = text.search(/\r\n|\n|\r/);
  if (at < 0) return '\n';
  return text.startsWith('\r\n', at) ? '\r\n' : (text[at] ?? '\n');
}

/** The quote that the file's strings mostly use. */
export const quoteOf = (text: string): string => (text.split("'").length > text.split('"').length ? "'" : '"');

function lineStart(text: string, offset: number): number {
  let at = offset;
  while (at > 0 && text[at - 1] !== '\n' && text[at - 1] !== '\r') at--;
  return at;
}

/** The white space in front of a statement. Refuses one that does not start its line (`if x: y = fc(z)`, `a; b`). */
export function indentOf(statement: Node): string {
  const { text } = statement.file;
  const indent = text.slice(lineStart(text, statement.start), statement.start).replace(/^\ufeff/, '');
  if (indent.trim() !== '') refuse(`line ${lineOf(statement)} holds another statement too`);
  return indent;
}

/** Takes a statement away with its whole lines and the comment behind it. Refuses when something else shares them. */
export function removeStatement(statement: Node): Edit {
  const { text } = statement.file;
  indentOf(statement);
  const rest = /^[ \t\f]*(#[^\r\n]*)?(\r\n|\n|\r|$)/.exec(text.slice(statement.end));
  if (!rest) refuse(`line ${lineOf(statement)} holds another statement too`);
  return { start: lineStart(text, statement.start), end: statement.end + rest[0].length, text: '' };
}

/** New statements in front of one, indented as it is. */
export function insertBefore(statement: Node, lines: readonly string[]): Edit {
  const indent = indentOf(statement);
  const end = lineEnd(statement.file.text);
  const text = lines.map((line) => wrapped(line, indent, end) + end + indent).join('');
  return { start: statement.start, end: statement.start, text };
}

/** A long call with its arguments on a line of their own. */
function wrapped(line: string, indent: string, end: string): string {
  if (indent.length + line.length <= LONGEST_LINE || !line.endsWith(')') || /['"]/.test(line)) return line;
  let depth = 0;
  let open = line.length - 1;
  for (; open >= 0; open--) {
    if (line[open] === ')') depth++;
    if (line[open] === '(' && --depth === 0) break;
  }
  if (open < 0) return line;
  const unit = indent.includes('\t') ? '\t' : '    ';
  return `${line.slice(0, open + 1)}${end}${indent}${unit}${line.slice(open + 1, -1)}${end}${indent})`;
}

export const replace = (node: Node, text: string): Edit => ({ start: node.start, end: node.end, text });

/** The text of an expression on one line. Refuses what cannot stand there: a comment inside, a string over lines. */
export function flat(node: Node): string {
  const text = textOf(node);
  if (!/[\r\n]/.test(text)) return text;
  if (/#|"""|'''/.test(text)) refuse(`the expression at line ${lineOf(node)} has a comment or a long string inside`);
  return text
    .replace(/[ \t]*\\?(\r\n|\n|\r)[ \t]*/g, '\n')
    .replace(/\n+/g, '\n')
    .replace(/\n(?=[.)\]}])|(?<=[([{])\n/g, '')
    .replace(/,(?=[)\]}])/g, '')
    .replace(/\n/g, ' ');
}

/** An expression as a message quotes it: on one line, cut where it is long. */
export const shortly = (node: Node): string => {
  const text = textOf(node).replace(/\s+/g, ' ');
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
};

/** Edits by place. Refuses edits that overlap: two parts of a rewrite want to change the same text. */
export function inOrder(edits: readonly Edit[]): readonly Edit[] {
  const sorted = edits
    .map((edit, i) => ({ edit, i }))
    .sort((a, b) => a.edit.start - b.edit.start || a.edit.end - b.edit.end || a.i - b.i);
  let at = 0;
  for (const { edit } of sorted) {
    if (edit.start < at) refuse('two changes would overlap');
    at = edit.end;
  }
  return sorted.map(({ edit }) => edit);
}

/** Edits in order, where lines that go and stood between two blank ones take one of these along. */
export function closeGaps(text: string, edits: readonly Edit[]): readonly Edit[] {
  let from = -1;
  let end = -1;
  return edits.map((edit) => {
    const isRemoval = edit.text === '' && edit.start < edit.end && lineStart(text, edit.start) === edit.start;
    if (!isRemoval || lineStart(text, edit.end) !== edit.end) return edit;
    if (edit.start !== end) from = edit.start;
    end = edit.end;
    const blank = /^[ \t]*(\r\n|\n|\r)/.exec(text.slice(edit.end))?.[0];
    if (blank === undefined || !/(^|[\r\n:])[ \t]*(\r\n|\n|\r)$/.test(text.slice(Math.max(0, from - 200), from)))
      return edit;
    end = edit.end + blank.length;
    return { ...edit, end };
  });
}

/** Characters that an expression in place of `node` may have for its statement to stay on one line. */
export function roomFor(statement: Node, node: Node): number {
  const { text } = statement.file;
  const indent = statement.start - lineStart(text, statement.start);
  return LONGEST_LINE - indent - (statement.end - statement.start) + (node.end - node.start);
}
