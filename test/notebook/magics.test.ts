import assert from 'node:assert/strict';
import fc from 'fast-check';
import { maskMagics } from '../../src/notebook/magics';

describe('magics', () => {
  const cases: readonly [string, string, string | null][] = [
    ['a line magic', '%matplotlib inline\nx = 1', 'pass              \nx = 1'],
    ['a shell command', '!pip install torch', 'pass              '],
    ['one that is short', '!ls\n!x', '...\n0 '],
    ['an indented one keeps the block', 'if x:\n    %cd /tmp', 'if x:\n    pass    '],
    ['an assigned one', 'files = !ls -l\ny = %timeit -o f()', 'files = None  \ny = None          '],
    ['help', 'torch.cat?\n?torch', 'pass      \npass  '],
    ['a continued one', '!echo a \\\n   b\nx = 1', 'pass     \n    \nx = 1'],
    ['a carriage return stays', '%cd /\r\nx = 1\r\n', 'pass \r\nx = 1\r\n'],
    ['modulo over two lines is Python', 'x = (a\n  % b)\ny = x \\\n  % 3', 'x = (a\n  % b)\ny = x \\\n  % 3'],
    ['text in a string is Python', 's = """\n%d\n!"""\n%cd /', 's = """\n%d\n!"""\npass '],
    ['a quote in a comment opens nothing', "x = 1  # it's\n%cd /", "x = 1  # it's\npass "],
    ['a cell magic over Python', '%%time\ny = f(x)', '      \ny = f(x)'],
    ['a cell of another language', '%%bash\nls', null],
    ['not equal', 'x != y', 'x != y'],
  ];
  for (const [title, text, expected] of cases) it(title, () => assert.equal(maskMagics(text), expected));

  it('never change the length or the line breaks', () => {
    const piece = fc.constantFrom(
      '%',
      '!',
      '?',
      'x',
      ' = ',
      '\n',
      '\r\n',
      '"',
      "'''",
      '(',
      ')',
      '\\',
      '#',
      ' ',
      '\u{1f600}',
      'if a:',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('');
        const masked = maskMagics(text);
        if (masked === null) return;
        assert.equal(masked.length, text.length);
        assert.deepEqual(masked.split('\n').map((l) => l.length), text.split('\n').map((l) => l.length)); // prettier-ignore
      }),
    );
  });
});
