/** Where names begin and end: `\b` and `\w` of a pattern know the letters of ASCII alone, and Python has those of all scripts. */

export const LETTER = '[\\p{L}\\p{M}\\p{N}_]';

export const DIGIT = '\\p{N}';

/** A name, for patterns with the flag `u`. */
export const NAME = `[\\p{L}_]${LETTER}*`;

/** `\b` for patterns with the flag `u`. */
export const EDGE = `(?:(?<=${LETTER})(?!${LETTER})|(?<!${LETTER})(?=${LETTER}))`;

/** What the parts are among the letters of ASCII; those that contain others come first. */
const PLAIN = [
  [EDGE, '\\b'],
  [NAME, '[A-Za-z_]\\w*'],
  [LETTER, '\\w'],
  [DIGIT, '\\d'],
] as const;

/** Anything but white space and what ASCII prints. */
const FOREIGN = /[^\s -~]/;

/**
 * A pattern of these parts, for the text that it will be used on. Its classes of letters take V8 milliseconds to read, and again to
 * compile, so they are read for a text alone that has letters beyond ASCII; in others `\w` and `\b` match the same.
 */
export function patternOf(source: string, flags: string): (text: string) => RegExp {
  const plain = PLAIN.reduce((text, [part, ofAscii]) => text.replaceAll(part, ofAscii), source);
  const ofAscii = new RegExp(plain, flags);
  let ofAll: RegExp | undefined;
  return (text) => (FOREIGN.test(text) ? (ofAll ??= new RegExp(source, flags)) : ofAscii);
}

/**
 * Where a name stands in a text as a whole word. A pattern made of each name would take longer to make than all texts to
 * search: its classes of letters have hundreds of ranges.
 */
export function placesOf(text: string, name: string): readonly number[] {
  const places: number[] = [];
  if (name === '') return places;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1))
    if (!endsInLetter(text, at) && !beginsWithLetter(text, at + name.length)) places.push(at);
  return places;
}

export const hasWord = (text: string, name: string): boolean => placesOf(text, name).length > 0;

const A_LETTER = patternOf(`^${LETTER}`, 'u');
const PLAIN_LETTER = /^\w/;

function beginsWithLetter(text: string, at: number): boolean {
  const point = text.codePointAt(at);
  if (point === undefined) return false;
  const letter = String.fromCodePoint(point);
  return (point < 128 ? PLAIN_LETTER : A_LETTER(letter)).test(letter);
}

/** Does the text before `at` end in a letter? */
function endsInLetter(text: string, at: number): boolean {
  const isLow = (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00;
  return at > 0 && beginsWithLetter(text, at - (isLow && at > 1 ? 2 : 1));
}
