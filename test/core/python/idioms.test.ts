import { check } from '../check';

/** Ways of model code that are seen once in many repositories: each with what it must be taken for. */
const CASES: Readonly<Record<string, string>> = {
  'copies of two tensors in the same order, joined and normalized': `
class Conditioner(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(2 * d)
        self.embed = nn.Linear(2 * d, d)
    def forward(self, trunk, profile):
        return self.embed(self.norm(torch.cat((trunk, profile), dim=-1)))  #= embed

class Sampler(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.condition = Conditioner(d)
    def forward(self, trunk, profile, samples):
        return self.condition(
            trunk.repeat_interleave(samples, 0),  #! IKB102 -> embed
            profile.repeat_interleave(samples, 0),  #! IKB102 -> embed
        )
`,
  'copies of two tensors in the same order, added and activated': `
class Modulated(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale = nn.Sequential(nn.SiLU(), nn.Linear(d, 2 * d))
    def forward(self, time, label, frames):
        t = repeat(time, 'n d -> (n f) d', f=frames)  #! IKB102 -> scale
        y = repeat(label, 'n d -> (n f) d', f=frames)  #! IKB102 -> scale
        return self.scale(t + y)  #= scale
`,
  'a class of a container': `
class Stage(nn.ModuleList):
    def forward(self, x):
        for block in self:
            x = block(x)
        return x

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        return x + self.fc(x)  #= fc

class Encoder(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
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

class Scorer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.head = Head(d)
    def forward(self, user, items):
        u = user.unsqueeze(1).expand(-1, items.shape[1], -1)  #! IKB101 -> head
        return self.head(torch.cat([u, items], dim=-1))  #= head
`,
  'positions in a buffer': `
class Embeddings(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d))
        self.position = nn.Embedding(n, d)
        self.register_buffer('position_ids', torch.arange(n).expand((1, -1)), persistent=False)
    def forward(self, x):
        token = self.token.expand(x.shape[0], 1, -1)  #! IKB102 -> fc
        return torch.cat([token, x], dim=1) + self.position(self.position_ids)

class Tower(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.embeddings = Embeddings(d, n)
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(self.embeddings(x))  #= fc
`,
  'one of several classes by a key': `
class Eager(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.q = nn.Linear(config.width, config.width)
    def forward(self, x):
        return self.q(x)  #= q

class Fused(Eager):
    pass

KINDS = {'eager': Eager, 'fused': Fused}

class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = KINDS[config.kind](config)
    def forward(self, query, n):
        return self.attention(query.repeat(n, 1, 1))  #! IKB102 -> q
`,
  'an import that may fail': `
try:
    from flash_attn import flash_attn_func
except ImportError:
    flash_attn_func = None

def attend(q, k, v, n):
    k = k.repeat_interleave(n, dim=2)  #! IKB202 -> flash
    v = v.repeat_interleave(n, dim=2)  #! IKB202 -> flash
    return flash_attn_func(q, k, v)  #= flash
`,
  'sequences of several lengths, a part of the keys for all heads': `
from vllm.vllm_flash_attn import flash_attn_varlen_func

def attend(q, nope, rope, v, heads, lengths):
    t, g, d = rope.shape
    k = torch.cat([nope, torch.repeat_interleave(rope, heads, dim=-2)], dim=-1)  #! IKB202 -> flash
    return flash_attn_varlen_func(q, k.view(-1, heads, 192), v, cu_seqlens_q=lengths)  #= flash
`,
  'blocks of another library that get the text by its place': `
from diffusers.models.attention import BasicTransformerBlock

class Video(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.blocks = nn.ModuleList([BasicTransformerBlock(d, 8, 64) for _ in range(12)])
    def forward(self, x, encoder_hidden_states, frames):
        encoder_hidden_states_spatial = repeat(encoder_hidden_states, 'b t d -> (b f) t d', f=frames)  #! IKB201 -> call
        for block in self.blocks:
            x = block(x, None, encoder_hidden_states_spatial)  #= call
        return x
`,
  'projections of an attention of another library': `
from diffusers.models.attention_processor import Attention

class Motion(Attention):
    def forward(self, x, context, pixels):
        context = repeat(context, 'b n c -> (b d) n c', d=pixels)  #! IKB102 -> key
        key = self.to_k(context)  #= key
        return key
`,
  'joined on one branch, then normalized by one of two layers': `
class Tower(nn.Module):
    def __init__(self, d, prefix, pre):
        super().__init__()
        self.prefix = nn.Parameter(torch.zeros(1, 4, d)) if prefix else None
        self.pre = nn.LayerNorm(d) if pre else nn.Identity()
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        if self.prefix is not None:
            x = torch.cat([self.prefix.expand(x.shape[0], -1, -1), x], dim=1)  #! IKB102 -> fc
        return self.fc(self.pre(x))  #= fc
`,
  'stages with nothing before their own blocks': `
class Stage(nn.ModuleList):
    def forward(self, x):
        for block in self:
            x = block(x)
        return x

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        return x + self.fc(x)  #= fc

class Encoder(nn.Module):
    def __init__(self, d, depth, size):
        super().__init__()
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
class Block(nn.Module):
    def __init__(self, d, norm_layer=nn.LayerNorm):
        super().__init__()
        self.norm = norm_layer(d)
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        return x + self.fc(self.norm(x))  #= fc

class Tower(nn.Module):
    def __init__(self, d, depth, block_fn=Block):
        super().__init__()
        self.blocks = nn.Sequential(*[block_fn(d) for _ in range(depth)])
        self.token = nn.Parameter(torch.zeros(1, 1, d))
    def forward(self, x):
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)  #! IKB102 -> fc
        return self.blocks(x)
`,
  'layers that are copied from one, in an order that is listed': `
import copy

class Layer(nn.Module):
    def __init__(self, attention, norm, order):
        super().__init__()
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

class QueryDecoder(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        layer = Layer(nn.MultiheadAttention(d, 8), nn.LayerNorm(d), ('attention', 'norm', 'attention', 'norm'))
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(n)])
    def forward(self, query, memory):
        for layer in self.layers:
            query = layer(query, memory)
        return query

class Detector(nn.Module):
    def __init__(self, decoder=None):
        super().__init__()
        self.decoder = decoder
    def forward(self, memory, queries):
        queries = queries.unsqueeze(1).repeat(1, memory.shape[1], 1)  #! IKB102 -> mha
        return self.decoder(queries, memory)
`,
  'written into a part of empty keys': `
def attend(q, latent, rope, v, heads):
    b, h, n, d = latent.shape
    rope = rope.view(b, n, 1, 64).transpose(1, 2)
    k = rope.new_empty(b, heads, n, 192)
    k[:, :, :, :128] = latent
    k[:, :, :, 128:] = rope  #! IKB301 -> scores
    return torch.matmul(q, k.transpose(2, 3))  #= scores
`,
  'features filled one after the other': `
class Ranker(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(2 * d, d)
    def forward(self, user, items):
        b, n, d = items.shape
        user = user.view(b, 1, d)
        features = items.new_zeros(b, n, 2 * d)
        features[..., :d] = user  #! IKB101 -> fc
        features[..., d:] = items
        return self.fc(features)  #= fc
`,
  'repeats in a list of ones': `
def repeated(x, times, dim=0):
    x = x.unsqueeze(dim)
    counts = [1] * len(x.shape)
    counts[dim] *= times
    return x.repeat(*counts)  #! IKB301 -> bmm

class Ensemble(nn.Module):
    def __init__(self, members, a, b):
        super().__init__()
        self.members = members
        self.weight = nn.Parameter(torch.zeros(members, a, b))
    def forward(self, inputs):
        return torch.bmm(repeated(inputs, self.members), self.weight)  #= bmm
`,
  'attention with quantized keys, heads behind the sequence': `
from sageattention import sageattn

def attend(q, k, v, n):
    k = k.repeat_interleave(n, dim=2)  #! IKB202 -> sage
    v = v.repeat_interleave(n, dim=2)  #! IKB202 -> sage
    return sageattn(q, k, v, tensor_layout='NHD')  #= sage
`,
  'expanded to the sizes of two axes': `
class Speaker(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(2 * d, d)
    def forward(self, x, speaker):
        x = torch.cat([x, speaker.expand(x.size(0), x.size(1), -1)], dim=-1)  #! IKB101 -> fc
        return self.fc(x)  #= fc
`,
  'latents that are projected as they are, and later with what was added': `
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.to_q = nn.Linear(d, d)
        self.to_kv = nn.Linear(d, 2 * d)
    def forward(self, x, latents):
        q = self.to_q(latents)  #= query
        k, v = self.to_kv(x).chunk(2, dim=-1)
        return F.scaled_dot_product_attention(q, k, v)

class Resampler(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.latents = nn.Parameter(torch.zeros(1, 16, d))
        self.attention = Attention(d)
        self.out = nn.Linear(d, d)
    def forward(self, x):
        latents = self.latents.repeat(x.size(0), 1, 1)  #! IKB102 -> query
        latents = self.attention(x, latents) + latents
        return self.out(latents)
`,
  'a helper that copies along the axis that it is told': `
def spread(rows, dim: int, count: int):
    return rows.unsqueeze(dim).repeat_interleave(count, dim=dim)  #! IKB102 -> net

class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 8), nn.ReLU(), nn.Linear(8, 2))
    def forward(self, x, n=None):
        if n is not None:
            x = spread(x, 1, n)
        return self.net(x)  #= net
`,
  'rows merged by a view of unknown width': `
class Blend(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(12, d)
    def forward(self, x, parts):
        rays, samples, d = x.shape
        points, features, colors = torch.split(x, parts, dim=-1)
        colors = colors.view(rays * samples, -1, 4)
        shared = features[..., :8].reshape(rays * samples, 1, -1).expand(-1, colors.shape[-2], -1)  #! IKB101 -> fc
        return self.fc(torch.cat((colors, shared), dim=-1))  #= fc
`,
  'a token behind normalizations that are written out': `
class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))
    def forward(self, x):
        mean = torch.mean(x, dim=-1, keepdim=True)
        var = torch.var(x, dim=-1, unbiased=False, keepdim=True)
        return (x - mean) * (var + 1e-5).rsqrt() * self.g

class Root(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

class Tower(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, d))
        self.norm = Norm(d)
        self.root = Root(d)
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)  #! IKB102 -> fc
        return self.fc(self.root(self.norm(x)))  #= fc
`,
  'a module that was moved, copied or wrapped': `
import copy

class Decoder(nn.Module):
    def __init__(self, s, a):
        super().__init__()
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
  'expanded to each other, one of them chosen by a branch': `
class Edges(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(2 * d, d), nn.SiLU())
    def forward(self, x, near):
        if near is not None:
            other = self.pick(x, near)
        else:
            other = rearrange(x, 'b j d -> b () j d')
        own = rearrange(x, 'b i d -> b i () d')
        own, other = torch.broadcast_tensors(own, other)  #! IKB101 -> mlp
        return self.mlp(torch.cat((own, other), dim=-1))  #= mlp
`,
  'classes of a registry that is filled after it is made': `
class Recurrent(nn.Module):
    def __init__(self, d):
        super().__init__()
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
  'more branches than are kept apart': `
class Critic(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.n = n
        self.first = nn.Linear(d, 64)
    def forward(self, state, seen, actions, batch, t):
        b = state.size(0)
        steps = batch.steps if t is None else 1
        parts = [state.unsqueeze(2).repeat(1, 1, self.n, 1), seen]  #! IKB101 -> first
        if t == 0:
            parts.append(actions.view(b, steps, 1, -1).repeat(1, 1, self.n, 1))  #! IKB101 -> first
        elif isinstance(t, int):
            parts.append(batch.before.view(b, steps, 1, -1).repeat(1, 1, self.n, 1))  #! IKB101 -> first
        else:
            parts.append(batch.last.view(b, steps, 1, -1).repeat(1, 1, self.n, 1))  #! IKB101 -> first
        return self.first(torch.cat([x.reshape(b, steps, self.n, -1) for x in parts], dim=-1))  #= first
`,
  'layers by names and keys': `
from collections import OrderedDict

class Layers(nn.Module):
    def __init__(self, d, kinds, n):
        super().__init__()
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

class Inner(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)  #= inner
`,
  'what holds for a whole map, beside it': `
class Context(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.mix = nn.Conv2d(2 * d, d, 1)
        self.points = nn.Conv1d(2 * d, d, 1)
    def of_module(self, x):
        g = self.pool(x).expand_as(x)  #! IKB101 -> a
        return self.mix(torch.cat([x, g], dim=1))  #= a
    def of_function(self, x):
        g = F.adaptive_max_pool2d(x, 1).expand(-1, -1, x.shape[2], x.shape[3])  #! IKB101 -> b
        return self.mix(torch.cat([x, g], dim=1))  #= b
    def of_mean(self, x, h, w):
        g = x.mean(dim=(2, 3), keepdim=True).expand(-1, -1, h, w)  #! IKB101 -> c
        return self.mix(torch.cat([x, g], dim=1))  #= c
    def of_values(self, x):
        g = x.max(dim=-1, keepdim=True).values.expand(-1, -1, x.shape[-1])  #! IKB101 -> d
        return self.points(torch.cat([x, g], dim=1))  #= d
    def of_vector(self, y, v):
        g = v.view(v.size(0), -1, 1, 1).repeat(1, 1, *y.shape[-2:])  #! IKB101 -> e
        return self.mix(torch.cat([y, g], dim=1))  #= e
`,
  'a list of the same in each pass': `
class Steps(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        return self.fc(torch.stack([x for _ in range(n)], dim=1))  #! IKB102 -> fc  #= fc
`,
  'an agent that makes its parts in a method': `
class Encoder(nn.Module):
    def __init__(self, d):
        super().__init__()
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
  'fields of a dataclass, of a named tuple, and values of a mapped dict': `
from dataclasses import dataclass
from typing import NamedTuple

@dataclass
class Rays:
    origins: Tensor
    codes: Tensor

class Pair(NamedTuple):
    left: Tensor
    right: Tensor

class Field(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def of_dataclass(self, code, o, n):
        rays = Rays(o, code.repeat(n, 1))  #! IKB102 -> a
        return self.fc(rays.codes)  #= a
    def of_tuple(self, code, o, n):
        pair = Pair(left=code.repeat(n, 1), right=o)  #! IKB102 -> b
        return self.fc(pair.left)  #= b
    def of_dict(self, features, n):
        features = {k: v.repeat_interleave(n, dim=0) for k, v in features.items()}  #! IKB102 -> c
        return self.fc(features['user'])  #= c
`,
  'rows repeated along their sequence and made rows by a view': `
class Pipeline(nn.Module):
    def __init__(self, denoiser):
        super().__init__()
        self.denoiser = denoiser
    def forward(self, x, prompt, n):
        b, length, _ = prompt.shape
        prompt = prompt.repeat(1, n, 1)  #! IKB201 -> call
        prompt = prompt.view(b * n, length, -1)
        return self.denoiser(x, encoder_hidden_states=prompt)  #= call
`,
};

const CLEAN: Readonly<Record<string, string>> = {
  'copies of two tensors in different orders, joined and normalized': `
class Pairs(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(2 * d)
        self.fc = nn.Linear(2 * d, d)
    def forward(self, x, n):
        pairs = torch.cat([x.repeat_interleave(n, 0), x.repeat(n, 1)], dim=-1)
        return self.fc(self.norm(pairs))
`,
  'copies as often as something else says': `
class Pairs(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(2 * d)
        self.fc = nn.Linear(2 * d, d)
    def forward(self, x, y, n, m):
        pairs = torch.cat([x.repeat_interleave(n, 0), y.repeat_interleave(m, 0)], dim=-1)
        return self.fc(self.norm(pairs))
`,
  'a new axis of one': `
def grown(x, dim, n):
    x = x.unsqueeze(dim)
    return x.expand(*x.shape[:dim], n, *x.shape[dim + 1 :])

class Diffusion(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Linear(d, d)
    def forward(self, x, dim):
        return self.fc(self.norm(grown(x, dim=dim, n=1)))
`,
  'a branch for another type': `
class Scorer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        x = torch.relu(x)
        if isinstance(x, (list, tuple)):
            x = torch.cat(x, dim=0).repeat(n, 1)
        return self.fc(x)
`,
  'rows of a buffer that are written one by one': `
class Ranker(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, user, items):
        b, n, d = items.shape
        rows = items.new_zeros(b, n, d)
        rows[:] = user.view(b, 1, d)
        rows[:, 0] = items[:, 0]
        return self.fc(rows)
`,
  'a mask written into all rows': `
def attend(q, k, v, mask):
    b, h, n, d = q.shape
    full = mask.new_zeros(b, 1, n, n)
    full[:, :, :, :4] = mask.view(b, 1, 1, 4)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=full)
`,
  'slots that are filled where there is something to fill them with': `
class Denoiser(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.slots = nn.Parameter(torch.zeros(100, d))
        self.fc = nn.Linear(d, d)
    def forward(self, labels, rows, places, n):
        queries = self.slots.repeat(n, 1, 1)
        if len(rows):
            queries[(rows.long(), places)] = labels
        return self.fc(queries)
`,
  'two of a list': `
class Prompts(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(2 * d, d)
    def forward(self, parts):
        embeddings = []
        for part in parts:
            embeddings.append(torch.relu(part))
        joined = embeddings[0]
        for i in range(1, len(embeddings)):
            joined = torch.cat([joined, embeddings[i]], dim=2)
        return self.fc(joined)
`,
  'made once, when the model is': `
class Rotation(nn.Module):
    def __init__(self, blocks, size):
        super().__init__()
        self.identity = torch.eye(size).unsqueeze(0).repeat(blocks, 1, 1)
        self.more = [torch.eye(n).unsqueeze(0).repeat(blocks, 1, 1) for n in (2, 4)]
    def forward(self, x):
        return torch.bmm(self.identity, x), [torch.bmm(one, x) for one in self.more]
`,
  'one position of a view in each pass': `
class Recycled(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x, passes):
        x = x.unsqueeze(-1).expand(*x.shape, passes)
        for i in range(passes):
            y = self.fc(x[..., i].to(torch.float32))
        return y
`,
  'blocks of a concatenation behind a mean over all of them': `
class Scorer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(2 * d, d)
    def forward(self, user, items):
        u = user.unsqueeze(1).expand(-1, items.shape[1], -1)
        x = torch.cat([u, items], dim=-1)
        return self.fc(x - x.mean(dim=-1, keepdim=True))
`,
  'a token in the place of masked rows': `
class Masked(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, d))
        self.fc = nn.Linear(d, d)
    def forward(self, x, mask):
        b, n, d = x.shape
        tokens = self.token.expand(b, n, -1)
        w = mask.flatten(1).unsqueeze(-1).type_as(tokens)
        return self.fc(x * (1.0 - w) + tokens * w)
`,
  'layers of several kinds under keys that are not known': `
class Kinds(nn.Module):
    def __init__(self, d, names, kinds):
        super().__init__()
        self.parts = nn.ModuleDict()
        for name in names:
            self.parts[name] = nn.Linear(d, d)
        for kind in kinds:
            self.parts[kind] = nn.LayerNorm(d)
    def forward(self, x, n, kind):
        return self.parts[kind](x.repeat(n, 1))
`,
  'pooled to more than one place, and a list of what differs': `
class Pooled(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(7)
        self.mix = nn.Conv2d(2 * d, d, 1)
        self.fc = nn.Linear(d, d)
        self.drop = nn.Dropout(0.1)
    def grid(self, x):
        return self.mix(torch.cat([x, self.pool(x).expand_as(x)], dim=1))
    def passes(self, x, n):
        return self.fc(torch.stack([torch.bernoulli(x) for _ in range(n)], dim=1))
`,
  'keys repeated along their own sequence': `
class Melody(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder
    def forward(self, x, melody, length):
        n = length // melody.shape[1]
        melody = melody.repeat(1, n, 1)[:, :length]
        return self.decoder(x, encoder_hidden_states=melody)
`,
  'values of a mapped dict that are moved, and fields without a copy': `
from dataclasses import dataclass

@dataclass
class Rays:
    origins: Tensor
    codes: Tensor

class Field(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def of_dict(self, features, device):
        features = {k: v.to(device) for k, v in features.items()}
        return self.fc(torch.cat([features['user'], features['item']], dim=0))
    def of_dataclass(self, code, o, n):
        rays = Rays(o, code.repeat(n, 1))
        return self.fc(rays.origins)
`,
};

describe('idioms', () => {
  for (const [name, source] of Object.entries(CASES)) it(name, async () => void (await check(source)));
});

describe('idioms that are no copies', () => {
  for (const [name, source] of Object.entries(CLEAN)) it(name, async () => void (await check(source)));
});
