import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createEngine } from '../../../src/core/create-engine';
import type { Engine } from '../../../src/core/engine';
import type { BenchHint } from '../../../src/core/finding';
import { checkDims } from '../../../src/protocol/dims';

describe('bench hints', () => {
  let engine: Engine;
  before(async () => {
    const wasm = (name: string) => readFileSync(require.resolve(name));
    engine = await createEngine({
      runtime: wasm('web-tree-sitter/tree-sitter.wasm'),
      python: wasm('tree-sitter-python/tree-sitter-python.wasm'),
    });
  });

  /** The one finding's hint; its sizes can be measured as they are. */
  const check = (rule: string, expected: BenchHint, body: string): void => {
    const source = `import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n${body}`;
    const findings = engine.check('a.py', source).findings.filter((finding) => finding.rule === rule);
    assert.deepEqual(
      findings.map(({ bench }) => bench),
      [expected],
    );
    assert.deepEqual(checkDims(expected.op, expected.dims), {});
  };

  it('name the widths of a concatenation in front of a Linear', () =>
    check(
      'IKB101',
      { op: 'concat-linear', dims: { B: 1024, U: 16, Ku: 512, Kc: 256, M: 64 } },
      `def f():
    fc = nn.Linear(768, 64)
    user, cand = torch.zeros(16, 512), torch.zeros(1024, 256)
    return fc(torch.cat([user.repeat_interleave(64, dim=0), cand], dim=1))
`,
    ));

  it('have no candidate part where the replica is alone', () =>
    check(
      'IKB102',
      { op: 'concat-linear', dims: { B: 1024, U: 16, Ku: 512, Kc: 0, M: 64 } },
      `def f():
    fc = nn.Linear(512, 64)
    user = torch.zeros(16, 512).repeat_interleave(64, dim=0)
    return fc(user)
`,
    ));

  const token = (shape: string, items: string): string => `class C(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(${shape}))
        self.fc = nn.Linear(512, 64)

    def forward(self):
        tokens = self.token.expand(1024, -1, -1)
        return self.fc(torch.cat([tokens, torch.zeros(${items})], dim=1))
`;

  it('measure the copied rows alone where they stand among other rows', () =>
    check(
      'IKB102',
      { op: 'concat-linear', dims: { B: 1024, U: 1, Ku: 512, Kc: 0, M: 64 } },
      token('1, 1, 512', '1024, 20, 512'),
    ));

  it('count every row that is copied', () =>
    check(
      'IKB102',
      { op: 'concat-linear', dims: { B: 4096, U: 4, Ku: 512, Kc: 0, M: 64 } },
      token('1, 4, 512', '1024, 20, 512'),
    ));

  it('count the rows of a copied sequence', () =>
    check(
      'IKB102',
      { op: 'concat-linear', dims: { B: 20480, U: 320, Ku: 512, Kc: 0, M: 64 } },
      `def f():
    fc = nn.Linear(512, 64)
    user = torch.zeros(16, 20, 512).repeat_interleave(64, dim=0)
    return fc(user)
`,
    ));

  it('count the copied rows of all axes along which one expression copies', () =>
    check(
      'IKB101',
      { op: 'concat-linear', dims: { B: 640, U: 1, Ku: 512, Kc: 256, M: 64 } },
      `def f():
    fc = nn.Linear(768, 64)
    user, cand = torch.zeros(1, 1, 512), torch.zeros(32, 20, 256)
    return fc(torch.cat([user.expand(32, 20, -1), cand], dim=-1))
`,
    ));

  it('do not count users of whom a loop lists one in each pass', () => {
    const source = `import torch
from torch import nn


class C(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = nn.MultiheadAttention(64, 4)

    def forward(self, x, y, counts):
        rows = []
        for b, n in enumerate(counts):
            rows += [x[b]] * n
        rows = torch.stack(rows, 0)
        return self.decoder(y, rows, rows)
`;
    const [finding] = engine.check('a.py', source).findings;
    assert.deepEqual(finding?.bench?.dims, { B: null, U: null, Q: null, S: null, H: null, Hkv: null, D: null });
  });

  it('find the columns of a linear compression', () =>
    check(
      'IKB103',
      { op: 'linear-compression', dims: { B: 1024, U: 16, Ku: 48, Kc: 16, M: 24, N: 128 } },
      `class C(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(24, 64))

    def forward(self):
        user, cand = torch.zeros(16, 48, 128), torch.zeros(1024, 16, 128)
        return self.weight @ torch.cat([user.repeat_interleave(64, dim=0), cand], dim=1)
`,
    ));

  it('measure repeated heads as candidates that share a user', () =>
    check(
      'IKB202',
      { op: 'attention', dims: { B: 64, U: 16, Q: 128, S: 512, H: 1, Hkv: 1, D: 64 } },
      `def f():
    q, k = torch.zeros(2, 32, 128, 64), torch.zeros(2, 8, 512, 64)
    k = k.repeat_interleave(4, dim=1)
    return F.scaled_dot_product_attention(q, k, k)
`,
    ));
});
