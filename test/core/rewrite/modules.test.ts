import { type Expected, expectRewrite } from './wrong';

/** Statements of a module: a script, or the cells of a notebook. */
describe('rewrites: variables of a module', () => {
  const check = (title: string, lines: readonly string[], expected: Expected): void => {
    const head = ['import torch', 'import torch.nn as nn', 'user, item, n = torch.randn(4, 6), torch.randn(12, 4), 3'];
    const text = [...head, 'fc = nn.Linear(10, 8)', ...lines, ''].join('\n');
    it(title, () => expectRewrite(text, 'decompose', expected));
  };
  const rows = 'rows = user.repeat_interleave(n, dim=0)';
  const x = 'x = torch.cat([rows, item], dim=-1)';
  check('that go away', [rows, x, 'y = fc(x)'], {
    tier: 'suggestion',
    reason: /^Nothing outside of this file reads `rows`, `x`\.$/,
    text: /^y = F\.linear\(item, .*\) \+ user_part\.repeat_interleave\(n, dim=0\)$/m,
  });
  check('where none goes away', ['y = fc(torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1))'], {
    tier: 'safe',
  });
  check('that a function reads', [rows, x, 'y = fc(x)', 'def look():', '    return rows.sum()'], {
    tier: 'suggestion',
    reason: /`rows` is still made, because line \d+ reads it too/,
  });
  check('that are printed later', [rows, x, 'y = fc(x)', 'print(x.shape)'], {
    tier: 'suggestion',
    reason: /`x` is still made, because line \d+ reads it too/,
  });
  check('that keep what was copied', [rows, x, 'user = user * 2', 'y = fc(x)'], {
    tier: 'suggestion',
    reason: /nothing outside of this file reads `rows`, `x`\.$/,
    text: /^rows = user$/m,
  });
});
