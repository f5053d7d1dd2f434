import { idioms } from './idioms';

idioms('idioms: images', {
  'a pooled context that is resized': `
module Context(c):
    self.pool = nn.AdaptiveAvgPool2d(1)
    self.reduce = nn.Conv2d(c, 32, 1)
    self.project = nn.Conv2d(64, 32, 1)
    def forward(self, x, y):
        context = self.reduce(self.pool(x))
        context = F.interpolate(context, size=x.shape[-2:], mode='bilinear', align_corners=False)  #! IKB101 -> project
        return self.project(torch.cat([y, context], dim=1))  #= project
`,
  'a pooled context of a block that derives from a container': `
class Pooling(nn.Sequential):
    def __init__(self, c):
        super().__init__(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, 32, 1), nn.ReLU())
    def forward(self, x):
        size = x.shape[-2:]
        x = super().forward(x)
        return F.interpolate(x, size=size, mode='nearest')  #! IKB101 -> project
module Pyramid(c):
    self.branches = nn.ModuleList([nn.Conv2d(c, 32, 1), Pooling(c)])
    self.project = nn.Sequential(nn.Conv2d(64, 32, 1), nn.ReLU())
    def forward(self, x):
        return self.project(torch.cat([branch(x) for branch in self.branches], dim=1))  #= project
`,
  'what is resized from several places': `
module Context(c):
    self.pool = nn.AdaptiveAvgPool2d(6)
    self.project = nn.Conv2d(2 * c, c, 1)
    def forward(self, x):
        context = F.interpolate(self.pool(x), size=x.shape[-2:], mode='bilinear')
        return self.project(torch.cat([x, context], dim=1))
`,
  'a context in front of a convolution that mixes neighbours': `
module Context(c):
    self.pool = nn.AdaptiveAvgPool2d(1)
    self.project = nn.Conv2d(2 * c, c, 3, padding=1)
    def forward(self, x):
        context = F.interpolate(self.pool(x), size=x.shape[-2:], mode='bilinear')
        return self.project(torch.cat([x, context], dim=1))
`,
  'a norm that casts around that of torch': `
class Norm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.float()).to(x.dtype)
module Tokens(d):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.norm = Norm(d)
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        token = self.token.expand(x.shape[0], -1, -1)  #! IKB102 -> fc
        x = torch.cat([token, x], dim=1)
        return self.fc(self.norm(x))  #= fc
`,
  'heads stacked and folded without a rank': `
def attend(q, k, v, groups):
    k = torch.stack([k] * groups, dim=2).reshape(k.shape[0], -1, k.shape[2], k.shape[3])  #! IKB202 -> attention
    return F.scaled_dot_product_attention(q, k, v)  #= attention
`,
  'values of a tree, each repeated': `
def over(fn, tree):
    if isinstance(tree, dict):
        return {key: over(fn, value) for key, value in tree.items()}
    return fn(tree)
module Model(d):
    self.fc = nn.Linear(d, d)
    def forward(self, single, pair, n):
        features = over(lambda t: t.repeat_interleave(n, dim=0), {'single': single, 'pair': pair})  #! IKB102 -> fc
        return self.fc(features['single'])  #= fc
`,
  'layers under names that are put together': `
module Colour(dims):
    self.count = len(dims)
    for i in range(0, self.count - 1):
        layer = nn.Linear(dims[i], dims[i + 1])
        setattr(self, 'layer' + str(i), layer)
    def forward(self, points, directions):
        x = torch.cat([points, directions], dim=-1)
        for i in range(0, self.count - 1):
            layer = getattr(self, 'layer' + str(i))
            x = layer(x)  #= layer
        return x
module Scene(config):
    self.colour = Colour(**config)
    def forward(self, rays, points, n):
        directions = rays.unsqueeze(1).repeat(1, n, 1)  #! IKB101 -> layer
        return self.colour(points, directions.reshape(-1, 3))
`,
  'layers taken from the dictionary of parts': `
module Stack(d, depth):
    self.depth = depth
    for i in range(depth):
        self.add_module('block_%d' % i, nn.Linear(2 * d, d))
    def forward(self, x, code):
        code = code.unsqueeze(1).expand(-1, x.shape[1], -1)  #! IKB101 -> block
        x = torch.cat([x, code], dim=-1)
        for i in range(self.depth):
            x = self._modules['block_%d' % i](x)  #= block
        return x
`,
  'two axes made one and a one behind them': `
module Denoiser(d):
    self.fc = nn.Linear(d + 1, d)
    def forward(self, t, x):
        b, n, d = x.shape
        time = t.view(b, 1).repeat(1, n)  #! IKB101 -> fc
        time = time.view(b * n, 1)
        return self.fc(torch.cat([x.view(b * n, d), time], dim=1))  #= fc
`,
  'origins of rays to which directions are added': `
module Field(d):
    self.fc = nn.Linear(3, d)
    def forward(self, origins, rays, depths):
        b, n, _ = rays.shape
        origins = origins.unsqueeze(1).repeat(1, n, 1).reshape(-1, 3)
        points = origins.unsqueeze(1) + depths.unsqueeze(2) * rays.reshape(-1, 3).unsqueeze(1)
        return self.fc(points.reshape(-1, 3))
`,
  'parameters that a number scales': `
import math
module Tokens(d, n):
    gain = 1.0 / math.sqrt(d)
    self.token = nn.Parameter(gain * torch.randn(1, 1, d))
    self.places = nn.Parameter(gain * torch.randn(1, n, d))
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], dim=1)  #! IKB102 -> fc
        return self.fc(x + self.places)  #= fc
`,
  'a fifth branch of its own kind': `
class Dilated(nn.Sequential):
    def __init__(self, c, rate):
        super().__init__(nn.Conv2d(c, 32, 3, padding=rate, dilation=rate), nn.ReLU())
class Context(nn.Sequential):
    def __init__(self, c):
        super().__init__(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, 32, 1))
    def forward(self, x):
        size = x.shape[-2:]
        for part in self:
            x = part(x)
        return F.interpolate(x, size=size)  #! IKB101 -> project
module Pyramid(c):
    branches = [nn.Conv2d(c, 32, 1), Dilated(c, 6), Dilated(c, 12), Dilated(c, 18), Context(c)]
    self.branches = nn.ModuleList(branches)
    self.project = nn.Conv2d(160, 32, 1)
    def forward(self, x):
        made = []
        for branch in self.branches:
            made.append(branch(x))
        return self.project(torch.cat(made, dim=1))  #= project
`,
  'memory beside values, in an equation of words': `
from einops import einsum
module Attend(heads, n, d):
    self.memory = nn.Parameter(torch.zeros(heads, n, d))
    def forward(self, weights, v):
        memory = repeat(self.memory, 'h m d -> b h m d', b=v.shape[0])  #! IKB301 -> mixed
        v = torch.cat((memory, v), dim=-2)
        return einsum(weights, v, 'batch h i j, batch h j d -> batch h i d')  #= mixed
`,
  'a norm unless another one is asked for': `
from functools import partial
module Tokens(d, norm=None):
    norm = norm or partial(nn.LayerNorm, eps=1e-6)
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.norm = norm(d)
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        token = self.token.expand(x.shape[0], -1, -1)  #! IKB102 -> fc
        return self.fc(self.norm(torch.cat([token, x], dim=1)))  #= fc
`,
  'an equation that leaves the axes in front open': `
def kernel(data, projection):
    b, h, *_ = data.shape
    projection = repeat(projection, 'j d -> b h j d', b=b, h=h)  #? IKB301 -> features
    return torch.einsum('...id,...jd->...ij', data, projection)  #= features
`,
  'what was an input before the first pass of a loop': `
module Skips(d, depth):
    self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(depth)])
    self.skips = [4]
    def forward(self, x):
        h = x
        for i, layer in enumerate(self.layers):
            if i in self.skips:
                h = torch.cat([h, x], dim=-1)
            h = layer(h)
        return h
`,
  'a token and its place, joined to others and theirs': `
module Points(d):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.place = nn.Parameter(torch.zeros(1, 1, d))
    self.fc = nn.Linear(d, d)
    def forward(self, groups, places):
        token = self.token.expand(groups.size(0), -1, -1)  #! IKB102 -> fc
        place = self.place.expand(groups.size(0), -1, -1)  #! IKB102 -> fc
        x = torch.cat((token, groups), dim=1)
        at = torch.cat((place, places), dim=1)
        return self.fc(x + at)  #= fc
`,
  'memory that is copied for one of two calls': `
module Captioner(decoder):
    self.decoder = decoder
    def generate(self, images, prompt, sample=False, beams=3):
        if not sample:
            images = images.repeat_interleave(beams, dim=0)  #! IKB201 -> search
        given = {'encoder_hidden_states': images, 'use_cache': True}
        if sample:
            return self.decoder(prompt, **given)
        else:
            return self.decoder(prompt, num_beams=beams, **given)  #= search
`,
  'prompts by the name of another batch': `
module Pipeline(unet):
    self.unet = unet
    def forward(self, x, empty, b, n):
        length = empty.shape[1]
        empty = empty.repeat(1, n, 1)  #! IKB201 -> call
        empty = empty.view(b * n, length, -1)
        return self.unet(x, encoder_hidden_states=empty)  #= call
`,
  'a class token under positions that are a parameter by keyword': `
def table(n, d):
    return torch.FloatTensor(make(n, d)).unsqueeze(0)
module Tokens(n, d):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.positions = nn.Parameter(data=table(n + 1, d), requires_grad=False)
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        token = self.token.expand(x.shape[0], -1, -1)  #! IKB102 -> fc
        return self.fc(torch.cat((token, x), dim=1) + self.positions)  #= fc
`,
  'a token and a table of positions that a function elsewhere makes': `
from .positions import sinusoid

module Block(d):
    self.norm = nn.LayerNorm(d)
    self.qkv = nn.Linear(d, 3 * d)
    def forward(self, x):
        return self.qkv(self.norm(x))  #= qkv

module Vision(d, n):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.pos = nn.Parameter(data=sinusoid(n, d), requires_grad=False)
    self.block = Block(d)
    def forward(self, x):
        token = self.token.expand(x.shape[0], -1, -1)  #! IKB102 -> qkv
        x = torch.cat((token, x), dim=1)
        return self.block(x + self.pos)
    def shifted(self, x, shift):
        token = self.token.expand(x.shape[0], -1, -1)
        x = torch.cat((token, x), dim=1)
        return self.block(x + shift)
`,
});
