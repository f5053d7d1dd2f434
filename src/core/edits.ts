import type { TextEdit } from './finding';

/**
 * The text after all edits, which must not overlap and may come in any order. Insertions at one offset keep their order.
 * Throws RangeError on overlapping or out-of-range edits: a caller must never write a half-applied file.
 */
export function applyEdits(text: string, edits: readonly Omit<TextEdit, 'path'>[]): string {
  const ordered = edits.map((edit, order) => ({ edit, order }));
  ordered.sort((a, b) => a.edit.start - b.edit.start || a.edit.end - b.edit.end || a.order - b.order);
  const parts: string[] = [];
  let at = 0;
  for (const { edit } of ordered) {
    if (edit.start < at || edit.end < edit.start || edit.end > text.length) {
      throw new RangeError(
        `edit ${edit.start}..${edit.end} overlaps another or leaves the text (length ${text.length})`,
      );
    }
    parts.push(text.slice(at, edit.start), edit.text);
    at = edit.end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}
