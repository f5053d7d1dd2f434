/** Writes behind a product that a copy was safe from, and that a gradient taken through the small tensor is not. */
import { type Expected, expectRewrite } from './wrong';

const model = (product: readonly string[], write: readonly string[]): string => `import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(6, 5))
        self.other = nn.Parameter(torch.randn(6, 5))
        self.norm = nn.LayerNorm(5)

    def forward(self, x: torch.FloatTensor):
        b, t, d = x.shape
${[...product, ...write, 'return y * 2'].map((line) => `        ${line}\n`).join('')}`;

const PRODUCTS: readonly (readonly [id: string, product: readonly string[]])[] = [
  ['drop-letter', ["y = torch.einsum('bij,bjk->bik', x, self.w.unsqueeze(0).repeat(b, 1, 1))"]],
  ['drop-expand', ['u = self.w.unsqueeze(0).repeat(b, 1, 1)', 'y = torch.bmm(x, u)']],
];

const WRITES: readonly (readonly string[])[] = [
  ['self.w.data.mul_(2)'],
  ['self.w.data = self.w.data * 2'],
  ['d = self.w.data', 'd.mul_(2)'],
  ['d = self.w.data.T', 'd[0] = 0'],
  ['d = self.w.data.numpy()', 'd *= 2'],
  ['self.w.detach().numpy()[:] = 0'],
  ['self.w.detach().view(-1)[0] += 1'],
  ['for p in self.parameters():', '    p.data.mul_(2)'],
  ['for name, p in self.named_parameters():', '    p.data.clamp_(0, 1)'],
  ["self.state_dict()['w'].zero_()"],
];

const OTHERS: readonly (readonly string[])[] = [
  ['self.other.data.mul_(2)'],
  ['d = self.w.data * 2', 'd.mul_(2)'],
  ['for p in self.norm.parameters():', '    p.data.mul_(2)'],
  ['y[self.w.argmax() % b] = 0'],
];

describe('writes behind a product', () => {
  const check = (product: (typeof PRODUCTS)[number], write: readonly string[], expected: Expected): void => {
    it(`${product[0]}: ${write.join('; ')}`, () => expectRewrite(model(product[1], write), product[0], expected));
  };
  for (const product of PRODUCTS) {
    for (const write of WRITES)
      check(product, write, { tier: 'suggestion', reason: /^No gradient is taken through the product/ });
    for (const write of OTHERS) check(product, write, { tier: 'safe' });
  }
});
