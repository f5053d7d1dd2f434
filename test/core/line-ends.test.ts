/** Lines that a carriage return alone ends: Python and editors read them as lines. */
import assert from 'node:assert/strict';
import type { Engine } from '../../src/core/engine';
import { engineForTests } from './check';

const HELPER = 'import torch\r\r\rdef spread(x, n):\r    return x.repeat_interleave(n, dim=0)\r';
const MODEL = `import torch
from torch import nn
from helper import spread


class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)

    def forward(self, x, n):
        return self.fc(spread(x, n))
`;
const BROKEN = 'import torch\rdef f(x:\r';

describe('lone carriage returns', () => {
  let engine: Engine;
  const lone = MODEL.replaceAll('\n', '\r');
  const files = { read: (path: string) => (path === 'helper.py' ? HELPER : undefined) };
  const lines = (text: string) => engine.check('m.py', text, { files }).findings.map(({ line }) => line);
  before(async () => {
    engine = await engineForTests();
  });

  it('end lines of a file and of what it imports', () => {
    assert.deepEqual(lines(lone), [12]);
    assert.deepEqual(lines(MODEL), [12]);
    assert.deepEqual(lines(MODEL.replace('torch\n', 'torch\r').replace('self.fc =', '\rself.fc =')), []);
    assert.equal(engine.check('m.py', lone, { files }).broken, undefined);
    assert.equal(engine.check('m.py', BROKEN).broken?.line, 2);
  });

  it('end lines of an open document, whatever is typed beside them', () => {
    const document = engine.open('m.py', lone);
    const found = () => document.check({ files }).findings.map(({ line }) => line);
    assert.deepEqual(found(), [12]);
    document.change([{ start: 0, end: 0, text: '# one\r' }]);
    assert.deepEqual(found(), [13]);
    // The two make one line end.
    document.change([{ start: 6, end: 6, text: '\n' }]);
    assert.deepEqual(found(), [13]);
    document.change([{ start: 5, end: 6, text: '' }]);
    assert.deepEqual(found(), [13]);
    document.change([{ start: 0, end: document.text.length, text: MODEL }]);
    assert.equal(document.text, MODEL);
    assert.deepEqual(found(), [12]);
    document.close();
  });
});
