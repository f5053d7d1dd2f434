import { idioms } from './idioms';

idioms('idioms: parts of something larger', {
  'parts of joined rows: the first, what is behind it, and a single row': `
module Token(d):
    self.cls = nn.Parameter(torch.zeros(1, 1, d))
    self.proj = nn.Linear(d, d)
    self.qkv = nn.Linear(d, 3 * d)
    def forward(self, x, y):
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), dim=1)  #! IKB102 -> qkv
        x = torch.cat([x[:, :1], x[:, 1:] + self.proj(y)], dim=1)
        return self.qkv(x)  #= qkv

module Query(d):
    self.cls = nn.Parameter(torch.zeros(1, 1, d))
    self.norm = nn.LayerNorm(d)
    self.q = nn.Linear(d, d)
    def forward(self, x):
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), dim=1)  #! IKB102 -> first
        return self.q(self.norm(x)[:, 0])  #= first

module Last(d):
    self.cls = nn.Parameter(torch.zeros(1, 1, d))
    self.q = nn.Linear(d, d)
    def forward(self, x):
        x = torch.cat((x, self.cls.expand(x.shape[0], -1, -1)), dim=1)  #! IKB102 -> last
        return self.q(x[:, -1])  #= last

module Added(d, n):
    self.cls = nn.Parameter(torch.zeros(1, 1, d))
    self.pos = nn.Parameter(torch.zeros(1, n + 1, d))
    self.q = nn.Linear(d, d)
    def forward(self, x):
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), dim=1) + self.pos  #! IKB102 -> added
        return self.q(x[:, 0:1])  #= added
`,
  'parts of joined rows that hold no copies, or whose beginning is not known': `
module Patches(d):
    self.cls = nn.Parameter(torch.zeros(1, 1, d))
    self.q = nn.Linear(d, d)
    self.k = nn.Linear(d, d)
    def forward(self, x, y, n):
        joined = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), dim=1)
        behind = torch.cat((x, self.cls.expand(x.shape[0], -1, -1)), dim=1)
        some = torch.cat((x, y, self.cls.expand(x.shape[0], -1, -1)), dim=1)
        return self.q(joined[:, 1:]), self.q(joined[:, 1]), self.k(behind[:, 0]), self.k(some[:, :-1]), self.k(some[:, n])
`,
  'a field of a record that is handed over': `
from dataclasses import dataclass

@dataclass
class Features:
    floats: torch.Tensor

class Reward(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, state: Features):
        x = state.floats
        if x.dim() == 3:
            raise ValueError('The states of one step are two-dimensional: batch and width. Give one step at a time.')
        x = x.float()
        names = ['a state that is long enough for its body to be no small helper that is followed in any case' for _ in x]
        more = ['the same again, since what is small is evaluated whether a copy is handed to it or not' for _ in x]
        even = ['and once more, up to seven hundred characters, which is what counts as small in this engine' for _ in x]
        last = ['that should do' for _ in names + more + even]
        return self.fc(x), last  #= fc

def best(network: Reward, state: torch.Tensor, n: int):
    return network(Features(state.repeat_interleave(n, dim=0)))  #! IKB102 -> fc
`,
  'rows of two kinds, each with a copied block': `
module Forecast(d):
    self.fc = nn.Sequential(nn.Linear(d + 1, d), nn.ReLU())
    def forward(self, seen, series, past, future):
        b, s = seen.shape[:2]
        old = torch.cat([seen[..., None], series[:, :, None, :].expand(b, -1, past, -1)], dim=3)  #! IKB101 -> fc
        blank = torch.rand(b, s, future, 1)
        new = torch.cat([blank, series[:, :, None, :].expand(b, -1, future, -1)], dim=3)  #! IKB101 -> fc
        return self.fc(torch.cat([old, new], dim=2))  #= fc
`,
  'not zeros of one of two lengths': `
module Critic(d, n):
    self.fc = nn.Linear(2 * d, d)
    self.n = n
    def forward(self, batch, seen, t=None):
        steps = batch.length if t is None else 1
        before = torch.zeros_like(batch['actions'][:, 0:1]).view(batch.size, steps, 1, -1)
        return self.fc(torch.cat([seen, before.repeat(1, 1, self.n, 1)], dim=-1))
`,
  'not where a docstring leaves out axes': `
module Sampler(d):
    self.rnn = nn.GRU(d, d, batch_first=True)
    def forward(self, past, scale, n):
        """
        Args:
            past: (B, T)
            scale: (B, 1, 1)
        """
        scale = scale.repeat_interleave(n, dim=0)
        return self.rnn(past / scale)
`,
  'the decoder of a transformer': `
module Forecast(d):
    self.transformer = nn.Transformer(d_model=d)
    def forward(self, step, seen, n):
        memory = seen.repeat_interleave(n, dim=1)  #! IKB201 -> decoder
        return self.transformer.decoder(step, memory)  #= decoder
`,
  'one of the blocks of a dict of modules, by a key that is made up': `
module Block(d):
    self.q = nn.Linear(d, d)
    def forward(self, x, seen):
        return self.q(x) @ seen  #= q

module Perceiver(d, depth):
    self.latents = nn.Parameter(torch.zeros(8, d))
    self.depth = depth
    self.encoder = nn.ModuleDict()
    self.encoder['block0'] = self.build(d)
    for n in range(1, depth):
        self.encoder['block' + str(n)] = self.build(d)
    def build(self, d):
        block = nn.ModuleDict()
        block['cross'] = nn.ModuleList([Block(d)])
        return block
    def forward(self, seen):
        x = repeat(self.latents, 'n d -> b n d', b=seen.shape[0])  #! IKB102 -> q
        for n in range(self.depth):
            for cross in self.encoder['block' + str(n)]['cross']:
                x = cross(x, seen)
        return x
`,
});
