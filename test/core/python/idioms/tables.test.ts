/** Functions that dictionaries hold, under keys that are known or not. */
import { check } from '../../check';
import { idioms } from './idioms';

idioms('functions in dictionaries', {
  'by a key that is not known': `
def spread(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB102 -> direct
def tiled(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB102 -> got
def wide(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB102 -> chosen
def same(x, n):
    return x
OPS = {'spread': spread, 'same': same}
OTHERS = {'tiled': tiled, 'same': same}
MORE = {'wide': wide, 'same': same}
def chosen(kind):
    return MORE[kind]
module Net(d):
    self.fc = nn.Linear(d, d)
    def direct(self, x, n, kind):
        return self.fc(OPS[kind](x, n))  #= direct
    def named(self, x, n, kind):
        op = OTHERS.get(kind)
        return self.fc(op(x, n))  #= got
    def given(self, x, n, kind):
        return self.fc(chosen(kind)(x, n))  #= chosen
`,
  'that a constructor chooses': `
def spread(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB102 -> kept
def same(x, n):
    return x
OPS = {'spread': spread, 'same': same}
module Net(d, kind):
    self.fc = nn.Linear(d, d)
    self.op = OPS[kind]
    def forward(self, x, n):
        return self.fc(self.op(x, n))  #= kept
`,
  'of an object, of its class, and of another class': `
def spread(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB102 -> own
def tiled(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB102 -> shared
def far(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB102 -> table
def same(x, n):
    return x
class Table:
    ops = {'far': far, 'same': same}
class Net(nn.Module):
    OPS = {'tiled': tiled, 'same': same}
    def __init__(self, d, kind):
        super().__init__()
        self.fc = nn.Linear(d, d)
        self.kind = kind
        self.ops = {'spread': spread, 'same': same}
        self.bound = {'wide': self.wide, 'plain': self.plain}
    def wide(self, x, n):
        return x.repeat_interleave(n, dim=0)  #! IKB102 -> bound
    def plain(self, x, n):
        return x
    def own(self, x, n):
        return self.fc(self.ops[self.kind](x, n))  #= own
    def shared(self, x, n):
        return self.fc(self.OPS[self.kind](x, n))  #= shared
    def methods(self, x, n, kind):
        return self.fc(self.bound[kind](x, n))  #= bound
    def table(self, x, n):
        return self.fc(Table.ops['far'](x, n))  #= table
`,
  'filled entry by entry, made by a call, and of lambdas': `
def spread(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB102 -> later
def tiled(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB102 -> called
LATER = {}
LATER['spread'] = spread
LATER['same'] = lambda x, n: x
CALLED = dict(tiled=tiled)
LAMBDAS = {'wide': lambda x, n: x.repeat_interleave(n, dim=0), 'same': lambda x, n: x}  #! IKB102 -> lambda
module Net(d):
    self.fc = nn.Linear(d, d)
    def later(self, x, n, kind):
        return self.fc(LATER[kind](x, n))  #= later
    def called(self, x, n):
        return self.fc(CALLED['tiled'](x, n))  #= called
    def lambdas(self, x, n, kind):
        return self.fc(LAMBDAS[kind](x, n))  #= lambda
`,
  'none of which makes copies that reach a product': `
def ids(x, n):
    return x.repeat_interleave(n, dim=0)
def same(x, n):
    return x
OPS = {'ids': ids, 'same': same}
ACTIVATIONS = {'relu': torch.relu, 'gelu': F.gelu, 'tall': lambda x: x.expand(-1, 4)}
def noisy(x, n):
    y = x.repeat_interleave(n, dim=0)
    return y + torch.randn_like(y)
NOISY = {'noisy': noisy, 'same': same}
module Net(d, act):
    self.fc = nn.Linear(d, d)
    self.emb = nn.Embedding(d, d)
    self.act = ACTIVATIONS[act]
    def embedded(self, x, n):
        return self.fc(self.emb(OPS['ids'](x, n)))
    def other(self, x, n, key):
        OPS = self.made
        return self.fc(OPS[key](x, n))
    def noise(self, x, n, kind):
        return self.fc(NOISY[kind](x, n))
`,
});

const OPERATORS = `import torch
from functools import partial
from copies import spread

def same(x, n):
    return x

OPS = {'spread': spread, 'same': same}
LAMBDAS = {'spread': lambda x, n: x.repeat_interleave(n, dim=0), 'same': lambda x, n: x}
PARTIAL = {'by_four': partial(spread, n=4)}
CALLED = dict(spread=spread, same=same)
LATER = {}
LATER['spread'] = spread
SIZES = {'small': 1, 'large': 4}
QUIET = {'same': same}

class Table:
    ops = {'spread': spread, 'same': same}

def chosen(kind):
    return OPS[kind]
`;
const FILES: Readonly<Record<string, string>> = {
  'operators.py': OPERATORS,
  'copies.py': 'import torch\n\ndef spread(x, n):\n    return x.repeat_interleave(n, dim=0)\n',
};

describe('functions in dictionaries of other files', () => {
  it('are followed however the dictionary is reached, and silent where they copy nothing', () =>
    check(
      `
import operators
from operators import CALLED, LAMBDAS, LATER, OPS, PARTIAL, QUIET, SIZES, Table, chosen
class Net(nn.Module):
    def __init__(self, d, kind):
        super().__init__()
        self.fc = nn.Linear(d, d)
        self.op = OPS[kind]
        self.made = chosen(kind)
        self.far = operators.OPS[kind]
    def forward(self, x, n, kind):
        a = self.fc(OPS['spread'](x, n))  #! IKB102 -> key #= key
        b = self.fc(OPS[kind](x, n))  #! IKB102 -> any #= any
        c = self.fc(LAMBDAS[kind](x, n))  #! IKB102 -> lambda #= lambda
        d = self.fc(PARTIAL['by_four'](x))  #! IKB102 -> partial #= partial
        e = self.fc(CALLED['spread'](x, n))  #! IKB102 -> called #= called
        f = self.fc(LATER['spread'](x, n))  #! IKB102 -> later #= later
        g = self.fc(Table.ops['spread'](x, n))  #! IKB102 -> class #= class
        h = self.fc(OPS.get(kind)(x, n))  #! IKB102 -> got #= got
        return a, b, c, d, e, f, g, h
    def kept(self, x, n):
        return self.fc(self.op(x, n))  #! IKB102 -> kept #= kept
    def built(self, x, n):
        return self.fc(self.made(x, n))  #! IKB102 -> built #= built
    def member(self, x, n):
        return self.fc(self.far(x, n))  #! IKB102 -> member #= member
    def function(self, x, n, kind):
        return self.fc(chosen(kind)(x, n))  #! IKB102 -> function #= function
    def quiet(self, x, n, kind):
        y = self.fc(OPS['same'](x, n))
        return self.fc(QUIET[kind](x, SIZES['large'])) + y
`,
      { files: { read: (path) => FILES[path] } },
    ).then(() => undefined));
});

const BRANCHES = (stored: string, read: string): string => `
module Net(d):
    self.fc = nn.Linear(d, d)
    def forward(self, samples, kinds, n):
        kinds = [kind for kind in kinds if kind in samples]
        rows = {}
        for kind in kinds:
            x = samples[kind]
${stored}
        out = {}
        for kind in kinds:
            if ${read}:
                out[kind] = rows[kind].sum(0)
            else:
                out[kind] = self.fc(rows[kind])  #= fc
        return out
`;
const COPIED = 'x.repeat_interleave(n, dim=0)';
const choice = (test: string, yes: string): string => `
            if ${test}:
                rows[kind] = ${yes}
            else:
                rows[kind] = x`;

idioms('tensors that a loop keeps by its variable', {
  'come to where another loop reads them': BRANCHES(`            rows[kind] = ${COPIED}  #! IKB102 -> fc`, "kind == 'video'"), // prettier-ignore
  'also from a branch that did not compare it': BRANCHES(choice('n > 1', `${COPIED}  #! IKB102 -> fc`), "kind in ('audio', 'video')"), // prettier-ignore
  'and where no branch compares it': BRANCHES(choice("kind == 'video'", `${COPIED}  #! IKB102 -> fc`), 'n > 2'),
  'perhaps not from a branch that compared it, to one that does': BRANCHES(choice("kind == 'video'", COPIED), "kind in ('audio', 'video')"), // prettier-ignore
});
