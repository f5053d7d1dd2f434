import { idioms } from './idioms';

idioms('idioms: positions of pairs, and what is handed functions', {
  'both ends of all pairs of fields': `
from itertools import combinations, product
class Zipped(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.src, self.dst = zip(*list(product(range(n), repeat=2)))
        self.fc = nn.Linear(2 * d, 1)
    def forward(self, x):
        a = x[:, self.src, :]  #! IKB101 -> zipped
        b = x[:, self.dst, :]  #! IKB101 -> zipped
        return self.fc(torch.cat([a, b], dim=-1))  #= zipped
class Tensors(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        pairs = torch.tensor(list(combinations(range(n), 2)))
        self.register_buffer('i', pairs[:, 0])
        self.register_buffer('j', pairs[:, 1])
        self.fc = nn.Linear(2 * d, 1)
    def forward(self, x):
        return self.fc(torch.cat([x[:, self.i], x[:, self.j]], dim=-1))  #! IKB101 -> tensors #! IKB101 -> tensors #= tensors
class Comprehended(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.row = [i for i in range(n) for j in range(i + 1, n)]
        self.fc = nn.Linear(2 * d, 1)
    def forward(self, x, y):
        return self.fc(torch.cat([x[:, self.row], y], dim=-1))  #! IKB101 -> comprehended #= comprehended
`,
  'lists of the ends of pairs that loops fill': `
from itertools import combinations
class Loops(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.n = n
        self.fc = nn.Linear(2 * d, 1)
    def forward(self, x):
        row, col = [], []
        for i in range(self.n - 1):
            for j in range(i + 1, self.n):
                row.append(i)
                col.append(j)
        return self.fc(torch.cat([x[:, row], x[:, col]], dim=-1))  #! IKB101 -> loops #! IKB101 -> loops #= loops
class Pairs(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.n = n
        self.fc = nn.Linear(2 * d, 1)
    def forward(self, x, y):
        row = []
        for i, j in combinations(range(self.n), 2):
            row.append(i)
        return self.fc(torch.cat([x[:, row], y], dim=-1))  #! IKB101 -> pairs #= pairs
`,
  'no pairs: one position for each pass, and a product of both ends': `
from itertools import combinations
class Each(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.n = n
        self.fc = nn.Linear(2 * d, 1)
    def forward(self, x, y):
        row = []
        for i in range(self.n):
            for j in range(i):
                y = y + j
            row.append(i)
        return self.fc(torch.cat([x[:, row], y], dim=-1))
class Products(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.row, self.col = zip(*combinations(range(n), 2))
        self.fc = nn.Linear(d, 1)
    def forward(self, x):
        return self.fc(x[:, self.row] * x[:, self.col])
`,
  'a function that nothing calls but a library': `
class Handed(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(2 * d, 1)
    def forward(self, graph, x):
        graph.ndata['h'] = x
        def message(edges):
            e = torch.cat([edges.src['h'], edges.dst['h']], dim=1)  #! IKB304 -> handed #! IKB304 -> handed
            return {'e': self.fc(e)}  #= handed
        graph.apply_edges(message)
        return graph.edata['e']
def scorer(net: nn.Linear, candidates):
    def score(user, items):
        users = user.repeat_interleave(candidates, dim=0)  #! IKB101 -> scorer
        return net(torch.cat([users, items], dim=-1))  #= scorer
    return score
`,
  'copies that are joined along the second of two contracted axes of an einsum': `
class Basis(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(i, o, 3))
    def forward(self, x):
        rows = torch.sum(x, dim=3)
        ops = torch.stack([rows.unsqueeze(3).repeat(1, 1, 1, x.size(3)), x, x.transpose(2, 3)], dim=2)  #! IKB101 -> basis
        return torch.einsum('dsb,ndbij->nsij', self.weight, ops)  #= basis
`,
  'a lambda that only a library calls, and the weights of the types of its edges': `
class Lambdas(nn.Module):
    def __init__(self, d, types):
        super().__init__()
        self.fcs = nn.ModuleList([nn.Linear(d, d) for _ in range(types)])
        self.weight = nn.Parameter(torch.randn(types, d, d))
    def forward(self, graph, x):
        graph.ndata['h'] = x
        for i in range(3):
            graph.apply_edges(lambda edges: {'w': self.fcs[i](edges.src['h'])})  #! IKB304 -> lambdas #= lambdas
        return graph
    def message(self, edges):
        w = self.weight.index_select(0, edges.data['type'])  #! IKB301 -> types
        return {'m': torch.bmm(edges.src['h'].unsqueeze(1), w)}  #= types
`,
  'no copies: a matrix of each edge, and weights by the key of a dictionary': `
class Edges(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, graph, x):
        graph.ndata['h'] = x
        graph.apply_edges(lambda edges: {'g': edges.src['h'].unsqueeze(1).matmul(edges.data['e']).squeeze()})
        graph.apply_edges(lambda edges: {'g': self.fc(edges.data['g'])})
        return graph
    def by_type(self, features, type_weight):
        rows = []
        for key in features:
            stype, etype, dtype = key
            rows.append(torch.matmul(features[key], type_weight[etype]))
        return rows
`,
  'an index that is of all pairs on one branch': `
class Branches(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(2 * d, d)
    def forward(self, x, edges=None):
        if edges is None:
            n = x.shape[0]
            ids = list(range(n))
            i = torch.tensor(ids).view(-1, 1).repeat(1, n).view(-1)
            j = torch.tensor(ids).view(1, -1).repeat(n, 1).view(-1)
        else:
            i = torch.tensor([e[0] for e in edges])
            j = torch.tensor([e[1] for e in edges])
        a = x[i, :]  #! IKB101 -> branches
        b = x[j, :]  #! IKB101 -> branches
        return self.fc(torch.cat([a, b], dim=1))  #= branches
`,
  'rows that vstack and column_stack join': `
class Rows(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
        self.both = nn.Linear(2 * d, d)
    def rows(self, x, n):
        x = torch.vstack([x[0]] * n)  #! IKB102 -> rows
        return self.fc(x)  #= rows
    def columns(self, x, y):
        return self.both(torch.column_stack([x, y.unsqueeze(0).repeat(4, 1)]))  #! IKB101 -> columns #= columns
`,
  'sizes that end in those of a tensor, as a list': `
class Sizes(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, obs, n):
        batch = obs.shape[0]
        times = [1, n] + [1] * (len(obs.shape) - 1)
        sizes = [batch * n, *list(obs.shape[1:])]
        obs = obs.unsqueeze(1).repeat(*times).view(*sizes)  #! IKB102 -> sizes
        return self.fc(obs)  #= sizes
`,
  'any item of a list that is not counted': `
class Items(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def second(self, inputs, n):
        rows = [x.repeat(n, 1) for x in inputs]  #! IKB102 -> items
        return self.fc(rows[1])  #= items
    def both(self, inputs, n):
        rows = tuple(x.repeat(n, 1) for x in inputs)  #! IKB102 -> unpacked
        return self.inner(*rows)
    def inner(self, first, second):
        return self.fc(second)  #= unpacked
`,
  'a function that is handed on with its copies': `
def many(inner, x, n):
    x = tuple(v.repeat(n, 1) for v in x)  #! IKB102 -> many
    return inner(x)
class Handing(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def inner(self, first, second):
        return self.fc(second)  #= many
    def sample(self, x, n):
        return many(lambda x: self.inner(*x), (x, self.embed(x)), n)
`,
});
