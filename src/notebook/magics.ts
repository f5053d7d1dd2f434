/** IPython's own syntax in a cell, replaced by Python of the same length, so that every offset stays. */

/** Cell magics whose body is Python that runs in the notebook's own namespace. */
const PYTHON_BODY = new Set(['time', 'timeit', 'capture', 'prun', 'memit', 'mprun', 'lprun']);

const ASSIGNED = /^(\s*[A-Za-z_][\w., ]*=\s*)[!%]/;
const MAGIC = /^\s*[%!?]/;
const HELP = /^\s*[A-Za-z_][\w.]*\?{1,2}\s*$/;

/** The cell as Python of the same length, or null where it is another language (`%%bash`). */
export function maskMagics(text: string): string | null {
  const cell = /^\s*%%(\w+).*/.exec(text);
  if (cell) {
    if (!PYTHON_BODY.has(cell[1] ?? '')) return null;
    const rest = maskMagics(text.slice(cell[0].length));
    return rest === null ? null : cell[0].replace(/\S/g, ' ') + rest;
  }
  if (!/[%!?]/.test(text)) return text;
  const lines = text.split('\n');
  const state = openState();
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i] ?? '';
    const atStatement = state.quote === '' && state.depth === 0 && !state.continued;
    const kept = ASSIGNED.exec(line)?.[1] ?? (MAGIC.test(line) || HELP.test(line) ? /^\s*/.exec(line)?.[0] : undefined);
    if (!atStatement || kept === undefined) {
      advance(state, line);
      continue;
    }
    lines[i] = kept + filler(line.slice(kept.length), ASSIGNED.test(line) ? 'None' : 'pass');
    // A backslash continues a magic, too; nothing of it is Python.
    for (let open = line; open.trimEnd().endsWith('\\') && i + 1 < lines.length;) {
      open = lines[(i += 1)] ?? '';
      lines[i] = open.replace(/\S/g, ' ');
    }
  }
  return lines.join('\n');
}

const KEYWORDS = new Set(
  'and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(' '),
); // prettier-ignore

/** Whether a bracket, a string or a line that goes on reaches over the end of the cell, into those behind it. */
export function isOpen(text: string): boolean {
  const state = openState();
  for (const line of text.split('\n')) advance(state, line);
  return state.quote !== '' || state.depth > 0 || state.continued;
}

/** Of a cell that cannot run the names that it mentions, as Python of the same length. */
export const namesOf = (text: string): string =>
  text.replace(/[^\r\n]+/g, (line) => {
    const names = line.replace(/[\p{L}\p{M}\p{N}_]+/gu, (word) =>
      /^\p{N}/u.test(word) || KEYWORDS.has(word) ? ' '.repeat(word.length) : word,
    );
    return names.replace(/[^\p{L}\p{M}\p{N}_]+/gu, (between, at: number) => separator(between, at, names.length));
  });

/** A line that is indented begins with a sign: the indentation of an expression would be an error. */
function separator({ length }: string, at: number, lineLength: number): string {
  const sign = length < lineLength ? '-' : '';
  return (at === 0 ? sign : ',').padEnd(length);
}

/** An expression or statement as long as what it replaces; a carriage return stays. */
function filler(text: string, preferred: string): string {
  const end = text.endsWith('\r') ? '\r' : '';
  const length = text.length - end.length;
  const word = length >= preferred.length ? preferred : length === 3 ? '...' : '0';
  return word.padEnd(length) + end;
}

/** What of Python's lexical structure reaches over the end of a line. */
interface State {
  /** The quotes that end the open string, or nothing. */
  quote: string;
  depth: number;
  continued: boolean;
}

const openState = (): State => ({ quote: '', depth: 0, continued: false });

function advance(state: State, line: string): void {
  state.continued = false;
  for (let i = 0; i < line.length; i += 1) {
    const character = line.charAt(i);
    if (character === '\\') {
      if (line.slice(i + 1).trimEnd() === '') state.continued = true;
      i += 1;
    } else if (state.quote !== '') {
      if (line.startsWith(state.quote, i)) {
        i += state.quote.length - 1;
        state.quote = '';
      }
    } else if (character === '#') break;
    else if (character === '"' || character === "'") {
      state.quote = line.startsWith(character.repeat(3), i) ? character.repeat(3) : character;
      i += state.quote.length - 1;
    } else if ('([{'.includes(character)) state.depth += 1;
    else if (')]}'.includes(character)) state.depth = Math.max(0, state.depth - 1);
  }
  // Only triple quotes and a backslash carry a string to the next line.
  if (state.quote.length === 1 && !state.continued) state.quote = '';
}
