/** What findings say of copies and of their cost is true of the text, and no more than it shows. */
import assert from 'node:assert/strict';
import { costOf } from '../../../src/core/cost/cost';
import { symbol } from '../../../src/core/tensor/dim';
import { findingsOf, theEngine } from '../rewrite/cases';

const HEAD = 'import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n';

const method = (...body: readonly string[]): string => `${HEAD}
class Model(nn.Module):
    def __init__(self, deep, wide):
        super().__init__()
        self.fc = nn.Linear(16, 8)
        self.deep, self.wide = deep, wide

    def forward(self, x, y, kinds, counts, n, decoder):
${body.map((line) => `        ${line}\n`).join('')}`;

interface Said {
  readonly message?: RegExp;
  readonly bytes?: string;
  readonly flops?: string;
  readonly level?: string;
}

const check = (title: string, text: string, expected: Said): void => {
  it(title, async () => {
    const [first] = (await theEngine()).check('model.py', text, { hints: true }).findings;
    assert.ok(first, 'no finding');
    if (expected.message) assert.match(first.message, expected.message);
    if (expected.bytes !== undefined) assert.equal(first.cost.bytes, expected.bytes);
    if (expected.flops !== undefined) assert.equal(first.cost.flops, expected.flops);
    if (expected.level !== undefined) assert.equal(first.level, expected.level);
  });
};

describe('operations of a product of copies', () => {
  const product = (left: string, right: string): string =>
    method('b, t, d = y.shape', `left = ${left}`, `right = ${right}`, 'return torch.bmm(left, right)');
  const copied = (name: string): string => `self.${name}.view(1, 4, 16).repeat(n, 1, 1)`;
  const turned = (name: string): string => `self.${name}.view(1, 16, 4).repeat(n, 1, 1)`;
  check('are none where each copy meets another matrix', product(copied('wide'), 'y.transpose(1, 2)'), { flops: '0' });
  check('are those of all copies but one where both are copies', product(copied('wide'), turned('deep')), {
    flops: '4*(n - 1)*16*4*2',
  });
  check(
    'and where the other operand is one matrix',
    method('u = self.wide.view(1, 4, 16).repeat(n, 1, 1)', 'return torch.matmul(u, self.deep.view(1, 16, 4))'),
    { flops: '4*(n - 1)*16*4*2' },
  );
  check(
    'are not known where both are copies along one letter',
    method(
      'u = self.wide.view(1, 4, 16).repeat(n, 1, 1)',
      'v = self.deep.view(1, 16, 4).repeat(n, 1, 1)',
      "return torch.einsum('btd,bds->bts', u, v)",
    ),
    { flops: '?' },
  );
});

describe('how often something in a list is copied', () => {
  const stacked = (...lines: readonly string[]): string =>
    method(...lines, 'rows = torch.stack(rows, dim=0)', 'return decoder(encoder_hidden_states=rows)');
  check(
    'is what multiplies it in each pass',
    stacked('rows = []', 'for b, n in enumerate(counts):', '    rows += [x[b]] * n'),
    { message: /^`x\[b\]` is copied `n` times before/ },
  );
  check(
    'is what a helper is told that puts its copies in another order',
    `import numpy as np
${method('x = tile(x, 0, n)', 'return decoder(encoder_hidden_states=x)')}
def tile(x, dim, n_tile):
    rows = x.size(dim)
    times = [1] * x.dim()
    times[dim] = n_tile
    x = x.repeat(*(times))
    order = torch.LongTensor(np.concatenate([rows * np.arange(n_tile) + i for i in range(rows)]))
    return torch.index_select(x, dim, order.to(x.device))
`,
    { message: /^`x` is copied `n` times before/ },
  );
  check(
    'is not what multiplies it where a loop adds it again',
    stacked('rows = []', 'for b in counts:', '    rows += [x] * n'),
    { message: /^`x` is copied an unknown number of times before/ },
  );
  check(
    'is not known of a whole and a part',
    method('k = len(x)', 'u = torch.cat([x] * (n // k) + [x[:n % k]], dim=0)', 'return self.fc(u)'),
    {
      message: /^`x` is copied an unknown number of times before/,
    },
  );
  check(
    'nor is what is listed where several statements fill the list',
    stacked('rows = [x] * n', 'if self.deep:', '    rows = [y] * n'),
    { message: /^a tensor is copied/ },
  );
});

describe('a branch in a branch that leaves before a copy', () => {
  const copy = 'self.fc(x.unsqueeze(1).repeat(1, n, 1))';
  const onSome = { message: /`self\.fc` \(on some paths\)/ };
  const always = { message: /`self\.fc`, which then/ };
  const leaving = (...lines: readonly string[]): string => method(...lines, `return ${copy}`);
  check(
    'is some path, with return',
    leaving('if self.deep:', '    if self.wide or n > 2:', '        return x'),
    onSome,
  );
  check(
    'is some path, with continue',
    method(
      'rows = []',
      'for kind in kinds:',
      '    if self.deep:',
      '        if self.wide or kind:',
      '            continue',
      `    rows.append(${copy})`,
      'return rows',
    ),
    onSome,
  );
  check(
    'is none that leaves a loop before it',
    leaving('for kind in kinds:', '    if self.deep:', '        if kind:', '            break'),
    always,
  );
  check('is none that raises', leaving('if self.deep:', '    if n < 2:', '        raise ValueError(n)'), always);
  check(
    'is none of a function in it',
    leaving('if self.deep:', '    def inner(a):', '        if a:', '            return x'),
    always,
  );
});

describe('sizes', () => {
  const folded = `${HEAD}
class Fold(nn.Module):
    def __init__(self, width, points: int):
        super().__init__()
        self.points, self.coarse = points, points // 4
        self.conv = nn.Conv1d(width + 2, 64, 1)
        self.seed = torch.linspace(0, 1, 8).view(1, 2, 4)

    def forward(self, x):
        b, c = x.shape
        seed = self.seed.unsqueeze(2).expand(b, -1, self.coarse, -1).reshape(b, -1, self.points)
        return self.conv(torch.cat([x.unsqueeze(2).expand(-1, -1, self.points), seed], dim=1))
`;
  it('that a quotient gives back leave a block of two columns, which is not worth a warning', async () => {
    const findings = await findingsOf(folded);
    assert.deepEqual(
      findings.map(({ message, level }) => [message.slice(0, 24), level]),
      [
        ['`self.seed.unsqueeze(2)`', 'information'],
        ['`x.unsqueeze(2)` is copi', 'warning'],
      ],
    );
  });
  check(
    'of a view that says with -1 what the others leave are those',
    method(
      'grid = self.wide.view(1, n).expand(n, n).reshape(1, -1)',
      'return self.fc(torch.cat([grid.unsqueeze(1).expand(-1, len(y), -1), y], dim=-1))',
    ),
    { bytes: 'len(y)*n*n*2' },
  );
  check(
    'are not called by a letter of another function',
    `${HEAD}
class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, dim * 3)

    def forward(self, x):
        B, N, C = x.shape
        return self.qkv(x).reshape(B, N, 3, C)

class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, config.width))
        self.attention = Attention(config.width)

    def forward(self, x):
        return self.attention(torch.cat((self.token.expand(x.size(0), -1, -1), x), dim=1))
`,
    { bytes: 'config.width*x.shape[0]*2' },
  );
  it('none of which has a name make no formula', () => {
    const bytes = (...names: readonly string[]): string => costOf(names.map(symbol), 2, null, null).bytesText;
    assert.equal(bytes('?@1', '?@2'), '?');
    assert.equal(bytes('?@1', 'n'), '?*n*2');
  });
  check(
    'of a tensor of another function that is called like what is copied here have no name',
    `${HEAD}
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 8)

    def forward(self, pos):
        pos = pos.flatten(2).transpose(1, 2)
        return self.fc(pos)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, pos, tokens):
        return self.attention(torch.repeat_interleave(pos, tokens.shape[0], dim=0))
`,
    { bytes: '?*?*pos.shape[0]*tokens.shape[0]*2' },
  );
  check(
    'are not called as something else is where they are copied',
    `${HEAD}
from settings import config

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 16)
        self.out = nn.Linear(16, 1)

    def table(self):
        return self.fc(torch.rand(config.rows, 8))

    def score(self, rows):
        n, b, d = rows.shape
        return self.out(rows)

class Runner:
    def __init__(self):
        self.model = Model()

    def run(self, y):
        b, n = y.shape
        q = self.model.table()
        return self.model.score(q.unsqueeze(0).repeat(n, 1, 1))
`,
    { bytes: '?*n*32' },
  );
});

describe('the size of an item of what is bound again', () => {
  const taken = (...lines: readonly string[]): string =>
    method(...lines, 'return self.fc(torch.cat([y, token.unsqueeze(1).expand(-1, n, -1)], dim=-1))');
  check('has no name', taken('x, token = x[0], x[1]'), { bytes: '?*?*n*2' });
  check('has one where it keeps its name', taken('z, token = x[0], x[1]'), {
    bytes: 'n*x[1].shape[0]*x[1].shape[1]*2',
  });
});

describe('what tokens among other rows cost', () => {
  const tokens = (...body: readonly string[]): string => `${HEAD}
class Model(nn.Module):
    def __init__(self, width, patch):
        super().__init__()
        self.patch = patch
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.place = nn.Parameter(torch.zeros(1, 1, width))
        self.fc = nn.Linear(width, 3 * width)

    def forward(self, x, places):
${body.map((line) => `        ${line}\n`).join('')}`;
  const joined = 'x = torch.cat((self.token.expand(b, -1, -1), x), 1)';
  const cost: Said = { bytes: 'b*width*2', flops: '(b - 1)*width*3*width*2' };
  check(
    'of a shape that is unpacked with other numbers',
    tokens('b, n, d, p = *x.shape, self.patch', joined, 'return self.fc(x)'),
    cost,
  );
  check(
    'of a shape that is unpacked behind other numbers',
    tokens('p, b, n, d = self.patch, *x.shape', joined, 'return self.fc(x)'),
    cost,
  );
  check(
    'of a shape whose parts are unpacked',
    tokens('b, (n, d), p = x.shape[0], x.shape[1:], self.patch', 'x = x.view(b, n, d)', joined, 'return self.fc(x)'),
    cost,
  );
  const [token, place] = ['self.token.expand(b, -1, -1)', 'self.place.expand(b, -1, -1)'];
  const sum = tokens(
    'b, n, d = x.shape',
    `return self.fc(torch.cat((${token}, x), 1) + torch.cat((${place}, places), 1))`,
  );
  it('of each of two that are added', async () => {
    const { findings } = (await theEngine()).check('model.py', sum, { hints: true });
    assert.deepEqual(
      findings.map(({ cost: { bytes, flops } }) => ({ bytes, flops })),
      [cost, cost],
    );
  });
});

describe('a copy that is joined to something on a branch', () => {
  const either = (joined: string): string =>
    method('u = x.unsqueeze(1).expand(-1, n, -1)', 'if y is not None:', `    u = ${joined}`, 'return self.fc(u)');
  check('is said to be joined there', either('torch.cat([u, y], dim=-1)'), {
    message: /concatenated in front of `self\.fc` \(when y is not None\)/,
  });
});

describe('copies in a list that a loop fills', () => {
  const filled = (...other: readonly string[]): string =>
    method(
      'parts = []',
      'for kind in kinds:',
      "    if kind == 'a':",
      '        parts.append(x.unsqueeze(1).repeat(1, n, 1))',
      ...other,
      'return self.fc(torch.cat(parts, dim=-1))',
    );
  check('are joined to what another branch puts there', filled('    else:', '        parts.append(y)'), {
    message: /^`x\.unsqueeze\(1\)` is copied `n` times and concatenated in front of `self\.fc`/,
  });
  check('are all that is joined where no other branch does', filled(), { message: /before `self\.fc`.* equal rows/ });
});

describe('a sum with rows that an index picks', () => {
  check(
    'is not said to broadcast',
    method('means = x.mean(1)', 'u = y - means[decoder.user_idx]', 'return torch.bmm(u[:, None], self.wide)'),
    { message: /; a sum of rows that are looked up could be taken without the copy/ },
  );
});

describe('the way of a copy', () => {
  const chain = (title: string, body: readonly string[], expected: readonly string[]): void => {
    it(title, async () => {
      const [first] = (await theEngine()).check('model.py', method(...body), { hints: true }).findings;
      assert.deepEqual(
        first?.chain.map(({ what }) => what),
        expected,
      );
    });
  };
  const copies = 'u = x.unsqueeze(1).expand(-1, n, -1)';
  for (const by of ['cat', 'concatenate', 'hstack'])
    chain(
      `names what writes it, ${by}`,
      [copies, `return self.fc(torch.${by}([u, y.view(-1, n, 16)]${by === 'hstack' ? '' : ', dim=1'}))`],
      ['replicates as a view', `${by} writes the copy`, 'nn.Linear reads every copy'],
    );
  chain(
    'names einops where that writes it',
    ['import einops', copies, "z, _ = einops.pack([u, y.view(-1, n, 16)], 'b * d')", 'return self.fc(z)'],
    ['replicates as a view', 'pack writes the copy', 'nn.Linear reads every copy'],
  );
  chain(
    'says once that a sum with zeros writes it',
    [
      't = self.wide.view(1, 1, 16) + torch.zeros(n, 1, 16)',
      'return self.fc(torch.cat([t, y.view(n, -1, 16)], dim=1))',
    ],
    ['replicates and writes every copy', 'nn.Linear reads every copy'],
  );
});

describe('what is made of an argument alone', () => {
  const rows = (made: string): string =>
    method(`u = torch.FloatTensor(${made})`, 'return self.fc(u.repeat(len(y), 1))');
  check('is data, no size', rows('x'), { message: /^(?!.*x\*)/ });
  check('is sizes where they are several', rows('n, 16'), { bytes: 'len(y)*n*64' });
});

describe('the size of an element', () => {
  const bytes = (title: string, body: readonly string[], each: number, isHalf = false): void =>
    check(title, method('b, n, d = y.shape', ...body), {
      message: new RegExp(`\\*${each} bytes per call${isHalf ? ' in half precision' : '(?! in half)'}`),
    });
  const copied = 'u = u.unsqueeze(1).expand(b, n, d)';
  const joined = 'return self.fc(torch.cat([u, y], dim=-1))';
  bytes('is half of single precision where nothing is stated', ['u = x.view(b, d)', copied, joined], 2, true);
  bytes('is that of a type that is stated', ['u = x.view(b, d).float()', copied, joined], 4);
  bytes('stays in arithmetic', ['u = x.view(b, d).to(torch.float64) * 0.5', copied, joined], 8);
  bytes('is the wider one of two', ['u = x.view(b, d).float() + self.wide', copied, joined], 4);
  bytes(
    'is the stated one of what is made',
    ['u = torch.zeros(b, d, dtype=torch.float32) + self.wide', copied, joined],
    4,
  );
  bytes(
    'is that of what it is made after',
    ['u = torch.zeros_like(x.view(b, d).float()) + self.wide', copied, joined],
    4,
  );
  bytes('is the widest where views are joined', ['u = x.view(b, d)', copied, 'y = y.float()', joined], 4);
  bytes(
    'is its own where it is written before',
    ['u = x.view(b, d)', `${copied}.clone()`, 'y = y.float()', joined],
    2,
    true,
  );
  const later = 'u = u.float()';
  bytes('is that of a view that is cast', ['u = x.view(b, d)', copied, later, joined], 4);
  bytes('is what it was where it is cast later', ['u = x.view(b, d)', `${copied}.clone()`, later, joined], 2, true);
  bytes('is what it was before it was cast down', ['u = x.view(b, d).float()', `${copied}.clone()`, 'u = u.to(y.dtype)', joined], 4); // prettier-ignore
  bytes(
    'is not that of one number',
    ['u = x.view(b, d) * torch.tensor(2.0, dtype=torch.float32)', copied, joined],
    2,
    true,
  );
  const stored = (statement: string): string => `${HEAD}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        ${statement}
        self.fc = nn.Linear(16, 8)

    def forward(self, y):
        return self.fc(torch.cat([self.seed.expand(len(y), 16), y], dim=-1))
`;
  const seed = 'torch.linspace(0, 1, 16, dtype=torch.float).view(1, 16)';
  check('stays that of what a constructor stores', stored(`self.seed = ${seed}`), { message: /\*64 bytes per call$/ });
  for (const registered of [`self.register_buffer('seed', ${seed})`, `self.seed = nn.Parameter(${seed})`])
    check(`is that of the model for ${registered}`, stored(registered), { message: /half precision$/ });
});
