import type { Position, Range } from 'vscode-languageserver';
import type { TextDocument, TextDocumentContentChangeEvent } from 'vscode-languageserver-textdocument';
import type { Site } from '../core/finding';
import type { Change } from '../core/engine';

/** The report counts from 1, the protocol from 0; both count UTF-16 code units. */
export function rangeOf(site: Site): Range {
  return {
    start: { line: site.line - 1, character: site.column - 1 },
    end: { line: site.endLine - 1, character: site.endColumn - 1 },
  };
}

export function contains(range: Range, position: Position): boolean {
  return compare(range.start, position) <= 0 && compare(position, range.end) <= 0;
}

export function overlaps(a: Range, b: Range): boolean {
  return compare(a.start, b.end) <= 0 && compare(b.start, a.end) <= 0;
}

function compare(a: Position, b: Position): number {
  return a.line - b.line || a.character - b.character;
}

/** The offsets that one content change replaces, in the document as it is before that change. */
export function changeOf(document: TextDocument, event: TextDocumentContentChangeEvent): Change {
  if (!('range' in event)) return { start: 0, end: document.getText().length, text: event.text };
  const from = document.offsetAt(event.range.start);
  const to = document.offsetAt(event.range.end);
  return { start: Math.min(from, to), end: Math.max(from, to), text: event.text };
}
