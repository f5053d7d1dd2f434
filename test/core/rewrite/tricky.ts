/**
 * Programs in which something else than the usual happens between a copy and its product. What the rewriter may make of
 * each is said here; that what it makes computes the same is proved in test/torch/tricky.test.ts.
 */
import type { Tier } from '../../../src/core/finding';
import type { Model } from './wrong';

export interface Tricky extends Model {
  readonly title: string;
  /** Of the first rewrite that the finding offers. */
  readonly tier: Tier;
  readonly reason?: RegExp;
  /** A condition that does not hold here: what is offered under it would be wrong. */
  readonly untrue?: true;
}

const ROWS = 'u = user.repeat_interleave(n, dim=0)';
const CAT = 'x = torch.cat([u, item], dim=-1)';
const SINK = 'self.fc(torch.cat([u, item], dim=-1))';
const OWN = 'user, item = user * 1.0, item * 1.0';
const FC = 'self.fc = nn.Linear(10, 8)';

/** The copy, these lines, the product. */
const between = (...lines: string[]): readonly string[] => [OWN, ROWS, ...lines, `return ${SINK}`];
/** The concatenation, these lines, the product. */
const behind = (...lines: string[]): readonly string[] => [OWN, ROWS, CAT, ...lines, 'return self.fc(x)'];
const method = (...lines: string[]): readonly string[] => lines.map((line) => `    ${line}`);

const CALLS: readonly Tricky[] = [
  {
    title: 'another block that is copied in a form that is not known',
    init: ['self.fc = nn.Linear(14, 8)'],
    forward: [
      OWN,
      ROWS,
      'o = user.unsqueeze(1).expand(-1, n, -1).transpose(0, 1).transpose(0, 1).reshape(-1, 4)',
      'return self.fc(torch.cat([u, item, o], dim=-1))',
    ],
    tier: 'safe',
  },
  {
    title: 'a function that writes into a block',
    tier: 'none',
    reason: /may write into tensors in place \(line 18\)/,
    forward: behind('z = scale(item)'),
    tail: ['def scale(t):', '    t *= 2', '    return t.sum()'],
  },
  {
    title: 'a method that writes into the source',
    tier: 'none',
    reason: /`self.scale` may write/,
    forward: between('z = self.scale(user)'),
    tail: method('def scale(self, t):', '    t[:] = 0', '    return 1'),
  },
  {
    title: 'a function that calls one that writes',
    tier: 'none',
    reason: /may write/,
    forward: behind('z = outer(item)'),
    tail: ['def outer(t):', '    return inner(t)', '', 'def inner(t):', '    return t.zero_()'],
  },
  {
    title: 'a function of the file that only reads',
    tier: 'safe',
    forward: behind('z = mean(item)'),
    tail: ['def mean(t):', '    m = t.mean()', '    return m * 2'],
  },
  {
    title: 'an unknown function of a block',
    tier: 'suggestion',
    reason: /^`neg` at line 14 does not write into `item`/,
    imports: ['import torch', 'import torch.nn as nn', 'from operator import neg'],
    forward: behind('z = neg(item)'),
  },
  {
    title: 'an unknown function of something else',
    tier: 'safe',
    imports: ['import torch', 'import torch.nn as nn', 'from operator import neg'],
    forward: behind('z = neg(self.training)'),
  },
  {
    title: 'a module in place',
    tier: 'none',
    reason: /may write/,
    init: [FC, 'self.act = nn.ReLU(inplace=True)'],
    forward: behind('z = self.act(item)'),
  },
  {
    title: 'a module in place by position',
    tier: 'none',
    reason: /may write/,
    init: [FC, 'self.act = nn.Sequential(nn.ReLU(True), nn.Tanh())'],
    forward: behind('z = self.act(item)'),
  },
  {
    title: 'a module in place on a fresh tensor',
    tier: 'safe',
    init: [FC, 'self.act = nn.ReLU(inplace=True)'],
    forward: behind('z = self.act(item * 2)'),
  },
  {
    title: 'a module of the file in place',
    tier: 'none',
    reason: /may write/,
    head: ['class Block(nn.Module):', '    def forward(self, x):', '        return x.clamp_(0)'],
    init: [FC, 'self.block = Block()'],
    forward: behind('z = self.block(item)'),
  },
  {
    title: 'a layer of PyTorch',
    tier: 'safe',
    init: [FC, 'self.norm = nn.LayerNorm(6)'],
    forward: behind('z = self.norm(item)'),
  },
  {
    title: 'a lambda that writes',
    tier: 'none',
    reason: /written in place/,
    forward: behind('g = lambda t: t.mul_(2)', 'z = g(item)'),
  },
  {
    title: 'a closure that writes',
    tier: 'none',
    reason: /written in place/,
    forward: between('def bump():', '    user.mul_(2)', '    return 1', 'z = bump()'),
  },
  {
    title: 'a function given to map',
    tier: 'none',
    reason: /may write/,
    forward: behind('z = list(map(scale, [item]))'),
    tail: ['def scale(t):', '    return t.mul_(2)'],
  },
  {
    title: 'a function in place given to map',
    tier: 'none',
    reason: /may be written into/,
    forward: behind('z = list(map(torch.relu_, [item]))'),
  },
  {
    title: 'a list of functions',
    tier: 'suggestion',
    reason: /does not write into `item`/,
    untrue: true,
    forward: behind('z = [torch.relu_][0](item)'),
  },
];

const STAYS: readonly Tricky[] = [
  {
    title: 'a copy that stays, of what is written into',
    tier: 'none',
    reason: /may write into tensors/,
    forward: [OWN, ROWS, 'z = poke(user)', `y = ${SINK}`, 'return y, u'],
    tail: ['def poke(t):', '    t += 1', '    return t.mean()'],
  },
];

/** The product, and what is done behind it to what autograd keeps of it. */
const kept = (line: number, name: string) => ({
  tier: 'suggestion' as const,
  reason: new RegExp(
    `^No gradient is taken through the product, behind which line ${line} (may write|writes) into \`${name}\``,
  ),
  untrue: true as const,
});

const BEHIND: readonly Tricky[] = [
  {
    title: 'a block written into',
    ...kept(14, 'item'),
    forward: [OWN, ROWS, `y = ${SINK}`, 'item.mul_(2)', 'return y'],
  },
  {
    title: 'a source written into',
    ...kept(14, 'user'),
    forward: [OWN, ROWS, `y = ${SINK}`, 'user[0] = 0', 'return y'],
  },
  {
    title: 'an item of a block as target',
    ...kept(13, 'item'),
    forward: [OWN, ROWS, `item[:, :8] = ${SINK}[:, :6]`, 'return item'],
  },
  {
    title: 'a block written into by a finally',
    ...kept(16, 'item'),
    forward: [OWN, 'try:', `    ${ROWS}`, `    return ${SINK}`, 'finally:', '    item += 1'],
  },
  {
    title: 'a block written into by a function',
    ...kept(14, 'item'),
    forward: [OWN, ROWS, `y = ${SINK}`, 'poke(item)', 'return y'],
    tail: ['def poke(t):', '    t.zero_()'],
  },
  {
    title: 'a block read by a function that writes into tensors of its own',
    tier: 'safe',
    forward: [ROWS, `y = ${SINK}`, 'z = count(item)', 'return y + z'],
    tail: ['def count(t):', '    total = t.new_zeros(())', '    total += t.shape[0]', '    return total'],
  },
  {
    title: 'a block written into by a function that another one calls',
    ...kept(14, 'item'),
    forward: [OWN, ROWS, `y = ${SINK}`, 'clear(item)', 'return y'],
    tail: ['def clear(t):', '    poke(t)', 'def poke(t):', '    t.zero_()'],
  },
  {
    title: 'a block written into under another name',
    ...kept(14, 'item'),
    forward: [OWN, ROWS, `y = ${SINK}`, 'poke(item)', 'return y'],
    tail: ['def poke(t):', '    s = t.view(-1)', '    s.zero_()'],
  },
  {
    title: 'a block written into through a view that is made before',
    ...kept(15, 'item'),
    forward: [OWN, 's = item.view(-1)', ROWS, `y = ${SINK}`, 's.zero_()', 'return y'],
  },
  {
    title: 'a block written into through one of several views of it',
    ...kept(15, 'item'),
    forward: [OWN, ROWS, `y = ${SINK}`, 'a, b = item.t().chunk(2)', 'b += 1', 'return y'],
  },
  {
    title: 'a view of a block, and another tensor by its name that is written into',
    tier: 'safe',
    forward: [OWN, ROWS, `y = ${SINK}`, 's = item.view(-1)', 's = s.new_zeros(3)', 's += 1', 'return y + s.sum()'],
  },
  {
    title: 'a block written into by the next pass',
    ...kept(16, 'item'),
    forward: [
      OWN,
      'y = 0',
      'for _ in range(2):',
      '    u = user.repeat_interleave(n, dim=0)',
      `    y = y + ${SINK}`,
      '    item.mul_(2)',
      'return y',
    ],
  },
  {
    title: 'a buffer written into',
    ...kept(16, 'self.rows'),
    init: [FC, "self.register_buffer('rows', torch.zeros(4))"],
    forward: [
      'user = self.rows.unsqueeze(0) + 0.0 * user',
      'item = item * 1.0',
      'u = self.rows.unsqueeze(0).expand(item.shape[0], -1)',
      `y = ${SINK}`,
      'self.rows += 1',
      'return y',
    ],
  },
  {
    title: 'another tensor of the name',
    tier: 'safe',
    forward: [OWN, ROWS, `y = ${SINK}`, 'item = item * 2', 'item.mul_(2)', 'return y + item.sum()'],
  },
  {
    title: 'the target of the product written into',
    tier: 'safe',
    forward: [OWN, ROWS, `item = ${SINK}`, 'item.mul_(2)', 'return item'],
  },
  { title: 'what it is added to', tier: 'safe', forward: [OWN, ROWS, `y = ${SINK}`, 'y.add_(item.sum())', 'return y'] },
  { title: 'its size', tier: 'safe', forward: [OWN, ROWS, `y = ${SINK}`, 'return y.view(item.shape[0], 8).relu_()'] },
  {
    title: 'a suppress around the product',
    tier: 'suggestion',
    reason: /^The `suppress` of line 13 does not wait for sizes/,
    imports: ['import torch', 'import torch.nn as nn', 'from contextlib import suppress'],
    forward: [OWN, ROWS, 'with suppress(RuntimeError):', `    item = ${SINK}`, 'return item'],
  },
];

/** What writes into `item` by another name, from a list, or in a form of its own; each line ends in a line break. */
const WRITES: readonly string[] = [
  'item.__setitem__(0, 5.0)',
  'torch.Tensor.add_(item, 1)',
  'torch._foreach_add_([item], 1)',
  'write = item.add_\nwrite(1)',
  "getattr(item, 'add_')(1)",
  'nn.ReLU(inplace=True)(item)',
  'held = {"item": item}\nheld["item"].add_(1)',
  'held = []\nheld.append(item)\nheld[0] += 1',
  'self.kept = item\nself.kept.add_(1)',
  'z = (item,)\nz[0].add_(1)',
  'z, = [item]\nz.add_(1)',
  'z = w = item\nw.add_(1)',
  'if (z := item) is not None:\n    z.add_(1)',
  'z = item if n else None\nz.add_(1)',
  'for row in item:\n    row.add_(1)',
  '[one.add_(1) for one in [item]]',
  'match item:\n    case z:\n        z.add_(1)',
  'def inner(z=item):\n    z.add_(1)\ninner()',
  'z = torch.flatten(item)\nz.add_(1)',
  'z, *rest = torch.unbind(item)\nz.add_(1)',
  'z = item.as_strided((1,), (1,))\nz.fill_(9)',
  'z = torch.as_tensor(item)\nz.add_(1)',
  'z = nn.Identity()(item)\nz.add_(1)',
  'z = F.dropout(item, 0.0, False)\nz.add_(1)',
  'z = item.detach().numpy()\nz += 1',
  'z = same(item)\nz.add_(1)',
  'zero(*[item])',
  'zero(**dict(t=item))',
];

/** What only looks like that. */
const NO_WRITES: readonly string[] = [
  'held = {"item": item}\nheld["y"] = y\ndel held["y"]',
  'held = [item]\nheld.append(y)\nheld[0] = y',
  'self.kept = item\nself.kept = None',
  'z = item * 2\nz.add_(1)',
  'z = torch.relu(item)\nz.add_(1)',
  'rows, width = item.shape\nrows += 1',
  'z, w = item, y * 2\nw.add_(1)',
  'z = item[torch.arange(len(item))]\nz.add_(1)',
  'total = sum(one.sum() for one in [item])\ntotal += 1',
];

const THROUGH: readonly Tricky[] = [
  ...WRITES.map((lines): Tricky => ({
    title: `written into behind the product: ${lines.replaceAll('\n', '; ')}`,
    tier: 'suggestion',
    reason: /^No gradient is taken through the product, behind which line \d+ (writes|may write) into `item`\.$/,
    untrue: true,
    forward: [OWN, ROWS, `y = ${SINK}`, ...lines.split('\n'), 'return y'],
    tail: ['def zero(t):', '    t.zero_()', '', 'def same(t):', '    return t'],
  })),
  ...NO_WRITES.map((lines): Tricky => ({
    title: `not written into behind the product: ${lines.replaceAll('\n', '; ')}`,
    tier: 'safe',
    forward: [OWN, ROWS, `y = ${SINK}`, ...lines.split('\n'), 'return y'],
  })),
];

/** Who asks for the gradient of a copy, which the product would no longer go through. */
const HOOKS: readonly Tricky[] = [
  'if u.requires_grad: u.register_hook(lambda g: g * 3)',
  'if u.requires_grad: u.retain_grad()',
  'v = u.view(-1)\nif v.requires_grad: v.register_hook(print)',
  'if x.requires_grad: x.register_hook(lambda g: g * 3)',
  'g = torch.autograd.grad(y.sum(), u, retain_graph=True)',
  'y.sum().backward(inputs=[u], retain_graph=True)',
].flatMap((lines) =>
  [ROWS, 'u = user.unsqueeze(1).expand(-1, n, -1)'].map((copy): Tricky => ({
    title: `a gradient of the copy: ${copy}; ${lines.replaceAll('\n', '; ')}`,
    tier: 'none',
    reason: /asks for the gradient of `[uvx]`, through which the product would no longer go/,
    forward: [copy, CAT, 'y = self.fc(x)', ...lines.split('\n'), 'return y'],
  })),
);

const NAMES: readonly Tricky[] = [
  {
    title: 'a method that sets the source',
    tier: 'none',
    reason: /may set `rows`/,
    forward: ['self.rows = user', 'u = self.rows.repeat_interleave(n, dim=0)', 'z = self.reset()', `return ${SINK}`],
    tail: method('def reset(self):', '    self.rows = None', '    return 1'),
  },
  {
    title: 'a method that sets something else',
    tier: 'safe',
    forward: ['self.rows = user', 'u = self.rows.repeat_interleave(n, dim=0)', 'z = self.note()', `return ${SINK}`],
    tail: method('def note(self):', '    self.last = None', '    return 1'),
  },
  {
    title: 'a closure that binds the source',
    tier: 'none',
    reason: /may set `user`|bound again/,
    forward: between('def bump():', '    nonlocal user', '    user = user * 2', '    return 1', 'z = bump()'),
  },
  {
    title: 'a function that sets a global count',
    tier: 'none',
    reason: /may set `N`/,
    head: ['N = 2', '', 'def count(k):', '    global N', '    N = k', '    return k'],
    forward: ['z = count(n)', 'u = user.repeat_interleave(N, dim=0)', 'z = count(1)', `return ${SINK}`],
  },
  {
    title: 'a property',
    tier: 'none',
    reason: /`self.rows` may have an effect/,
    forward: ['self.at = user', 'u = self.rows.repeat_interleave(n, dim=0)', `return ${SINK}`],
    tail: method('@property', 'def rows(self):', '    self.at = self.at * 2', '    return self.at'),
  },
  {
    title: 'a property as count',
    tier: 'none',
    reason: /`self.count` may have an effect/,
    forward: ['self.k = n', 'u = user.repeat_interleave(self.count, dim=0)', 'self.k = 9', `return ${SINK}`],
    tail: method('@property', 'def count(self):', '    return self.k'),
  },
  {
    title: 'a walrus in the product’s statement',
    tier: 'safe',
    forward: [ROWS, `return (user := 2) * ${SINK}`],
  },
  { title: 'a walrus of another name', tier: 'safe', forward: [ROWS, `return (k := 2) * ${SINK}`] },
  {
    title: 'a walrus inside the concatenation',
    tier: 'safe',
    forward: [ROWS, 'return self.fc(torch.cat([u, (item := item * 2)], dim=-1)) + item.sum()'],
  },
  { title: 'the target of the product’s statement', tier: 'safe', forward: [ROWS, `user = ${SINK}`, 'return user'] },
  { title: 'an item as target', tier: 'safe', forward: ['out = {}', ROWS, `out[n] = ${SINK}`, 'return out'] },
  { title: 'a sum as target', tier: 'safe', forward: ['y = item.sum()', ROWS, `y += ${SINK}.sum()`, 'return y'] },
  {
    title: 'deleted names',
    tier: 'suggestion',
    reason: /is still made/,
    forward: [ROWS, CAT, 'del u', 'return self.fc(x)'],
  },
  {
    title: 'a swap',
    tier: 'safe',
    forward: [ROWS, 'user, item = item, user', 'return self.fc(torch.cat([u, user], dim=-1)) + item.sum()'],
  },
  {
    title: 'a match statement that binds',
    tier: 'safe',
    forward: [ROWS, 'match [item]:', '    case [user]:', '        k = 1', `return ${SINK} * k + user.sum()`],
  },
];

const CONTROL: readonly Tricky[] = [
  {
    title: 'a copy that takes no gradient, of what does',
    tier: 'none',
    reason: /^Line \d+ says whether gradients flow to `user\.expand\(n, -1\)`\.$/,
    forward: ['with torch.no_grad():', '    u = user.expand(n, -1)', `return ${SINK}`],
  },
  {
    title: 'a view that takes no gradient',
    tier: 'safe',
    forward: [
      'with torch.no_grad():',
      '    u = user.unsqueeze(1).expand(-1, n, -1)',
      'item = item.unflatten(0, (user.shape[0], n))',
      `return ${SINK}`,
    ],
  },
  { title: 'a conditional expression', tier: 'safe', forward: [ROWS, `return ${SINK} if n > 1 else item.sum()`] },
  {
    title: 'a try',
    tier: 'safe',
    forward: ['try:', `    ${ROWS}`, `    y = ${SINK}`, 'except ValueError:', '    y = item', 'return y'],
  },
  {
    title: 'a finally that reads the copy',
    tier: 'suggestion',
    reason: /is still made/,
    forward: ['try:', `    ${ROWS}`, `    y = ${SINK}`, 'finally:', '    z = u.sum()', 'return y + z'],
  },
  {
    title: 'no_grad around the product',
    tier: 'safe',
    forward: [ROWS, 'with torch.no_grad():', `    y = ${SINK}`, 'return y'],
  },
  {
    title: 'no_grad around the copy',
    tier: 'none',
    reason: /on a branch that/,
    forward: ['with torch.no_grad():', `    ${ROWS}`, `return ${SINK}`],
  },
  {
    title: 'gradients on again',
    tier: 'none',
    reason: /turns gradients on again/,
    forward: [
      'with torch.no_grad():',
      `    ${ROWS}`,
      '    with torch.enable_grad():',
      `        y = ${SINK}`,
      'return y',
    ],
  },
  {
    title: 'autocast around the product',
    tier: 'safe',
    forward: [ROWS, "with torch.autocast('cpu', dtype=torch.bfloat16, enabled=False):", `    y = ${SINK}`, 'return y'],
  },
  {
    title: 'a coroutine that waits in between',
    tier: 'none',
    reason: /hands over to other code/,
    imports: ['import asyncio', 'import torch', 'import torch.nn as nn'],
    forward: [OWN, 'return asyncio.run(self.go(user, item, n))'],
    tail: method(
      'async def go(self, user, item, n):',
      '    u = user.repeat_interleave(n, dim=0)',
      '    await asyncio.sleep(0)',
      '    return self.fc(torch.cat([u, item], dim=-1))',
    ),
  },
  {
    title: 'a generator expression',
    tier: 'none',
    reason: /stands inside|computes|inside an expression/,
    forward: [
      'return sum(self.fc(torch.cat([(user * k).repeat_interleave(n, dim=0), item], dim=-1)) for k in range(2))',
    ],
  },
  {
    title: 'a lambda’s default',
    tier: 'none',
    reason: /does not get its copies by a statement of its own/,
    forward: [ROWS, 'g = lambda u=u: u.sum()', `return ${SINK} + g()`],
  },
  {
    title: 'checkpointing',
    tier: 'safe',
    imports: ['import torch', 'import torch.nn as nn', 'import torch.utils.checkpoint'],
    forward: ['return torch.utils.checkpoint.checkpoint(self.go, user, item, n, use_reentrant=False)'],
    tail: method(
      'def go(self, user: torch.FloatTensor, item: torch.FloatTensor, n):',
      '    u = user.repeat_interleave(n, dim=0)',
      '    return self.fc(torch.cat([u, item], dim=-1))',
    ),
  },
  {
    title: 'a try for sizes',
    tier: 'suggestion',
    reason: /^The `try` of line \d+ does not wait for sizes that do not match\.$/,
    forward: [
      'u = user.repeat_interleave(n, dim=0)',
      'try:',
      `    return ${SINK}`,
      'except RuntimeError:',
      '    return user',
    ],
  },
  {
    title: 'TorchScript',
    tier: 'suggestion',
    reason: /^`user` and `item` hold floating-point numbers of the weight's precision\.$/,
    forward: ['return score(user, item, n, self.fc.weight, self.fc.bias)'],
    tail: [
      '@torch.jit.script',
      'def score(user: torch.Tensor, item: torch.Tensor, n: int, w: torch.Tensor, b: torch.Tensor):',
      '    u = user.repeat_interleave(n, dim=0)',
      '    x = torch.cat([u, item], dim=-1)',
      '    return F.linear(x, w, b)',
    ],
  },
];

const LAYERS: readonly Tricky[] = [
  {
    title: 'tied weights',
    tier: 'safe',
    init: [FC, 'self.other = nn.Linear(10, 8)', 'self.fc.weight = self.other.weight'],
  },
  {
    title: 'a deep copy',
    tier: 'suggestion',
    reason: /is the linear layer of line/,
    imports: ['import copy', 'import torch', 'import torch.nn as nn'],
    init: ['self.base = nn.Linear(10, 8)', 'self.fc = copy.deepcopy(self.base)'],
  },
  {
    title: 'a weight norm under a name',
    tier: 'none',
    init: ['fc = nn.Linear(10, 8)', 'fc = nn.utils.parametrizations.weight_norm(fc)', 'self.fc = fc'],
  },
  {
    title: 'a norm for all layers',
    tier: 'none',
    reason: /without naming them/,
    init: [
      FC,
      'self.apply(lambda m: nn.utils.parametrizations.spectral_norm(m) if isinstance(m, nn.Linear) else None)',
    ],
  },
  {
    title: 'a hook for all layers',
    tier: 'none',
    reason: /without naming them/,
    init: [
      FC,
      'for m in self.modules():',
      '    if isinstance(m, nn.Linear):',
      '        m.register_forward_hook(lambda m, i, o: o * 2)',
    ],
  },
  {
    title: 'PyTorch’s layer replaced',
    tier: 'none',
    reason: /replaces `nn.Linear`/,
    head: [
      'class Patched(nn.Linear):',
      '    def forward(self, x):',
      '        return super().forward(x) * 2',
      '',
      'nn.Linear, PLAIN = Patched, nn.Linear',
    ],
    tail: ['nn.Linear = PLAIN'],
  },
  {
    title: 'attributes by hand',
    tier: 'none',
    reason: /`__setattr__` decides/,
    tail: method(
      'def __setattr__(self, k, v):',
      '    super().__setattr__(k, nn.Sequential(v, nn.Tanh()) if isinstance(v, nn.Linear) else v)',
    ),
  },
  {
    title: 'a buffer that is a vector',
    tier: 'none',
    reason: /`self.w` is no matrix/,
    init: ["self.register_buffer('w', torch.randn(10))"],
    forward: [ROWS, CAT, 'return F.linear(x, self.w)'],
  },
  { title: 'its forward called', tier: 'safe', forward: [ROWS, CAT, 'return self.fc.forward(x)'] },
  {
    title: 'a buffer',
    tier: 'safe',
    init: ["self.register_buffer('w', torch.randn(8, 10))"],
    forward: [ROWS, CAT, 'return F.linear(x, self.w)'],
  },
  {
    title: 'a block that an embedding looks up',
    tier: 'none',
    reason: /`item` may hold integers/,
    init: [FC, 'self.e = nn.Embedding(9, 4)'],
    forward: [ROWS, 'z = self.e(item.long().clamp(0, 8)).sum()', 'z = self.e(item)', `return ${SINK} + z`],
  },
  {
    title: 'scaled by a parameter in front of another layer',
    tier: 'safe',
    init: ['self.fc = nn.Linear(4, 8)', 'self.b = nn.Parameter(torch.randn(8))', 'self.o = nn.Linear(8, 3)'],
    forward: [ROWS, 'return self.o(self.fc(u).sigmoid() * self.b - 0.5)'],
  },
];

const TEXT: readonly Tricky[] = [
  {
    title: 'comments to tools',
    tier: 'safe',
    forward: [`${ROWS}  # type: ignore[union-attr]`, `${CAT}  # noqa: E501`, 'return self.fc(x)'],
  },
  {
    title: 'two statements in a line',
    tier: 'none',
    reason: /holds another statement/,
    forward: [`${ROWS}; ${CAT}`, 'return self.fc(x)'],
  },
  {
    title: 'continued lines',
    tier: 'safe',
    forward: [
      'u = user \\',
      '    .repeat_interleave(n, dim=0)',
      'x = torch.cat([u, \\',
      '    item], dim=-1)',
      'return \\',
      '    self.fc(x)',
    ],
  },
  {
    title: 'keyword arguments',
    tier: 'safe',
    forward: [ROWS, 'return F.linear(weight=self.fc.weight, input=torch.cat(tensors=[u, item], dim=-1))'],
  },
  {
    title: 'a splat of the list',
    tier: 'none',
    reason: /not written out/,
    forward: ['parts = [user.repeat_interleave(n, dim=0), item]', 'return self.fc(torch.cat([*parts], dim=-1))'],
  },
  {
    title: 'a formatted string',
    tier: 'suggestion',
    reason: /is still made/,
    forward: [ROWS, "self.note = f'{u.shape}'", `return ${SINK}`],
  },
  {
    title: 'annotated names',
    tier: 'safe',
    forward: [
      'u: torch.Tensor = user.repeat_interleave(n, dim=0)',
      'x: torch.Tensor = torch.cat([u, item], dim=-1)',
      'return self.fc(x)',
    ],
  },
  {
    title: 'two names for the copy',
    tier: 'none',
    reason: /does not get its copies by a statement of its own/,
    forward: ['u = v = user.repeat_interleave(n, dim=0)', `return ${SINK} + v.sum()`],
  },
];

export const TRICKY: readonly Tricky[] = [
  ...CALLS,
  ...STAYS,
  ...BEHIND,
  ...THROUGH,
  ...HOOKS,
  ...NAMES,
  ...CONTROL,
  ...LAYERS,
  ...TEXT,
];
