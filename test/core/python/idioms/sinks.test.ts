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
});
