import assert from 'node:assert/strict';
import type { Tier } from '../../../src/core/finding';
import { rewritesOf } from './cases';

/** A model whose `forward` copies `user` for each row of `cand`. */
interface Parts {
  readonly head?: string;
  readonly init?: readonly string[];
  readonly forward: readonly string[];
}

const CAT = 'torch.cat([rows, cand], dim=-1)';
const ROWS = 'rows = user.expand(cand.shape[0], -1)';
const LAYER = 'self.fc = nn.Linear(7, 5)';

const textOf = ({ head = '', init = [LAYER], forward }: Parts): string =>
  [
    'import torch',
    'import torch.nn as nn',
    'import torch.nn.functional as F',
    head,
    '',
    'class Model(nn.Module):',
    '    def __init__(self):',
    '        super().__init__()',
    ...init.map((line) => `        ${line}`),
    '',
    '    def forward(self, user: torch.FloatTensor, cand: torch.FloatTensor, flag=False, cand_to_user=None):',
    ...forward.map((line) => `        ${line}`),
    '',
  ].join('\n');

/** The first rewrite of the model's finding must have this tier, and its reason must say why. Null: no finding. */
function check(title: string, parts: Parts, tier: Tier | null, reason: RegExp | null): void {
  it(title, async () => {
    const [first] = await rewritesOf(textOf(parts));
    if (tier === null) return assert.equal(first, undefined);
    assert.ok(first, 'no finding');
    const { rewrite } = first;
    assert.equal(rewrite.tier, tier, rewrite.reason ?? '');
    if (reason) assert.match(rewrite.reason ?? '', reason);
    else assert.equal(rewrite.reason, null);
  });
}

describe('what a split refuses, and what it makes a suggestion', () => {
  const product = `return self.fc(${CAT})`;
  const forward = [ROWS, product];
  const between = (line: string): Parts => ({ forward: [ROWS, line, product] });

  const copied = 'x = user.view(1, 4, 5).repeat(cand.shape[0], 1, 1)';
  const multiplied = 'y = torch.matmul(cand, x)';
  check(
    'the copy and the product under one condition, in blocks apart',
    { forward: ['if flag:', `    ${copied}`, 'y = cand', 'if flag:', `    ${multiplied}`, 'return y'] },
    'none',
    /^Lines \d+ and \d+ stand under one condition, but in blocks apart\.$/,
  );
  check(
    'the copy on a branch that the product does not stand on',
    { forward: ['x = user', 'if flag:', `    ${copied}`, multiplied, 'return y'] },
    'none',
    /is made on a branch that line \d+ does not stand on/,
  );

  check('plain', { forward }, 'safe', null);
  check('something unrelated in between', between('scale = cand.mean()'), 'safe', null);
  check('the source is written in place', between('user.mul_(2)'), null, null);
  check('the copy is written in place', between('rows[:, 0] = 1.0'), null, null);
  check('a row count that changes', between('cand = cand[1:]'), 'none', /`cand` is bound again at line 13/);
  check('an unknown call as a statement', between('self.update(user)'), 'none', /line 13 may have side effects/i);
  const written = 'rows = user.repeat_interleave(cand.shape[0], dim=0)';
  for (const [what, line] of [
    ['print', "print('rows', rows.shape)"],
    ['closure that may read it later', 'self.debug = lambda: rows'],
  ] as const) {
    const reason = /`rows` is still made, because line 13 reads it too/i;
    check(`a ${what}`, { forward: [written, line, product] }, 'suggestion', reason);
    check(`a ${what}, of a view, which costs nothing`, { forward: [ROWS, line, product] }, 'safe', null);
  }
  for (const [copy, tier] of [
    [written, 'suggestion'],
    [ROWS, 'safe'],
    ['rows = user.expand(cand.shape[0], -1).contiguous()', 'suggestion'],
  ] as const)
    check(
      `a second reader of ${copy}`,
      { forward: [copy, `y = self.fc(${CAT})`, 'return y, rows'] },
      tier,
      tier === 'safe' ? null : /`rows` is still made, because line 14/,
    );
  check(
    'a name that is deleted later',
    { forward: [ROWS, `x = ${CAT}`, 'y = self.fc(x)', 'del x, rows', 'return y'] },
    'suggestion',
    /`x` is still made, because line 15/,
  );
  check(
    'a concatenation on a branch',
    { forward: [ROWS, 'x = rows', 'if flag:', `    x = ${CAT}`, 'return self.fc(x.reshape(-1, 7))'] },
    'none',
    /^`x` \(line 16\) does not get the concatenation by one statement that runs on every path/,
  );
  check(
    'a concatenation in another function',
    {
      forward: [
        'def joined(u, i):',
        '    return torch.cat([u, i], dim=-1)',
        ROWS,
        'return self.fc(joined(rows, cand))',
      ],
    },
    'none',
    /^The concatenation of line 13 is not made beside the product/,
  );
  check(
    'what only the product reads is not handed on to a call around it',
    { forward: [`rows = user[cand_to_user]`, `return self.act(self.fc(${CAT}))`] },
    'suggestion',
    /^(?!.*does not write into).*/,
  );
  check(
    'two statements on a line',
    { forward: [`${ROWS}; y = self.fc(${CAT})`, 'return y'] },
    'none',
    /another statement/,
  );
  check(
    'a branch around the copy',
    { forward: ['rows = user', 'if flag:', `    rows = user.repeat(cand.shape[0], 1)`, product] },
    'none',
    /on a branch that|not plainly hold/,
  );
  check(
    'a view on a branch',
    { forward: ['rows = user', 'if flag:', '    rows = user.expand(cand.shape[0], -1)', product] },
    'safe',
    null,
  );
  check(
    'views on two branches, which may both be taken',
    {
      forward: [
        'rows = user',
        'if flag:',
        '    rows = user.expand(9, -1)',
        'if cand_to_user:',
        '    cand = cand.expand(9, -1)',
        product,
      ],
    },
    'none',
    /on a branch that/,
  );
  check(
    'a loop that multiplies',
    { forward: [ROWS, 'for _ in range(3):', `    cand = self.fc(${CAT})[:, :3]`, 'return cand'] },
    'none',
    /loop|bound again/,
  );
  check(
    'a list of unknown parts',
    { forward: [ROWS, 'parts = [rows, cand]', 'return self.fc(torch.cat(parts, dim=-1))'] },
    'none',
    /list/,
  );
  check(
    'a dropout on the concatenation',
    {
      init: [LAYER, 'self.drop = nn.Dropout(0.5)'],
      forward: [ROWS, `return self.fc(self.drop(${CAT}))`],
    },
    'none',
    /^`self\.drop\(torch\.cat\(.*` \(line 14\) drops elements of the concatenation: in training/,
  );
  check(
    'a hook',
    { init: [LAYER, 'self.fc.register_forward_hook(print)'], forward },
    'none',
    /line 10 wraps or hooks/i,
  );
  check(
    'a spectral norm',
    { init: ['self.fc = torch.nn.utils.spectral_norm(nn.Linear(7, 5))'], forward },
    'none',
    /spectral_norm/,
  );
  check('a lazy layer', { init: ['self.fc = nn.LazyLinear(5)'], forward }, 'none', /LazyLinear/);
  check('hooks elsewhere in the file', { head: 'HOOK = "register_forward_hook"', forward }, 'suggestion', /line 4/);
  check(
    'a layer that is assigned twice',
    {
      init: [LAYER, 'if torch.cuda.is_available():', '    self.fc = nn.Linear(7, 5)'],
      forward,
    },
    'suggestion',
    /is the linear layer of line/,
  );
  check(
    'a first stage that is no linear layer',
    {
      init: ['self.mlp = nn.Sequential(nn.Dropout(0.1), nn.Linear(7, 5))'],
      forward: [ROWS, `return self.mlp(${CAT})`],
    },
    'none',
    /not the first stage/,
  );
  check(
    'an index known by its name only',
    {
      forward: ['rows = user[cand_to_user]', product],
    },
    'suggestion',
    /many more entries/,
  );
});

describe('what a sunk broadcast refuses, and what it makes a suggestion', () => {
  const mlp = (stages: string): Parts => ({
    init: [`self.mlp = nn.Sequential(nn.Linear(4, 5), ${stages})`],
    forward: [ROWS, 'return self.mlp(rows)'],
  });
  check('row-wise stages', mlp('nn.GELU(), nn.LayerNorm(5), nn.Linear(5, 2)'), 'safe', null);
  check('batch statistics', mlp('nn.BatchNorm1d(5)'), 'suggestion', /batch statistics/);
  check('dropout', mlp('nn.Dropout(0.1), nn.Linear(5, 2)'), 'suggestion', /one draw of Dropout/);
  check('a stage that is not known', mlp('Mystery(5)'), 'suggestion', /row by row/);
  // Of several axes a norm takes rows together.
  for (const shape of ['shape', 'cfg.norm_shape', '[3, 5]', 'x.shape[1:]', 'normalized_shape=x.size()'])
    check(`a norm of ${shape}`, mlp(`nn.LayerNorm(${shape})`), 'suggestion', /row by row/);
  check('a norm of a width', mlp('nn.LayerNorm(cfg.hidden_size)'), 'safe', null);
  const own = 'class LayerNorm(nn.Module):\n    def forward(self, x):\n        return x - x.cumsum(0)\n';
  check('a norm of the file', { head: own, ...mlp('LayerNorm(5)') }, 'suggestion', /row by row/);
  check(
    'a norm of elsewhere',
    { head: 'from .layers import RMSNorm\n', ...mlp('RMSNorm(5)') },
    'suggestion',
    /row by row/,
  );
  check(
    'a second reader',
    { init: ['self.fc = nn.Linear(4, 5)'], forward: [ROWS, 'return self.fc(rows) + rows.sum()'] },
    'none',
    /line 13 reads the copy too/i,
  );
});

describe('what a product with copied operands refuses', () => {
  const PAIRS = ['self.weight = nn.Parameter(torch.zeros(6, 8, 8))', 'self.pairs = torch.triu_indices(4, 4, offset=1)'];
  const rows = 'rows = torch.index_select(user, 1, self.pairs[0])';
  const chosen = /^An index says which row each copy is of/;
  check(
    'rows chosen by an index, through a view',
    { init: PAIRS, forward: [rows, 'return torch.matmul(rows.unsqueeze(2), self.weight)'] },
    'none',
    chosen,
  );
});

describe('a file with a syntax error', () => {
  it('has no fix in the statement that is broken', async () => {
    const text = textOf({ forward: [ROWS, `return self.fc(${CAT}`] });
    for (const { rewrite } of await rewritesOf(text)) assert.equal(rewrite.tier, 'none');
  });
});
