import assert from 'node:assert/strict';
import { check, engineForTests } from '../check';

const CASES: Readonly<Record<string, string>> = {
  'a helper function': `
def repeat_kv(x, n_rep):
    b, h, s, d = x.shape
    if n_rep == 1:
        return x
    x = x[:, :, None].expand(b, h, n_rep, s, d)  #! IKB202 -> sdpa
    return x.reshape(b, h * n_rep, s, d)

class Attention(nn.Module):
    def forward(self, q, k, v):
        k = repeat_kv(k, self.n_rep)
        v = repeat_kv(v, self.n_rep)
        return F.scaled_dot_product_attention(q, k, v)  #= sdpa
`,
  'made in an elif, where the else raises': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(2 * d, d)
    def forward(self, user, cand, kind):
        if kind == 'rows':
            u = user
        elif kind == 'copies':
            u = user.repeat_interleave(4, dim=0)  #! IKB101 -> fc
        else:
            raise ValueError(kind)
        return self.fc(torch.cat([u, cand], dim=-1))  #= fc
`,
  'a sink in a wrapper': `
def attend(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)  #= sdpa

def run(q, k, v, n):
    k = k.repeat_interleave(n, dim=0)  #! IKB201 -> sdpa
    return attend(q, k, value=v)
`,
  'a method that returns several values': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def pair(self, user, n):
        return user.repeat(n, 1), n  #! IKB101 -> fc
    def forward(self, user, cand, n):
        u, _ = self.pair(user, n)
        return self.fc(torch.cat([u, cand], dim=-1))  #= fc
`,
  'a module of the file, its layers from a loop': `
class MLP(nn.Module):
    def __init__(self, dims):
        super().__init__()
        layers = []
        for a, b in zip(dims[:-1], dims[1:]):
            layers.append(nn.Linear(a, b))
            layers.append(nn.ReLU())
        self.net = nn.Sequential(*layers)
    def forward(self, x):
        return self.net(x)  #= net

class M(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.mlp = MLP(dims)
    def forward(self, user, cand, n):
        u = user.unsqueeze(1).expand(-1, n, -1)  #! IKB101 -> net
        return self.mlp(torch.cat([u, cand], -1))
`,
  'a layer of the base class': `
class Base(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)

class M(Base):
    def __init__(self, d):
        super().__init__(d)
        self.d = d
    def forward(self, user, n):
        return self.fc(user.repeat(n, 1))  #! IKB102 -> fc #= fc
`,
  'a mixin': `
class Mixin:
    def forward(self, user, n):
        return self.project(user.repeat(n, 1))  #! IKB102 -> fc

class M(Mixin, nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def project(self, x):
        return self.fc(x)  #= fc
`,
  'one branch only': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x, user, n):
        if self.use_user:
            x = torch.cat([x, user.unsqueeze(1).expand(-1, n, -1)], -1)  #! IKB101 -> fc
        return self.fc(x)  #= fc
`,
  'both branches': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x, user, n, flag):
        if flag:
            u = user.repeat(n, 1)  #! IKB102 -> fc
        else:
            u = user.repeat_interleave(n, 0)  #! IKB102 -> fc
        return self.fc(u)  #= fc
`,
  'a conditional expression': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, user, n):
        u = user.repeat(n, 1) if user.dim() == 2 else user  #! IKB102 -> fc
        return self.fc(u)  #= fc
`,
  'noise on one branch': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, user, n):
        u = user.repeat(n, 1)
        if self.noisy:
            u = u + torch.randn_like(u)
        return self.fc(u)
`,
  'a loop over layers': `
class M(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(depth)])
    def forward(self, user, n):
        x = user.repeat(n, 1)  #! IKB102 -> layer
        for layer in self.layers:
            x = layer(x)  #= layer
        return x
`,
  'copies of each of a list': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.encoder = nn.LSTM(d, d)
        self.decoder = nn.LSTM(2 * d, d)
    def codes(self, x):
        codes = []
        for part in self.parts(x):
            codes.append(torch.cat([part[:, 0], part[:, -1]], dim=-1))
        return codes
    def forward(self, x, y):
        each = []
        for code in self.codes(x):
            each.append(code.unsqueeze(1).expand(-1, 8, -1))  #! IKB101 -> decoder
        return self.decoder(torch.cat((torch.cat(each, dim=1), y), dim=-1))  #= decoder
`,
  'the last of a list that grew': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, levels, user, n):
        copies = []
        for level in levels:
            copies.append(user.repeat(n, 1))  #! IKB102 -> fc
        return self.fc(copies[-1])  #= fc
`,
  'one of several that one call made': `
class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)  #= fc
class M(nn.Module):
    def __init__(self, d, shared):
        super().__init__()
        self.shared = shared
        self.common = self.net(d)
        self.own = self.net(d)
    def net(self, d):
        return Net(d)
    def forward(self, user, n):
        net = self.common if self.shared else self.own
        return net(user.repeat(n, 1))  #! IKB102 -> fc
`,
  'what a later pass reads of a list that begins in the loop': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(3)])
        self.fc = nn.Linear(d, d)
    def forward(self, x, user, n):
        u = user.repeat(n, 1)  #! IKB101 -> fc
        before = []
        for layer in self.layers:
            if len(before) > 0:
                x = self.fc(torch.cat([u, before[-1]], dim=-1))  #= fc
            x = layer(x)
            before.append(x)
        return x
    def dense(self, x, user, n):
        u = user.repeat(n, 1)  #! IKB101 -> dense
        before = []
        for layer in self.layers:
            for y in before:
                x = x + self.fc(torch.cat([u, y], dim=-1))  #= dense
            before.append(layer(x))
        return x
`,
  'the last of a list from which others are taken, or that is turned around': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def window(self, levels, user, n):
        rows = [user.repeat(n, 1)]
        for level in levels:
            rows.append(level)
            rows.pop(0)
        return self.fc(rows[-1])
    def turned(self, levels, user, n):
        rows = [levels[0]]
        for level in levels:
            rows.append(user.repeat(n, 1))
        rows.reverse()
        return self.fc(rows[-1])
    def first(self, levels, user, n):
        rows = [levels[0]]
        for level in levels:
            rows.append(user.repeat(n, 1))  #! IKB102 -> first
        rows.reverse()
        return self.fc(rows[0])  #= first
`,
  'one of several that one call made, with other flags': `
class Net(nn.Module):
    def __init__(self, d, plain):
        super().__init__()
        self.plain = plain
        self.fc = nn.Linear(d, d)
    def forward(self, u, x):
        if self.plain:
            return x
        return self.fc(torch.cat([u, x], dim=-1))  #= fc
class M(nn.Module):
    def __init__(self, d, shared):
        super().__init__()
        self.shared = shared
        self.common = self.net(d, True)
        self.own = self.net(d, False)
    def net(self, d, plain):
        return Net(d, plain)
    def forward(self, user, x, n):
        net = self.common if self.shared else self.own
        return net(user.repeat(n, 1), x)  #! IKB101 -> fc
`,
  'functools.partial': `
import functools
def attend(scale, q, k, v):
    return F.scaled_dot_product_attention(q, k, v, scale=scale)  #= sdpa

def run(q, k, v, n):
    f = functools.partial(attend, 1.0)
    return f(q, k.repeat_interleave(n, dim=0), v)  #! IKB201 -> sdpa
`,
  'a lambda over three values': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
    def forward(self, user, n):
        u = user.unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> qkv
        q, k, v = map(lambda t: rearrange(t, 'b n (h d) -> b h n d', h=8), self.qkv(u).chunk(3, dim=-1))  #= qkv
        return q @ k.transpose(-1, -2)
`,
  'in place through another name': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, user, n):
        u = user.repeat(n, 1)
        w = u.view(-1, 8)
        w[0] = 1
        return self.fc(u)
`,
  'statements of the module': `
fc = nn.Linear(96, 8)
u = user.repeat_interleave(10, dim=0)  #! IKB101 -> fc
x = torch.cat([u, item], dim=-1)
y = fc(x)  #= fc
`,
  'a layer of the module in a function': `
fc = nn.Linear(96, 8)

def score(user, item, n):
    u = user.repeat_interleave(n, dim=0)  #! IKB101 -> fc
    return fc(torch.cat([u, item], -1))  #= fc
`,
  'a module that the file makes': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)  #= fc

model = M(8)
for batch in loader:
    y = model(user.repeat(batch.shape[0], 1))  #! IKB102 -> fc
`,
  'recursion ends': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, user, n):
        if n > 1:
            return self.forward(user.repeat(2, 1), n - 1)  #! IKB102 -> fc
        return self.fc(user)  #= fc
`,
};

describe('flow', () => {
  for (const [name, source] of Object.entries(CASES)) it(name, async () => void (await check(source)));

  it('says under which condition', async () => {
    const [finding] = await check(CASES['one branch only']!);
    assert.match(finding!.message, /\(when self\.use_user\)/);
  });
});

const FILES: Readonly<Record<string, string>> = {
  'pkg/__init__.py': 'from .layers import MLP\n',
  'pkg/layers.py': `import torch.nn as nn
class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, d), nn.ReLU())
    @classmethod
    def narrow(cls, d):
        return cls(d // 2)
    def forward(self, x):
        return self.net(x)
class Scorer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, 1)
    def forward(self, user, cand, n):
        return self.fc(self.features(user, cand, n))
`,
  'pkg/helpers.py': `def repeat_rows(x, n):
    return x.repeat_interleave(n, dim=0)
def pair_features(a, b, n):
    import torch
    return torch.cat([a.unsqueeze(1).expand(-1, n, -1), b], dim=-1)
`,
};
const files = { read: (path: string): string | undefined => FILES[path] };

describe('across files', () => {
  const found = async (source: string) => {
    const analysis = (await engineForTests()).check('pkg/model.py', source, { files });
    return analysis.findings.map(
      (f) => `${f.rule} ${f.path}:${f.line} ${f.broadcast.path}:${f.broadcast.line} ${f.consumer.path}`,
    );
  };

  it('a module imported through the package', async () => {
    const source = `import torch
from torch import nn
from pkg import MLP
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mlp = MLP(d)
    def forward(self, user, cand, n):
        return self.mlp(torch.cat([user.repeat(n, 1), cand], -1))
`;
    assert.deepEqual(await found(source), ['IKB101 pkg/model.py:9 pkg/model.py:9 pkg/layers.py']);
  });

  it('a helper that repeats: the call is the broadcast', async () => {
    const source = `import torch
from .helpers import repeat_rows
def f(q, k, v, n):
    k = repeat_rows(k, n)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
`;
    assert.deepEqual(await found(source), ['IKB201 pkg/model.py:4 pkg/model.py:4 pkg/model.py']);
  });

  it('a helper that builds features: the broadcast is inside', async () => {
    const source = `import torch
from torch import nn
from . import helpers
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, a, b, n):
        x = helpers.pair_features(a, b, n)
        return self.fc(x)
`;
    assert.deepEqual(await found(source), ['IKB101 pkg/model.py:9 pkg/helpers.py:5 pkg/model.py']);
  });

  it('a factory method of an imported module', async () => {
    const source = `import torch
from torch import nn
from pkg import MLP
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mlp = MLP.narrow(d)
    def forward(self, user, cand, n):
        return self.mlp(torch.cat([user.repeat(n, 1), cand], -1))
`;
    assert.deepEqual(await found(source), ['IKB101 pkg/model.py:9 pkg/model.py:9 pkg/layers.py']);
  });

  it('a method that an inherited forward calls', async () => {
    const source = `import torch
from .layers import Scorer
class M(Scorer):
    def features(self, user, cand, n):
        return torch.cat([user.repeat(n, 1), cand], -1)
`;
    assert.deepEqual(await found(source), ['IKB101 pkg/model.py:5 pkg/model.py:5 pkg/layers.py']);
  });

  it('a forward that calls what a subclass defines', async () => {
    const source = `import torch
from torch import nn
class Base(nn.Module):
    def forward(self, user, cand, n):
        return self.score(torch.cat([user.repeat(n, 1), cand], -1))
class M(Base):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def score(self, x):
        return self.fc(x)
`;
    assert.deepEqual(await found(source), ['IKB101 pkg/model.py:5 pkg/model.py:5 pkg/model.py']);
  });
});
