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
});
