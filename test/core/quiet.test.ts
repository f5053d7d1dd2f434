/** Code that looks like a materialized broadcast and is none: no finding, not even a hint. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createEngine } from '../../src/core/create-engine';
import { readGrammars } from '../../src/project/grammars';

const QUIET: Readonly<Record<string, string>> = {
  'a normalization that a constructor makes deep inside': `
def exists(x):
    return x is not None

class Normed(nn.Module):
    def __init__(self, fn, width=None):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(width) if exists(width) else None

    def forward(self, x):
        if exists(self.norm):
            x = self.norm(x)
        return self.fn(x)

def cached(fn):
    def call(*args):
        return fn(*args)
    return call

class Perceiver(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        build = cached(lambda: Normed(nn.Linear(width, 8), width=width))
        self.layer = build()

    def forward(self, x, places):
        places = places.unsqueeze(0).expand(x.shape[0], -1, -1)
        return self.layer(torch.cat([x, places], dim=-1))
`,
  'a product that the first layer leaves out, behind which rows differ': `
class Decoder(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.tokens = nn.Parameter(torch.zeros(1, 9, d))
        self.scale = nn.Linear(d, d)
        self.layers = make_layers(n)

    def forward(self, x):
        h = self.tokens.repeat(x.shape[0], 1, 1)
        for i, layer in enumerate(self.layers):
            gate = 1 if i == 0 else self.scale(h)
            h = layer(h * gate, x)
        return h
`,
  'copies of which each gets a gradient of its own': `
class Critic(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(n, 16, 16))

    def forward(self, action, n):
        action = action.unsqueeze(0).repeat_interleave(n, dim=0).requires_grad_(True)
        return torch.autograd.grad((action @ self.w).sum(), action)
`,
  'numpy: an axis behind the count': `
class Pipe:
    def encode(self, prompt, n):
        embeds = weighted(prompt)
        embeds = embeds.repeat(n, 0)
        return self.unet(encoder_hidden_states=embeds)
`,
  'positions picked of copies that are scaled each': `
def circle(axis, theta, turn, n):
    points = axis.repeat(n, 1) * torch.cos(theta)[:, None]
    return [turn @ points[i] for i in range(n)]
`,
  'weights of elsewhere, read once': `
class Stem(nn.Module):
    def load_weights(self, w, n):
        w = w.repeat(1, n, 1, 1)
        self.w = torch.matmul(w.reshape(8, -1), self.inverse_of_resampling)
`,
  'a vector that matmul copies to meet matrices': `
class Pool(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.h = nn.Parameter(torch.ones(n, d, 1))

    def forward(self, x):
        b, n, d, e = x.shape
        return torch.matmul(x, self.h).squeeze(-1)
`,
  'rotary frequencies: an outer product, moved to the device and cast to what they are': `
class Rotary(nn.Module):
    def forward(self, x, position_ids):
        inv = self.inv_freq[None, :, None].float().expand(position_ids.shape[0], -1, 1).to(x.device)
        return (inv.float() @ position_ids[:, None, :].float()).transpose(1, 2)
`,
  'an outer product over sizes that are one': `
def f(a, b):
    left = a.reshape(4, 8, 1).repeat(5, 1, 1)
    return torch.bmm(left, b)
`,
  'tokens routed to an expert, each once': `
class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(16, 16)

    def forward(self, x):
        return self.w(x)

class Moe(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([Expert() for _ in range(8)])

    def forward(self, hidden, expert_mask, final):
        for e in range(8):
            idx, token_idx = torch.where(expert_mask[e])
            out = self.experts[e](hidden[None, token_idx].reshape(-1, 16))
            final.index_add_(0, token_idx, out)
        return final
`,
  'sorted copies, of which each expert takes its own part': `
class Moe(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(16, 16)

    def forward(self, x, ids, counts):
        order = ids.view(-1).argsort()
        tokens = x[order // ids.shape[1]]
        outputs, start = [], 0
        for count in counts:
            outputs.append(self.w(tokens[start:start + count]))
            start += count
        return torch.cat(outputs)
`,
  'differences of nodes to which each edge adds what is its own': `
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.place = nn.Linear(3, 16)
        self.weigh = nn.Linear(16, 16)

    def forward(self, alpha, pos, edge_index):
        row, col = edge_index
        delta = self.place((pos[row] - pos[col]).norm(dim=-1, keepdim=True).expand(-1, 3) * 2)
        return self.weigh(alpha[row] - alpha[col] + delta)
`,
  'an identity and zeros that poses begin with': `
class Pose(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, points, steps):
        r = torch.eye(3).to(points).view(1, 3, 3).expand(points.size(0), 3, 3).contiguous()
        t = torch.zeros(1, 3).to(points).view(1, 3, 1).repeat(points.size(0), 1, 1)
        m = torch.eye(3)
        m = m[None].repeat(points.size(0), 1, 1)
        o = torch.ones(1, 3, 1).double()
        o = o.repeat(points.size(0), 1, 1)
        for i in range(steps):
            turn, shift = self.net(points)
            t = torch.bmm(turn, t) + shift
            r = torch.bmm(turn, r)
            m = torch.bmm(turn, m)
            o = torch.bmm(turn, o)
        return r, t, m, o
`,
  'copies of training, which a dropout then makes different': `
class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(32, 16)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, mean, n):
        if self.training:
            mean = mean.repeat(1, n, 1)
        else:
            mean = mean.softmax(1)
        return self.fc(torch.cat([x, self.drop(mean)], dim=-1))
`,
  'parents of the best of all beams': `
class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(16, 16)

    def forward(self, hidden, scores, k):
        scores = scores[:, None].expand(-1, k)
        best = torch.topk(scores.reshape(-1), k, dim=-1)
        index, chosen = best.indices, best.values
        parents = index // k
        return self.w(hidden[:, parents])
`,
  'the same where the end of a part is counted by a tensor': `
class Moe(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(16, 16)

    def forward(self, x, ids, n):
        counts = ids.new_zeros((ids.shape[0], n)).scatter_(1, ids, 1).sum(dim=0)
        tokens = x[ids.view(-1).argsort() // ids.shape[1]]
        outputs, start = [], 0
        for count in counts:
            end = start + count
            outputs.append(self.w(tokens[start:end]))
            start = end
        return torch.cat(outputs)
`,
  'copies that something from a list was added to, filled at positions that are not known': `
class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 4, 16))
        self.fc = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16))

    def forward(self, x, pairs):
        rows = self.token.repeat(x.shape[0], 1, 1)
        deltas = [0.0] * 4
        for i, j in pairs:
            deltas[i] = deltas[i] + x[:, j]
        return self.fc(rows + deltas[2])
`,
};

describe('stays quiet on', () => {
  for (const [what, text] of Object.entries(QUIET)) {
    it(what, async () => {
      const engine = await createEngine(readGrammars(join(__dirname, '../../dist')));
      const { findings } = engine.check('m.py', `import torch\nimport torch.nn as nn\n${text}`, { hints: true });
      assert.deepEqual(
        findings.map((finding) => `${finding.rule} line ${finding.line}: ${finding.message}`),
        [],
      );
    });
  }
});
