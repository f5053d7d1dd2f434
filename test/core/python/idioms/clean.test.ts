import { idioms } from './idioms';

idioms('idioms that are no copies', {
  'positions that are copied, and what is computed of them': `
module Refine(d):
    self.embed = nn.Linear(d + 1, d)
    def forward(self, pair, idx):
        idx = torch.cat([idx, idx])
        apart = torch.log(torch.abs(idx[:, None, :] - idx[:, :, None]) + 1.0)
        return self.embed(torch.cat((pair, apart.unsqueeze(-1)), dim=-1))
`,
  'what is written for a type checker and never runs': `
from typing import TYPE_CHECKING
fc = nn.Linear(8, 8)
if TYPE_CHECKING:
    from torch import Tensor as Typed
    def score(user: Tensor, n: int):
        return fc(user.repeat_interleave(n, dim=0))
module Scorer(d):
    self.fc = nn.Linear(d, d)
    def forward(self, user: Typed, n: int):
        if TYPE_CHECKING:
            return self.fc(user.repeat_interleave(n, dim=0))
        return self.fc(user).repeat_interleave(n, dim=0)
`,
  'copies of two tensors in different orders, joined and normalized': `
module Pairs(d):
    self.norm = nn.LayerNorm(2 * d)
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, n):
        pairs = torch.cat([x.repeat_interleave(n, 0), x.repeat(n, 1)], dim=-1)
        return self.fc(self.norm(pairs))
`,
  'copies as often as something else says': `
module Pairs(d):
    self.norm = nn.LayerNorm(2 * d)
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, y, n, m):
        pairs = torch.cat([x.repeat_interleave(n, 0), y.repeat_interleave(m, 0)], dim=-1)
        return self.fc(self.norm(pairs))
`,
  'what is drawn from a distribution, beside copies of its mean': `
from torch.distributions import Independent, Normal

def sample(mean, scale):
    unit = torch.distributions.normal.Normal(torch.zeros(1), torch.ones(1))
    return unit.sample(mean.size()).squeeze(-1) * scale + mean

module Latent(d):
    self.fc = nn.Linear(d, d)
    def forward(self, mean, scale, n):
        return self.fc(sample(mean.repeat(n, 1, 1), scale.repeat(n, 1, 1)))
    def from_prior(self, user, n):
        prior = Independent(Normal(user, 1.0), 1)
        return self.fc(user.repeat_interleave(n, dim=0) + prior.rsample((n,)))
`,
  'a new axis of one': `
def grown(x, dim, n):
    x = x.unsqueeze(dim)
    return x.expand(*x.shape[:dim], n, *x.shape[dim + 1 :])

module Diffusion(d):
    self.norm = nn.LayerNorm(d)
    self.fc = nn.Linear(d, d)
    def forward(self, x, dim):
        return self.fc(self.norm(grown(x, dim=dim, n=1)))
`,
  'a branch for another type': `
module Scorer(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        x = torch.relu(x)
        if isinstance(x, (list, tuple)):
            x = torch.cat(x, dim=0).repeat(n, 1)
        return self.fc(x)
`,
  'rows of a buffer that are written one by one': `
module Ranker(d):
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
module Denoiser(d):
    self.slots = nn.Parameter(torch.zeros(100, d))
    self.fc = nn.Linear(d, d)
    def forward(self, labels, rows, places, n):
        queries = self.slots.repeat(n, 1, 1)
        if len(rows):
            queries[(rows.long(), places)] = labels
        return self.fc(queries)
`,
  'two of a list': `
module Prompts(d):
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
module Rotation(blocks, size):
    self.identity = torch.eye(size).unsqueeze(0).repeat(blocks, 1, 1)
    self.more = [torch.eye(n).unsqueeze(0).repeat(blocks, 1, 1) for n in (2, 4)]
    def forward(self, x):
        return torch.bmm(self.identity, x), [torch.bmm(one, x) for one in self.more]
`,
  'one position of a view in each pass': `
module Recycled(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, passes):
        x = x.unsqueeze(-1).expand(*x.shape, passes)
        for i in range(passes):
            y = self.fc(x[..., i].to(torch.float32))
        return y
`,
  'blocks of a concatenation behind a mean over all of them': `
module Scorer(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, user, items):
        u = user.unsqueeze(1).expand(-1, items.shape[1], -1)
        x = torch.cat([u, items], dim=-1)
        return self.fc(x - x.mean(dim=-1, keepdim=True))
`,
  'a token in the place of masked rows': `
module Masked(d):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.fc = nn.Linear(d, d)
    def forward(self, x, mask):
        b, n, d = x.shape
        tokens = self.token.expand(b, n, -1)
        w = mask.flatten(1).unsqueeze(-1).type_as(tokens)
        return self.fc(x * (1.0 - w) + tokens * w)
`,
  'layers of several kinds under keys that are not known': `
module Kinds(d, names, kinds):
    self.parts = nn.ModuleDict()
    for name in names:
        self.parts[name] = nn.Linear(d, d)
    for kind in kinds:
        self.parts[kind] = nn.LayerNorm(d)
    def forward(self, x, n, kind):
        return self.parts[kind](x.repeat(n, 1))
`,
  'pooled to more than one place, and a list of what differs': `
module Pooled(d):
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
module Melody(decoder):
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

module Field(d):
    self.fc = nn.Linear(d, d)
    def of_dict(self, features, device):
        features = {k: v.to(device) for k, v in features.items()}
        return self.fc(torch.cat([features['user'], features['item']], dim=0))
    def of_dataclass(self, code, o, n):
        rays = Rays(o, code.repeat(n, 1))
        return self.fc(rays.origins)
`,
  'blocks between others of a merged axis, and copies that are merged with what they were copied for': `
module Ranker(d):
    self.mlp = nn.Linear(d, 16)
    def of_inner(self, items, user, n):
        columns = torch.cat([items, user.unsqueeze(1).expand(-1, n, -1)], dim=1)
        return self.mlp(columns.flatten(1))
    def of_dict(self, feed, names, n):
        held = {}
        for name in names:
            held[name] = feed[name].repeat_interleave(n, dim=0)
        for name in names:
            held[name] = self.other(name)
        return self.mlp(held['user'])
    def of_nothing(self, items, user):
        gate = 0
        scores = torch.relu(items) + gate * user.unsqueeze(1).repeat(1, 4, 1)
        return self.mlp(scores)
`,
  'a network that nobody is seen to hand in, and one that multiplies nothing': `
module Scaled(d):
    self.scale = nn.Parameter(torch.ones(d))
    def forward(self, x):
        return x * self.scale

class Ranker(nn.Module):
    def __init__(self, encoder, head):
        super().__init__()
        self.encoder = encoder
        self.head = head
    def forward(self, user, n):
        return self.head(self.encoder(user.repeat_interleave(n, dim=0)))

def build(head):
    return Ranker(Scaled(8), head)
`,
  'channels behind a mask over positions, which are then contracted': `
module Mixer(n):
    self.mix = nn.Linear(n, n)
    def forward(self, x, speaker, lengths, n):
        mask = torch.unsqueeze(torch.arange(x.size(2))[None] < lengths[:, None], 1).to(x.dtype)
        x = torch.cat([x, speaker.repeat_interleave(n, dim=0)], dim=1)
        return self.mix(x * mask)
`,
  'rows that are filled, and columns that are cleared': `
module Prosody(d):
    self.lstm = nn.LSTM(2 * d, d, batch_first=True)
    def filled(self, x, style, mask):
        s = style.unsqueeze(1).expand(-1, x.shape[1], -1)
        x = torch.cat([x, s], axis=-1)
        x.masked_fill_(mask.unsqueeze(-1), 1.0)
        return self.lstm(x)
    def columns(self, x, style, mask):
        s = style.unsqueeze(1).expand(-1, x.shape[1], -1)
        x = torch.cat([x, s], axis=-1)
        x.masked_fill_(mask, 0.0)
        return self.lstm(x)
`,
  'one row of keys repeated to fill a length': `
module Melody(decoder):
    self.decoder = decoder
    def forward(self, x, n):
        melody = torch.zeros((1, 1, 12))
        return self.decoder(x, encoder_hidden_states=melody.repeat(1, n, 1))
`,
  'copies of the other branch, asked for by its opposite': `
module Ranker(d, wide):
    self.wide = wide
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        if self.wide:
            x = x.repeat(n, 1)
        if not self.wide:
            x = self.fc(x)
        return x
`,
  'copies where there is something, a product where there is nothing': `
module Ranker(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, n, other):
        z = x.repeat(n, 1) if other is not None else x
        return self.fc(z) if other is None else z * other
`,
  'copies for one mode, a product for each other one': `
module Ranker(d, mode):
    self.mode = mode
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        if self.mode != 'user':
            z = x.repeat(n, 1)
        else:
            z = x
        return self.fc(z) if self.mode == 'user' else z
`,
  'copies for one mode, a product for another one': `
module Ranker(d, mode, wide):
    self.mode, self.wide = mode, wide
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        if self.mode == 'a':
            x = x.repeat(n, 1)
        if self.mode == "b":
            x = self.fc(x)
        return x
`,
  'copies where two things hold, a product where one does not': `
module Ranker(d, mode, wide):
    self.mode, self.wide = mode, wide
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        if self.wide and n > 1:
            x = x.repeat(n, 1)
        if not self.wide:
            x = self.fc(x)
        return x
`,
  'copies where one thing holds, a product where neither of two does': `
module Ranker(d, mode, wide):
    self.mode, self.wide = mode, wide
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        if self.wide:
            x = x.repeat(n, 1)
        if not (self.wide or self.mode):
            x = self.fc(x)
        return x
`,
  'copies for some modes, a product for the others': `
module Ranker(d, mode, wide):
    self.mode, self.wide = mode, wide
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        if self.mode in (1, 2):
            x = x.repeat(n, 1)
        if self.mode not in (1, 2):
            x = self.fc(x)
        return x
`,
  'both ends of an edge, multiplied or taken together': `
from torch_geometric.nn import MessagePassing
class Pairs(MessagePassing):
    def __init__(self, d):
        super().__init__(aggr='add')
        self.fc = nn.Linear(d, d)
    def message(self, x_i, x_j):
        return self.fc(x_i * x_j)

class Scores(MessagePassing):
    def __init__(self, d):
        super().__init__(aggr='add')
        self.both = nn.Bilinear(d, d, 1)
    def message(self, x_i, x_j):
        return self.both(x_i, x_j)

module Links(d):
    self.both = nn.Bilinear(d, d, 1)
    def forward(self, x, edge_index):
        row, col = edge_index
        return self.both(x[row], x[col])
`,
  'rows with their copies that a view joins to longer rows': `
module Joined(d):
    self.fc = nn.Linear(3 * d, d)
    def forward(self, x, n):
        b, d = x.shape
        two = self.fc(x.repeat_interleave(2, 0).view(-1, 3 * d))
        return two, self.fc(x.repeat(n, 1).view(-1, 3 * d))
`,
});
