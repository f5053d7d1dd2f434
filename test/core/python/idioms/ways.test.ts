import { idioms } from './idioms';

idioms('idioms: from the copy to the layer', {
  'copies of two tensors in the same order, joined and normalized': `
module Conditioner(d):
    self.norm = nn.LayerNorm(2 * d)
    self.embed = nn.Linear(2 * d, d)
    def forward(self, trunk, profile):
        return self.embed(self.norm(torch.cat((trunk, profile), dim=-1)))  #= embed

module Sampler(d):
    self.condition = Conditioner(d)
    def forward(self, trunk, profile, samples):
        return self.condition(
            trunk.repeat_interleave(samples, 0),  #! IKB102 -> embed
            profile.repeat_interleave(samples, 0),  #! IKB102 -> embed
        )
`,
  'copies of two tensors in the same order, added and activated': `
module Modulated(d):
    self.scale = nn.Sequential(nn.SiLU(), nn.Linear(d, 2 * d))
    def forward(self, time, label, frames):
        t = repeat(time, 'n d -> (n f) d', f=frames)  #! IKB102 -> scale
        y = repeat(label, 'n d -> (n f) d', f=frames)  #! IKB102 -> scale
        return self.scale(t + y)  #= scale
`,
  'positions in a buffer': `
module Embeddings(d, n):
    self.token = nn.Parameter(torch.zeros(d))
    self.position = nn.Embedding(n, d)
    self.register_buffer('position_ids', torch.arange(n).expand((1, -1)), persistent=False)
    def forward(self, x):
        token = self.token.expand(x.shape[0], 1, -1)  #! IKB102 -> fc
        return torch.cat([token, x], dim=1) + self.position(self.position_ids)

module Tower(d, n):
    self.embeddings = Embeddings(d, n)
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(self.embeddings(x))  #= fc
`,
  'joined on one branch, then normalized by one of two layers': `
module Tower(d, prefix, pre):
    self.prefix = nn.Parameter(torch.zeros(1, 4, d)) if prefix else None
    self.pre = nn.LayerNorm(d) if pre else nn.Identity()
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        if self.prefix is not None:
            x = torch.cat([self.prefix.expand(x.shape[0], -1, -1), x], dim=1)  #! IKB102 -> fc
        return self.fc(self.pre(x))  #= fc
`,
  'latents that are projected as they are, and later with what was added': `
module Attention(d):
    self.to_q = nn.Linear(d, d)
    self.to_kv = nn.Linear(d, 2 * d)
    def forward(self, x, latents):
        q = self.to_q(latents)  #= query
        k, v = self.to_kv(x).chunk(2, dim=-1)
        return F.scaled_dot_product_attention(q, k, v)

module Resampler(d):
    self.latents = nn.Parameter(torch.zeros(1, 16, d))
    self.attention = Attention(d)
    self.out = nn.Linear(d, d)
    def forward(self, x):
        latents = self.latents.repeat(x.size(0), 1, 1)  #! IKB102 -> query
        latents = self.attention(x, latents) + latents
        return self.out(latents)
`,
  'rows merged by a view of unknown width': `
module Blend(d):
    self.fc = nn.Linear(12, d)
    def forward(self, x, parts):
        rays, samples, d = x.shape
        points, features, colors = torch.split(x, parts, dim=-1)
        colors = colors.view(rays * samples, -1, 4)
        shared = features[..., :8].reshape(rays * samples, 1, -1).expand(-1, colors.shape[-2], -1)  #! IKB101 -> fc
        return self.fc(torch.cat((colors, shared), dim=-1))  #= fc
`,
  'a token behind normalizations that are written out': `
module Norm(d):
    self.g = nn.Parameter(torch.ones(d))
    def forward(self, x):
        mean = torch.mean(x, dim=-1, keepdim=True)
        var = torch.var(x, dim=-1, unbiased=False, keepdim=True)
        return (x - mean) * (var + 1e-5).rsqrt() * self.g

module Root(d):
    self.weight = nn.Parameter(torch.ones(d))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

module Tower(d):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.norm = Norm(d)
    self.root = Root(d)
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)  #! IKB102 -> fc
        return self.fc(self.root(self.norm(x)))  #= fc
`,
  'more branches than are kept apart': `
module Critic(n, d):
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

module Field(d):
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
  'fields behind fields, made one vector': `
module Ranker(d):
    self.mlp = nn.Sequential(nn.Linear(d, 16), nn.ReLU())
    def of_flatten(self, items, user):
        fields = torch.cat([items, user.unsqueeze(1).repeat(1, items.shape[1], 1, 1)], dim=-2)  #! IKB101 -> a
        return self.mlp(fields.flatten(start_dim=-2))  #= a
    def of_view(self, items, user, n):
        fields = torch.cat([user.repeat_interleave(n, dim=0), items], dim=1)  #! IKB101 -> b
        return self.mlp(fields.view(fields.shape[0], -1))  #= b
    def of_front(self, items, user, n):
        fields = torch.cat([user.repeat_interleave(n, dim=0), items], dim=1)  #! IKB101 -> c
        return self.mlp(fields.flatten(1))  #= c
    def of_rank(self, items, user, n):
        b, f, d = user.shape
        fields = torch.cat([user.repeat_interleave(n, dim=0), items], dim=1)  #! IKB101 -> d
        return self.mlp(fields.reshape(b * n, -1))  #= d
`,
  'sequences for each item, packed': `
module Interest(d):
    self.gru = nn.GRU(d, d, batch_first=True)
    def forward(self, history, lengths, n):
        x = history.unsqueeze(1).repeat(1, n, 1, 1).reshape(-1, history.shape[-2], history.shape[-1])  #! IKB102 -> gru
        lengths = lengths.unsqueeze(1).repeat(1, n).reshape(-1)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return self.gru(packed, None)[0]  #= gru
`,
  'values of a dict that a loop fills, each copied where it is small': `
module Features(d, names):
    self.embeddings = nn.ModuleDict({name: nn.Embedding(10, d) for name in names})
    self.names = names
    self.fc = nn.Linear(d, d)
    def of_key(self, feed, n):
        held = {}
        for name in self.names:
            held[name] = self.embeddings[name](feed[name])
            held[name] = held[name] if len(held[name].shape) == 3 else held[name].unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> a
        return self.fc(held['user'])  #= a
    def of_all(self, feed, n):
        held = {}
        for name in self.names:
            held[name] = self.embeddings[name](feed[name]).unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> b
        return self.fc(torch.stack([held[name] for name in self.names], dim=-2))  #= b
`,
  'channels that were joined, behind a mask over positions': `
module Encoder(d):
    self.query = nn.Conv1d(2 * d, d, 1)
    def forward(self, x, speaker, lengths):
        mask = torch.unsqueeze(torch.arange(x.size(2))[None] < lengths[:, None], 1).to(x.dtype)
        x = torch.cat([x, speaker.unsqueeze(-1).repeat(1, 1, x.shape[-1])], dim=1)  #! IKB101 -> query
        return self.query(x * mask)  #= query
`,
  'blocks of one map, each of which is reported': `
module Critic(d):
    self.first = nn.Linear(d, 64)
    def forward(self, state, seen, others, n):
        parts = [state.unsqueeze(2).repeat(1, 1, n, 1)]  #! IKB101 -> first
        parts.append(seen.unsqueeze(2).repeat(1, 1, n, 1))  #! IKB101 -> first
        joined = torch.cat(parts, dim=-1)
        joined = repeat(joined, 'b t a f -> b t a e f', e=others.size(3))  #! IKB101 -> first
        return self.first(torch.cat((joined, others), dim=-1))  #= first
`,
  'ways that differ in their blocks alone': `
class Critic(nn.Module):
    def __init__(self, args, d):
        super().__init__()
        self.args = args
        self.n = args.agents
        self.first = nn.Linear(d, 64)
    def build(self, batch, t):
        parts = [batch['state'].unsqueeze(2).repeat(1, 1, self.n, 1)]  #! IKB101 -> first
        if self.args.seen:
            parts.append(batch['seen'])
        parts.append(batch['masked'])
        if self.args.last:
            if t == 0:
                parts.append(batch['zero'].unsqueeze(2).repeat(1, 1, self.n, 1))  #! IKB101 -> first
            elif isinstance(t, int):
                parts.append(batch['before'].unsqueeze(2).repeat(1, 1, self.n, 1))  #! IKB101 -> first
            else:
                parts.append(batch['last'].unsqueeze(2).repeat(1, 1, self.n, 1))  #! IKB101 -> first
        if self.args.ids:
            parts.append(torch.eye(self.n).unsqueeze(0).unsqueeze(0).expand(batch.size, batch.steps, -1, -1))  #! IKB101 -> first
        return torch.cat([x.reshape(batch.size, batch.steps, self.n, -1) for x in parts], dim=-1)
    def forward(self, batch, t=None):
        return self.first(self.build(batch, t))  #= first
`,
  'rows that a mask clears, in place or not': `
module Prosody(d):
    self.lstm = nn.LSTM(2 * d, d, batch_first=True)
    def in_place(self, x, style, mask):
        s = style.unsqueeze(1).expand(-1, x.shape[1], -1)  #! IKB101 -> a
        x = torch.cat([x, s], axis=-1)
        x.masked_fill_(mask.unsqueeze(-1), 0.0)
        return self.lstm(x)  #= a
    def made(self, x, style, mask):
        s = style.unsqueeze(1).expand(-1, x.shape[1], -1)  #! IKB101 -> b
        x = torch.cat([x, s], axis=-1).masked_fill(mask.unsqueeze(-1), 0)
        return self.lstm(x)  #= b
`,
  'copies behind each other that a view makes an axis': `
module Synthesizer(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, speaker):
        b, n = x.size(0), x.size(1)
        e = speaker.repeat_interleave(n, dim=1).reshape(b, speaker.size(1), n)  #! IKB101 -> fc
        return self.fc(torch.cat((x, e.transpose(1, 2)), 2))  #= fc
`,
  'keys that are None, given or computed': `
from typing import Optional
module Guided(d, generator):
    self.generator = generator
    def encode(self, prompt, keys: Optional[torch.Tensor], n, b, guided, dtype):
        if guided and keys is None:
            keys = self.text(prompt)[0]
        if guided:
            length = keys.shape[1]
            keys = keys.to(dtype=dtype if dtype is not None else torch.float16)
            keys = keys.repeat(1, n, 1).view(b * n, length, -1)  #! IKB201 -> generator
        else:
            keys = None
        return keys
    def forward(self, prompt, x, n, b, guided, dtype=None, keys: Optional[torch.Tensor] = None):
        keys = self.encode(prompt, keys, n, b, guided, dtype)
        return self.generator(x, encoder_hidden_states=keys)  #= generator
`,
  'sizes of what may be None': `
from typing import Optional
module Scorer(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, user: Optional[Tensor], items: Tensor):
        b, n, _ = items.shape
        user = user.repeat(1, n).view(b, n, user.shape[-1])  #! IKB101 -> fc
        return self.fc(torch.cat([user, items], dim=-1))  #= fc
`,
  'a time among others, divided by how many there are': `
from torch_scatter import scatter_sum
module Atoms(d, steps, wide):
    if wide:
        betas = torch.linspace(0, 1, steps) ** 2
    else:
        betas = make_betas(steps)
    self.count = betas.size(0)
    self.fc = nn.Linear(d + 1, d)
    def forward(self, atoms, batch, time_step=None):
        time = (time_step / self.count)[batch].unsqueeze(-1)  #! IKB101 -> fc
        return self.fc(torch.cat([atoms, time], -1))  #= fc
`,
  'heads of keys that a cache may have given back': `
def repeat_kv(x, n):
    b, t, heads, d = x.shape
    return x[:, :, :, None, :].expand(b, t, heads, n, d).reshape(b, t, heads * n, d)  #! IKB202 -> attention
module Attention(d, heads, width):
    self.heads, self.width = heads, width
    self.wk = nn.Linear(d, heads * width)
    def forward(self, q, x, at):
        b, t, _ = x.shape
        k = self.wk(x).view(b, t, self.heads, self.width)
        if hasattr(self, 'kv_cache'):
            k = self.kv_cache.update(k, at)
        k = repeat_kv(k, 4).transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, k)  #= attention
`,
});
