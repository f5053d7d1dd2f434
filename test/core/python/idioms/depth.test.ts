import { idioms } from './idioms';

idioms('idioms: sizes, ranks and layers that are far apart', {
  'pairs flattened in a list of features': `
module Embedder(d):
    self.fc = nn.Sequential(nn.Linear(2 * d + 1, d), nn.ReLU())
    def pairs(self, x, batch, n):
        left = torch.tile(x[:, :, None, :], (1, 1, n, 1))
        right = torch.tile(x[:, None, :, :], (1, n, 1, 1))  #! IKB101 -> fc
        return torch.cat([left, right], dim=-1).float().reshape([batch, n**2, -1])
    def forward(self, ids, x, offsets):
        batch, n = ids.shape
        x = x[:, None, :].expand(-1, n, -1).contiguous()  #! IKB101 -> fc
        features = [self.pairs(x, batch, n)]
        features.append(offsets.reshape([batch, n**2, 1]))
        return self.fc(torch.cat(features, dim=-1))  #= fc
`,
  'pairs behind features of unknown rank': `
module Edges(d):
    self.fc = nn.Linear(3 * d, d)
    def forward(self, nodes, edges):
        b, n, _ = nodes.shape
        left = torch.tile(nodes[:, :, None, :], (1, 1, n, 1))  #! IKB101 -> fc
        right = torch.tile(nodes[:, None, :, :], (1, n, 1, 1))  #! IKB101 -> fc
        both = torch.cat([left, right], axis=-1)
        return self.fc(torch.cat([edges, both], axis=-1).reshape(b * n**2, -1))  #= fc
`,
  'pooled by one of two functions': `
def largest(x, dim=-1, keepdim=False):
    out, _ = x.max(dim=dim, keepdim=keepdim)
    return out
module Encoder(d, leaky=False):
    self.fc = nn.Linear(d, d)
    self.merge = nn.Linear(2 * d, d)
    if not leaky:
        self.pool = largest
    else:
        self.pool = torch.mean
    def forward(self, x):
        x = self.fc(x)
        pooled = self.pool(x, dim=1, keepdim=True).expand(x.size())  #! IKB102 -> merge
        return self.merge(torch.cat([x, pooled], dim=2))  #= merge
`,
  'layers in layers in layers': `
module Scores(config):
    self.query = nn.Linear(config.width, config.width)
    def forward(self, x, memory):
        return self.query(x) @ memory.transpose(1, 2)  #= query
module Attention(config):
    self.scores = Scores(config)
    def forward(self, x, memory):
        return self.scores(x, memory)
module Layer(config):
    self.attention = Attention(config)
    def forward(self, x, memory):
        return self.attention(x, memory)
module Encoder(config):
    self.layers = nn.ModuleList([Layer(config) for _ in range(config.depth)])
    def forward(self, x, memory):
        for layer in self.layers:
            x = layer(x, memory)
        return x
module Abstractor(config):
    self.encoder = Encoder(config)
    def forward(self, queries, memory):
        return self.encoder(queries, memory)
module Model(config):
    self.queries = nn.Parameter(torch.zeros(1, config.count, config.width))
    self.abstractor = Abstractor(config)
    def forward(self, images):
        queries = self.queries.expand(images.shape[0], -1, -1)  #! IKB102 -> query
        return self.abstractor(queries, images)
`,
  'ids that are repeated and then written out as ones and zeros': `
def orders(order, b, n, mask):
    places = F.one_hot(order[None].repeat(b, 1), num_classes=n).float()
    return torch.einsum('ij,biq,bjp->bqp', mask, places, places)
`,
});
