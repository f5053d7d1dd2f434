import assert from 'node:assert/strict';
import type { Rewrite } from '../../../src/core/finding';
import { theEngine } from './cases';

const BASE = [
  'import torch',
  'import torch.nn as nn',
  '',
  'class Base(nn.Module):',
  '    def __init__(self):',
  '        super().__init__()',
  '        self.fc = nn.Linear(10, 8)',
];
const MODEL = [
  'import torch',
  'from base import Base',
  '',
  'class Model(Base):',
  '    def forward(self, user: torch.FloatTensor, item: torch.FloatTensor, n):',
  '        u = user.repeat_interleave(n, dim=0)',
  '        return self.fc(torch.cat([u, item], dim=-1))',
  '',
];

describe('rewrites: a layer that a base class in another file makes', () => {
  const check = (title: string, lines: readonly string[], tier: Rewrite['tier'], reason: RegExp | null): void => {
    it(title, async () => {
      const text = new Map([['base.py', [...BASE, ...lines, ''].join('\n')]]);
      const files = { read: (path: string) => text.get(path) };
      const [finding] = (await theEngine()).check('model.py', MODEL.join('\n'), { files }).findings;
      const [rewrite] = finding?.rewrites ?? [];
      assert.equal(rewrite?.tier, tier, rewrite?.reason ?? '');
      if (reason) assert.match(rewrite?.reason ?? '', reason);
    });
  };
  check('plainly', [], 'safe', null);
  check(
    'with a norm',
    ['        nn.utils.parametrizations.spectral_norm(self.fc)'],
    'none',
    /^Line 8 of base\.py wraps or hooks `self\.fc`/,
  );
  check(
    'with a hook for all layers',
    ['        for m in self.modules():', '            m.register_forward_hook(print)'],
    'none',
    /^Line 9 of base\.py wraps or hooks layers without naming them/,
  );
  check(
    'and replaces it later',
    ['', '    def shrink(self):', '        self.fc = nn.Identity()'],
    'none',
    /`self\.fc` is made by nn\.Identity at line 10|another module/,
  );
});

describe('rewrites: a module of another file', () => {
  const NET = [
    'import torch.nn as nn',
    '',
    'class Net(nn.Module):',
    '    def __init__(self):',
    '        super().__init__()',
    '        layers = []',
    '        for _ in range(2):',
    '            layers.append(nn.Linear(4, 4))',
    '        self.mlp = nn.Sequential(*layers)',
    '',
    '    def forward(self, x):',
    '        return self.mlp(x)',
    '',
  ];
  const USER = [
    'import torch',
    'import torch.nn as nn',
    'from net import Net',
    '',
    'class Model(nn.Module):',
    '    def __init__(self):',
    '        super().__init__()',
    '        self.net = Net()',
    '',
    '    def forward(self, user: torch.FloatTensor, item: torch.FloatTensor, n):',
  ];
  const check = (title: string, lines: readonly string[], tier: Rewrite['tier'], reason: RegExp): void => {
    it(title, async () => {
      const files = { read: (path: string) => (path === 'net.py' ? NET.join('\n') : undefined) };
      const text = [...USER, ...lines.map((line) => `        ${line}`), ''];
      const [finding] = (await theEngine()).check('model.py', text.join('\n'), { files }).findings;
      const [rewrite] = finding?.rewrites ?? [];
      assert.equal(rewrite?.tier, tier, rewrite?.reason ?? '');
      assert.match(rewrite?.reason ?? '', reason);
    });
  };
  check(
    'names the file in a condition',
    ['u = user.repeat(n, 1)', 'return item * self.net(u)'],
    'suggestion',
    /begins with the linear layer of line 8 of net\.py/,
  );
  check(
    'says that the copy stands on a branch',
    ['if n > 1:', '    u = user.repeat(n, 1)', 'else:', '    u = item', 'return item * self.net(u)'],
    'none',
    /^`u` is a copy on the branch of line 12 only, and `Net\.forward` \(line 12 of net\.py\) multiplies/,
  );
});
