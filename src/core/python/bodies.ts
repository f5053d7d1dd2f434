/**
 * Where the bodies of a text's functions are, without a parse. Most functions of a file are never looked into: parsed is what
 * stands around their bodies, and a body when it is asked for.
 */

/** A function at the top of a file or of a class. */
export interface Body {
  /** Offset of `def`, or of `async`. */
  readonly start: number;
  /** Behind the lines of the body's first statement: what is left out begins here. */
  readonly from: number;
  /** Behind the last token. */
  readonly end: number;
  /** Start of the next line of code: what is left out ends here. */
  readonly to: number;
}

/** Shorter ones cost more to come back to than to parse at once. */
const WORTHWHILE = 250;

const [TAB, LINE, FEED, RETURN, SPACE, DOUBLE, HASH, SINGLE, COLON, BACKSLASH] = [
  9, 10, 12, 13, 32, 34, 35, 39, 58, 92,
];
/** What closes each bracket. */
const CLOSING: ReadonlyMap<number, number> = new Map([[40, 41], [91, 93], [123, 125]]); // prettier-ignore

/** Characters that mean something to `bodiesOf`; all others are skipped. */
const SPECIAL = new Uint8Array(128);
for (const code of [LINE, RETURN, DOUBLE, HASH, SINGLE, BACKSLASH, ...[...CLOSING].flat()]) SPECIAL[code] = 1;

/** How a line of code begins that defines something, or that holds further statements. */
const FIRST = /(?:(async[ \t]+def|def)|(class)|if|for|while|try|with|match|async)\b|@/y;

interface Open {
  readonly indent: number;
  /** Null for a class, and for a function inside of another one. */
  readonly start: number | null;
  /** Behind the first statement of the body, once that has been seen. */
  from: number | null;
  /** The first statement holds others: then all of the function is parsed with what stands around it. */
  whole: boolean;
}

/**
 * In the order of the text; null when brackets or strings do not close, or lines are indented as none around them are: the
 * text is broken or cut off, and how far a body reaches is the grammar's guess.
 */
export function bodiesOf(text: string): readonly Body[] | null {
  const bodies: Body[] = [];
  const closing: number[] = [];
  const open: Open[] = [];
  let functions = 0;
  /** Where the line of code began that is being read, and where its comment begins. */
  let lineStart = 0;
  let comment = -1;
  /** Of the last line of code; and the depth of comments behind and below it, which the grammar takes into the body. */
  let codeEnd = 0;
  let commentIndent = -1;
  let hasBareReturns = false;
  /** Depths of the blocks that the last line of code is in, and whether it opens one more. */
  const depths = [0];
  let opens = false;
  let isIndented = true;

  const indented = (indent: number): boolean => {
    if (indent > (depths.at(-1) ?? 0)) return opens && depths.push(indent) > 0;
    while (indent < (depths.at(-1) ?? 0)) depths.pop();
    return !opens && depths.at(-1) === indent;
  };

  const close = (indent: number, next: number): void => {
    for (let top = open.at(-1); top && top.indent >= indent; top = open.at(-1)) {
      open.pop();
      if (top.start === null) continue;
      functions--;
      if (top.from !== null && !top.whole && commentIndent <= indent && codeEnd - top.from >= WORTHWHILE)
        bodies.push({ start: top.start, from: top.from, end: codeEnd, to: next });
    }
  };

  /** The line of code from `lineStart` to `next`. */
  const line = (next: number): void => {
    let indent = 0;
    let at = lineStart;
    for (; at < next; at++) {
      const code = text.charCodeAt(at);
      if (code === SPACE) indent++;
      else if (code === TAB) indent += 8;
      else if (code === FEED || code === RETURN) indent = 0;
      else break;
    }
    let end = comment >= 0 ? comment : next;
    while (end > at && text.charCodeAt(end - 1) <= SPACE) end--;
    if (end <= at) {
      if (comment >= 0) commentIndent = Math.max(commentIndent, indent);
      return;
    }
    isIndented &&= indented(indent) && text.charCodeAt(at) !== BACKSLASH;
    opens = text.charCodeAt(end - 1) === COLON;
    close(indent, lineStart);
    FIRST.lastIndex = at;
    const first = FIRST.exec(text);
    const around = open.at(-1);
    if (around && around.from === null) {
      around.from = next;
      around.whole = first !== null;
    }
    codeEnd = end;
    commentIndent = comment >= 0 ? Infinity : -1;
    // What follows its header on the same line is nothing to leave out.
    if (!(first?.[1] ?? first?.[2]) || !opens) return;
    const isOuter = first?.[1] !== undefined && functions === 0;
    if (isOuter) functions++;
    open.push({ indent, start: isOuter ? at : null, from: null, whole: false });
  };

  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 127 || SPECIAL[code] === 0) continue;
    switch (code) {
      case LINE:
        if (closing.length > 0) break;
        line(at + 1);
        if (!isIndented) return null;
        lineStart = at + 1;
        comment = -1;
        break;
      case RETURN:
        hasBareReturns ||= text.charCodeAt(at + 1) !== LINE;
        break;
      case HASH: {
        if (closing.length === 0) comment = at;
        const end = text.indexOf('\n', at);
        at = (end < 0 ? text.length : end) - 1;
        break;
      }
      case BACKSLASH:
        at += text.charCodeAt(at + 1) === RETURN ? 2 : 1;
        break;
      case DOUBLE:
      case SINGLE: {
        const end = stringEnd(text, at, code);
        if (end === null) return null;
        at = end - 1;
        break;
      }
      default: {
        const closes = CLOSING.get(code);
        if (closes !== undefined) closing.push(closes);
        else if (closing.pop() !== code) return null;
      }
    }
  }
  if (closing.length > 0) return null;
  line(text.length);
  if (!isIndented) return null;
  close(0, text.length);
  // A line that ends so is one to Python and not to the grammar.
  return hasBareReturns ? [] : bodies.sort((a, b) => a.start - b.start);
}

/** Behind the closing quotes; null where a string does not end, or not on its line. A backslash takes the next character. */
function stringEnd(text: string, start: number, quote: number): number | null {
  const isLong = text.charCodeAt(start + 1) === quote && text.charCodeAt(start + 2) === quote;
  for (let at = start + (isLong ? 3 : 1); at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === LINE && !isLong) return null;
    else if (code === quote) {
      if (!isLong) return at + 1;
      if (text.charCodeAt(at + 1) === quote && text.charCodeAt(at + 2) === quote) return at + 3;
    }
  }
  return null;
}
