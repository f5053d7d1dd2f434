/** Lines of nothing but comment, beyond which they are left out of the parse. */
const LONG = 300;

/**
 * The text with long runs of comment lines blanked out, offsets kept. The grammar looks through all comments that follow to
 * find the next indentation, again after each: the parse of 8,000 of them takes five seconds.
 */
export function withoutLongComments(text: string): string {
  if (text.length < 2 * LONG) return text;
  const parts: string[] = [];
  let kept = 0;
  let runStart = 0;
  let run = 0;
  const endRun = (end: number): void => {
    if (run > LONG) {
      parts.push(text.slice(kept, runStart), text.slice(runStart, end).replace(/[^\r\n]/g, ' '));
      kept = end;
    }
    run = 0;
  };
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n', start) + 1 || text.length;
    if (isComment(text, start, end)) {
      if (run++ === 0) runStart = start;
    } else endRun(start);
    start = end;
  }
  endRun(text.length);
  return parts.length === 0 ? text : parts.join('') + text.slice(kept);
}

/** Such a line may stand in a string over many lines, too: then it may be the one that ends it. */
function isComment(text: string, start: number, end: number): boolean {
  let at = start;
  while (text.charCodeAt(at) === 32 || text.charCodeAt(at) === 9) at++;
  return text.charCodeAt(at) === 35 && !/"""|'''/.test(text.slice(at, end));
}
