import { idioms } from './idioms';

idioms('idioms: nodes, edges and graphs', {
  'not the labelled edges of a batch of seeds': `
from torch_geometric.loader import LinkNeighborLoader

loader = LinkNeighborLoader(data, num_neighbors=[8, 4], batch_size=2048)

module Decoder(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, z, edge_label_index):
        row, col = edge_label_index
        return self.fc(torch.cat([z[row], z[col]], dim=-1))
`,
  'the labelled edges of a whole graph': `
module Decoder(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, z, edge_label_index):
        row, col = edge_label_index
        return self.fc(torch.cat([z[row], z[col]], dim=-1))  #! IKB304 -> fc  #! IKB304 -> fc  #= fc
`,
  'edges to which each node has been added': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.att = nn.Linear(2 * d, 1)
    def forward(self, x, edge_index, n):
        loops = torch.arange(0, n).unsqueeze(0).repeat(2, 1)
        edge_index = torch.cat([edge_index, loops], dim=1)
        x_i = x[edge_index[1]]  #! IKB304 -> att
        x_j = x[edge_index[0]]  #! IKB304 -> att
        return self.att(torch.cat([x_i, x_j], dim=-1))  #= att
`,
  'an index of edges by its short name': `
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.att = nn.Linear(3 * d, 1)
    def forward(self, x, edges, edge_idx):
        target, source = edge_idx[0], edge_idx[1]
        return self.att(torch.cat([x[source], edges, x[target]], dim=-1))  #! IKB304 -> att  #! IKB304 -> att  #= att
`,
  'features of a graph given to its nodes': `
from torch_scatter import scatter
module Update(d):
    self.mlp = nn.Sequential(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, d))
    def forward(self, h, context, batch):
        return self.mlp(torch.cat([h, context[batch]], dim=-1))  #! IKB101 -> mlp  #= mlp
`,
  'the rows of a mini-batch': `
from torch_scatter import scatter
module Head(d):
    self.mlp = nn.Sequential(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, d))
    def forward(self, x, y, batch):
        return self.mlp(torch.cat([x[batch], y[batch]], dim=-1))
`,
  'a mini-batch where no graph is spoken of': `
module Head(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, h, context, batch):
        return self.fc(torch.cat([h, context[batch]], dim=-1))
`,
  'both ends of an edge, handed over by a library': `
from torch_geometric.nn import MessagePassing
class Pairs(MessagePassing):
    def __init__(self, d):
        super().__init__(aggr='max')
        self.fc = nn.Linear(2 * d, d)
    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)
    def message(self, x_i, x_j):
        first = -x_i  #! IKB304 -> fc
        both = torch.cat([first, x_j], dim=-1)  #! IKB304 -> fc
        return self.fc(both)  #= fc
`,
  'both ends under names of their own': `
module Edges(d):
    self.dense = nn.Linear(3 * d, d)
    def forward(self, h, m, idx_s, idx_t):
        """m: (nEdges, d)"""
        h_s = h[idx_s]  #! IKB304 -> dense
        h_t = h[idx_t]  # of the target  #! IKB304 -> dense
        joined = torch.cat(
            [h_s, h_t, m], dim=-1
        )
        return self.dense(joined)  #= dense
`,
  'two selections of no graph': `
module Pairs(d):
    self.dense = nn.Linear(3 * d, d)
    def forward(self, h, m, idx_s, idx_t):
        h_s = h[idx_s]
        h_t = h[idx_t]
        return self.dense(torch.cat([h_s, h_t, m], dim=-1))
`,
  'an end of which a size is asserted first': `
from torch_geometric.nn import MessagePassing
class Keys(MessagePassing):
    def __init__(self, d):
        super().__init__(aggr='add')
        self.key = nn.Linear(2 * d, d)
    def forward(self, x, edge_index, edges):
        return self.propagate(edge_index, x=x, edges=edges)
    def message(self, x_i, edges):
        assert x_i.size(0) == edges.size(0)
        return self.key(torch.cat([x_i, edges], dim=1))  #! IKB304 -> key  #= key
`,
  'an end that may be missing': `
from torch_geometric.nn import MessagePassing
class Points(MessagePassing):
    def __init__(self, d):
        super().__init__(aggr='max')
        self.local = nn.Linear(d + 3, d)
    def forward(self, x, pos, edge_index):
        return self.propagate(edge_index, x=x, pos=pos)
    def message(self, x_j, places):
        if x_j is not None:
            places = torch.cat([x_j, places], dim=1)  #! IKB304 -> local
        return self.local(places)  #= local
`,
  'ends whose features are kept in tuples': `
from torch_geometric.nn import MessagePassing
def joined(*parts, dim=-1):
    dim %= len(parts[0][0].shape)
    scalars, vectors = list(zip(*parts))
    return torch.cat(scalars, dim=dim), torch.cat(vectors, dim=dim)

module Perceptron(d):
    self.scalar, self.vector = nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, x):
        s, v = x
        return self.scalar(s), self.vector(v)  #= scalar

class Conv(MessagePassing):
    def __init__(self, d, layers=None):
        super().__init__(aggr='mean')
        layers = layers or []
        if not layers:
            layers.append(Perceptron(d))
        self.net = nn.Sequential(*layers)
    def forward(self, x, edge_index, edges):
        s, v = x
        return self.propagate(edge_index, s=s, v=v, edges=edges)
    def message(self, s_i, v_i, s_j, v_j, edges):
        first, second = (s_j, v_j), (s_i, v_i)  #! IKB304 -> scalar  #! IKB304 -> scalar  #! IKB304 -> scalar  #! IKB304 -> scalar
        return self.net(joined(first, edges, second))
`,
  'each end with a matrix of its edge': `
from torch_geometric.nn import MessagePassing
class Kernel(MessagePassing):
    def __init__(self, d):
        super().__init__(aggr='add')
        self.d = d
        self.net = nn.Linear(4, d * d)
    def forward(self, x, edge_index, kind):
        return self.propagate(edge_index, x=x, kind=kind)
    def message(self, x_j, kind):
        weight = self.net(kind).view(-1, self.d, self.d)
        return torch.matmul(x_j.unsqueeze(1), weight).squeeze(1)
`,
  'ends of the edges that a function of a graph library gets': `
module Scores(d):
    self.fc = nn.Linear(2 * d, 1)
    def score(self, edges):
        first = edges.src['h']  #! IKB304 -> fc
        pair = torch.cat([first, edges.dst['h']], dim=1)  #! IKB304 -> fc
        return {'score': self.fc(pair)}  #= fc
    def forward(self, graph):
        graph.apply_edges(self.score)
`,
  'a pair of index tensors called edges': `
module Edges(d):
    self.fc = nn.Linear(2 * d + 1, d)
    def forward(self, h, edges, distance):
        row, col = edges
        first = h[row]  #! IKB304 -> fc
        pair = torch.cat([first, h[col], distance], dim=1)  #! IKB304 -> fc
        return self.fc(pair)  #= fc
`,
  'copies for as many nodes as each graph has': `
module Joined(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, graphs, nodes, counts):
        rows = []
        for i in range(len(counts)):
            rows.append(graphs[i].unsqueeze(0).repeat(counts[i], 1))  #! IKB101 -> fc
        return self.fc(torch.cat([nodes, torch.cat(rows, dim=0)], dim=1))  #= fc
`,
  'copies for as many nodes as each graph has, in one expression': `
module Joined(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, graphs, nodes, counts):
        rows = torch.cat([g.expand(n, -1) for g, n in zip(graphs, counts)], dim=0)  #! IKB101 -> fc
        return self.fc(torch.cat([nodes, rows], dim=1))  #= fc
`,
  'a summary of each graph, given to its nodes alone': `
from torch_geometric.nn import global_mean_pool
module Pairs(d):
    self.weight = nn.Parameter(torch.zeros(d, d))
    def forward(self, h, summary, data):
        summary = summary[data.batch]  #! IKB102 -> product
        return (h * torch.matmul(summary, self.weight)).sum(dim=1)  #= product
`,
  'a part of the rows, to which what is computed of it is added': `
module Block(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        some = torch.randperm(x.shape[0])[:x.shape[0] // 2]
        return torch.index_add(x, 0, some, self.fc(x[some]))
`,
  'both ends of an edge, joined by their names': `
from torch_scatter import scatter_sum
module Edges(d):
    self.fc = nn.Linear(3 * d, d)
    def forward(self, x, e, i, j):
        return self.fc(torch.cat([x[i], e, x[j]], dim=-1))  #! IKB304 -> fc #! IKB304 -> fc #= fc
module Ends(d):
    self.fc = nn.Linear(3 * d, d)
    def forward(self, x, e, edge_idx):
        src_idx = edge_idx[0]
        dst_idx = edge_idx[1]
        return self.fc(torch.cat([x[src_idx], x[dst_idx], e], dim=-1))  #! IKB304 -> ends #! IKB304 -> ends #= ends
`,
  'no ends of edges: kinds of nodes, and one edge after the other': `
from torch_geometric.nn import MessagePassing
module Kinds(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x_dict, edge_index_dict):
        out = {}
        for edge_type, edge_index in edge_index_dict.items():
            src, kind, dst = edge_type
            out[dst] = self.fc(torch.cat([x_dict[src], x_dict[dst]], dim=-1))
        return out
    def of_keys(self, h, src, dst, key):
        src, _, dst = key
        return self.fc(torch.cat([h[src], h[dst]], dim=-1))
    def named(self, h, src: str, dst: str):
        return self.fc(torch.cat([h[src], h[dst]], dim=-1))
    def one_by_one(self, h, edge_list):
        out = []
        for src, dst in edge_list:
            out.append(self.fc(torch.cat([h[src], h[dst]], dim=-1)))
        return out
    def neighbours(self, h, graph):
        out = []
        for src in graph:
            for dst in graph[src]:
                out.append(self.fc(torch.cat([h[src], h[dst]], dim=-1)))
        return out
    def of_a_matrix(self, x, adj):
        row, col, value = adj.coo()
        return self.fc(torch.cat([x[row], x[col]], dim=-1))  #! IKB304 -> coo #! IKB304 -> coo #= coo
`,
  'two fields of a list, and two rows of a mini-batch': `
from torch_scatter import scatter_sum
module Fields(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, fields, first, second):
        fields = [f * 2 for f in fields]
        pairs = [self.fc(torch.cat([fields[i], fields[j]], dim=-1)) for i in range(3) for j in range(3)]
        return pairs, self.fc(torch.cat([first[second], second[first]], dim=-1))
`,
  'ends of an edge to which something of its own is added, beside one that is not': `
from torch_geometric.nn import MessagePassing
class Offsets(MessagePassing):
    def __init__(self, d):
        super().__init__(aggr='max')
        self.own = nn.Linear(d, 8)
        self.fc = nn.Linear(8 + d, d)
    def forward(self, x, pos, edge_index, edge_attr):
        return self.propagate(edge_index, x=x, pos=pos, edge_attr=edge_attr)
    def message(self, x_i, x_j, pos_i, pos_j, edge_attr):
        there = pos_j - pos_i + self.own(edge_attr)
        joined = torch.cat([there, x_j], dim=-1)  #! IKB304 -> offsets
        return self.fc(joined)  #= offsets
module Sums(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, edge_index, edge_attr):
        src, dst = edge_index
        first = x[src] + edge_attr
        second = x[dst]  #! IKB304 -> sums
        return self.fc(torch.cat([first, second], dim=-1))  #= sums
module Differences(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, edge_index):
        src, dst = edge_index
        a = x[src]  #! IKB304 -> differences
        b = x[dst]  #! IKB304 -> differences
        return self.fc(torch.cat([a - b, b], dim=-1))  #= differences
`,
  'ends of edges of a sparse matrix that is called as that of a graph': `
module Pairs(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, adj):
        row, col = adj.coalesce().indices()
        return self.fc(torch.cat([x[row], x[col]], dim=-1))  #! IKB304 -> pairs  #! IKB304 -> pairs  #= pairs
module Rows(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x):
        edge = self.adj._indices()
        return self.fc(torch.cat([x[edge[0, :]], x[edge[1, :]]], dim=1))  #! IKB304 -> rows  #! IKB304 -> rows  #= rows
`,
  'not those of any other sparse matrix, or of what a search picks': `
module Masked(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, mask, adj):
        row, col = mask.coalesce().indices()
        values, near = adj.topk(3)
        return self.fc(torch.cat([x[row], x[col]], dim=-1)), self.fc(x[near])
`,
  'indices of several parts, each of which picks rows many times, or of ends of edges and of loops': `
module Extended(d, kinds):
    self.fc = nn.Linear(2 * d, d)
    self.kinds = kinds
    def forward(self, graph, x, pooled):
        more = torch.arange(len(graph)).unsqueeze(1).repeat([1, self.kinds]).view(-1)
        node2graph = torch.cat((graph.node2graph, more))
        rows = pooled[node2graph]  #! IKB101 -> extended
        return self.fc(torch.cat([x, rows], dim=-1))  #= extended
module Loops(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, edge_index, n):
        src, dst = edge_index
        src = torch.cat([src, torch.arange(n)])
        return self.fc(x[src])  #! IKB304 -> loops  #= loops
`,
  'an index that was picked by one of many rows': `
module First(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, start, node2graph):
        first_index = start[node2graph]
        rows = x[first_index]  #! IKB101 -> first
        return self.fc(torch.cat([x, rows], dim=-1))  #= first
`,
  'not a mask that was picked so, the index of a second node, or parts of which one picks each row once': `
module Clean(d):
    self.fc = nn.Linear(2 * d, d)
    def masked(self, x, y, valid, node2graph):
        mask = valid[node2graph]
        return self.fc(torch.cat([x[mask], y], dim=-1))
    def second(self, x, node1_index, node2_index_per_graph):
        return self.fc(torch.cat([x[node1_index], x[node2_index_per_graph]], dim=-1))
    def parts(self, x, y, node2graph, order):
        rows = x[torch.cat([node2graph, order.argsort()])]
        return self.fc(torch.cat([y, rows], dim=-1))
`,
  'an index that the constructor keeps': `
module Ends(d, edge_index):
    self.fc = nn.Linear(2 * d, d)
    self.row, self.col = edge_index
    def forward(self, x):
        return self.fc(torch.cat([x[self.row], x[self.col]], dim=-1))  #! IKB304 -> ends  #! IKB304 -> ends  #= ends
module Sparse(d, adj):
    self.fc = nn.Linear(d, d)
    ends = adj._indices()
    self.row = ends[0, :]
    def forward(self, x):
        return self.fc(x[self.row, :])  #! IKB304 -> sparse  #= sparse
module Buffer(d, n):
    self.fc = nn.Linear(d, d)
    self.register_buffer('users', torch.arange(n).repeat_interleave(4))
    def forward(self, x):
        return self.fc(x[:, self.users])  #! IKB102 -> buffer  #= buffer
`,
  'not one that it keeps of something else': `
module Kept(d, order, edge_index):
    self.fc = nn.Linear(d, d)
    self.row = order
    self.degree = edge_index.shape[1]
    self.first = order.argsort()
    def forward(self, x):
        return self.fc(x[self.row]), self.fc(x[self.first]), self.fc(x[self.degree])
`,
});
