import { idioms } from './idioms';

idioms('idioms: products and attention that read copies', {
  'products of matrices, joined along the last axis': `
module Scorer(d):
    self.w = nn.Parameter(torch.randn(2 * d, d))
    self.b = nn.Parameter(torch.randn(d))
    def mm(self, user, item, n):
        x = torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1)  #! IKB101 -> mm
        return torch.mm(x, self.w)  #= mm
    def addmm(self, user, item, n):
        x = torch.cat([user.repeat_interleave(n, dim=0), item], dim=1)  #! IKB101 -> addmm
        return torch.addmm(self.b, x, self.w)  #= addmm
    def einsum(self, user, item, n):
        x = torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1)  #! IKB101 -> einsum
        return torch.einsum('bd,de->be', x, self.w)  #= einsum
    def unpacked(self, user, item, n):
        x = torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1)  #! IKB101 -> unpacked
        b, t, width = x.shape
        return x @ self.w  #= unpacked
`,
  'channels that may be the contracted axis once the last two are swapped': `
module Compress(d):
    self.fc = nn.Linear(d, d)
    def forward(self, user, item, n):
        x = torch.cat([user.repeat_interleave(n, dim=0), item], dim=1)
        return self.fc(x.mT).mT
`,
  'attention over a cache, over packed keys and values, and over flexible masks': `
from flash_attn import flash_attn_kvpacked_func, flash_attn_with_kvcache
from torch.nn.attention.flex_attention import flex_attention
module Decoder(d):
    self.d = d
    def packed(self, q, kv, n):
        kv = kv.repeat_interleave(n, dim=0)  #! IKB201 -> packed
        return flash_attn_kvpacked_func(q, kv)  #= packed
    def heads(self, q, kv, n):
        kv = kv.repeat_interleave(n, dim=3)  #! IKB202 -> heads
        return flash_attn_kvpacked_func(q, kv)  #= heads
    def cached(self, q, k, v, n):
        k = k.repeat_interleave(n, dim=0)  #! IKB201 -> cached
        return flash_attn_with_kvcache(q, k_cache=k, v_cache=v)  #= cached
    def flexible(self, q, k, v, n):
        k = k.repeat_interleave(n, dim=0)  #! IKB201 -> flexible
        return flex_attention(q, k, v)  #= flexible
    def grouped(self, q, k, v):
        return flex_attention(q.float(), k.float(), v.float(), enable_gqa=True)
`,
  'widths of layers that are made in half precision': `
module Ranker(d):
    self.a = nn.Linear(45, d, dtype=torch.bfloat16)
    self.b = nn.Linear(45, d).half()
    self.c = nn.Linear(48, d).half()
    self.d = nn.Linear(45, d)
    def forward(self, user, item):
        a = self.a(torch.cat([user, item], dim=-1))  #! IKB401 -> a #= a
        b = self.b(torch.cat([user, item], dim=-1))  #! IKB401 -> b #= b
        return a, b, self.c(torch.cat([user, item], dim=-1))
`,
  'a width of one of several networks that are handed in, where the concatenation may not be made': `
from torch_geometric.nn import MessagePassing
class Points(MessagePassing):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, x, pos, edge_index):
        return self.propagate(edge_index, x=x, pos=pos)
    def message(self, x_j, pos_i, pos_j):
        msg = pos_j - pos_i  #! IKB304 -> net #! IKB304 -> net
        if x_j is not None:
            msg = torch.cat([x_j, msg], dim=1)  #! IKB304 -> net
        return self.net(msg)  #= net

class Pairs(MessagePassing):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)
    def message(self, x_i, x_j):
        return self.net(torch.cat([x_i, x_j - x_i], dim=1))  #! IKB304 -> pairs #! IKB304 -> pairs #? IKB401 -> pairs #= pairs

module Model(d):
    self.first = Points(nn.Sequential(nn.Linear(3, 64), nn.ReLU()))
    self.second = Points(nn.Sequential(nn.Linear(67, 64), nn.ReLU()))
    self.third = Pairs(nn.Sequential(nn.Linear(6, 64), nn.ReLU()))
    self.fourth = Pairs(nn.Sequential(nn.Linear(128, 64), nn.ReLU()))
    def forward(self, x, pos, edge_index):
        x = self.second(self.first(None, pos, edge_index), pos, edge_index)
        return self.fourth(self.third(pos, edge_index), edge_index)
`,
  'letters that operands share, made one axis: copied where only some are expanded': `
module Products(d):
    self.w = nn.Parameter(torch.randn(d, d))
    def alone(self, x):
        w = self.w.expand(x.size(0), -1, -1)  #? IKB301 -> alone
        return torch.einsum('bij,bjk->bik', x, w)  #= alone
    def both(self, q, k):
        b, h, i, d = q.shape
        k = k.view(1, 1, -1, d).expand(b, h, -1, -1)  #? IKB301 -> both
        return torch.einsum('bhid,bhjd->bhij', q, k)  #= both
    def some(self, q, k):
        b, h, i, d = q.shape
        k = k.view(b, 1, -1, d).expand(-1, h, -1, -1)  #! IKB301 -> some
        return torch.einsum('bhid,bhjd->bhij', q, k)  #= some
    def rows(self, user, w, n):
        u = user.unsqueeze(1).expand(-1, n, -1)  #! IKB102 -> rows
        return torch.einsum('bnd,de->bne', u, w)  #= rows
`,
  'copies by other names of a function': `
from functools import partial
def spread(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB101 -> module
def tiled(x, n):
    return x.repeat(n, 1)  #! IKB101 -> entry
def blocks(x, n):
    return x.repeat_interleave(n, dim=0)  #! IKB101 -> attribute
by_four = partial(spread, n=4)
twice = lambda x: x.repeat_interleave(5, dim=0)  #! IKB101 -> lambda
OPS = {'tiled': tiled}
module Scorer(d):
    self.fc = nn.Linear(2 * d, d)
    self.spread = partial(blocks, n=3)
    def module(self, user, item):
        return self.fc(torch.cat([by_four(user), item], dim=-1))  #= module
    def function(self, user, item):
        return self.fc(torch.cat([twice(user), item], dim=-1))  #= lambda
    def entry(self, user, item, n):
        return self.fc(torch.cat([OPS['tiled'](user, n), item], dim=-1))  #= entry
    def attribute(self, user, item):
        return self.fc(torch.cat([self.spread(user), item], dim=-1))  #= attribute
`,
  'rows picked by an index that a comment declares': `
module Scorer(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, user, item, idx):
        # ikbo: index idx many-to-one
        u = user[idx]  #! IKB101 -> fc
        return self.fc(torch.cat([u, item], dim=-1))  #= fc
`,
  'a key of its own behind those of the sequence': `
module Attention(d, h):
    self.heads = h
    self.k_proj = nn.Linear(d, d)
    self.bias_k = nn.Parameter(torch.zeros(1, 1, d))
    self.head_dim = d // h
    def forward(self, q, x):
        n, b, d = x.size()
        k = torch.cat([self.k_proj(x), self.bias_k.repeat(1, b, 1)])  #! IKB301 -> bmm
        k = k.contiguous().view(-1, b * self.heads, self.head_dim).transpose(0, 1)
        return torch.bmm(q, k.transpose(1, 2))  #= bmm
`,
  'one sample, joined with what is kept of others': `
class Attention(nn.Module):
    def __init__(self, h, n):
        super().__init__()
        self.heads, self.size = h, n
    def forward(self, q, k, cache):
        q = q.view(1, self.heads, 64, self.size)
        k = torch.cat((cache, k.view(1, self.heads, 64, self.size)), dim=3)
        return torch.matmul(q.transpose(2, 3), k)
`,
  'and one that a function is given': `
def attend(query, key, bias_k, heads: int, q):
    n, b, d = query.size()
    head_dim = d // heads
    k = torch.cat([F.linear(key, q), bias_k.repeat(1, b, 1)])  #! IKB301 -> bmm
    q = query.contiguous().view(n, b * heads, head_dim).transpose(0, 1)
    k = k.contiguous().view(-1, b * heads, head_dim).transpose(0, 1)
    return torch.bmm(q, k.transpose(1, 2))  #= bmm
`,
  'heads of a width that is divided by their number': `
class Attention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.bias_v = nn.Parameter(torch.zeros(1, 1, embed_dim))
    def forward(self, probs, x):
        n, b, d = x.size()
        v = torch.cat([self.v_proj(x), self.bias_v.repeat(1, b, 1)])  #! IKB301 -> bmm
        v = v.contiguous().view(-1, b * self.num_heads, self.head_dim).transpose(0, 1)
        return torch.bmm(probs, v)  #= bmm
`,
  'and by a number': `
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.dim = d // 8
        self.v_proj = nn.Linear(d, d)
        self.bias_v = nn.Parameter(torch.zeros(1, 1, d))
    def forward(self, probs, x):
        n, b, d = x.size()
        v = torch.cat([self.v_proj(x), self.bias_v.repeat(1, b, 1)])  #! IKB301 -> bmm
        v = v.contiguous().view(-1, b * 8, self.dim).transpose(0, 1)
        return torch.bmm(probs, v)  #= bmm
`,
});
