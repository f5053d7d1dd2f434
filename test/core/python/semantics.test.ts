import { checkForward } from '../check';

/** Each case: what it shows, and the body of a forward with its expectations. */
const CASES: Readonly<Record<string, string>> = {
  'repeat_interleave, cat, Linear': `
        u = user.repeat_interleave(4, dim=0)  #! IKB101 -> fc
        return self.fc(torch.cat([u, cand], dim=-1))  #= fc`,
  'expand is written by cat': `
        u = user.unsqueeze(1).expand(-1, n, -1)  #! IKB101 -> fc
        return self.fc(torch.cat([u, cand], -1))  #= fc`,
  'keyword spellings': `
        u = torch.repeat_interleave(input=user, repeats=n, dim=0)  #! IKB101 -> fc
        return self.fc(torch.cat(tensors=(u, cand), dim=-1))  #= fc`,
  'chained over lines': `
        u = (
            user.unsqueeze(1)  #! IKB102 -> fc
            .repeat(1, n, 1)
        )
        return self.fc(u)  #= fc`,
  'expand alone: Linear clones it': `
        return self.fc(user.unsqueeze(1).expand(-1, n, -1))  #! IKB102 -> fc #= fc`,
  'expand_as of a size-one axis': `
        return self.fc(torch.cat([x[:, :1].expand_as(y), y], -1))  #! IKB101 -> fc #= fc`,
  'broadcast_to and torch.tile': `
        a = torch.broadcast_to(self.token, (n, 5, 8))  #! IKB101 -> fc
        b = torch.tile(user.unsqueeze(1), (1, n, 1))  #! IKB101 -> fc
        return self.fc(torch.cat([a, b, cand], -1))  #= fc`,
  'index by a declared many-to-one index': `
        # ikbo: index cand_to_user many-to-one
        return self.fc(torch.cat([user[cand_to_user], cand], -1))  #! IKB101 -> fc #= fc`,
  'index_select by an index made with repeat_interleave': `
        idx = torch.repeat_interleave(torch.arange(n), y)
        return self.fc(user.index_select(0, idx))  #! IKB102 -> fc #= fc`,
  'arange // r as index': `
        idx = torch.arange(n) // 4
        return self.fc(user[idx])  #! IKB102 -> fc #= fc`,
  'both ends of an edge': `
        row, col = edge_index
        return self.fc(torch.cat([x[row], x[col]], -1))  #! IKB304 -> fc #! IKB304 -> fc #= fc`,
  'linear compression W @ E': `
        e = torch.cat([user[cand_to_user], cand], dim=1)  #! IKB103 -> mm
        # ikbo: index cand_to_user many-to-one
        return self.w @ e  #= mm`,
  'x @ W.T with a parameter': `
        u = user.repeat(n, 1)  #! IKB101 -> mm
        return torch.cat([u, cand], -1) @ self.w.t()  #= mm`,
  'F.linear': `
        u = user.repeat_interleave(n, 0)  #! IKB101 -> lin
        return F.linear(torch.cat([u, cand], -1), self.w)  #= lin`,
  'row-wise operators keep the replica': `
        u = user.unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> fc
        return self.fc(self.drop(self.norm(u)).relu() * 2)  #= fc`,
  'nonlinearity between cat and Linear': `
        u = user.unsqueeze(1).repeat(1, n, 1)  #! IKB101 -> fc
        return self.fc(torch.relu(torch.cat([u, cand], -1)))  #= fc`,
  'views between cat and Linear': `
        b, t, d = cand.shape
        u = user.unsqueeze(1).expand(-1, t, -1)  #! IKB101 -> fc
        return self.fc(torch.cat([u, cand], -1).view(b * t, -1))  #= fc`,
  'nested cat': `
        u = user.unsqueeze(1).expand(-1, n, -1)  #! IKB101 -> fc
        return self.fc(torch.cat([torch.cat([u, x], -1), cand], -1))  #= fc`,
  'the DIN unit': `
        q = q.unsqueeze(1).expand(-1, n, -1)  #! IKB104 -> mlp
        return self.mlp(torch.cat([q, k, q - k, q * k], -1))  #= mlp`,
  'a written replica plus a computed tensor': `
        u = user.repeat_interleave(n, dim=0)  #! IKB101 -> fc
        return self.fc(u + cand)  #= fc`,
  'row scaling keeps blocks': `
        u = user.unsqueeze(1).expand(-1, n, -1)  #! IKB101 -> fc
        e = torch.cat([u, cand], -1)
        return self.fc(e * mask[..., None])  #= fc`,
  'kernel-one convolution on channels': `
        g = x.max(dim=2, keepdim=True)[0]
        return self.conv(torch.cat([g.expand(-1, -1, n), x], 1))  #! IKB101 -> conv #= conv`,
  'recurrent input': `
        u = user.unsqueeze(1).repeat(1, n, 1)  #! IKB101 -> gru
        out, _ = self.gru(torch.cat([u, cand], -1))  #= gru
        return out`,
  'encoder layer input': `
        u = user.unsqueeze(1).expand(-1, n, -1)  #! IKB101 -> enc
        return self.encoder(torch.cat([u, cand], -1))  #= enc`,
  'class token: information only': `
        t = self.token.expand(x.shape[0], -1, -1)  #! IKB102 -> fc
        return self.fc(self.norm(torch.cat([t, x], 1)))  #= fc`,
  'SDPA over keys repeated per candidate': `
        k = k.repeat_interleave(n, dim=0)  #! IKB201 -> sdpa
        v = v.repeat_interleave(n, dim=0)  #! IKB201 -> sdpa
        return F.scaled_dot_product_attention(q, k, v)  #= sdpa`,
  'heads repeated': `
        k = k.repeat_interleave(4, dim=1)  #! IKB202 -> sdpa
        return F.scaled_dot_product_attention(q, k, v)  #= sdpa`,
  'heads expanded and merged': `
        b, h, s, d = k.shape
        k = k[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)  #! IKB202 -> sdpa
        return F.scaled_dot_product_attention(q, k, v)  #= sdpa`,
  'heads as a view, read as they are': `
        b, h, s, d = k.shape
        k = k[:, :1].expand(b, 8, s, d)  #? IKB202 -> sdpa
        return F.scaled_dot_product_attention(q, k, v)  #= sdpa`,
  'attention written out': `
        k = k.repeat_interleave(n, dim=1)  #! IKB202 -> mm
        b, h, s, d = k.shape
        return q @ k.transpose(-2, -1)  #= mm`,
  'memory of an attention module': `
        m = x.repeat_interleave(n, dim=0)  #! IKB201 -> mha
        out, _ = self.mha(q, m, m)  #= mha
        return out`,
  'keyword of transformer libraries': `
        m = x.repeat_interleave(n, dim=0)  #! IKB201 -> call
        return self.decoder(y, encoder_hidden_states=m)  #= call`,
  'the keyword in a dict': `
        kwargs = {'encoder_hidden_states': x.repeat_interleave(n, dim=0)}  #! IKB201 -> call
        return self.decoder.generate(y, **kwargs)  #= call`,
  'batch operand of bmm': `
        w = self.table.unsqueeze(0).repeat(n, 1, 1)  #! IKB301 -> bmm
        return torch.bmm(x, w.transpose(1, 2))  #= bmm`,
  'batch operand of bmm as a view': `
        w = self.table.unsqueeze(0).expand(n, -1, -1)  #? IKB301 -> bmm
        return torch.bmm(x, w.transpose(1, 2))  #= bmm`,
  'batch letter of einsum': `
        w = self.table.unsqueeze(0).repeat(n, 1, 1)  #! IKB301 -> sum
        return torch.einsum('bld,bkd->blk', x, w)  #= sum`,
  'relation weights gathered per edge': `
        w = self.weights[self.edge_type]  #! IKB301 -> bmm
        return torch.bmm(x.unsqueeze(1), w)  #= bmm`,
  'matmul that copies its three-dimensional weight': `
        b, f, d, e = x.shape
        return torch.matmul(self.weights, x)  #! IKB302 -> mm #= mm`,
  'matmul that copies heads that broadcast': `
        b, h, t, d = q.shape
        b2, s, d2 = k.shape
        return torch.matmul(q, k[:, None].mT)  #! IKB302 -> mm #= mm`,
  'an activation on a view that bmm would read': `
        w = self.table.unsqueeze(0).expand(n, -1, -1)  #! IKB303 -> bmm
        return torch.bmm(x, w.relu().transpose(1, 2))  #= bmm`,
  'one position of a replicated axis in a loop': `
        x = x.unsqueeze(1).repeat(1, 4, 1)  #! IKB301 -> fc
        return [self.fc(x[:, i]) for i in range(4)]  #= fc`,
  'einops.repeat of a token': `
        t = repeat(self.token, '1 1 d -> b n d', b=x.shape[0], n=4)  #! IKB102 -> fc
        return self.fc(t)  #= fc`,
  'einops.repeat over heads': `
        k = repeat(k, 'b h s d -> b (h g) s d', g=n)  #! IKB202 -> sdpa
        return F.scaled_dot_product_attention(q, k, v)  #= sdpa`,
  'einops.rearrange carries maps': `
        u = user.unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> fc
        return self.fc(rearrange(u, 'b n d -> (b n) d'))  #= fc`,
  'tuple unpacking and re-assignment': `
        a, b = user.repeat(n, 1), cand  #! IKB101 -> fc
        a = torch.cat([a, b], dim=-1)
        return self.fc(a)  #= fc`,
  'a list that is appended to': `
        parts = [cand]
        parts.append(user.repeat(n, 1))  #! IKB101 -> fc
        return self.fc(torch.cat(parts, dim=-1))  #= fc`,
  'a comprehension': `
        parts = [u.unsqueeze(1).expand(-1, n, -1) for u in (user, x)]  #! IKB101 -> fc
        return self.fc(torch.cat(parts + [cand], dim=-1))  #= fc`,
  'shared heads in single precision': `
        return F.scaled_dot_product_attention(  #! IKB203 -> sdpa #= sdpa
            q.float(), k.float(), v.float(), enable_gqa=True
        )`,
  'a width that tensor cores do not like': `
        # ikbo: da=100, db=30
        a, b = x.half().view(-1, da), y.half().view(-1, db)
        return self.fc(torch.cat([a, b], dim=-1))  #! IKB401 -> fc #= fc`,
  'copies asked for by ones': `
        b, n, d = x.shape
        c, e = user.shape
        u = torch.ones(b, n, 1) * user[:, None]  #! IKB101 -> fc
        return self.fc(torch.cat([u, x], dim=-1))  #= fc`,
  'copies asked for by zeros': `
        b, n, d = x.shape
        c, e = user.shape
        u = user.unsqueeze(1) + x.new_zeros(b, n, e)  #! IKB101 -> fc
        return self.fc(torch.cat([u, x], dim=-1))  #= fc`,
  broadcast_tensors: `
        b, n, d = x.shape
        c, e = user.shape
        u, y = torch.broadcast_tensors(user.unsqueeze(1), x)  #! IKB101 -> fc
        return self.fc(torch.cat([u, y], dim=-1))  #= fc`,
  'a tensor stacked some number of times': `
        return self.fc(torch.stack([user] * n, dim=1))  #! IKB102 -> fc #= fc`,
  'made in every pass of a loop but the first': `
        for i in range(n):
            if i > 0:
                x = self.fc(torch.cat([user.repeat_interleave(n, dim=0), x], dim=-1))  #! IKB101 -> fc #= fc
        return x`,
  'joined from a list that a loop fills': `
        rows = []
        for part in cand:
            u = user.expand(part.shape[0], -1)  #! IKB101 -> fc
            rows.append(torch.cat([u, part], dim=-1))
        return self.fc(torch.cat(rows))  #= fc`,
  'the same tensor stacked': `
        return self.fc(torch.stack([user] * 4, dim=1))  #! IKB102 -> fc #= fc`,
  'the same tensor concatenated': `
        return self.fc(torch.cat([user, user, user], dim=0))  #! IKB102 -> fc #= fc`,
  'unique rows put back': `
        rows, inverse = torch.unique(user, dim=0, return_inverse=True)
        return self.fc(torch.cat([rows[inverse], cand], dim=1))  #! IKB101 -> fc #= fc`,
  'a function as an operator': `
        import operator
        u = user.repeat(n, 1)  #! IKB102 -> mm
        return operator.matmul(u, self.w.t())  #= mm`,
  'torch.ops.aten': `
        u = torch.ops.aten.repeat.default(user, [n, 1])  #! IKB102 -> fc
        return self.fc(u)  #= fc`,
};

const CLEAN: Readonly<Record<string, string>> = {
  'masks repeated over heads': `
        m = mask.unsqueeze(1).repeat(1, 4, 1, 1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m)`,
  'ids repeated and then embedded': `
        ids = torch.arange(n).unsqueeze(0).expand(x.shape[0], -1)
        return self.fc(self.emb(ids) + x)`,
  'ones that are filled afterwards': `
        b, n, d = x.shape
        c, e = user.shape
        w = torch.ones(b, n, 1)
        w[:, 0] = 0
        return self.fc(w * user[:, None])`,
  'a sum that begins with zeros': `
        b, n, d = x.shape
        c, e = user.shape
        total = torch.zeros(b, n, e)
        total += user[:, None]
        return self.fc(total)`,
  'noise of the size of ones': `
        b, n, d = x.shape
        c, e = user.shape
        return self.fc(torch.rand(b, n, 1) * user[:, None])`,
  'embedding table lookup': `
        return self.fc(self.table[x])`,
  'top-k gather': `
        idx = x.topk(4, dim=1)[1]
        return self.fc(x[idx])`,
  'elements picked by gather': `
        idx = y.unsqueeze(-1).expand(-1, -1, n)
        return self.fc(torch.gather(x, 1, idx))`,
  'filled per row after the repeat': `
        u = user.unsqueeze(1).repeat(1, n, 1)
        u[:, 0] = 0
        return self.fc(u)`,
  'masked per row after the repeat': `
        u = user.unsqueeze(1).repeat(1, n, 1)
        u = u.masked_fill_(mask == 0, 0.0)
        return self.fc(u)`,
  'where with a full mask': `
        u = user.unsqueeze(1).expand(-1, n, -1)
        return self.fc(torch.where(mask, u, x))`,
  'noise added': `
        u = user.repeat(n, 1)
        return self.fc(u + torch.randn_like(u))`,
  'dropped, in evaluation too': `
        u = user.repeat(n, 1)
        return self.fc(F.dropout(u, 0.1))`,
  'dropped on request': `
        u = user.repeat(n, 1)
        return self.fc(F.dropout(u, p=0.1, training=True))`,
  'repeated once': `
        u = user.repeat_interleave(1, dim=0)
        return self.fc(u)`,
  'noise multiplied': `
        s = user.repeat(n, 1) * torch.randn(n, 8)
        return self.fc(s)`,
  'normalization over the concatenation': `
        u = user.unsqueeze(1).expand(-1, n, -1)
        return self.fc(self.norm(torch.cat([u, cand], -1)))`,
  'project first, expand after': `
        return self.fc(user).unsqueeze(1).expand(-1, n, -1) + self.fc(cand)`,
  'a view that only meets an addition': `
        return self.fc(x + user.unsqueeze(1).expand_as(x))`,
  'added by broadcasting': `
        return self.fc(x + user.unsqueeze(1))`,
  'product with a full tensor': `
        return self.fc(user.unsqueeze(1).expand(-1, n, -1) * cand)`,
  'scalar gate over columns': `
        g = torch.softmax(user, -1).unsqueeze(-1).repeat(1, n).view(1, -1)
        return self.fc(g * x)`,
  'shape alone is read': `
        u = user.repeat(n, 1)
        return self.fc(x.view(u.shape))`,
  'never reaches a product': `
        return user.repeat(n, 1).sum(-1)`,
  'a wide convolution': `
        g = x.max(dim=2, keepdim=True)[0]
        return self.wide(torch.cat([g.expand(-1, -1, n), x], 1))`,
  'lists and strings': `
        names = ['a'] * n
        return self.fc(x), 'ab'.repeat(3), names`,
  numpy: `
        import numpy as np
        return self.fc(torch.from_numpy(np.repeat(np.zeros((1, 8)), 4, axis=0)))`,
  'einsum without a contraction': `
        return torch.einsum('bd,bd->bd', user.repeat(n, 1), x)`,
  'initial state of a recurrence': `
        out, _ = self.gru(x, self.token.expand(1, n, -1).contiguous())
        return out`,
  'an index of unknown kind': `
        return self.fc(x[y])`,
  'rows picked by nonzero': `
        return self.fc(x[mask.nonzero()])`,
  'rows picked by torch.where': `
        idx, top = torch.where(mask)
        return self.fc(x[top])`,
  'expand to the size that it has': `
        b, t, d = x.shape
        return self.fc(x.expand(b, t, d))`,
  'a repeat of one': `
        return self.fc(user.repeat(1, 1))`,
  'part of gathered rows': `
        # ikbo: index cand_to_user many-to-one
        u = user[cand_to_user]
        return self.fc(u[2:5])`,
  'moved to a device before an outer product': `
        f = self.table[None, :, :1].float().expand(n, -1, 1).to(x.device)
        return f @ y[:, None, :].float()`,
  'moved to the device of what is called by a part of a type': `
        points = x
        f = self.table[None, :, :1].float().expand(n, -1, 1).to(points.device)
        return f @ y[:, None, :].float()`,
  'shared heads in their own type': `
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)`,
  'a docstring': `
        """x.repeat(1, n) then self.fc(x)"""
        return self.fc(x)`,
};

describe('operators', () => {
  for (const [name, body] of Object.entries(CASES)) it(name, async () => void (await checkForward(body)));
});

describe('never flagged', () => {
  for (const [name, body] of Object.entries(CLEAN)) it(name, async () => void (await checkForward(body)));
});
