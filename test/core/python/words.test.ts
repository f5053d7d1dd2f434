import assert from 'node:assert/strict';
import fc from 'fast-check';
import { DIGIT, EDGE, LETTER, NAME, hasWord, patternOf, placesOf } from '../../../src/core/python/words';

const check = (text: string, name: string, expected: readonly number[]) =>
  it(`${JSON.stringify(name)} in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(placesOf(text, name), expected);
    assert.equal(hasWord(text, name), expected.length > 0);
  });

describe('names in a text', () => {
  check('x = x1 + x', 'x', [0, 9]);
  check('self.fc = fc', 'fc', [5, 10]);
  check('größe = größer', 'größe', [0]);
  check('é = é2 + né + e\u0301', 'e', []);
  check('𝐱x = x𝐱 + x', 'x', [12]);
  check('', 'x', []);

  it('are what a pattern says, whether or not the text has letters beyond ASCII', () => {
    const source = `(?<!\\.|${LETTER})${EDGE}(?!${DIGIT})(${LETTER}+)|(${NAME})(?!${LETTER})`;
    const pattern = patternOf(source, 'gu');
    const places = (text: string, one: RegExp) => [...text.matchAll(one)].map((found) => [found.index, ...found]);
    const units = ['a', 'Z', '_', '1', ' ', '.', '\n', '-'];
    const text = fc.oneof(
      ...[units, [...units, 'é', '中', '𝐱', '\u0301', '٣', '\u00a0', '😀']].map((from) =>
        fc.string({ unit: fc.constantFrom(...from), maxLength: 30 }),
      ),
    );
    fc.assert(
      fc.property(text, (where) =>
        assert.deepEqual(places(where, pattern(where)), places(where, new RegExp(source, 'gu'))),
      ),
    );
  });

  it('are where a pattern with the edges of words finds them', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '_', '1', ' ', '.', 'é', '中', '𝐱', '\u0301', '😀'), maxLength: 30 }); // prettier-ignore
    const name = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '𝐱'), minLength: 1, maxLength: 2 });
    const whole = new RegExp(`^${LETTER}+$`, 'u');
    fc.assert(
      fc.property(text, name, (where, what) => {
        assert.ok(whole.test(what));
        const expected = [...where.matchAll(new RegExp(`(?=${EDGE}${what}${EDGE})`, 'gu'))].map(({ index }) => index);
        assert.deepEqual(placesOf(where, what), expected);
      }),
    );
  });
});
