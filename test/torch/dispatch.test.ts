/** What the engine says of a copy, held against what PyTorch dispatches: is it written, and is it before or inside the product? */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { engineForTests } from '../core/check';
import { describeTorch, jsonLines, root } from './python';

interface Case {
  readonly name: string;
  readonly init?: string;
  readonly inputs: string;
  readonly forward: readonly string[];
  /**
   * Elements that a copy of the replica has. `inside`: the product's own kernel copies, which no dispatched operator shows.
   * `none`: nothing is written.
   */
  readonly copy: number | 'inside' | 'none';
}

/** No operand by itself has as many elements as the smallest copy. */
const LARGE = 1024;

const LAYER = 'self.fc = nn.Linear(32, 16)';
const FROZEN = `${LAYER}.requires_grad_(False)`;
const WEIGHT = 'self.w = nn.Parameter(torch.randn(32, 16))';
const rows = (...forward: string[]): readonly string[] => [
  'b, t, d = item.shape',
  'u = user.unsqueeze(1).expand(b, t, d)',
  ...forward,
];
const PAIR = 'user, item';
const both = `torch.randn(4, 32), torch.randn(4, 8, 32)`;
const matrices = 'torch.randn(32, 16), torch.randn(4, 8, 32)';
const heads = (key: string): string => `torch.randn(${key}), torch.randn(4, 8, 5, 32)`;
const four = (...forward: string[]): readonly string[] => ['b, h, t, d = item.shape', ...forward];
const wide = ['b, h, t, d = item.shape', 'n, g, s, d = user.shape'];

const CASES: readonly Case[] = [
  {
    name: 'repeat_interleave',
    init: LAYER,
    inputs: both,
    forward: ['return self.fc(user.repeat_interleave(8, dim=0))'],
    copy: 1024,
  },
  { name: 'repeat', init: LAYER, inputs: both, forward: ['return self.fc(user.repeat(8, 1))'], copy: 1024 },
  { name: 'tile', init: LAYER, inputs: both, forward: ['return self.fc(user.tile(8, 1))'], copy: 1024 },
  {
    name: 'reshape across',
    init: LAYER,
    inputs: both,
    forward: rows('return self.fc(u.reshape(b * t, d))'),
    copy: 1024,
  },
  { name: 'expand, then a layer', init: LAYER, inputs: both, forward: rows('return self.fc(u)'), copy: 1024 },
  {
    name: 'expand, then a frozen layer',
    init: FROZEN,
    inputs: both,
    forward: rows('return self.fc(u)'),
    copy: 'inside',
  },
  {
    name: 'expand of rows, then a layer',
    init: LAYER,
    inputs: both,
    forward: ['return self.fc(user[:1].expand(64, -1))'],
    copy: 'inside',
  },
  { name: 'expand, then a parameter', init: WEIGHT, inputs: both, forward: rows('return u @ self.w'), copy: 1024 },
  {
    name: 'expand, then an einsum',
    init: WEIGHT,
    inputs: both,
    forward: rows("return torch.einsum('btd,de->bte', u, self.w)"),
    copy: 1024,
  },
  {
    name: 'expand, then cat',
    init: 'self.fc = nn.Linear(64, 16)',
    inputs: both,
    forward: rows('return self.fc(torch.cat([u, item], dim=-1))'),
    copy: 2048,
  },
  {
    name: 'expand, then a recurrent layer',
    init: 'self.rnn = nn.GRU(32, 8, batch_first=True)',
    inputs: both,
    forward: rows('return self.rnn(u)'),
    copy: 1024,
  },
  {
    name: 'expand of a batch, then bmm',
    inputs: matrices,
    forward: ['w = user.unsqueeze(0).expand(item.shape[0], -1, -1)', 'return torch.bmm(item, w)'],
    copy: 'none',
  },
  {
    name: 'activation of an expanded batch, then bmm',
    inputs: matrices,
    forward: ['w = user.unsqueeze(0).expand(item.shape[0], -1, -1)', 'return torch.bmm(item, w.relu())'],
    copy: 2048,
  },
  {
    name: 'expand of rows, then bmm',
    inputs: both,
    forward: ['u = user.unsqueeze(1).expand(-1, 64, -1)', 'return torch.bmm(u, item.transpose(1, 2))'],
    copy: 'inside',
  },
  {
    name: 'expand of a batch, then einsum',
    inputs: matrices,
    forward: ['w = user.unsqueeze(0).expand(item.shape[0], -1, -1)', "return torch.einsum('bij,bjk->bik', item, w)"],
    copy: 'none',
  },
  {
    name: 'expand of heads, then einsum',
    inputs: heads('4, 1, 6, 32'),
    forward: [...wide, 'k = user.expand(n, h, s, d)', "return torch.einsum('bhid,bhjd->bhij', item, k)"],
    copy: 6144,
  },
  {
    name: 'four axes against one batch',
    init: 'self.k = nn.Parameter(torch.randn(1, 8, 32, 6))',
    inputs: both.replace('4, 8, 32', '4, 8, 5, 32'),
    forward: four('return torch.matmul(item, self.k)'),
    copy: 6144,
  },
  {
    name: 'four axes against three',
    init: 'self.k = nn.Parameter(torch.randn(8, 32, 6))',
    inputs: both.replace('4, 8, 32', '4, 8, 5, 32'),
    forward: four('return torch.matmul(item, self.k)'),
    copy: 6144,
  },
  {
    name: 'heads read as a view',
    inputs: heads('4, 1, 6, 32'),
    forward: [...wide, 'k = user.expand(n, h, s, d)', 'return F.scaled_dot_product_attention(item, k, k)'],
    copy: 'none',
  },
  {
    name: 'heads made one axis',
    inputs: heads('4, 4, 6, 32'),
    forward: [
      ...wide,
      'k = user[:, :, None].expand(n, g, 2, s, d).reshape(n, g * 2, s, d)',
      'return F.scaled_dot_product_attention(item, k, k)',
    ],
    copy: 6144,
  },
];

const textOf = ({ init = 'pass', forward }: Case): string => `import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        ${init}

    def forward(self, ${PAIR}):
        ${forward.join('\n        ')}
`;

describeTorch('what is written, as PyTorch dispatches it', () => {
  it(`${CASES.length} copies`, async function () {
    this.timeout(60_000);
    const input = CASES.map(
      (one) => `${JSON.stringify({ name: one.name, text: textOf(one), inputs: one.inputs })}\n`,
    ).join('');
    const traced = jsonLines<{ name: string; wrote: [string, number][] }>(
      [join(root, 'test', 'torch', 'dispatch.py')],
      input,
    );
    const engine = await engineForTests();
    const wrong: string[] = [];
    for (const [i, one] of CASES.entries()) {
      const wrote = traced[i]?.wrote.map(([, elements]) => elements) ?? [];
      const isAsStated = typeof one.copy === 'number' ? wrote.includes(one.copy) : wrote.every((n) => n < LARGE);
      if (!isAsStated) wrong.push(`${one.name}: PyTorch writes ${JSON.stringify(traced[i]?.wrote)}`);
      const { findings } = engine.check('model.py', textOf(one), { hints: true });
      const verdicts = new Set(findings.map(({ materialized }) => materialized));
      if (verdicts.size !== 1 || !verdicts.has(one.copy !== 'none'))
        wrong.push(`${one.name}: the engine says ${JSON.stringify([...verdicts])}`);
    }
    assert.deepEqual(wrong, []);
  });
});
