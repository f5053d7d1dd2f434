import assert from 'node:assert/strict';
import fc from 'fast-check';
import { engineForTests } from '../check';

const MODEL = `import torch
from torch import nn
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(d, d), nn.ReLU())
    def forward(self, user, cand, n, edge_index):
        u = user.unsqueeze(1).expand(-1, n, -1)
        for i in range(n):
            if i > 2:
                u = u + 1
        x = torch.cat([u, cand[edge_index[0]]], dim=-1).view(-1, 8)
        return [self.fc(y) for y in (x, u[..., None, 0], *x.chunk(2))]
`;

const HELPERS = 'import torch\ndef spread(x, n):\n    return x.repeat_interleave(n, dim=0)\n';

describe('robustness', () => {
  it('any mutation of a file gives an answer', async () => {
    const engine = await engineForTests();
    const pieces = MODEL.match(/\w+|\W/g)!;
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.nat(pieces.length - 1),
            fc.constantFrom('', '(', ')', ':', '\n', ' ', '"', '[', 'x', '\0', '\u{1f600}', '\t'),
          ),
          { maxLength: 12 },
        ),
        (edits) => {
          const text = [...pieces];
          for (const [at, piece] of edits) text[at] = piece;
          const analysis = engine.check('m.py', text.join(''));
          for (const f of analysis.findings) assert.ok(f.line >= 1 && f.column >= 1 && f.endLine >= f.line);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('every prefix of a file gives an answer', async () => {
    const engine = await engineForTests();
    for (let end = 0; end <= MODEL.length; end += 7) engine.check('m.py', MODEL.slice(0, end));
  });

  it('nesting deeper than the stack ends in a note', async () => {
    const text = `import torch\nx = ${'('.repeat(200_000)}1${')'.repeat(200_000)}\ndef f(x):\n    return x.repeat(2)\n`;
    const analysis = (await engineForTests()).check('m.py', text);
    assert.deepEqual(analysis.findings, []);
  });

  it('a name of 50,000 letters takes no time of its own', async function () {
    this.timeout(10_000);
    const name = 'i'.repeat(50_000);
    const forward = `def forward(self, user, ${name}, n):\n        u = user.repeat_interleave(n, dim=0)\n        return self.fc(torch.cat([u, ${name}], -1))`;
    const text = `import torch\nfrom torch import nn\nclass M(nn.Module):\n    def __init__(self):\n        self.fc = nn.Linear(8, 8)\n    ${forward}\n`;
    const { findings } = (await engineForTests()).check('m.py', text);
    assert.deepEqual(
      findings.map(({ rule, rewrites }) => [rule, rewrites.length]),
      [['IKB101', 2]],
    );
  });

  it('a function too large to follow ends in a note', async () => {
    const lines = Array.from({ length: 12_000 }, (_, i) => `    y = x.repeat(2, 1) + ${i}`);
    const analysis = (await engineForTests()).check(
      'm.py',
      `import torch\ndef f(x):\n${lines.join('\n')}\n    return y\n`,
    );
    assert.equal(analysis.notes.length, 1);
    assert.match(analysis.notes[0]!.message, /too large/);
  });

  it('a file that does not mention torch is not parsed', async () => {
    const analysis = (await engineForTests()).check('m.py', 'x = y.repeat(2)\n');
    assert.deepEqual(analysis, { findings: [], suppressed: [], notes: [], parsed: false });
  });

  it('a file of another library that mentions torch is not checked, one that imports both is', async () => {
    const layer =
      'def f(lin, x, n):\n    return lin(torch.repeat_interleave(x, n, dim=0), torch.nn.Linear(3, 4)(x.repeat(n, 1)))\n';
    const engine = await engineForTests();
    const other = engine.check('m.py', `import tensorflow as tf\n# as in torch\n${layer}`);
    assert.deepEqual(other, { findings: [], suppressed: [], notes: [], parsed: false });
    assert.equal(engine.check('m.py', `import tensorflow as tf\nimport torch\n${layer}`).findings.length, 1);
  });

  it('a file that could hold no copy is not parsed, unless it imports what makes one', async () => {
    const text = `import torch\nfrom helpers import spread\n${'# padding\n'.repeat(300)}\ndef f(lin, x, n):\n    return torch.nn.functional.linear(spread(x, n), lin.weight)\n`;
    const engine = await engineForTests();
    const files = { read: (path: string) => (path === 'helpers.py' ? HELPERS : undefined) };
    assert.equal(engine.check('m.py', text).parsed, false);
    const analysis = engine.check('m.py', text, { files });
    assert.ok(analysis.parsed);
    assert.deepEqual(
      analysis.findings.map(({ rule }) => rule),
      ['IKB102'],
    );
  });

  it('nor where what it imports makes copies and returns none, unless the file is broken', async () => {
    const helper = `import torch\ndef weigh(x, n):\n    y = x.repeat_interleave(n, dim=0)\n${'    n = n + 1\n'.repeat(60)}    return y.shape[0] + n\n`;
    const files = { read: (path: string) => (path === 'helpers.py' ? helper : undefined) };
    const head = 'import torch\nfrom helpers import weigh\n';
    const use = 'def f(lin, x, n):\n    return lin(x) * weigh(x, n)\n';
    const engine = await engineForTests();
    assert.equal(engine.check('m.py', `${head}${'# padding\n'.repeat(300)}${use}`, { files }).parsed, false);
    assert.equal(engine.check('m.py', `${head}${use}def g(:\n`, { files }).broken?.line, 5);
  });

  it('says where a file is broken, and still analyses the rest', async () => {
    const engine = await engineForTests();
    const { broken, findings } = engine.check('m.py', `${MODEL}\n\ndef g(:\n    x = = 3\n`);
    assert.equal(findings.length, engine.check('m.py', MODEL).findings.length);
    assert.equal(broken?.line, MODEL.split('\n').length + 2);
    assert.equal(engine.check('m.py', MODEL).broken, undefined);
  });

  it('the same text gives the same report', async () => {
    const engine = await engineForTests();
    const first = JSON.stringify(engine.check('m.py', MODEL));
    assert.equal(JSON.stringify(engine.check('m.py', MODEL)), first);
  });

  it('an edited document is analysed like a new one', async () => {
    const engine = await engineForTests();
    const document = engine.open('m.py', MODEL);
    const at = MODEL.indexOf('self.fc(y)');
    document.change([{ start: at, end: at + 'self.fc'.length, text: 'torch.relu' }]);
    assert.deepEqual(document.check().findings, engine.check('m.py', document.text).findings);
    document.change([{ start: at, end: at + 'torch.relu'.length, text: 'self.fc' }]);
    assert.equal(document.text, MODEL);
    assert.deepEqual(document.check().findings, engine.check('m.py', MODEL).findings);
    document.close();
  });
});
