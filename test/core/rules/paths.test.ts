/** What messages say of the way from a copy to a product: conditions, costs and what stands against a rewrite. */
import assert from 'node:assert/strict';
import { findingsOf, theEngine } from '../rewrite/cases';

const HEAD = 'import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n';

/** A message function of a graph library: its parameters `x_i` and `x_j` have been gathered. */
const message = (...body: readonly string[]): string => `${HEAD}
from torch_geometric.nn import MessagePassing

class Linear(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n, k))

    def forward(self, x):
        return F.linear(x, self.weight)

class Conv(MessagePassing):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 8)
        self.own = Linear(16, 8)

    def forward(self, x, edge_index, edge_attr=None):
        return self.propagate(edge_index, x=x, edge_attr=edge_attr)

    def message(self, x_j, edge_attr=None):
${body.map((line) => `        ${line}\n`).join('')}`;

/** Layers of another class, which `call` gives the copies; `forward` is what its layers do with them. */
const layers = (call: readonly string[], forward: readonly string[]): string => `${HEAD}
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 8)

    def forward(self, x, mask=None, kind='a'):
${forward.map((line) => `        ${line}\n`).join('')}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()
        self.blocks = nn.ModuleList([Layer() for _ in range(4)])

    def forward(self, x, n, mask=None):
        u = x.unsqueeze(1).repeat(1, n, 1)
${call.map((line) => `        ${line}\n`).join('')}`;

const PROJECT = ['return self.fc(x)'];

/** A network that whoever makes the module hands over, or not. */
const handedOver = (made: string, ...body: readonly string[]): string => `${HEAD}
class Model(nn.Module):
    def __init__(self, net=None):
        super().__init__()
        self.net = net

    def forward(self, x, n):
        u = x.unsqueeze(1).repeat(1, n, 1)
${body.map((line) => `        ${line}\n`).join('')}
def test():
    ${made}
`;

describe('messages say under which conditions', () => {
  const check = (title: string, text: string, expected: RegExp): void => {
    it(title, async () => {
      const [first] = await findingsOf(text);
      assert.match(first?.message ?? 'no finding', expected);
    });
  };
  const branched = [
    'if edge_attr is not None:',
    '    x_j = self.own(torch.cat([x_j, edge_attr], dim=-1))',
    'return x_j',
  ];
  check('a product takes what was gathered', message(...branched), /^`x_j` .* \(when edge_attr is not None\);/);
  check('none, where both branches do', message('h = x_j', 'return self.own(h)'), /of \w+\.py;|`F\.linear`;/);
  check(
    'a layer is called',
    layers(['if self.deep:', '    return self.layer(u)', 'return u'], PROJECT),
    /\(when self\.deep\)/,
  );
  check(
    'none, where both calls are',
    layers(['if self.deep:', '    return self.layer(u)', 'return self.layer(u, mask)'], PROJECT),
    /before `self\.fc`, which/,
  );
  check(
    'a called function projects',
    layers(['return self.layer(u, mask)'], ['if mask is not None:', '    return self.fc(x)', 'return x']),
    /before `self\.fc` \(on some paths\), which/,
  );
  const optional = ['if self.net is not None:', '    u = self.net(u)', 'return u'];
  check(
    'a network is there that a test alone hands over',
    handedOver('Model(nn.Linear(16, 8))', ...optional),
    /before `self\.net` \(when self\.net is not None\), which/,
  );
  check(
    'one of several that are handed over is there',
    handedOver('Model(nn.Linear(16, 8)), Model(nn.Sequential(nn.Linear(16, 8), nn.ReLU()))', ...optional),
    /before `self\.net` \(when self\.net is not None, on some paths\), which/,
  );
  check(
    'a network is there that callers of a function hand over',
    `${HEAD}
def score(x, n, net=None):
    u = x.unsqueeze(1).repeat(1, n, 1)
    return net(u) if net else u

def test(options, x):
    options.update({'net': nn.Linear(16, 8)})
    print(score(x, 4, **options))
`,
    /before `net` \(when net\), which/,
  );
  check(
    'none, where nothing asks for the network that is handed over',
    handedOver('Model(nn.Linear(16, 8))', 'return self.net(u)'),
    /before `self\.net`, which/,
  );
  check(
    'none, where it projects on both',
    layers(
      ['return self.layer(u, mask)'],
      ['if mask is not None:', '    return self.fc(x)', 'return self.fc(x).relu()'],
    ),
    /before `self\.fc`, which/,
  );
  check(
    'none, where all else raises',
    layers(
      ['return self.layer(u, None, kind)'].map((line) => line.replace('kind', 'self.kind')),
      [
        "if kind == 'a':",
        '    return self.fc(x)',
        "elif kind == 'b':",
        '    return self.fc(x).relu()',
        'else:',
        '    raise ValueError(kind)',
      ],
    ),
    /before `self\.fc`, which/,
  );
  check(
    'none, where a size is checked first',
    layers(['if x.shape[-1] != self.width:', '    raise ValueError(x.shape)', 'return self.layer(u)'], PROJECT),
    /before `self\.fc`, which/,
  );
  check(
    'none, where training drops layers',
    layers(['if not (self.training and self.chance < self.layerdrop):', '    u = self.layer(u)', 'return u'], PROJECT),
    /before `self\.fc`, which/,
  );
});

describe('costs and reasons', () => {
  const check = (
    title: string,
    text: string,
    expected: { flops?: string; reason?: RegExp; message?: RegExp },
  ): void => {
    it(title, async () => {
      const [first] = (await theEngine()).check('model.py', text, { hints: true }).findings;
      assert.ok(first, 'no finding');
      if (expected.flops !== undefined) assert.equal(first.cost.flops, expected.flops);
      if (expected.reason) assert.match(first.rewrites[0]?.reason ?? '', expected.reason);
      if (expected.message) assert.match(first.message, expected.message);
    });
  };
  const gathered = /^`x_j` is gathered before `Conv\.message` is called: to project the nodes first/;
  check('who gathers for a message function', message('return self.fc(x_j)'), { reason: gathered });
  check('who gathers, where a layer of the project projects', message('return self.own(x_j)'), { reason: gathered });
  check('who gathers, where only a branch projects', message('if self.deep:', '    x_j = self.fc(x_j)', 'return x_j'), {
    reason: gathered,
  });
  const function_ = (...body: readonly string[]): string =>
    `${HEAD}\ndef run(x, edge_index, matrix, model):\n${body.map((line) => `    ${line}\n`).join('')}`;
  check('a matrix multiplies edges in vain', function_('row, col = edge_index', 'return x[row] @ matrix'), {
    flops: '?',
  });
  check(
    'a decoder projects the keys of all copies',
    function_('x = x.repeat_interleave(4, dim=0)', 'return model(encoder_hidden_states=x)'),
    { flops: '?' },
  );
  const token = (...use: readonly string[]): string => `${HEAD}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 16))
        self.fc, self.rest = nn.Linear(16, 8), nn.Linear(16, 8)

    def forward(self, x):
        b, n, _ = x.shape
        x = torch.cat((self.token.expand(b, -1, -1), x), dim=1)
${use.map((line) => `        ${line}\n`).join('')}`;
  check('a token among other rows', token('return self.fc(x)'), {
    message: /^`self\.token` is copied `b` times into the rows that `self\.fc` reads;/,
    reason: /^The copies are rows among others/,
  });
  check(
    'a token that is taken out of other rows',
    token('first, others = x.split((1, n), dim=1)', 'return self.fc(first), self.rest(others)'),
    {
      message: /^`self\.token` is copied `b` times before `self\.fc`, which then computes equal rows/,
      reason: /^The copies are joined with other rows on the way and taken out again/,
      flops: '(b - 1)*16*8*2',
    },
  );
  const networks = `${HEAD}
from torch_geometric.nn import MessagePassing

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 8)

    def forward(self, x):
        return self.fc(x)

class Edges(MessagePassing):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def message(self, x_i, x_j):
        return self.net(torch.cat([x_i, x_j - x_i], dim=-1))

first = Edges(nn.Sequential(nn.Linear(6, 8), nn.ReLU()))
second = Edges(Small())
`;
  check('a width of one of the networks that are handed in', networks, {
    message: /^the contracted size of `self\.net` \(on some paths\): 6/,
  });
});

describe('the chain calls a class by its name', () => {
  const check = (made: string, imported: string, copies: string, expected: string): void => {
    it(made, async () => {
      const text = `${HEAD}${imported}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = ${made}

    def forward(self, user, x, n):
        return self.fc(torch.cat([${copies}, x], dim=${copies.includes('unsqueeze') ? -1 : 1}))
`;
      const [first] = await findingsOf(text);
      assert.equal(first?.chain.at(-1)?.what, `${expected} reads every copy`);
    });
  };
  const rows = 'user.unsqueeze(1).repeat(1, n, 1)';
  const parallel = 'from fairscale.nn.model_parallel.layers import ColumnParallelLinear';
  check('nn.Linear(32, 8)', '', rows, 'nn.Linear');
  check('Lin(32, 8)', 'from torch.nn import Linear as Lin', rows, 'nn.Linear');
  check('ColumnParallelLinear(32, 8)', parallel, rows, 'ColumnParallelLinear');
  check('cnn.ConvModule(32, 8, 1)', 'from mmcv import cnn', 'user.repeat(1, 1, n, n)', 'ConvModule');
});

describe('sizes of a class that several instances have', () => {
  const check = (title: string, made: readonly [string, string], parameter: string, bytes: string): void => {
    it(title, async () => {
      const text = `${HEAD}
class Tokens(nn.Module):
    def __init__(self, ${parameter}, kind):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, ${parameter}))

    def forward(self, x):
        return torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)

class Model(nn.Module):
    def __init__(self, small, large):
        super().__init__()
        self.first, self.second = Tokens(${made[0]}, 'a'), Tokens(${made[1]}, 'b')
        self.fc, self.out = nn.Linear(${made[0]}, 8), nn.Linear(${made[1]}, 8)

    def forward(self, x, y):
        return self.fc(self.first(x)), self.out(self.second(y))
`;
      const findings = await findingsOf(text);
      assert.deepEqual(
        findings.map(({ cost }) => cost.bytes),
        [bytes],
      );
    });
  };
  check('are called what the class calls them', ['small', 'large'], 'dim', 'dim*x.shape[0]*2');
  check('whatever the name', ['small', 'large'], 'width', 'width*x.shape[0]*2');
  check('also where both say the same', ['small', 'small'], 'small', 'small*x.shape[0]*2');
});

describe('a length that is asserted behind appended copies', () => {
  const check = (title: string, assertion: string, expected: RegExp): void => {
    it(title, async () => {
      const text = `${HEAD}
class Attention(nn.Module):
    def __init__(self, d, bias):
        super().__init__()
        self.bias_k = nn.Parameter(torch.zeros(1, 1, d)) if bias else None
        self.bias_v = nn.Parameter(torch.zeros(1, 1, d)) if bias else None

    def forward(self, attn, k, v):
        n = k.size(0)
        if self.bias_k is not None:
            k = torch.cat([k, self.bias_k.repeat(1, k.size(1), 1)])
            v = torch.cat([v, self.bias_v.repeat(1, v.size(1), 1)])
        k = k.transpose(0, 1)
        v = v.transpose(0, 1)
        ${assertion}
        return torch.bmm(attn, v), k
`;
      const [first] = await findingsOf(text);
      assert.match(first?.message ?? 'no finding', expected);
    });
  };
  const own = 'self.bias_k is not None';
  check('is a condition', 'assert k.size(1) == n', new RegExp(`\\(when k\\.size\\(1\\) == n and ${own}\\)`));
  check('is none of what nothing was appended to', 'assert attn.size(1) == n', new RegExp(`\\(when ${own}\\)`));
  check('is none of the width', 'assert k.dim() == 3', new RegExp(`\\(when ${own}\\)`));
});

describe('what a layer of a loop in another class is asked', () => {
  const check = (title: string, test: string, expected: RegExp): void => {
    it(title, async () => {
      const text = `${HEAD}
class Stack(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.layers = nn.ModuleList([])
        for i in range(depth):
            self.layers.append(nn.ModuleList([nn.Linear(d, d) if i > depth / 2 else None, nn.Linear(d, d)]))

    def forward(self, x, deep):
        for skip, fc in self.layers:
            if ${test}:
                x = x.cumsum(1)
            x = fc(x) + x
        return x

class Model(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.stack = Stack(d, depth)

    def forward(self, x, n, deep):
        return self.stack(x.unsqueeze(1).repeat(1, n, 1), deep)
`;
      const [first] = await findingsOf(text);
      assert.match(first?.message ?? 'no finding', expected);
    });
  };
  check('is no condition of copies that come to all layers', 'skip is not None', /`fc`, which/);
  check('is one where it is not of the layer', 'deep', /`fc` \(on some paths\), which/);
});

describe('a copy that a method gives back on a branch', () => {
  const check = (title: string, body: readonly string[], expected: RegExp): void => {
    it(title, async () => {
      const text = `${HEAD}
class Model(nn.Module):
    def __init__(self, d, kind=None):
        super().__init__()
        self.fc = nn.Linear(2 * d, 8)
        self.kind = kind

    def join(self, user, item):
        u = user.unsqueeze(1).repeat(1, item.shape[1], 1)
        return torch.cat([u, item], dim=-1)

    def forward(self, user, item):
${body.map((line) => `        ${line}\n`).join('')}`;
      const [first] = await findingsOf(text);
      assert.match(first?.message ?? 'no finding', expected);
    });
  };
  const branch = 'if self.kind is not None:';
  check(
    'is multiplied on that branch',
    [branch, '    x = self.join(user, item)', '    return self.fc(x)'],
    /`self\.fc`;/,
  );
  check('is multiplied on another one', ['x = self.join(user, item)', branch, '    return self.fc(x)'], /`self\.fc` \(on some paths\);/); // prettier-ignore
  check('is made on two branches, multiplied on one', [branch, '    x = self.join(user, item)', '    return self.fc(x)', 'return self.join(item, user)'], /`self\.fc` \(on some paths\);/); // prettier-ignore
  check('is multiplied on the other arm', [branch, '    return item', 'else:', '    return self.fc(self.join(user, item))'], /`self\.fc`;/); // prettier-ignore
  check('is made in two places, multiplied in one', ['y = self.join(user, item)', branch, '    x = self.join(user, item)', '    return self.fc(x)', 'return y'], /`self\.fc` \(on some paths\);/); // prettier-ignore
});

describe('a copied token that a layer takes out of all rows', () => {
  const check = (title: string, made: string, expected: RegExp): void => {
    it(title, async () => {
      const text = `${HEAD}
class Sub(nn.Module):
    def __init__(self, d, e):
        super().__init__()
        self.fc = ${made}

    def forward(self, x):
        token, x = x[:, :1], x[:, 1:]
        return torch.cat((self.fc(token), x), dim=1)

class Model(nn.Module):
    def __init__(self, d, e):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 1, d))
        self.sub = Sub(d, e)
        self.kv = nn.Linear(d, e)

    def forward(self, x):
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1)
        return self.sub(x), self.kv(x)
`;
      const [first] = await findingsOf(text);
      assert.match(first?.message ?? 'no finding', expected);
    });
  };
  check('comes to it always', 'nn.Linear(d, e)', /`self\.fc`, which/);
  check('comes to it sometimes, though all rows come to another layer', 'nn.Linear(d, e) if d != e else nn.Identity()', /`self\.fc` \(on some paths\), which/); // prettier-ignore
});
