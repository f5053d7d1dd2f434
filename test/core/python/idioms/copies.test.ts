import { idioms } from './idioms';

idioms('idioms: how a copy is made', {
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
module Ranker(d):
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

module Ensemble(members, a, b):
    self.members = members
    self.weight = nn.Parameter(torch.zeros(members, a, b))
    def forward(self, inputs):
        return torch.bmm(repeated(inputs, self.members), self.weight)  #= bmm
`,
  'expanded to the sizes of two axes': `
module Speaker(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, speaker):
        x = torch.cat([x, speaker.expand(x.size(0), x.size(1), -1)], dim=-1)  #! IKB101 -> fc
        return self.fc(x)  #= fc
`,
  'a helper that copies along the axis that it is told': `
def spread(rows, dim: int, count: int):
    return rows.unsqueeze(dim).repeat_interleave(count, dim=dim)  #! IKB102 -> net

module Model(d):
    self.net = nn.Sequential(nn.Linear(d, 8), nn.ReLU(), nn.Linear(8, 2))
    def forward(self, x, n=None):
        if n is not None:
            x = spread(x, 1, n)
        return self.net(x)  #= net
`,
  'expanded to each other, one of them chosen by a branch': `
module Edges(d):
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
  'what holds for a whole map, beside it': `
module Context(d):
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
module Steps(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        return self.fc(torch.stack([x for _ in range(n)], dim=1))  #! IKB102 -> fc  #= fc
`,
  'a list of one, as often as there are steps': `
module Static(d):
    self.fc = nn.Linear(d, d)
    def of_count(self, x, s):
        s = torch.cat(x.size(0) * [s]).view(x.size(0), x.size(1), -1)  #! IKB102 -> a
        return self.fc(s)  #= a
    def of_list(self, x, s):
        s = torch.cat([s] * x.size(0)).view(x.size(0), x.size(1), -1)  #! IKB102 -> b
        return self.fc(s)  #= b
`,
  'of which some values are replaced where a test of themselves says so': `
class Head(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, pair, user, n):
        x = torch.cat([pair, user.unsqueeze(1).repeat(1, n, 1)], dim=-1)  #! IKB101 -> cat
        x[x == float('-inf')] = 0
        return self.fc(x)  #= cat
    def whole(self, user, n):
        x = user.unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> whole
        x[torch.isnan(x)] = 0.0
        return self.fc(x)  #= whole
    def by_others(self, user, n, mask, y):
        x, z = user.unsqueeze(1).repeat(1, n, 1), user.unsqueeze(1).repeat(1, n, 1)
        x[mask] = 0.0
        z[y < 0] = 0.0
        return self.fc(x) + self.fc(z)
    def by_values(self, user, n, values):
        x = user.unsqueeze(1).repeat(1, n, 1)
        x[x < 0] = values
        return self.fc(x)
`,
  'and rearrangements by a text that is put together': `
class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.heads = h
        self.fc = nn.Linear(d, d)
    def forward(self, x, layout):
        x = rearrange(x, f'b t (h d) -> {layout}', h=self.heads)
        x = rearrange(x, f'{layout} -> b t (h d)', h=self.heads)
        return self.fc(x)
    def known(self, user, t):
        layout = 'b h t d'
        x = repeat(user, f'b h d -> {layout}', t=t)  #! IKB102 -> known
        return self.fc(rearrange(x, f'{layout} -> b t (h d)'))  #= known
`,
  'among rows of which those that a cache holds are left out': `
module Decoder(d):
    self.start = nn.Parameter(torch.zeros(d))
    self.to_q = nn.Linear(d, d)
    def forward(self, x, cache=None):
        start = repeat(self.start, 'd -> b 1 d', b=x.shape[0])  #! IKB102 -> q
        x = torch.cat((start, x), dim=1)
        if cache is not None:
            kept = cache.shape[-2]
        else:
            kept = 0
        x = x[:, kept:]
        return self.to_q(x)  #= q
    def rest(self, x, kept):
        start = repeat(self.start, 'd -> b 1 d', b=x.shape[0])
        return self.to_q(torch.cat((start, x), dim=1)[:, kept:])
`,
  'of a deviation, which is a number more than a variance': `
module Pool(d):
    self.conv = nn.Conv1d(d, d, 1)
    def forward(self, x):
        std = torch.sqrt(torch.var(x, dim=-1, keepdim=True) + 1e-10).expand_as(x)  #! IKB101 -> conv
        return self.conv(torch.cat((x, std), dim=1))  #= conv
`,
});
