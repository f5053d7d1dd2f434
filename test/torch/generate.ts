/**
 * Models for the property test: a tensor is copied in one of many ways, travels through names, operators and
 * distractions, meets others in a concatenation or not, and is multiplied. What the rewriter makes of a model must
 * compute the same, whatever it is: the generator does not know which rewrites are right.
 */

export interface Model {
  readonly name: string;
  readonly text: string;
  /** Python: `build(module)` and `samples()` for the proof. */
  readonly proof: string;
  /** Python: `build(module)` and `large()`, arguments of which the copy is by far the largest part. */
  readonly large: string;
}

export interface Random {
  /** An integer in [0, n). */
  below(n: number): number;
  pick<T>(items: readonly [T, ...T[]]): T;
  chance(probability: number): boolean;
}

/** mulberry32: the same models on every machine. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {
    below: (n) => Math.floor(next() * n),
    pick: (items) => items[Math.floor(next() * items.length)] ?? items[0],
    chance: (p) => next() < p,
  };
}

/** How `user` becomes as many rows as `cand`, and what sizes that needs. */
interface Copy {
  readonly expression: string;
  readonly layout: 'rows' | 'steps' | 'one';
  readonly index?: boolean;
}

const COPIES: readonly [Copy, ...Copy[]] = [
  { expression: 'user.repeat_interleave(n, dim=0)', layout: 'rows' },
  { expression: 'torch.repeat_interleave(user, n, 0)', layout: 'rows' },
  { expression: 'user.unsqueeze(1).expand(-1, n, -1).reshape(-1, user.shape[-1])', layout: 'rows' },
  { expression: 'user[:, None, :].expand(-1, n, -1).flatten(0, 1)', layout: 'rows' },
  { expression: 'user.repeat(n, 1)', layout: 'rows' },
  { expression: 'user.tile((n, 1))', layout: 'rows' },
  { expression: 'user[cand_to_user]', layout: 'rows', index: true },
  { expression: 'user.index_select(0, cand_to_user)', layout: 'rows', index: true },
  { expression: 'torch.index_select(user, 0, cand_to_user)', layout: 'rows', index: true },
  { expression: 'user.expand(cand.shape[0], -1)', layout: 'one' },
  { expression: 'user.expand(cand.size(0), user.size(1))', layout: 'one' },
  { expression: 'user.repeat(cand.shape[0], 1)', layout: 'one' },
  { expression: 'torch.broadcast_to(user, (cand.shape[0], user.shape[1]))', layout: 'one' },
  { expression: 'user.unsqueeze(1).expand(-1, cand.shape[1], -1)', layout: 'steps' },
  { expression: 'user.unsqueeze(1).repeat(1, cand.size(1), 1)', layout: 'steps' },
  { expression: 'user[:, None].expand(-1, cand.shape[1], -1)', layout: 'steps' },
  { expression: 'user.unsqueeze(dim=1).expand(user.size(0), cand.size(1), user.size(1))', layout: 'steps' },
  { expression: 'user.unsqueeze(1).repeat_interleave(cand.shape[1], dim=1)', layout: 'steps' },
];

const AFTER: readonly [string, ...string[]] = ['', '', '', '.contiguous()', '.clone()', '.relu()', '.tanh()'];

/** Statements between the copy and the product that may or may not change what the names hold. */
const DISTRACTIONS: readonly [string, ...string[]] = [
  'user = user + 1.0',
  'user = torch.tanh(user)',
  'rows = rows * 1.0',
  'n = n + 0',
  'scale = cand.mean()',
  'extra = rows.sum()',
  'width = rows.shape[-1]',
  'if self.flag:\n            rows = rows * 2.0',
  'if self.flag:\n            user = user * 2.0',
  'for _ in range(2):\n            cand = cand * 1.5',
  'later = lambda: rows.sum()',
  'with torch.no_grad():\n            noise = cand * 0.0',
  'cand = cand * 0.5 + rows.mean()',
  'seen = peek(user)',
  'seen = self.look(cand)',
  'seen = self.act(user)',
  'seen = [peek(t) for t in (user, cand)]',
  'seen = (twice := n * 2)',
  'try:\n            seen = peek(cand)\n        finally:\n            seen = None',
  'def later():\n            return user.sum()',
  'del ctx\n        ctx = cand[..., :2]',
  'assert user.dim() > 0',
  'match n:\n            case 0:\n                seen = 0',
];

/** In place: on clones, so that the inputs of the model stay as they are. */
const WRITES: readonly [string, ...string[]] = [
  'user.mul_(2.0)',
  'user[:1] = 0.5',
  'rows = rows.clone()\n        rows[:1] = 0.25',
  'user += 1.0',
  'torch.relu_(user)',
  'torch.add(user, 1.0, out=user)',
  'seen = poke(user)',
  'seen = self.change(user)',
  'seen = list(map(poke, [user]))',
  'seen = (lambda t: t.mul_(2.0))(user)',
  'seen = self.inplace(user)',
  'later = lambda: user.mul_(2.0)\n        seen = later()',
];

/** `scale` widens what is copied. */
export function generate(seed: number, scale = 1): Model {
  const r = random(seed);
  const copy = r.pick(COPIES);
  const lines: string[] = ['n = cand.shape[0] // max(user.shape[0], 1)'];
  const writes = r.chance(0.15);
  if (writes) lines.push('with torch.no_grad():\n            user = user.clone()');
  const operator = r.pick(AFTER);
  const inline = r.chance(0.3);
  const looped = r.chance(0.12);
  const same = !inline && !looped && r.chance(0.2) && !copy.expression.includes('cand_to_user');
  const made = copy.expression + operator;
  if (!writes && r.chance(0.15)) lines.push('user = self.tower(user)');
  const name = same ? 'user' : 'rows';
  const start = lines.length;
  if (!inline) lines.push(`${name} = ${made}`);
  const value = inline ? made : name;
  const distract = (): void => {
    const line = r.pick(writes ? WRITES : DISTRACTIONS);
    if ((inline || same) && /rows/.test(line)) return;
    lines.push(line);
  };
  if (r.chance(0.35)) distract();

  const alone = r.chance(0.25);
  const cand = r.pick(['cand', 'cand', 'cand', 'cand * 0.5', inline ? 'cand * user.mean()' : `cand + ${name}.sum()`]);
  const operands = alone ? [value] : shuffle(r, [value, cand, ...(r.chance(0.4) ? ['ctx'] : [])]);
  const width = operands.reduce((sum, o) => sum + (o === cand ? 3 : o === 'ctx' ? 2 : 4 * scale), 0);
  const axis = r.pick(['-1', '-1', copy.layout === 'steps' ? '2' : '1']);
  const cat = `torch.cat([${operands.join(', ')}], ${r.pick(['dim=', ''])}${axis})`;
  let input = alone ? value : cat;
  if (!alone && r.chance(0.5)) {
    lines.push(`x = ${cat}`);
    input = 'x';
    if (r.chance(0.2)) distract();
  }
  const sink = r.pick(SINKS);
  const target = looped ? 'y' : r.pick(['y', 'x', 'user']);
  const productAt = lines.length;
  lines.push(`${target} = ${product(sink, input)}`);
  while (r.chance(0.5))
    lines.push(`${target} = ${r.pick(['F.gelu', 'torch.tanh', 'self.act', 'self.fc2'])}(${target})`);
  // The copy in the loop, or in front of it and only the product inside.
  if (looped) {
    const from = r.chance(0.7) ? start : Math.min(start + 1, productAt);
    const body = lines.splice(from).map((line) => `    ${line.replaceAll('\n', '\n    ')}`);
    lines.push('y = None', 'for step in range(2):', ...body);
  }
  const returned =
    r.chance(0.15) && !inline ? [target, name] : r.chance(0.1) && input === 'x' ? [target, 'x'] : [target];
  lines.push(`return ${returned.join(', ')}`);
  return {
    name: `model ${seed}: ${copy.expression}`,
    text: text(lines, copy, sink, width, 4 * scale, r),
    proof: proofOf(copy),
    large: largeOf(copy, 4 * scale),
  };
}

const SINKS = ['linear', 'linear', 'mlp', 'functional', 'matmul', 'stack', 'block', 'net'] as const;
type Sink = (typeof SINKS)[number];

function product(sink: Sink, input: string): string {
  if (sink === 'stack' || sink === 'block') return `self.${sink}(${input})`;
  if (sink === 'net') return `self.net(${input}, shift=0.5)`;
  if (sink === 'linear') return `self.fc(${input})`;
  if (sink === 'mlp') return `self.mlp(${input})`;
  return sink === 'functional' ? `F.linear(${input}, self.weight, self.bias)` : `${input} @ self.matrix`;
}

function shuffle(r: Random, items: readonly string[]): string[] {
  const left = [...items];
  const out: string[] = [];
  while (left.length > 0) out.push(...left.splice(r.below(left.length), 1));
  return out;
}

function text(lines: readonly string[], copy: Copy, sink: Sink, width: number, user: number, r: Random): string {
  const members = [
    ...(sink === 'linear' ? [`self.fc = nn.Linear(${width}, 5${r.chance(0.3) ? ', bias=False' : ''})`] : []),
    ...(sink === 'mlp' ? [`self.mlp = nn.Sequential(nn.Linear(${width}, 6), nn.GELU(), nn.Linear(6, 5))`] : []),
    ...(sink === 'stack' ? LISTED(width, 'stack') : []),
    ...(sink === 'block' ? [`self.block = Block(${width})`] : []),
    ...(sink === 'net' ? [`self.net = Net(${width})`] : []),
    ...(sink === 'functional'
      ? [`self.weight = nn.Parameter(torch.randn(5, ${width}))`, 'self.bias = nn.Parameter(torch.randn(5))']
      : []),
    ...(sink === 'matmul' ? [`self.matrix = nn.Parameter(torch.randn(${width}, 5))`] : []),
    ...(lines.some((line) => line.includes('self.tower')) ? [`self.tower = nn.Linear(${user}, ${user})`] : []),
    'self.act = nn.SiLU()',
    'self.fc2 = nn.Linear(5, 5)',
    'self.inplace = nn.ReLU(inplace=True)',
    'self.flag = True',
  ];
  return [
    ...(copy.index ? ['# ikbo: index cand_to_user many-to-one'] : []),
    'import torch',
    'import torch.nn as nn',
    'import torch.nn.functional as F',
    '',
    '',
    'def peek(t):',
    '    return t.mean()',
    '',
    '',
    'def poke(t):',
    '    t += 1.0',
    '    return t.mean()',
    '',
    '',
    ...(sink === 'block' ? BLOCK : []),
    ...(sink === 'net' ? NET : []),
    'class Model(nn.Module):',
    '    def __init__(self):',
    '        super().__init__()',
    ...members.map((member) => `        ${member}`),
    '',
    `    def forward(self, user, cand, ctx${copy.index ? ', cand_to_user' : ''}):`,
    ...lines.map((line) => `        ${line}`),
    '',
    '    def look(self, t):',
    '        self.seen = t.mean()',
    '        return self.seen',
    '',
    '    def change(self, t):',
    '        t[:1] = 0.5',
    '        return t.mean()',
    '',
  ].join('\n');
}

/** A Sequential that is made of a list. */
const LISTED = (width: number | string, name: string): readonly string[] => [
  `layers = [nn.Linear(${width}, 6)]`,
  'for _ in range(2):',
  '    layers += [nn.Tanh(), nn.Linear(6, 6)]',
  'layers.append(nn.Linear(6, 5))',
  `self.${name} = nn.Sequential(*layers)`,
];

const BLOCK = [
  'class Block(nn.Module):',
  '    def __init__(self, width):',
  '        super().__init__()',
  ...LISTED('width', 'layers').map((line) => `        ${line}`),
  '',
  '    def forward(self, x):',
  '        return self.layers(x)',
  '',
  '',
];

const NET = [
  'class Net(nn.Module):',
  '    def __init__(self, width):',
  '        super().__init__()',
  '        self.fc1 = nn.Linear(width, 6)',
  '        self.fc2 = nn.Linear(6, 5)',
  '',
  '    def forward(self, x, shift=0.0):',
  '        h = torch.relu(self.fc1(x)) + shift',
  '        return self.fc2(h)',
  '',
  '',
];

function proofOf(copy: Copy): string {
  const rows = {
    rows: copy.index
      ? `
    for users, ids in ((1, [0, 0]), (3, [2, 0, 0, 1, 2, 1]), (2, []), (3, [1]), (2, [1] * 8)):
        rows = len(ids)
        ids = torch.tensor(ids, dtype=torch.long)
        yield f"U={users} {ids.tolist()}", (torch.randn(users, 4), torch.randn(rows, 3), torch.randn(rows, 2), ids)`
      : `
    for users, n in ((1, 1), (1, 4), (3, 2), (2, 0)):
        yield f"U={users} n={n}", (torch.randn(users, 4), torch.randn(users * n, 3), torch.randn(users * n, 2))`,
    one: `
    for rows in (0, 1, 5):
        yield f"rows={rows}", (torch.randn(1, 4), torch.randn(rows, 3), torch.randn(rows, 2))`,
    steps: `
    for batch, steps in ((0, 2), (1, 1), (2, 0), (3, 4)):
        yield f"B={batch} T={steps}", (torch.randn(batch, 4), torch.randn(batch, steps, 3), torch.randn(batch, steps, 2))`,
  };
  return `import torch\n\n\ndef build(m):\n    return m.Model()\n\n\ndef samples():${rows[copy.layout]}\n`;
}

function largeOf(copy: Copy, user: number): string {
  const rest = {
    rows: `(torch.randn(8, ${user}), torch.randn(4096, 3), torch.randn(4096, 2)${copy.index ? ', torch.arange(4096) % 8' : ''})`,
    one: `(torch.randn(1, ${user}), torch.randn(4096, 3), torch.randn(4096, 2))`,
    steps: `(torch.randn(8, ${user}), torch.randn(8, 512, 3), torch.randn(8, 512, 2))`,
  };
  return `import torch\n\n\ndef build(m):\n    return m.Model()\n\n\ndef large():\n    return ${rest[copy.layout]}\n`;
}
