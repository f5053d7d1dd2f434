import { idioms } from './idioms';

idioms('idioms: layers that are made later or elsewhere', {
  'in a method that a trainer calls, of the class or of its base': `
module Attention(width):
    self.mlp = nn.Sequential(nn.Linear(width, 16), nn.Sigmoid(), nn.Linear(16, 1))
    def forward(self, query, keys):
        return self.mlp(torch.cat((query, keys), dim=-1))  #= mlp

module Base(config):
    self.config = config
    def _init_model(self, data):
        self.unit = Attention(self.config.width)

class Din(Base):
    def _init_model(self, data):
        super()._init_model(data)
        self.head = nn.Linear(self.config.width, 1)
    def score(self, target, seen):
        query = target.unsqueeze(1).repeat(1, seen.size(1), 1)  #! IKB101 -> mlp
        return self.unit(query, seen)
    def last(self, target, n):
        users = target.repeat_interleave(n, dim=0)  #! IKB102 -> head
        return self.head(users)  #= head
`,
  'not in one that anybody may call': `
module Base(config):
    self.config = config
    def swap_head(self, d):
        self.head = nn.Linear(d, 1)
    def score(self, target, n):
        return self.head(target.repeat_interleave(n, dim=0))
`,
  'the core that each subclass makes': `
module Core(d):
    self.v2h = nn.Linear(d, d)
    def forward(self, xt, fc):
        return self.v2h(fc) + xt  #= core

module Captioner(d):
    self.embed = nn.Embedding(100, d)
    def forward(self, fc, seq, n):
        fc = fc.repeat_interleave(n, dim=0)  #! IKB102 -> core
        return self.step(seq, fc)
    def step(self, it, fc):
        return self.core(self.embed(it), fc)

class ShowTell(Captioner):
    def __init__(self, d):
        super().__init__(d)
        self.core = Core(d)
`,
  'handed in under a name that says nothing, and kept under another': `
module Scorer(transform):
    self.trans = transform
    def forward(self, query, items):
        query = query.unsqueeze(1).repeat(1, items.size(1), 1)  #! IKB101 -> trans
        return self.trans(torch.cat((query, items), dim=-1))  #= trans

module Ranker(d):
    self.mlp = nn.Sequential(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, 1))
    def scorer(self):
        return Scorer(self.mlp)
`,
  'one of two lists of layers': `
module Ranker(d, smooth):
    if smooth:
        layers = [nn.Linear(d * 2, d), nn.Tanh(), nn.Linear(d, 1)]
    else:
        layers = [nn.Linear(d * 2, d), nn.ReLU(), nn.Linear(d, 1)]
    self.mlp = nn.Sequential(*layers).to('cuda')
    def forward(self, user, items):
        user = user.unsqueeze(1).expand(-1, items.shape[1], -1)  #! IKB101 -> mlp
        return self.mlp(torch.cat([user, items], -1))  #= mlp
`,
  'in a method that prepares for a set of data': `
class Task(nn.Module):
    def __init__(self, model, width):
        super().__init__()
        self.model = model
        self.width = width
    def preprocess(self, train, valid):
        self.mlp = nn.Sequential(nn.Linear(2 * self.width, self.width), nn.ReLU(), nn.Linear(self.width, 1))
    def predict(self, x, graph):
        graph = graph.unsqueeze(1).repeat(1, x.shape[1], 1)  #! IKB101 -> mlp
        return self.mlp(torch.cat([x, graph], dim=-1))  #= mlp
`,
  'in a large one, by classes of the project': `
module Perceptron(sizes):
    self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)  #= layer
        return x

module Task(model, features, depth):
    self.model = model
    self.features = features
    self.depth = depth
    def preprocess(self, train, valid, test):
        kinds = set()
        bonds = set()
        for sample in train:
            kinds.add(sample['reaction'])
            for graph in sample['graph']:
                bonds.update(graph.edge_list[:, 2].tolist())
        self.num_kinds = len(kinds)
        self.num_bonds = len(bonds)
        node_width, edge_width, graph_width = self.model.output_dim, 0, 0
        for feature in sorted(self.features):
            if feature == 'reaction':
                graph_width += self.num_kinds
            elif feature == 'graph':
                graph_width += self.model.output_dim
            elif feature == 'bond':
                edge_width += self.num_bonds
            else:
                raise ValueError(feature)
        hidden = [self.model.output_dim] * (self.depth - 1)
        self.edge_mlp = Perceptron([edge_width] + hidden + [1])
        self.node_mlp = Perceptron([node_width] + hidden + [1])
    def predict(self, x, graph):
        graph = graph.unsqueeze(1).repeat(1, x.shape[1], 1)  #! IKB101 -> layer
        return self.node_mlp(torch.cat([x, graph], dim=-1))
`,
  'the ends of edges, in the only method that sets them': `
module Denoise(d):
    self.near = nn.Linear(d, d)
    def set_graph(self, nodes, adj):
        ends = adj._indices()
        self.row, self.nodes = ends[0, :], nodes
        self.col = ends[1, :]
    def weigh(self, x):
        a = x[self.row, :]  #! IKB304 -> a
        a = self.near(a)  #= a
        b = x[self.col]  #! IKB304 -> b
        return a * self.near(b)  #= b
`,
  'rows of which two methods say different things': `
module Denoise(d):
    self.near = nn.Linear(d, d)
    def set_graph(self, adj):
        self.row = adj._indices()[0]
    def set_rows(self, rows):
        self.row = rows
    def weigh(self, x):
        return self.near(x[self.row])
`,
  'rows that are no ends of edges': `
module Sample(d):
    self.near = nn.Linear(d, d)
    def draw(self, adj, n):
        self.adj = adj._indices()
        self.row = torch.randperm(n)
    def weigh(self, x):
        return self.near(x[self.row])
`,
});
