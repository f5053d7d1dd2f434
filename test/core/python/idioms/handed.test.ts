import { idioms } from './idioms';

idioms('idioms: where layers are made', {
  'by a mixin, in a method that a method of the constructor calls': `
module Base(args):
    self.width = args.width

class Ranking(object):
    def _define_init(self, args):
        self.kind = args.kind
        self._define_params()
    def _define_params(self):
        self.mlp = nn.Sequential(nn.Linear(self.width, 16), nn.ReLU())
    def inputs(self, feed):
        items, user = feed['items'], feed['user']
        n = items.shape[1]
        return torch.cat([user.unsqueeze(1).repeat(1, n, 1), items], dim=-1), {'items': items}  #! IKB101 -> mlp
    def forward(self, feed):
        joined, out = self.inputs(feed)
        out['score'] = self.mlp(joined)  #= mlp
        return out

class Model(Base, Ranking):
    def __init__(self, args):
        Base.__init__(self, args)
        self._define_init(args)
    def forward(self, feed):
        return Ranking.forward(self, feed)
`,
  'by a class of a registry of many': `
module One(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)  #= fc

class Two(One):
    pass

class Three(One):
    pass

class Four(One):
    pass

class Five(One):
    pass

REGISTRY = {}
REGISTRY['one'] = One
REGISTRY['two'] = Two
REGISTRY['three'] = Three
REGISTRY['four'] = Four
REGISTRY['five'] = Five

class Controller:
    def __init__(self, args):
        self.agent = REGISTRY[args.agent](args.width)
    def act(self, seen, n):
        return self.agent(seen.repeat_interleave(n, dim=0))  #! IKB102 -> fc
`,
  'by a function, of a class that derives from a linear layer': `
class Normed(nn.Linear):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.norm = nn.LayerNorm(self.out_features)
    def forward(self, x):
        return self.norm(super().forward(x))  #= inner

def mlp(width, hidden, out):
    sizes = [width] + hidden + [out]
    layers = nn.ModuleList()
    for i in range(len(sizes) - 2):
        layers.append(Normed(sizes[i], sizes[i + 1]))
    layers.append(nn.Linear(sizes[-2], sizes[-1]))
    return nn.Sequential(*layers)

module World(cfg):
    self.dynamics = mlp(cfg.width, 2 * [cfg.hidden], cfg.out)
    def next(self, z, action):
        return self.dynamics(torch.cat([z, action], dim=-1))

class Agent:
    def __init__(self, cfg):
        self.model = World(cfg).to(cfg.device)
    def plan(self, z, actions, n):
        z = z.repeat(n, 1)  #! IKB101 -> inner
        return self.model.next(z, actions)
`,
  'by a sequence of its own that calls its base': `
class Head(nn.Sequential):
    def __init__(self, d):
        super().__init__(nn.Linear(d, d), nn.ReLU())
    def forward(self, x):
        return super().forward(x) * 2  #= fc

module Scorer(d):
    self.head = Head(d)
    def forward(self, user, n):
        return self.head(user.repeat_interleave(n, dim=0))  #! IKB102 -> fc
`,
});
