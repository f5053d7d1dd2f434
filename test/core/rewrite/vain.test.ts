import assert from 'node:assert/strict';
import { theEngine } from './cases';
import { type Expected, expectRewrite } from './wrong';

/** A copy that is handed to a module which adds it to a full tensor, by way of `between`. */
const text = (between: string): string => `import torch
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(6, 6)

    def forward(self, hidden, position):
        position = ${between}
        return self.q_proj(hidden + position).relu()


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = nn.Embedding(4, 6)
        self.layer = Layer()

    def forward(self, hidden):
        position = self.positions.weight.unsqueeze(0).repeat(hidden.shape[0], 1, 1)
        return self.layer(hidden, position)
`;

describe('rewrites: a view that would be written out', () => {
  const check = (title: string, between: string, expected: Expected): void => {
    it(title, () => expectRewrite(text(between), 'expand', expected));
  };
  check('read as it is', 'position', { tier: 'suggestion', reason: /nothing that is given `position` writes/i });
  check('by a cast', 'position.to(hidden.dtype)', { tier: 'none', reason: /written out all the same/ });
  check('written into', 'position.add_(1.0)', { tier: 'none', reason: /may be written into at line 11/ });
  it('none of which is the view that hints show', async () => {
    const { findings } = (await theEngine()).check('model.py', text('position'), { hints: true });
    assert.deepEqual(
      findings.map(({ rewrites: [first] }) => [first?.id, first?.tier]),
      [['expand', 'suggestion']],
    );
  });
  check('by a clone', 'position.clone()', { tier: 'none', reason: /written out all the same/ });
});
