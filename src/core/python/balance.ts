/** Whether the brackets and strings of a Python text close, without a parse: where they do not, it is broken or cut off. */
const CLOSES: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
const TOKEN = /#|"""|'''|["'()[\]{}]/g;

export function isBalanced(text: string): boolean {
  const open: string[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
    const [token] = match;
    if (token === '#') TOKEN.lastIndex = lineEnd(text, match.index);
    else if (/["']/.test(token)) {
      const end = stringEnd(text, TOKEN.lastIndex, token);
      if (end === null) return false;
      TOKEN.lastIndex = end;
    } else if (CLOSES[token] === undefined) open.push(token);
    else if (open.pop() !== CLOSES[token]) return false;
  }
  return open.length === 0;
}

const lineEnd = (text: string, from: number): number => {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
};

/** Behind the closing quotes; null where a string does not end, or not on its line. A backslash takes the next character. */
function stringEnd(text: string, from: number, quotes: string): number | null {
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '\\') at++;
    else if (char === quotes[0] && text.startsWith(quotes, at)) return at + quotes.length;
    else if (char === '\n' && quotes.length === 1) return null;
  }
  return null;
}
