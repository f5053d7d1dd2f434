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
