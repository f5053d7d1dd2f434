/** Edits of a model's printed text, carried over to a text of the same model that people have laid out in their way. */
import type { TextEdit } from '../finding';
import type { LineRange, ModelText } from './text';

/**
 * Every edit of `printed` replaces whole lines. Where each such line is one node or declaration that has lines of its own
 * in `text`, too, the edit moves there; null where one does not.
 */
export function moveEdits(edits: readonly TextEdit[], printed: ModelText, text: ModelText): TextEdit[] | null {
  const [from, to] = [lineStarts(printed.text), lineStarts(text.text)];
  const places = placesOf(printed, text, to);
  const lineAt = new Map(from.map((start, line) => [start, line + 1]));
  const moved: TextEdit[] = [];
  for (const edit of edits) {
    const [first, end] = [lineAt.get(edit.start), lineAt.get(edit.end)];
    if (first === undefined || end === undefined) return null;
    if (first === end) {
      // Before the node on this line, or after the one before it.
      const at = places.get(first)?.start ?? places.get(first - 1)?.end;
      if (at === undefined) return null;
      moved.push({ ...edit, start: at, end: at });
      continue;
    }
    const lines = Array.from({ length: end - first }, (_, i) => places.get(first + i));
    for (const [i, place] of lines.entries()) {
      if (!place) return null;
      moved.push({ path: edit.path, ...place, text: i === 0 ? edit.text : '' });
    }
  }
  return inOrder(moved) ? moved : null;
}

interface Place {
  readonly start: number;
  readonly end: number;
}

/** By line of the printed text: the whole lines of the same node or declaration in the other one. */
function placesOf(printed: ModelText, text: ModelText, starts: readonly number[]): Map<number, Place> {
  const [own, other] = [printed.text.split('\n'), text.text.split('\n')];
  const places = new Map<number, Place>();
  const add = (line: number, { first, last }: LineRange): void => {
    places.set(line, { start: starts[first - 1] ?? 0, end: starts[last] ?? text.text.length });
  };
  // Both texts have the same nodes in the same order.
  const nodes = [...text.nodes.values()];
  const ends = new Map<number, number>();
  for (const { first, last } of nodes)
    for (const line of new Set([first, last])) ends.set(line, (ends.get(line) ?? 0) + 1);
  [...printed.nodes.values()].forEach((range, i) => {
    const there = nodes[i];
    // With its lines to itself.
    if (there && range.first === range.last && ends.get(there.first) === 1 && ends.get(there.last) === 1)
      add(range.first, there);
  });
  for (const [name, range] of printed.declarations) {
    const there = text.declarations.get(name);
    // With the same comma, too.
    if (there && bare(own[range.first - 1]) === bare(other[there.first - 1])) add(range.first, there);
  }
  return places;
}

/** Without blanks and comments; quoted names as they are. */
const bare = (line = ''): string => line.replace(/("(?:[^"\\]|\\.)*")|#.*|\s/g, (_, text?: string) => text ?? '');

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

const inOrder = (edits: readonly TextEdit[]): boolean =>
  edits.every((edit, i) => edit.start >= (edits[i - 1]?.end ?? 0));
