/** Difference and product blocks in front of a layer (DIN), and compressions W @ cat, in any order and spelling. */
import { type Model, random } from './generate';

const BLOCKS: readonly [string, ...string[]] = [
  'q',
  'k',
  'q - k',
  'k - q',
  'q * k',
  'k * q',
  'q + k',
  '-q',
  '(q - k)',
  'q - k + q',
  'k * k',
];
const EXPANDS: readonly [string, ...string[]] = [
  'target.unsqueeze(1).expand(-1, T, -1)',
  'target.unsqueeze(1).repeat(1, T, 1)',
  'target[:, None].expand(-1, hist.shape[1], -1)',
  'target.unsqueeze(1).expand_as(k)',
];

export function generateUnit(seed: number, scale = 1): Model {
  const r = random(seed + 2_000_000);
  const lines = ['B, T, D = hist.shape', 'k = hist', `q = ${r.pick(EXPANDS)}`];
  if (r.chance(0.35))
    lines.push(
      r.pick([
        'k = k * 0.5',
        'q = q * 2.0',
        'target = target + 1.0',
        'T = T + 0',
        'k = poke(k * 1.0)',
        'seen = peek(k)',
        'seen = poke(q * 1.0)',
        'k = k * 1.0\n        seen = poke(k)',
      ]),
    );
  const count = 2 + r.below(4);
  const blocks = Array.from({ length: count }, () => r.pick(BLOCKS));
  const cat = `torch.cat([${blocks.join(', ')}], dim=${r.pick(['-1', '2'])})`;
  const layer = r.pick(['self.fc', 'self.mlp']);
  if (r.chance(0.5)) lines.push(`x = ${cat}`, `x = ${layer}(x)`);
  else lines.push(`x = ${layer}(${cat})`);
  lines.push(
    r.pick([
      'return torch.tanh(x)',
      'return x.sum(1)',
      'return x, hist',
      r.chance(0.5) ? 'return x + q.sum()' : 'return x',
    ]),
  );
  const width = 4 * scale * count;
  return model(
    `unit ${seed}`,
    lines,
    'target, hist',
    [
      `self.fc = nn.Linear(${width}, 3)`,
      `self.mlp = nn.Sequential(nn.Linear(${width}, 5), nn.Tanh(), nn.Linear(5, 1))`,
    ],
    UNIT,
    largeArguments(`torch.randn(8, ${4 * scale}), torch.randn(8, 512, ${4 * scale})`),
  );
}

export function generateCompression(seed: number, scale = 1): Model {
  const r = random(seed + 3_000_000);
  const copy = r.pick([
    'user[cand_to_user]',
    'user.repeat_interleave(n, dim=0)',
    'user.index_select(0, cand_to_user)',
    'user.repeat(n, 1, 1)',
    'user.unsqueeze(1).expand(-1, n, -1, -1).flatten(0, 1)',
  ]);
  const lines = ['U, Fu, D = user.shape', 'B, Fc, D = cand.shape', 'n = B // U'];
  let rows: string = copy;
  if (r.chance(0.5)) {
    rows = r.pick(['rows', 'user']);
    lines.push(`${rows} = ${copy}`);
  }
  const operands = r.pick([
    [rows, 'cand'],
    ['cand', rows],
    ['cand', rows, 'ctx'],
    [rows, 'cand', 'ctx'],
  ]);
  const weight = operands.length === 3 ? 'self.wide' : 'self.weight';
  const cat = `torch.cat([${operands.join(', ')}], dim=${r.pick(['1', '-2'])})`;
  if (r.chance(0.4)) lines.push(`x = ${cat}`);
  const input = lines.at(-1)?.startsWith('x = ') ? 'x' : cat;
  lines.push(`y = ${r.pick([`${weight} @ ${input}`, `torch.matmul(${weight}, ${input})`])}`);
  lines.push(r.pick(['return y', 'return torch.tanh(y)', 'return (y * y).flatten(1)']));
  return model(
    `compression ${seed}: ${copy}`,
    lines,
    'user, cand, ctx, cand_to_user',
    [
      `self.weight = nn.Parameter(torch.randn(3, ${4 * scale + 2}))`,
      `self.wide = nn.Parameter(torch.randn(3, ${4 * scale + 3}))`,
    ],
    COMPRESSION,
    largeArguments(
      `torch.randn(8, ${4 * scale}, 16), torch.randn(512, 2, 16), torch.randn(512, 1, 16), torch.arange(512) // 64`,
    ),
  );
}

function model(
  name: string,
  lines: readonly string[],
  parameters: string,
  members: readonly string[],
  proof: string,
  large: string,
): Model {
  const text = [
    '# ikbo: index cand_to_user many-to-one',
    'import torch',
    'import torch.nn as nn',
    '',
    '',
    'def peek(t):',
    '    return t.mean()',
    '',
    '',
    'def poke(t):',
    '    t += 1.0',
    '    return t',
    '',
    '',
    'class Model(nn.Module):',
    '    def __init__(self):',
    '        super().__init__()',
    ...members.map((member) => `        ${member}`),
    '',
    `    def forward(self, ${parameters}):`,
    ...lines.map((line) => `        ${line}`),
    '',
  ].join('\n');
  return { name, text, proof, large };
}

const largeArguments = (list: string): string =>
  `import torch\n\n\ndef build(m):\n    return m.Model()\n\n\ndef large():\n    return (${list})\n`;

const UNIT = `import torch


def build(m):
    return m.Model()


def samples():
    for batch, steps in ((0, 2), (1, 1), (2, 0), (3, 5)):
        yield f"B={batch} T={steps}", (torch.randn(batch, 4), torch.randn(batch, steps, 4))
`;

const COMPRESSION = `import torch


def build(m):
    return m.Model()


def samples():
    for users, n in ((1, 1), (1, 4), (3, 2)):
        rows = users * n
        index = (torch.arange(rows) * 2) % users
        yield f"U={users} n={n}", (torch.randn(users, 4, 5), torch.randn(rows, 2, 5), torch.randn(rows, 1, 5), index)
`;
