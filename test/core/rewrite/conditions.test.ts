import assert from 'node:assert/strict';
import type { ConditionKind } from '../../../src/core/finding';
import { keepsGradients } from '../../../src/core/rewrite/gradients';
import { sentenceOf } from '../../../src/core/rewrite/conditions';
import { rewritesOf } from './cases';
import { type Model, modelText } from './wrong';

describe('conditions of rewrites', () => {
  /** The kinds of the conditions of the first rewrite of this name, whose words are its reason. */
  function check(title: string, model: Model | string, id: string, kinds: readonly ConditionKind[]): void {
    it(title, async () => {
      const text = typeof model === 'string' ? model : modelText(model);
      const found = (await rewritesOf(text)).find(({ rewrite }) => rewrite.id === id);
      assert.ok(found, `no ${id}`);
      const { rewrite } = found;
      assert.deepEqual(
        rewrite.conditions.map(({ kind }) => kind),
        kinds,
        rewrite.reason ?? '',
      );
      if (rewrite.tier !== 'none') assert.equal(sentenceOf(rewrite.conditions), rewrite.reason);
      assert.equal(keepsGradients(rewrite), !kinds.includes('gradient'));
    });
  }

  const rows = 'u = user.repeat_interleave(n, dim=0)';
  const product = 'y = self.fc(torch.cat([u, item], dim=-1))';
  const mlp = (...stages: string[]): string => `self.net = nn.Sequential(nn.Linear(6, 5), ${stages.join(', ')})`;

  check('none of a safe one', {}, 'decompose', []);
  check('a write behind the product', { forward: [rows, product, 'item.zero_()', 'return y'] }, 'decompose', [
    'gradient',
  ]);
  check('a copy that stays', { forward: [rows, product, 'return y + u.sum()'] }, 'decompose', ['stays']);
  check(
    'a refusal has a reason and no condition',
    { forward: [rows, 'item.zero_()', product, 'return y'] },
    'decompose',
    [],
  );
  check(
    'a draw and stages that are not known',
    { init: [mlp('nn.Dropout(0.1)', 'Own()')], signature: 'user, n', forward: [rows, 'return self.net(u)'] },
    'sink-broadcast',
    ['shared-draw', 'row-wise'],
  );
  check(
    'batch statistics',
    { init: [mlp('nn.BatchNorm1d(5)')], signature: 'user, n', forward: [rows, 'return self.net(u)'] },
    'sink-broadcast',
    ['batch-statistics'],
  );
  check('blocks of which no type is told', modelText({}).replaceAll(': torch.FloatTensor', ''), 'decompose', ['dtype']);
  check(
    'a layer of a loop, as the caller reaches it',
    `import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in sizes])

    def forward(self, x):
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        return x


class Model(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.net = Net(sizes)

    def forward(self, user: torch.FloatTensor, item: torch.FloatTensor, n):
        u = user.repeat_interleave(n, dim=0)
        return self.net(torch.cat([u, item], dim=-1))
`,
    'decompose',
    ['layer'],
  );
});
