import { type Expected, expectRewrite } from './wrong';

const model = (made: readonly string[], product: string, ...tail: readonly string[]): string => `import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, k=130):
        super().__init__()
${made.map((line) => `        ${line}\n`).join('')}
    def forward(self, user, item):
        with torch.autocast('cuda', dtype=torch.bfloat16):
            return ${product.replace('X', 'torch.cat([user, item], dim=-1)')}
${tail.map((line) => `${line}\n`).join('')}`;

const W = 'self.w = nn.Parameter(torch.empty(130, 64))';

describe('a parameter that gets the columns that its product is short of', () => {
  const check = (title: string, text: string, expected: Expected): void => {
    it(title, () => expectRewrite(text, 'pad-width', expected));
  };
  const offered: Expected = { tier: 'suggestion', reason: /6 more rows/, text: /torch\.empty\(136, 64\)/ };
  const refused = (reason: RegExp): Expected => ({ tier: 'none', reason });
  check('of a product with @', model([W], 'X @ self.w'), offered);
  check('of matmul, filled by nn.init', model([W, 'nn.init.normal_(self.w)'], 'torch.matmul(X, self.w)'), offered);
  check('of sizes in a tuple', model([W.replace('130, 64', '(130, 64)')], 'X @ self.w'), {
    tier: 'suggestion',
    text: /torch\.empty\(\(136, 64\)\)/,
  });
  check(
    'none that is read elsewhere',
    model([W], 'X @ self.w + self.w.sum()'),
    refused(/line \d+ uses `self\.w` too/i),
  );
  check('none that is made twice', model([W, 'if k:', `    ${W}`], 'X @ self.w'), refused(/not made once/));
  check(
    'none that is made of something else',
    model([W.replace('empty(130, 64)', 'full((130, 64), 0.1)')], 'X @ self.w'),
    refused(/not made as a parameter of two sizes/),
  );
  check(
    'none that a caller replaces',
    model([W], 'X @ self.w', 'def build(m):', '    m.w = nn.Parameter(torch.ones(130, 64))'),
    refused(/puts another module in the place of/),
  );
});
