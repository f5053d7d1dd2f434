/** Tokens of ONNX's textual syntax. Comments run from `#` to the end of the line. */

export interface Token {
  /** `name`: bare; `text`: quoted, which may be a name, too; `mark`: one of the signs. */
  readonly kind: 'name' | 'text' | 'number' | 'mark' | 'end';
  /** The content: quotes and escapes undone. */
  readonly text: string;
  /** UTF-16 offsets. */
  readonly start: number;
  readonly end: number;
}

/** What is wrong with a model's text, and where: UTF-16 offset, and the 1-based line. */
export class OnnxTextError extends Error {
  constructor(
    message: string,
    readonly offset: number,
    readonly line: number,
  ) {
    super(message);
    this.name = 'OnnxTextError';
  }
}

/** One token at a time, with one of lookahead. Everything that does not fit throws `OnnxTextError`. */
export interface Lexer {
  readonly source: string;
  /** The end of the token that was read last. */
  readonly last: number;
  peek(): Token;
  next(): Token;
  is(mark: string): boolean;
  /** Consumes the mark when it is next. */
  take(mark: string): boolean;
  expect(mark: string, where: string): Token;
  /** A bare or quoted name. */
  name(what: string): string;
  number(what: string): string;
  fail(message: string, token?: Token): never;
}

const BLANK = /(?:\s|#[^\n]*)*/y;
const TOKEN =
  /(?<name>[A-Za-z_][A-Za-z0-9_.]*)|"(?<text>(?:[^"\\\n]|\\.)*)"|(?<number>[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|[-+](?:inf|nan)\b)|(?<mark>=>|\.\.\.|[<>(){}[\],:=@?.])/y;

export function openLexer(source: string): Lexer {
  let at = 0;
  let ahead: Token | null = null;
  let last = 0;

  const failAt = (message: string, offset: number): never => {
    throw new OnnxTextError(message, offset, lineAt(source, offset));
  };
  const scan = (): Token => {
    BLANK.lastIndex = at;
    const start = at + (BLANK.exec(source)?.[0].length ?? 0);
    if (start === source.length) return { kind: 'end', text: '', start, end: start };
    TOKEN.lastIndex = start;
    const groups = TOKEN.exec(source)?.groups;
    if (!groups) {
      const sign = source[start] ?? '';
      return failAt(sign === '"' ? 'a text without its closing quote' : `'${sign}' means nothing here`, start);
    }
    const end = (at = TOKEN.lastIndex);
    const { name, text, number, mark } = groups;
    if (name !== undefined) return { kind: 'name', text: name, start, end };
    if (text !== undefined) return { kind: 'text', text: unescapeText(text), start, end };
    if (number !== undefined) return { kind: 'number', text: number, start, end };
    return { kind: 'mark', text: mark ?? '', start, end };
  };
  const lexer: Lexer = {
    source,
    get last() {
      return last;
    },
    peek: () => (ahead ??= scan()),
    next() {
      const token = lexer.peek();
      ahead = null;
      last = token.end;
      return token;
    },
    is: (mark) => lexer.peek().kind === 'mark' && lexer.peek().text === mark,
    take: (mark) => lexer.is(mark) && lexer.next() !== null,
    expect: (mark, where) => (lexer.is(mark) ? lexer.next() : lexer.fail(`'${mark}' expected ${where}`)),
    name: (what) => (/^(?:name|text)$/.test(lexer.peek().kind) ? lexer.next().text : lexer.fail(`${what} expected`)),
    number: (what) => (lexer.peek().kind === 'number' ? lexer.next().text : lexer.fail(`${what} expected`)),
    fail(message, token = lexer.peek()) {
      const text = source.slice(token.start, Math.min(token.end, token.start + 60));
      return failAt(`${message}, found ${token.kind === 'end' ? 'the end of the text' : `'${text}'`}`, token.start);
    },
  };
  return lexer;
}

export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** The inverse of the printer's quoting. */
export function unescapeText(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(?:u([0-9a-f]{4})|(.))/g, (_, code: string | undefined, plain: string | undefined) =>
    code ? String.fromCharCode(parseInt(code, 16)) : (ESCAPED[plain ?? ''] ?? plain ?? ''),
  );
}
