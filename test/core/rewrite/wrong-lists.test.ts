import { type Expected, expectRewrite, modelText } from './wrong';

const model = (...places: string[]): string =>
  modelText({
    imports: ['import torch', 'import torch.nn as nn', 'from itertools import combinations, product'],
    init: ['self.fc = nn.Linear(10, 8)', ...places],
    signature: 'user',
    forward: ['a = user[:, self.src, :]', 'b = user[:, self.dst, :]', 'return self.fc(torch.cat([a, b], dim=-1))'],
  });

const check = (title: string, text: string, expected: Expected): void => {
  it(title, () => expectRewrite(text, 'ikbo', expected));
};

const ofNumbers: Expected = {
  tier: 'none',
  reason: /^The index is a list of numbers, where ikbo_lens takes a tensor\.$/,
};

/** `ikbo_lens.index` raises a TypeError for what is no tensor. */
describe('rewrites: rows picked by lists of numbers', () => {
  check('pairs, zipped', model('self.src, self.dst = zip(*product(range(6), repeat=2))'), ofNumbers);
  check(
    'pairs, listed by loops',
    model(
      'self.src, self.dst = [], []',
      'for i in range(6):',
      '    for j in range(i + 1, 6):',
      '        self.src.append(i)',
      '        self.dst.append(j)',
    ),
    ofNumbers,
  );
  check(
    'pairs, as a tensor',
    model('pairs = torch.tensor(list(combinations(range(6), 2)))', 'self.src, self.dst = pairs[:, 0], pairs[:, 1]'),
    { tier: 'safe', text: /index\(self\.src, dim=1\)/ },
  );
});
