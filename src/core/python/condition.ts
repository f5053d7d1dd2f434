/** What a condition is called when it does not hold. Negating twice gives the text back. */
export function negated(text: string): string {
  const whole = /^not \((.*)\)$/s.exec(text)?.[1];
  if (whole !== undefined && isBalanced(whole)) return whole;
  if (!/ (and|or|if|for) |\n/.test(text)) {
    const bare = /^not (.+)$/.exec(text)?.[1];
    if (bare !== undefined) return bare;
    const none = /^(.+) is (not )?None$/.exec(text);
    if (none) return `${none[1] ?? ''} is ${none[2] === undefined ? 'not ' : ''}None`;
    const equal = /^([^=!<>]+) ([=!]=) ([^=!<>]+)$/.exec(text);
    if (equal) return `${equal[1] ?? ''} ${equal[2] === '==' ? '!=' : '=='} ${equal[3] ?? ''}`;
    if (/^[\w.]+(\([^()]*\))?$/.test(text)) return `not ${text}`;
  }
  return `not (${text})`;
}

/** The parentheses of a text close inside of it, and none closes before it opens. */
function isBalanced(text: string): boolean {
  let depth = 0;
  for (const char of text) {
    if (char === '(') depth++;
    if (char === ')' && --depth < 0) return false;
  }
  return depth === 0;
}
