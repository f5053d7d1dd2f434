/** Places in a text: offsets, and the lines that they are on. */
import type { LineRange } from '../text';

/** Half-open, in UTF-16 offsets. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Where spans are in lines: 1-based, as the printer counts. */
export function lineRanges(text: string, spans: readonly TextSpan[]): LineRange[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  const lineOf = (offset: number): number => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  return spans.map(({ start, end }) => {
    const [first, last] = [lineOf(start), lineOf(Math.max(start, end - 1))];
    const stop = first === last ? end : (starts[first + 1] ?? end) - 1;
    const line = starts[first] ?? 0;
    return { first: first + 1, last: last + 1, column: start - line + 1, endColumn: stop - line + 1 };
  });
}
