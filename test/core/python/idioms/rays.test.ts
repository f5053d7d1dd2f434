import { check } from '../../check';
import { idioms } from './idioms';

const FIELD = `
module Field(a, b, w):
    self.sizes = [a, b]
    self.first, self.second = nn.Linear(a, w), nn.Linear(w + b, 3)
    def forward(self, x, points_only=False):
        if not points_only:
            points, directions = torch.split(x, self.sizes, dim=-1)
        else:
            points = x
        h = F.relu(self.first(points))
        if points_only:
            return h
        return self.second(torch.cat([h, directions], -1))  #= second
`;

idioms('idioms: networks that functions are given', {
  'by a list, through a nested function with a flag': `${FIELD}
def render(models, points, directions, n):
    def colour(field, points, directions, points_only=False):
        if not points_only:
            directions = torch.repeat_interleave(directions, repeats=n, dim=0)  #! IKB101 -> second
        parts = []
        for i in range(0, points.shape[0], 1024):
            if not points_only:
                both = torch.cat([points[i:i + 1024], directions[i:i + 1024]], 1)
            else:
                both = points[i:i + 1024]
            parts += [field(both, points_only=points_only)]
        return torch.cat(parts, 0)
    coarse = models[0]
    density = colour(coarse, points, directions, points_only=True)
    return density, colour(models[1], points, directions)

def run(args, points, directions):
    coarse = Field(63, 27, args.width)
    models = [coarse, Field(63, 27, args.width)]
    return render(models, points, directions, args.n)
`,
  'by a lambda and a dictionary of arguments, behind an encoding of its own': `${FIELD}
class Encoding:
    def __init__(self, **given):
        self.given = given
        self.create()
    def create(self):
        parts = [lambda x: x]
        for frequency in 2. ** torch.linspace(0., self.given['most'], steps=4):
            for wave in self.given['waves']:
                parts.append(lambda x, wave=wave, frequency=frequency: wave(x * frequency))
        self.parts = parts
    def encode(self, x):
        return torch.cat([part(x) for part in self.parts], -1)

def encoder(n, kind=0):
    if kind == -1:
        return nn.Identity(), 3
    one = Encoding(most=n - 1, waves=[torch.sin, torch.cos])
    encode = lambda x, one=one: one.encode(x)
    return encode, 3 + 6 * n

def in_parts(fn, chunk):
    def each(x):
        return torch.cat([fn(x[i:i + chunk]) for i in range(0, x.shape[0], chunk)], 0)
    return each

def query(points, directions, field_fn, encode, encode_directions, chunk=65536):
    x = encode(torch.reshape(points, [-1, points.shape[-1]]))
    spread = directions[:, None].expand(points.shape)  #! IKB101 -> second
    spread = encode_directions(torch.reshape(spread, [-1, spread.shape[-1]]))
    return in_parts(field_fn, chunk)(torch.cat([x, spread], -1))

def build(args):
    encode, a = encoder(args.n, args.kind)
    encode_directions, b = encoder(args.m, args.kind)
    field = Field(a, b, args.width)
    query_fn = lambda points, directions, field_fn: query(
        points,
        directions,
        field_fn,
        encode=encode,
        encode_directions=encode_directions)
    return {'query_fn': query_fn, 'field_fn': field}

def render(rays, query_fn, field_fn):
    return query_fn(rays[..., :3], rays[..., 3:], field_fn)

def main(args, rays):
    return render(rays, **build(args))
`,
  'once a network, once what is not known': `
def spread(model, x, n):
    return model(x.repeat_interleave(n, dim=0))  #! IKB102 -> fc

module Net(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)  #= fc

def one(x, n):
    net = Net(4)
    return spread(net, x, n)

def other(build, x, n):
    return spread(build(), x, n)
`,
  'of which nothing is known': `
def spread(model, x, n):
    return model(x.repeat_interleave(n, dim=0))

def other(build, x, n):
    return spread(build(), x, n)
`,
  'the direction of each ray for its samples, by an index that sums name by a keyword': `
module Colours(d):
    self.net = nn.Sequential(nn.Linear(d, d), nn.ReLU())
    def forward(self, features, directions, weights, ray_id, n):
        views = torch.cat([directions, directions.sin()], -1)
        views = views.flatten(0, -2)[ray_id]  #! IKB101 -> net
        rgb = self.net(torch.cat([features, views], -1))  #= net
        return segment_coo(src=(weights.unsqueeze(-1) * rgb), index=ray_id, out=torch.zeros([n, 3]), reduce='sum')
    def kept(self, features, directions, weights, mask, ray_id, n):
        views = directions.flatten(0, -2)[mask]
        rgb = self.net(torch.cat([features, views], -1))
        return segment_coo(src=(rgb * mask.float()), index=ray_id, out=torch.zeros([n, 3]), reduce='sum')
`,
});

idioms('idioms: blocks that stay blocks', {
  'columns copied before they are joined and copied again': `
module Relation(d, q):
    self.g = nn.Linear(2 * d + q, 256)
    def forward(self, x, question):
        question = torch.unsqueeze(question, 1).repeat(1, 25, 1)  #! IKB101 -> g
        first = torch.unsqueeze(x, 1).repeat(1, 25, 1, 1)  #! IKB101 -> g
        second = torch.cat([torch.unsqueeze(x, 2), torch.unsqueeze(question, 2)], 3)
        second = second.repeat(1, 1, 25, 1)  #! IKB101 -> g
        return self.g(torch.cat([first, second], 3))  #= g
`,
  'copies of copies along another axis, merged into rows': `
module Relation(d, q):
    self.g = nn.Linear(d + q, 256)
    def forward(self, pairs, question):
        b, n, _, d = pairs.size()
        question = question.unsqueeze(1).repeat(1, n, 1).unsqueeze(2)  #! IKB101 -> g
        question = question.repeat(1, 1, n, 1)  #! IKB101 -> g
        x = torch.cat([pairs, question], 3)
        return self.g(x.view(b * n ** 2, -1))  #= g
`,
  'a grid of numbers that is folded': `
module Folding(d, n):
    self.conv = nn.Conv1d(d + 2, d, 1)
    self.grid = torch.linspace(-1., 1., steps=n).view(1, 1, n)
    def forward(self, code):
        b, d, n = code.shape
        grid = self.grid.expand(b, 2, n)  #! IKB101 -> conv
        return self.conv(torch.cat([grid, code], dim=1))  #= conv
`,
  'channels that become the last axis, of whatever rank': `
module Vectors(c, d):
    self.fc = nn.Linear(2 * c, d)
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True).expand(x.size())  #! IKB101 -> fc
        x = torch.cat((x, mean), 1)
        return self.fc(x.transpose(1, -1)).transpose(1, -1)  #= fc
`,
  'a count that is one until a method says how many there are': `
module Views(d):
    self.views = 1
    self.fc = nn.Linear(d, d)
    def encode(self, images):
        self.views = images.size(1)
    def forward(self, x):
        return self.fc(x.repeat_interleave(self.views, dim=0))  #! IKB102 -> fc  #= fc
`,
  'cut at other widths than they were joined': `
module Head(d):
    self.fc = nn.Linear(8, 4)
    def forward(self, x, q, n):
        both = torch.cat([x.reshape(-1, 3), q.reshape(-1, 5).repeat_interleave(n, dim=0)], dim=-1)
        head, tail = torch.split(both, [5, 3], dim=-1)
        return self.fc(torch.cat([head, tail * tail], dim=-1))
`,
  'layers that a subclass of nn.Sequential calls one by one': `
class Stages(nn.Sequential):
    def __init__(self, *stages):
        super().__init__(*stages)
    def forward(self, x):
        for stage in self._modules.values():
            x = stage(x)  #= fc
        return x

module Net(d):
    self.head = Stages(nn.Linear(2 * d, d), nn.ReLU())
    def forward(self, x, pooled):
        pooled = pooled.repeat_interleave(x.shape[1], dim=1)  #! IKB101 -> fc
        return self.head(torch.cat([pooled, x], dim=-1))
`,
});

describe('modules of other files', () => {
  const ENCODER = `import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, c, pooled=True):
        super().__init__()
        self.conv = nn.Conv1d(c, 64, 1)
        self.pooled = pooled

    def forward(self, x):
        points = self.conv(x)
        x = torch.max(points, 2, keepdim=True)[0]
        if self.pooled:
            return x, points
        x = x.repeat(1, 1, points.size(2))
        return torch.cat([x, points], 1), points
`;
  const files = { read: (path: string) => (path === 'encoder.py' ? ENCODER : undefined) };
  const head = (made: string, line: string): string => `
from encoder import Encoder

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = ${made}
        self.conv = nn.Conv1d(128, 64, 1)
    def forward(self, x):
        x, points = self.encode(x)  ${line}
        return self.conv(x)  #= conv
`;
  it('return copies that are joined and multiplied here', async () => {
    await check(head('Encoder(3, pooled=False)', '#! IKB101 -> conv'), { files });
  });
  it('return none where a flag leaves them out', async () => {
    await check(head('Encoder(3)', ''), { files });
  });
});
