/** Which other open documents are checked again when one changes: those that rest on it, and no more. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Client, startClient } from './client';

const MODEL = `import torch
from torch import nn
from helper import spread


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, user, cand, n):
        return self.fc(torch.cat([spread(user, n), cand], dim=-1))
`;
const QUIET = 'import torch\n\n\ndef spread(x, n):\n    return x\n';
const LOUD = QUIET.replace('return x', 'return x.repeat_interleave(n, dim=0)');
const ALONE = 'import torch\n\n\ndef f(x):\n    return x.repeat(2, 1)\n';
/** Longer than the wait before other documents are looked at. */
const SETTLED = 1_000;

describe('documents that rest on others', () => {
  let client: Client;
  let root: string;
  const uri = (name: string) => pathToFileURL(join(root, name)).href;
  const settle = () => new Promise((turn) => setTimeout(turn, SETTLED));
  const count = (name: string) => client.published.filter((one) => one.uri === uri(name)).length;

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'ikbo-dependents-'));
    for (const [name, text] of Object.entries({ 'model.py': MODEL, 'helper.py': QUIET, 'alone.py': ALONE }))
      writeFileSync(join(root, name), text);
    client = await startClient({ root });
  });
  afterEach(async () => {
    await client.stop();
    rmSync(root, { recursive: true, force: true });
  });

  it('are not checked again because another one is opened', async () => {
    client.open(uri('model.py'), MODEL);
    assert.deepEqual(await client.diagnostics(uri('model.py')), []);
    client.open(uri('alone.py'), ALONE);
    client.open(uri('helper.py'), QUIET);
    await client.diagnostics(uri('helper.py'));
    await settle();
    assert.deepEqual(['model.py', 'alone.py', 'helper.py'].map(count), [1, 1, 1]);
  });
  it('are checked again when what they import changes, saved or not', async () => {
    const opened = { 'model.py': MODEL, 'alone.py': ALONE, 'helper.py': QUIET };
    for (const [name, text] of Object.entries(opened)) {
      client.open(uri(name), text);
      await client.diagnostics(uri(name));
    }
    await settle();
    client.change(uri('helper.py'), { text: LOUD });
    await settle();
    const last = client.published.findLast((one) => one.uri === uri('model.py'));
    assert.deepEqual(last?.diagnostics.map(({ code }) => code), ['IKB101']); // prettier-ignore
    assert.deepEqual([count('model.py'), count('alone.py')], [2, 1]);
  });
});
