/** What an analysis depends on is what it asks for, whatever was analysed before. */
import assert from 'node:assert/strict';
import { createEngine } from '../../../src/core/create-engine';
import type { Engine } from '../../../src/core/engine';
import { grammarsForTests } from '../check';

const model = (helper: string) => `import torch
from torch import nn
from ${helper} import spread


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, user, cand, n):
        return self.fc(torch.cat([spread(user, n), cand], dim=-1))
`;
const SPREAD = 'import torch\nfrom inner import rows\n\n\ndef spread(x, n):\n    return rows(x, n)\n';
const QUIET = 'import torch\n\n\ndef rows(x, n):\n    return x\n';
const LOUD = 'import torch\n\n\ndef rows(x, n):\n    return x.repeat_interleave(n, dim=0)\n';

describe('dependencies of an analysis', () => {
  let engine: Engine;
  const files = new Map<string, string>();
  const check = (path: string) => {
    const asked = new Set<string>();
    const read = (at: string) => {
      asked.add(at);
      return files.get(at);
    };
    const { findings } = engine.check(path, files.get(path) ?? '', { files: { read } });
    return { count: findings.length, asked };
  };
  beforeEach(async () => {
    engine = await createEngine(grammarsForTests());
    files.clear();
    for (const name of ['a', 'b']) files.set(`${name}.py`, model('helper'));
    files.set('helper.py', SPREAD);
    files.set('inner.py', QUIET);
  });

  it('are the same for the second file that asks', () => {
    const [first, second] = [check('a.py'), check('b.py')];
    assert.deepEqual([...second.asked].sort(), [...first.asked].sort());
    assert.ok(second.asked.has('inner.py'));
  });
  it('a file further away changes the result', () => {
    const before = check('a.py').count;
    files.set('inner.py', LOUD);
    const after = check('b.py').count;
    assert.deepEqual([before, after], [0, 1]);
    files.set('inner.py', QUIET);
    assert.equal(check('a.py').count, 0);
  });
  it('a file that appears does, too, and was asked for', () => {
    files.delete('inner.py');
    const missing = check('a.py');
    assert.ok(missing.asked.has('inner.py'));
    assert.equal(missing.count, 0);
    files.set('inner.py', LOUD);
    assert.equal(check('a.py').count, 1);
  });
});
