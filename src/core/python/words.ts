/** Where names begin and end: `\b` and `\w` of a pattern know the letters of ASCII alone, and Python has those of all scripts. */

export const LETTER = '[\\p{L}\\p{M}\\p{N}_]';

/** A name, for patterns with the flag `u`. */
export const NAME = `[\\p{L}_]${LETTER}*`;

/** `\b` for patterns with the flag `u`. */
export const EDGE = `(?:(?<=${LETTER})(?!${LETTER})|(?<!${LETTER})(?=${LETTER}))`;

/** A name as a whole word. */
export const wordOf = (name: string, flags = ''): RegExp => new RegExp(`${EDGE}${name}${EDGE}`, `u${flags}`);
