/** What a rule's page shows is found by that rule, and what it recommends instead is not. */
import assert from 'node:assert/strict';
import { RULES } from '../../../src/core/rules';
import { findingsOf } from '../rewrite/cases';

/** What the code around an example makes. */
const MADE = [
  'self.w = nn.Parameter(torch.randn(16, 24))',
  'self.fc = nn.Linear(8, 8)',
  'self.lin = nn.Linear(8, 8)',
  'self.mlp = nn.Sequential(nn.Linear(8, 8), nn.PReLU(), nn.Linear(8, 1))',
  'self.bases = nn.Parameter(torch.randn(1, 8, 8))',
  'self.n_rep = 4',
];
const SQUARE = 'self.w = nn.Parameter(torch.randn(6, 8, 8))';
const REPEAT_KV = `
def repeat_kv(x, n):
    b, h, s, d = x.shape
    return x[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)
`;
const GIVEN = 'user, cand, item, q, k, v, n, x, h, t, batch, memory, edge_index, src, dst';

const rulesIn = async (code: string, example: string): Promise<readonly string[]> => {
  const [built, body] = example.includes('\n...\n') ? example.split('\n...\n') : ['', example];
  const init = [...MADE, ...(code === 'IKB302' ? [SQUARE] : []), ...(built ? [built] : [])];
  const indented = (text: string): string => text.replace(/^/gm, '        ');
  const text = `import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n${REPEAT_KV}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
${indented(init.join('\n'))}
    def forward(self, ${GIVEN}):
${indented(body ?? '')}
`;
  return [...new Set((await findingsOf(text)).map(({ rule }) => rule))];
};

describe('examples of rule pages', () => {
  for (const { code, docs } of RULES.filter((rule) => rule.code !== 'IKB501')) {
    it(`${code} finds its example`, async () => assert.deepEqual(await rulesIn(code, docs.example), [code]));
    it(`${code} finds nothing in what to use instead`, async () =>
      assert.deepEqual(await rulesIn(code, docs.useInstead), []));
  }
});
