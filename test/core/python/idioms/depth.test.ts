import { idioms } from './idioms';

idioms('idioms: sizes, ranks and layers that are far apart', {
  'pairs flattened in a list of features': `
module Embedder(d):
    self.fc = nn.Sequential(nn.Linear(2 * d + 1, d), nn.ReLU())
    def pairs(self, x, batch, n):
        left = torch.tile(x[:, :, None, :], (1, 1, n, 1))  #! IKB101 -> fc
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
  'a view of other names, with an axis of size 1 among them': `
module Poses(d, width):
    self.width = width
    self.embed = nn.Linear(3, width)
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, t):
        b, joints, features, frames = x.shape
        time = self.embed(t).repeat(frames, 1, 1)  #! IKB101 -> fc
        time = time.permute(1, 2, 0).reshape(b, self.width, 1, frames)
        x = torch.cat((x.reshape(b, joints * features, 1, frames), time), axis=1)
        return self.fc(x.permute(3, 0, 1, 2).reshape(frames, b, -1))  #= fc
`,
  'copies next to each other, in a number that only the view names': `
module Folding(d, grid, fine):
    self.grid, self.fine = grid, fine
    self.coarse = nn.Linear(d, 3 * d)
    self.conv = nn.Conv1d(d + 8, 8, 1)
    def forward(self, x, seed):
        points = self.coarse(x).reshape(x.shape[0], -1, 8)
        points = points.unsqueeze(2).expand(-1, -1, self.grid ** 2, -1)  #! IKB101 -> conv
        points = points.reshape(-1, self.fine, 8).transpose(2, 1)
        return self.conv(torch.cat([seed, points], dim=1))  #= conv
`,
  'matrices for each of several frames, in rows': `
def compose(frames, others):
    turned = frames[..., None, :, :].expand_as(others).reshape(-1, 3, 3)  #! IKB301 -> product
    return torch.bmm(turned, others.view(-1, 3, 3))  #= product
`,
  'tokens that were joined along a later one of the axes that a view merges': `
module Tracks(d):
    self.tokens = nn.Parameter(torch.zeros(1, 4, 1, d))
    self.put = nn.Linear(d, d)
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        x = self.put(x)
        b, _, t, _ = x.shape
        x = torch.cat([x, self.tokens.repeat(b, 1, t, 1)], dim=1)  #! IKB102 -> fc
        n = x.shape[1]
        return self.fc(x.contiguous().view(b * n, t, -1))  #= fc
`,
  'copies of points, in a number of rows that is a multiple of theirs': `
module Folding(d, grid, coarse):
    self.grid = grid
    self.fine = grid ** 2 * coarse
    self.conv = nn.Conv1d(d + 3, 512, 1)
    def forward(self, points, features):
        copied = torch.unsqueeze(points, dim=2).repeat([1, 1, self.grid ** 2, 1])  #! IKB101 -> conv
        copied = torch.reshape(copied, (-1, self.fine, 3))
        return self.conv(torch.cat([copied, features], dim=2).permute(0, 2, 1))  #= conv
`,
  'layers that the constructor of a base builds by a method': `
module Attention(heads, d):
    self.k_lin = nn.Linear(d, d)
    self.v_lin = nn.Linear(d, d)
    def forward(self, query, key):
        return query @ self.k_lin(key).transpose(1, 2) @ self.v_lin(key)  #= k_lin
module Layer(heads, d):
    self.attention = Attention(heads, d)
    def forward(self, x, memory):
        return x + self.attention(query=x, key=memory)
module Decoder(heads, d, count):
    self.layers = nn.ModuleList()
    for _ in range(count):
        self.layers.append(Layer(heads, d))
    def forward(self, x, state):
        memory, mask = state
        for layer in self.layers:
            x = layer(x, memory)
        return x
module Base(options):
    self.build_model()
class Model(Base):
    def __init__(self, options):
        self.heads, self.width = options['heads'], options['width']
        super().__init__(options)
    def build_model(self):
        self._build_decoder()
    def _build_decoder(self):
        self.decoder = Decoder(self.heads, self.width, 2)
    def beams(self, x, state, beam):
        for i in range(self.longest):
            if i == 1:
                state = (state[0].repeat(beam, 1, 1), state[1].repeat(beam, 1))  #! IKB102 -> k_lin
            x = self.decoder(x, state)
        return x
`,
  'a stream that many layers have added to': `
module Layer(d):
    self.fc = nn.Sequential(nn.Linear(d, d), nn.ReLU())
    def forward(self, x):
        return self.fc(x)
module Head(d):
    self.layers = nn.ModuleList([Layer(d) for _ in range(6)])
    self.out = nn.Linear(d, 1)
    def forward(self, pairs, other, third, n):
        x = pairs.repeat_interleave(n, dim=0) + other
        x = x + third
        for layer in self.layers:
            x = x + layer(x)
        x = x + self.layers[0](x)
        x = x + self.layers[1](x)
        return self.out(x)
`,
  'one of several modules, by a function that returns early': `
module Dense(d, out):
    self.layer = nn.Linear(d, out)
    def forward(self, x):
        return self.layer(x)  #= dense
module Content(queries, d, width, windowing, norm, forward_mask):
    self.inputs_layer = Dense(d, width)
    def prepare(self, inputs):
        return self.inputs_layer(inputs)
module Mixture(queries, count):
    self.fc = nn.Linear(queries, count)
    def prepare(self, inputs):
        return None
def choose(kind, queries, d, width, windowing, norm, forward_mask, count):
    if kind == 'content':
        return Content(
            queries,
            d,
            width,
            windowing,
            norm,
            forward_mask,
        )
    if kind == 'mixture':
        return Mixture(queries, count)
    raise ValueError(kind)
module Decoder(kind, d, options):
    self.attention = choose(kind, 256, d, 128, options.windowing, options.norm, options.forward_mask, options.count)
    def forward(self, inputs):
        return self.attention.prepare(inputs)
module Model(kind, d, options):
    self.decoder = Decoder(kind, d, options)
    def forward(self, x, speaker):
        speaker = speaker.expand(x.size(0), x.size(1), -1)  #! IKB101 -> dense
        return self.decoder(torch.cat([x, speaker], dim=-1))
`,
});
