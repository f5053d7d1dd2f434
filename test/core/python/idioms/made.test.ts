import assert from 'node:assert/strict';
import { engineForTests } from '../../check';
import { idioms } from './idioms';

idioms('idioms: how objects are made', {
  'a dataclass, whose layers are made behind its fields': `
from dataclasses import dataclass

@dataclass(eq=False)
class Field(nn.Module):
    width: int = 8
    depth: int = 2
    skips: tuple = ()

    def __post_init__(self):
        super().__init__()
        layers = []
        for i in range(self.depth):
            layers.append(nn.Linear(self.width, self.width))
        self.layers = nn.ModuleList(layers)

    def forward(self, points, code):
        x = torch.cat([points, code[0, None, :].expand(points.shape[0], -1)], dim=-1)  #! IKB101 -> layer
        for layer in self.layers:
            x = layer(x)  #= layer
        return x

class Scene(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.field = Field(width=d)
    def forward(self, points, latent):
        return self.field(points, latent)
`,
  'a part that each subclass makes in a method which the constructor of the base calls': `
class Base(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.encoder = self.make_encoder(d)
    def make_encoder(self, d):
        raise NotImplementedError
    def forward(self, x, code):
        wide = code[:, None].expand(-1, x.shape[1], -1)  #! IKB101 -> fc
        return self.encoder(torch.cat([x, wide], dim=-1))

class Plain(Base):
    def make_encoder(self, d):
        return Encoder(d)

module Encoder(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x):
        return self.fc(x)  #= fc
`,
  'a part of a class that the constructor asserts': `
module Blocks(d):
    self.to_q = nn.Linear(d, d)
    def forward(self, x):
        return self.to_q(x)  #= q

class Wrapper(nn.Module):
    def __init__(self, *, d, layers):
        super().__init__()
        assert isinstance(layers, Blocks), 'layers must be blocks'
        self.token = nn.Parameter(torch.zeros(1, 1, d))
        self.layers = layers
    def forward(self, x):
        b = x.shape[0]
        token = repeat(self.token, '() n d -> b n d', b=b)  #! IKB102 -> q
        return self.layers(torch.cat((token, x), dim=1))
`,
  'a network of several devices, in a function that a sampler is handed': `
module Net(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, context):
        return x + self.fc(context).mean(1)  #= fc

def build(name, **kwargs):
    if name == 'net':
        return Net(**kwargs)
    elif name == 'wide':
        return Net(**kwargs)
    raise NotImplementedError(name)

def sample(config, accelerator, sampler, empty):
    net = build(**config.net)
    net = accelerator.prepare(net)

    def guided(x, t, context):
        nothing = torch.tensor(empty)
        nothing = repeat(nothing, 'l d -> b l d', b=x.size(0))  #! IKB102 -> fc
        return net(x, context) + net(x, nothing)

    return sampler(guided)

def train(config, accelerator, optimizer, loader):
    net = build(**config.net)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    x, user = next(loader)
    return net(x, user.unsqueeze(1).repeat(1, x.shape[1], 1))  #! IKB102 -> fc
`,
});

const OF_A_FACTORY: Readonly<Record<string, string>> = {
  'tools.py': `import torch.nn as nn
class State(object):
    def __init__(self, step, net=None):
        self.step = step
        self.net = net

def get_net(name, **kwargs):
    if name == 'net':
        from nets import Net
        return Net(**kwargs)
    else:
        raise NotImplementedError(name)

def initialize(config, device):
    parameters = []
    net = get_net(**config.net)
    parameters += net.parameters()
    print(f'the network has {len(parameters)} parameters, which are of no use here')
    print(f'the device is {device}, and it is of no use here, either: this is to be long')
    state = State(step=0, net=net)
    return state
`,
  'nets.py': `import torch.nn as nn
class Net(nn.Module):
    def __init__(self, d=4):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)
`,
};

const OF_THE_STATE = `
import torch
import tools
def train(config, device, user, n):
    state = tools.initialize(config, device)
    return state.net(user.unsqueeze(1).repeat(1, n, 1))
`;

describe('a state that a function of another file makes', () => {
  it('has the network that it is made with', async () => {
    const engine = await engineForTests();
    const files = { read: (path: string) => OF_A_FACTORY[path] };
    const { findings } = engine.check('train.py', OF_THE_STATE, { files });
    assert.deepEqual(
      findings.map(({ rule, consumer }) => [rule, consumer.path]),
      [['IKB102', 'nets.py']],
    );
  });
});

const BESIDE: Readonly<Record<string, string>> = {
  'gpt.py': `import torch.nn as nn
from sampler import Sampler
class GPT(nn.Module):
    def __init__(self, gpt):
        super().__init__()
        self.gpt = gpt
        self.sampler = Sampler(self.gpt)
    def forward(self, x):
        return self.gpt(x)
`,
};

describe('a file beside that is named as a parameter is', () => {
  it('is no part of a class that it makes', async () => {
    const engine = await engineForTests();
    const source = `
import torch
import torch.nn as nn
class Sampler(nn.Module):
    def __init__(self, gpt):
        super().__init__()
        self.transformer = gpt
    def forward(self, prefix, x):
        prefix = prefix.repeat_interleave(x.shape[0] // prefix.shape[0], 0)
        return self.transformer(inputs_embeds=torch.cat([prefix, x], dim=1))
`;
    const { findings } = engine.check('sampler.py', source, { files: { read: (path) => BESIDE[path] } });
    assert.deepEqual(
      findings.map(({ rule, consumer }) => [rule, consumer.path]),
      [['IKB102', 'sampler.py']],
    );
  });
});
