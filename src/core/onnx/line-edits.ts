/** Edits that turn one text into another, line by line, for texts that share most of their lines in the same order. */
import type { TextEdit } from '../finding';

/** Offsets count UTF-16 units of `before`. Neighbouring changed lines make one edit. */
export function lineEdits(path: string, before: string, after: string): TextEdit[] {
  const [old, made] = [before.split('\n'), after.split('\n')];
  const left = countLines(made);
  const edits: TextEdit[] = [];
  let offset = 0;
  let j = 0;
  let start = 0;
  let end = 0;
  let text = '';
  const flush = (at: number): void => {
    if (end > start || text !== '') edits.push({ path, start, end, text });
    start = at;
    end = at;
    text = '';
  };
  for (const [i, line] of old.entries()) {
    const last = i === old.length - 1;
    const next = offset + line.length + (last ? 0 : 1);
    if ((left.get(line) ?? 0) > 0) {
      // Everything new before this line's next appearance goes in first.
      while (j < made.length && made[j] !== line) {
        take(left, made[j]);
        text += `${made[j]}\n`;
        j++;
      }
      take(left, line);
      j++;
      flush(next);
    } else end = next;
    offset = next;
  }
  for (; j < made.length; j++) text += `\n${made[j]}`;
  flush(offset);
  return edits;
}

function countLines(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

function take(counts: Map<string, number>, line: string | undefined): void {
  if (line !== undefined) counts.set(line, (counts.get(line) ?? 1) - 1);
}
