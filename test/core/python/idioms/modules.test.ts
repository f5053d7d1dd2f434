import { idioms } from './idioms';

idioms('idioms: how a layer is reached', {
  'a class of a container': `
class Stage(nn.ModuleList):
    def forward(self, x):
        for block in self:
            x = block(x)
        return x

module Block(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return x + self.fc(x)  #= fc

module Encoder(d, depth):
    blocks = [Block(d) for _ in range(depth)]
    self.stages = nn.ModuleList([Stage(blocks[i : i + 4]) for i in range(0, depth, 4)])
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    def forward(self, x):
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1)  #! IKB102 -> fc
        for stage in self.stages:
            x = stage(x)
        return x
`,
  'a class of a container that fills itself': `
class Head(nn.Sequential):
    def __init__(self, d):
        super().__init__(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, 1))

module Scorer(d):
    self.head = Head(d)
    def forward(self, user, items):
        u = user.unsqueeze(1).expand(-1, items.shape[1], -1)  #! IKB101 -> head
        return self.head(torch.cat([u, items], dim=-1))  #= head
`,
  'one of several classes by a key': `
module Eager(config):
    self.q = nn.Linear(config.width, config.width)
    def forward(self, x):
        return self.q(x)  #= q

class Fused(Eager):
    pass

KINDS = {'eager': Eager, 'fused': Fused}

module Layer(config):
    self.attention = KINDS[config.kind](config)
    def forward(self, query, n):
        return self.attention(query.repeat(n, 1, 1))  #! IKB102 -> q
`,
  'stages with nothing before their own blocks': `
class Stage(nn.ModuleList):
    def forward(self, x):
        for block in self:
            x = block(x)
        return x

module Block(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return x + self.fc(x)  #= fc

module Encoder(d, depth, size):
    blocks = [Block(d) for _ in range(depth)]
    stages = []
    for i in range(0, depth, size):
        stages.append([nn.Identity()] * i + blocks[i : i + size])
    self.stages = nn.ModuleList([Stage(s) for s in stages])
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    def forward(self, x):
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1)  #! IKB102 -> fc
        for stage in self.stages:
            x = stage(x)
        return x
`,
  'layers that are made by default': `
module Block(d, norm_layer=nn.LayerNorm):
    self.norm = norm_layer(d)
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return x + self.fc(self.norm(x))  #= fc

module Tower(d, depth, block_fn=Block):
    self.blocks = nn.Sequential(*[block_fn(d) for _ in range(depth)])
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    def forward(self, x):
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)  #! IKB102 -> fc
        return self.blocks(x)
`,
  'a norm that is bound in a default, or in the body where none is given': `
from functools import partial

module Block(d, norm_layer):
    self.norm = norm_layer(d)
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return x + self.fc(self.norm(x))  #= fc

class Tower(nn.Module):
    def __init__(self, d, norm_layer=partial(nn.LayerNorm, eps=1e-6)):
        super().__init__()
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-5)
        self.block = Block(d, norm_layer)
        self.token = nn.Parameter(torch.zeros(1, 1, d))
    def forward(self, x):
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)  #! IKB102 -> fc
        return self.block(x)
`,
  'layers that are made by default, and what a subclass passes on says nothing of them': `
module Block(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return x + self.fc(x)  #= fc

module Tower(d, depth, block_fn=Block):
    self.blocks = nn.Sequential(*[block_fn(d) for _ in range(depth)])
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    def embed(self, x):
        return x
    def forward(self, x):
        return self.blocks(self.embed(x))

class Distilled(Tower):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
    def embed(self, x):
        return torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)  #! IKB102 -> fc
`,
  'layers that are copied from one, in an order that is listed': `
import copy

module Layer(attention, norm, order):
    if isinstance(attention, nn.Module):
        attention = [copy.deepcopy(attention) for _ in range(order.count('attention'))]
    self.order = order
    self.attentions = nn.ModuleList()
    at = 0
    for name in order:
        if name in ['attention']:
            self.attentions.append(attention[at])
            at += 1
    self.norms = nn.ModuleList([copy.deepcopy(norm) for _ in range(order.count('norm'))])
    def forward(self, query, memory):
        at = 0
        for name in self.order:
            if name == 'attention':
                query = query + self.attentions[at](query, memory, memory)[0]  #= mha
                at += 1
            elif name == 'norm':
                query = self.norms[0](query)
        return query

module QueryDecoder(d, n):
    layer = Layer(nn.MultiheadAttention(d, 8), nn.LayerNorm(d), ('attention', 'norm', 'attention', 'norm'))
    self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(n)])
    def forward(self, query, memory):
        for layer in self.layers:
            query = layer(query, memory)
        return query

module Detector(decoder=None):
    self.decoder = decoder
    def forward(self, memory, queries):
        queries = queries.unsqueeze(1).repeat(1, memory.shape[1], 1)  #! IKB102 -> mha
        return self.decoder(queries, memory)
`,
  'a module that was moved, copied or wrapped': `
import copy

module Decoder(s, a):
    self.first = nn.Linear(s + a, 64)
    def forward(self, state, z):
        return self.first(torch.cat([state, z], dim=-1))  #= first

class Agent:
    def __init__(self, s, a, device):
        self.net = Decoder(s, a).to(device)
        self.target = copy.deepcopy(self.net).eval()
        self.spread = nn.DataParallel(Decoder(s, a).cuda())
    def act(self, state, z):
        return self.net(state.repeat_interleave(10, dim=0), z)  #! IKB101 -> first
    def aim(self, state, z):
        return self.target(state.repeat_interleave(10, dim=0), z)  #! IKB101 -> first
    def many(self, state, z):
        return self.spread(state.repeat_interleave(10, dim=0), z)  #! IKB101 -> first
`,
  'classes of a registry that is filled after it is made': `
module Recurrent(d):
    self.first = nn.Linear(d, 64)
    def forward(self, x):
        return self.first(x)  #= first

AGENTS = {}
AGENTS['recurrent'] = Recurrent

class Controller:
    def __init__(self, args):
        self.n = args.n_agents
        self.agent = AGENTS[args.agent](args.width)
    def forward(self, seen, b):
        parts = []
        parts.append(seen)
        parts.append(torch.eye(self.n).unsqueeze(0).expand(b, -1, -1))  #! IKB101 -> first
        return self.agent(torch.cat([x.reshape(b * self.n, -1) for x in parts], dim=1))

class Other(Controller):
    def forward(self, seen, n):
        return self.agent(seen.repeat(n, 1))  #! IKB102 -> first
`,
  'layers by names and keys': `
from collections import OrderedDict

module Layers(d, kinds, n):
    self.mlp = nn.Sequential(OrderedDict([('first', nn.Linear(d, d)), ('act', nn.GELU())]))
    self.by_kind = nn.ModuleDict()
    for kind in kinds:
        self.by_kind[kind] = nn.Linear(d, d)
    self.by_name = nn.ModuleDict({name: nn.Linear(d, d) for name in kinds})
    for i in range(n):
        setattr(self, f'level{i}', nn.Linear(d, d))
    self.wrapped = nn.parallel.DistributedDataParallel(Inner(d))
    def of_names(self, x, n):
        return self.mlp(x.repeat(n, 1))  #! IKB102 -> first    #= first
    def of_keys(self, x, n, kind):
        return self.by_kind[kind](x.repeat(n, 1))  #! IKB102 -> call    #= call
    def of_comprehension(self, x, n, kind):
        return self.by_name[kind](x.repeat(n, 1))  #! IKB102 -> named    #= named
    def of_template(self, x, n, i):
        return getattr(self, f'level{i}')(x.repeat(n, 1))  #! IKB102 -> template    #= template
    def of_wrapper(self, x, n):
        return self.wrapped.module(x.repeat(n, 1))  #! IKB102 -> inner

module Inner(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)  #= inner
`,
  'an agent that makes its parts in a method': `
module Encoder(d):
    self.fc = nn.Linear(d, 64)
    def forward(self, x):
        return self.fc(x)  #= fc

class Agent:
    def __init__(self, config):
        self.config = config
        self.build()
    def build(self):
        self.encoder = Encoder(self.config.width).to(self.config.device)
    def act(self, seen, n):
        return self.encoder(seen.repeat_interleave(n, dim=0))  #! IKB102 -> fc
`,
  'one of several networks by a key, its fields unpacked': `
module Text(d):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    def forward(self, text):
        token = self.token.expand(text.shape[0], -1, -1)  #! IKB102 -> fc
        return {'trunk': {'tokens': torch.cat((token, text), dim=1)}, 'head': {}}
module Image(d):
    self.stem = nn.Linear(d, d)
    def forward(self, image):
        return {'trunk': {'tokens': self.stem(image)}, 'head': {}}
module Trunk(d):
    self.fc = nn.Linear(d, d)
    def forward(self, tokens, mask=None):
        return self.fc(tokens)  #= fc
module Model(d):
    self.stems = nn.ModuleDict({'image': Image(d), 'text': Text(d)})
    self.trunks = nn.ModuleDict({'image': Trunk(d), 'text': Trunk(d)})
    def forward(self, inputs):
        outputs = {}
        for key, value in inputs.items():
            fields = self.stems[key](**{key: value})['trunk']
            outputs[key] = self.trunks[key](**fields)
        return outputs
`,
  'one of the classes that a class keeps in a table': `
module Cross(d, c):
    self.to_k = nn.Linear(c, d)
    def forward(self, x, context):
        return x + self.to_k(context)  #= fc
class Block(nn.Module):
    KINDS = {'plain': Cross, 'none': nn.Identity}
    def __init__(self, d, kind):
        super().__init__()
        self.attend = self.KINDS[kind](d, d)
    def forward(self, x, context):
        return self.attend(x, context=context)
module Net(d, kind):
    self.blocks = nn.ModuleList([Block(d, kind) for _ in range(3)])
    def forward(self, x, context, n):
        context = context.repeat_interleave(n, dim=0)  #! IKB102 -> fc
        for block in self.blocks:
            x = block(x, context)
        return x
`,
  'copies that a long method passes on, which makes none': `
class Pipeline:
    def embed(self, prompt, n):
        x = self.encoder(prompt)[0]
        _, length, _ = x.shape
        x = x.repeat(1, n, 1)  #! IKB201 -> call
        return x.view(len(prompt) * n, length, -1)
    def encode(self, prompt, n):
        if self.option_0 is not None and not isinstance(prompt, str):
            self.option_0 = self.option_0.lower()
        if self.option_1 is not None and not isinstance(prompt, str):
            self.option_1 = self.option_1.lower()
        if self.option_2 is not None and not isinstance(prompt, str):
            self.option_2 = self.option_2.lower()
        if self.option_3 is not None and not isinstance(prompt, str):
            self.option_3 = self.option_3.lower()
        if self.option_4 is not None and not isinstance(prompt, str):
            self.option_4 = self.option_4.lower()
        if self.option_5 is not None and not isinstance(prompt, str):
            self.option_5 = self.option_5.lower()
        if self.option_6 is not None and not isinstance(prompt, str):
            self.option_6 = self.option_6.lower()
        if self.option_7 is not None and not isinstance(prompt, str):
            self.option_7 = self.option_7.lower()
        return self.embed(prompt, n)
    def __call__(self, prompt, n, latents):
        embeds = self.encode(prompt, n)
        for t in self.steps:
            latents = self.transformer(latents, t.expand(latents.shape[0]), encoder_hidden_states=embeds)[0]  #= call
        return latents
`,
});
