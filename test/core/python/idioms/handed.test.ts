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
  'by whoever makes the agent': `
module Net(d):
    self.layers = nn.Sequential(nn.Linear(d, d), nn.ReLU())
    def forward(self, x):
        return self.layers(x)  #= layers

module Critic(backbone, device):
    self.backbone = backbone.to(device)
    self.last = nn.Linear(4, 1).to(device)
    def forward(self, seen, action):
        seen = torch.as_tensor(seen, device=self.device, dtype=torch.float32)
        return self.last(self.backbone(torch.cat([seen, action], dim=1)))

class Learner:
    def __init__(self, policy: nn.Module, q1, q2, n: int):
        self.policy, self.q1, self.q2 = policy, q1, q2
        self.n = n
    def learn(self, seen):
        copies = seen.unsqueeze(1).repeat(1, self.n, 1).view(seen.shape[0] * self.n, seen.shape[-1])  #! IKB102 -> layers
        return self.q1(copies, self.policy(copies))

def main(args):
    backbone = Net(args.width)
    policy = Net(args.width)
    q1 = Critic(backbone, args.device)
    return Learner(policy, q1, Critic(Net(args.width), args.device), n=10)
`,
  'by several, of several kinds': `
module Plain(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)  #= fc

module Scaled(d):
    self.scale = nn.Parameter(torch.ones(d))
    def forward(self, x):
        return x * self.scale

class Ranker(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
    def forward(self, user, n):
        return self.encoder(user.repeat_interleave(n, dim=0))  #! IKB102 -> fc

plain = Ranker(Plain(8))
scaled = Ranker(encoder=Scaled(8))
`,
  'of several widths': `
class Ranker(nn.Module):
    def __init__(self, head):
        super().__init__()
        self.head = head
    def forward(self, user, n):
        return self.head(user.repeat_interleave(n, dim=0))  #! IKB102 -> linear  #= linear

narrow = Ranker(nn.Linear(8, 1))
wide = Ranker(nn.Linear(8, 64))
`,
  'on one of two branches': `
class Ranker(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
    def forward(self, user, n):
        return self.encoder(user.repeat_interleave(n, dim=0))  #! IKB102 -> linear  #= linear

def make(cfg):
    if cfg.deep:
        encoder = nn.Linear(8, 8)
    else:
        encoder = nn.Identity()
    return Ranker(encoder)
`,
  'to a function, by those who call it': `
def scores(net, seen, actions):
    n = actions.shape[1]
    seen = seen.unsqueeze(1).repeat(1, n, 1).view(-1, seen.shape[-1])  #! IKB101 -> first
    return net(torch.cat([seen, actions.reshape(-1, actions.shape[-1])], dim=-1))

module Critic(d):
    self.first = nn.Linear(d, 64)
    def forward(self, x):
        return self.first(x)  #= first

class Learner:
    def __init__(self, d):
        self.critic = Critic(d)
    def learn(self, seen, actions):
        return scores(self.critic, seen, actions)
`,
  'five constructors deep': `
module Attention(d):
    self.query = nn.Linear(d, d)
    def forward(self, x):
        return self.query(x)  #= query

module Stage(d):
    self.attention = Attention(d)
    def forward(self, x):
        return self.attention(x)

module Layer(d):
    self.stage = Stage(d)
    def forward(self, x):
        return self.stage(x)

module Decoder(d, n):
    self.layers = nn.ModuleList()
    for i in range(n):
        self.layers.append(Layer(d))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

module Model(d, n):
    self.token = nn.Parameter(torch.zeros(1, n, d))
    self.decoder = Decoder(d, n)
    def forward(self, x):
        return self.decoder(self.token.repeat(x.shape[0], 1, 1))  #! IKB102 -> query
`,
  'by a dict of classes of this file and of torch': `
module Gate(d, out):
    self.fc = nn.Linear(d, out)
    def forward(self, x):
        return self.fc(x)  #= gate

KINDS = {'plain': nn.Linear, 'gate': Gate, 'other': 'other'}

module Merge(kind, d, out):
    self.layer = KINDS[kind](d, out)
    def forward(self, x, n):
        return self.layer(x.repeat_interleave(n, dim=0))  #! IKB102 -> layer  #= layer
`,
  'a network that one caller hands over and another does not': `
module Encoder(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, context):
        return x + self.fc(context)  #= fc
module Decoder(d):
    self.norm = nn.LayerNorm(d)
    def forward(self, x, encoder=None, retrieved=None, n=2):
        if retrieved is not None:
            context = repeat(x, 'b t d -> (b n) t d', n=n)  #! IKB102 -> fc
            retrieved = encoder(retrieved, context=context)
        return self.norm(x)
module Model(d):
    self.encoder = Encoder(d)
    self.decoder = Decoder(d)
    def plain(self, x):
        return self.decoder(x)
    def forward(self, x, retrieved):
        return self.decoder(x, encoder=self.encoder, retrieved=retrieved)
`,
  'a network that a method is handed from where the constructor kept it': `
module Colour(d):
    self.fc = nn.Linear(d + 3, 3)
    def forward(self, x, rays):
        return self.fc(torch.cat([x, rays], dim=-1))  #= fc
class Renderer:
    def __init__(self, nerf, samples):
        self.nerf = nerf
        self.samples = samples
    def core(self, x, rays, nerf):
        rays = rays[:, None, :].expand(x.shape[0], self.samples, 3).reshape(-1, 3)  #! IKB101 -> fc
        return nerf(x.reshape(-1, x.shape[-1]), rays)
    def render(self, x, rays):
        return self.core(x, rays, self.nerf)
class Runner:
    def __init__(self):
        self.nerf = Colour(8)
        self.renderer = Renderer(self.nerf, 64)
`,
  'a function that a constructor is handed': `
def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)  #= attend
module Heads(groups, attention_fn):
    self.groups = groups
    self._attention_fn = attention_fn
    def forward(self, q, k, v):
        k = k.repeat_interleave(self.groups, dim=1)  #! IKB202 -> attend
        return self._attention_fn(q, k, v)
module Attention(d, groups):
    self.heads = Heads(groups, attention_fn=attend)
    def forward(self, q, k, v):
        return self.heads(q, k, v)
`,
  'a module of the model that a function is handed': `
module Scores(d):
    self.weight = nn.Parameter(torch.zeros(d, d))
    def forward(self, x, summary):
        return torch.sum(x * torch.matmul(summary, self.weight), dim=1)  #= scores
module Model(encoder, scores):
    self.encoder = encoder
    self.scores = scores
def train(model, loader):
    for batch in loader:
        nodes = model.encoder(batch.x)
        summary = torch.sigmoid(global_mean_pool(nodes, batch.batch))
        expanded = summary.repeat_interleave(batch.count, dim=0)  #! IKB102 -> scores
        loss = model.scores(nodes, expanded)
        loss.mean().backward()
def main(loader):
    model = Model(nn.Linear(8, 8), Scores(8))
    train(model, loader)
`,
  'with its positions, taken out of a model that the constructor is handed': `
module Block(d):
    self.qkv = nn.Linear(d, 3 * d)
    def forward(self, x):
        return self.qkv(x)  #= qkv

module Clip(d):
    self.transformer = Block(d)
    self.pos = nn.Parameter(torch.zeros(7, d))

def load(cfg):
    model = Clip(cfg.width)
    return model

module Text(clip):
    self.transformer = clip.transformer
    self.pos = clip.pos
    def forward(self, prompts):
        return self.transformer(prompts + self.pos)

module Learner(n, d):
    self.n = n
    self.ctx = nn.Parameter(torch.empty(4, d))
    self.prefix = nn.Parameter(torch.zeros(n, 1, d))
    def forward(self):
        ctx = self.ctx.unsqueeze(0).expand(self.n, -1, -1)  #! IKB102 -> qkv
        return torch.cat([self.prefix, ctx], dim=1)

module Custom(n, clip_model):
    self.learner = Learner(n, 3)
    self.text_encoder = Text(clip_model)
    def forward(self, image):
        return self.text_encoder(self.learner())

class Trainer:
    def build(self, cfg):
        self.model = Custom(3, load(cfg))
`,
  'norms of a table of bound classes, by a key that is not known': `
from functools import partial

module RMSNorm(d):
    self.weight = nn.Parameter(torch.ones(d))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)) * self.weight

NORMS = {'plain': partial(nn.LayerNorm, eps=1e-6), 'fine': partial(nn.LayerNorm, eps=1e-5), 'rms': RMSNorm}

module Block(d, norm_layer):
    self.norm1 = norm_layer(d)
    self.qkv = nn.Linear(d, 3 * d)
    def forward(self, x):
        return self.qkv(self.norm1(x))  #= qkv

module Vision(d, norm):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.block = Block(d, norm_layer=NORMS[norm])
    def forward(self, x):
        token = self.token.expand(x.shape[0], -1, -1)  #! IKB102 -> qkv
        return self.block(torch.cat([token, x], dim=1))
`,
  'an embedder of three kinds, unpacked from what a function returns on two ways': `
module Plain(d):
    self.freq = d
    def forward(self, x):
        return torch.cat([torch.sin(x), torch.cos(x)], -1)

module Spherical(d):
    self.degree = d
    def forward(self, x):
        return torch.cat([x, x * x], -1)

def embedder(kind):
    if kind == -1:
        return nn.Identity(), 3
    elif kind == 0:
        embed = Plain(4)
    else:
        embed = Spherical(4)
    return embed, 6

module Field(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)  #= fc

def query(points, views, fn, embed, embed_views):
    views = views[:, None].expand(points.shape)  #! IKB101 -> fc
    views = embed_views(torch.reshape(views, [-1, views.shape[-1]]))
    points = embed(torch.reshape(points, [-1, points.shape[-1]]))
    return fn(torch.cat([points, views], -1))

def create(args):
    embed, width = embedder(0)
    embed_views, more = embedder(args.kind)
    field = Field(width + more)
    return lambda points, views: query(points, views, field, embed, embed_views)
`,
});
