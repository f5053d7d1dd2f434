/** What messages claim: counts, sizes, sinks and levels, each of which was once wrong on code in the wild. */
import assert from 'node:assert/strict';
import type { Finding } from '../../../src/core/finding';
import { findingsOf, theEngine } from '../rewrite/cases';

interface Claim {
  readonly init: readonly string[];
  readonly forward: readonly string[];
  readonly signature?: string;
  readonly rule: string;
  readonly level: Finding['level'];
  readonly message: RegExp;
}

const TOKEN = 'self.token = nn.Parameter(torch.zeros(1, 1, 16))';
const PLACES = 'self.places = nn.Parameter(torch.zeros(1, 65, 16))';
const LAYER = 'self.fc = nn.Linear(16, 8)';

const CLAIMS: Readonly<Record<string, Claim>> = {
  'what a split saves, where the widths and the ratio are bound': {
    init: [LAYER],
    forward: [
      '# ikbo: user=[U, 12], item=[B, 4], U=8, n=50',
      'return self.fc(torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1))',
    ],
    signature: 'user, item, n',
    rule: 'IKB101',
    level: 'warning',
    message: /: 9\.6 kB per call in half precision and 74 % of the product's operations at U=8, n=50$/,
  },
  'what a split saves where one expression copies along two axes': {
    init: [LAYER, 'self.token = nn.Parameter(torch.zeros(1, 1, 12))'],
    forward: [
      '# ikbo: item=[B, T, 4], B=4, T=5',
      'return self.fc(torch.cat([self.token.expand(item.shape[0], item.shape[1], -1), item], dim=-1))',
    ],
    signature: 'item',
    rule: 'IKB101',
    level: 'warning',
    message: /: 480 bytes per call in half precision and 71 % of the product's operations at B=4, T=5$/,
  },
  'copies that are joined along what may be rows or columns': {
    init: [LAYER],
    forward: ['u = user.repeat_interleave(n, dim=0)', 'return self.fc(torch.cat((u, item), 1))'],
    signature: 'user, item, n',
    rule: 'IKB102',
    level: 'information',
    message:
      /^`user` is copied `n` times and joined along axis 1 in front of `self\.fc`; its part of the result is the same for every copy$/,
  },
  'two copies of each, as the bindings say': {
    init: [LAYER],
    forward: [
      '# ikbo: user=[U, 12], item=[B, 4], U=8, n=2',
      'return self.fc(torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1))',
    ],
    signature: 'user, item, n',
    rule: 'IKB101',
    level: 'information',
    message: /and 38 % of the product's operations at U=8, n=2$/,
  },
  'a token costs its own rows, also behind position embeddings of all rows': {
    init: [TOKEN, PLACES, LAYER],
    forward: [
      'b, n, d = x.shape',
      'x = torch.cat([self.token.expand(b, -1, -1), x], dim=1)',
      'return self.fc(x + self.places[:, :(n + 1)])',
    ],
    rule: 'IKB102',
    level: 'information',
    message: /: b\*32 bytes per call/,
  },
  'a token that was put in front of other rows and taken apart again': {
    init: [TOKEN, LAYER],
    forward: [
      'b, n, d = x.shape',
      'x = torch.cat([self.token.expand(b, -1, -1), x], dim=1)',
      'token, rest = x.split((1, n), dim=1)',
      'return self.fc(token)',
    ],
    rule: 'IKB102',
    level: 'information',
    message: /^`self\.token` is copied `b` times before `self\.fc`, which then computes equal rows/,
  },
  'a token among rows, of which a loss takes products': {
    init: [TOKEN, LAYER],
    forward: [
      'b, n, d = x.shape',
      'x = torch.cat([self.token.expand(b, -1, -1), x], dim=1)',
      "loss = torch.einsum('bnd,bne->bde', x, x).pow(2).sum()",
      'return self.fc(x), loss',
    ],
    rule: 'IKB102',
    level: 'information',
    message: /^`self\.token` is copied `b` times into the rows that `self\.fc` reads/,
  },
  'a block of which each copy meets a weight of its own': {
    init: ['self.towers = nn.ModuleList([nn.Linear(20, 8) for _ in range(5)])'],
    forward: [
      'rows = user.view(-1, 1, 4).repeat(1, 5, 1)',
      'h = torch.cat([x.view(-1, 5, 16), rows], dim=-1)',
      'return torch.stack([tower(h[:, i]) for i, tower in enumerate(self.towers)], dim=1)',
    ],
    signature: 'user, x',
    rule: 'IKB301',
    level: 'information',
    message: /^`user\.view\(-1, 1, 4\)` is copied `5` times and concatenated in an operand/,
  },
  'a whole of which each copy meets a weight of its own': {
    init: ['self.towers = nn.ModuleList([nn.Linear(4, 8) for _ in range(5)])'],
    forward: [
      'rows = user.view(-1, 1, 4).repeat(1, 5, 1)',
      'return torch.stack([tower(rows[:, i]) for i, tower in enumerate(self.towers)], dim=1)',
    ],
    signature: 'user',
    rule: 'IKB301',
    level: 'warning',
    message: /^`user\.view\(-1, 1, 4\)` is copied `5` times as an operand/,
  },
  'a token among the rows of each image, one after the other': {
    init: [TOKEN, LAYER],
    forward: [
      'n, h, w, d = x.shape',
      'x = torch.cat([x, self.token.expand(n, h, -1, -1)], dim=2).reshape(n, -1, 16)',
      'return [self.fc(x[i]) for i in range(n)]',
    ],
    rule: 'IKB102',
    level: 'information',
    message: /into the rows that `self\.fc` reads/,
  },
  'copies along two axes are multiplied': {
    init: [TOKEN, LAYER],
    forward: ['b, t, d = x.shape', 'return self.fc(self.token.expand(b, t, -1).contiguous())'],
    rule: 'IKB102',
    level: 'warning',
    message: /copied `b \* t` times/,
  },
  'counts that a list brings are none of its text': {
    init: ['self.decoder = make()'],
    forward: ['times = [1] * x.dim()', 'times[0] = n', 'return self.decoder(encoder_hidden_states=x.repeat(*times))'],
    signature: 'x, n',
    rule: 'IKB201',
    level: 'warning',
    message: /^`x` is copied (many|`n`) times before/,
  },
  'the sizes of a function are behind its tensor': {
    init: ['self.fc = nn.Linear(32, 8)'],
    forward: ['u = torch.tile(user.unsqueeze(1), [1, x.shape[1], 1])', 'return self.fc(torch.cat([u, x], dim=-1))'],
    signature: 'user, x',
    rule: 'IKB101',
    level: 'warning',
    message: /copied `x\.shape\[1\]` times/,
  },
  'the copies of a context that is pooled along one axis': {
    init: ['self.pool = nn.AdaptiveAvgPool2d((1, None))', 'self.conv = nn.Conv2d(16, 8, 1)'],
    forward: [
      '_, _, h, w = x.shape',
      "wide = nn.functional.interpolate(self.pool(x), size=(h, w), mode='bilinear', align_corners=True)",
      'return self.conv(torch.cat((wide, x), dim=1))',
    ],
    signature: 'x',
    rule: 'IKB101',
    level: 'warning',
    message: /^`self\.pool\(x\)` is copied `h` times and concatenated/,
  },
  'a count of each that a loop lists, not the length of the list': {
    init: ['self.fc = nn.Linear(16, 8)'],
    forward: [
      'states = []',
      'for row, n in enumerate(counts):',
      '    states += [x[row]] * n',
      'states = torch.stack(states, 0)',
      'rows, length, _ = states.size()',
      'return self.fc(states), rows',
    ],
    signature: 'x, counts',
    rule: 'IKB102',
    level: 'warning',
    message: /^`x\[row\]` is copied `n` times before/,
  },
  'no count where sizes that are unpacked stand before the others': {
    init: ['self.fc = nn.Linear(16, 8)'],
    forward: [
      'wide = user[:, None].expand(*x.shape[:-1], user.shape[-1])',
      'return self.fc(torch.cat([x, wide], dim=-1))',
    ],
    signature: 'x, user',
    rule: 'IKB101',
    level: 'warning',
    message: /^`user\[:, None\]` is copied an unknown number of times and concatenated/,
  },
  'repeats that are counts': {
    init: [LAYER],
    forward: ['return self.fc(torch.repeat_interleave(user, counts, dim=0))'],
    signature: 'user, counts: torch.Tensor',
    rule: 'IKB102',
    level: 'warning',
    message: /copied as often as `counts` says before/,
  },
  'what a list joins with itself has a name': {
    init: [LAYER],
    forward: ['b, t, d = x.shape', 'return self.fc(torch.cat([x, x], dim=0))'],
    rule: 'IKB102',
    level: 'warning',
    message: /^`x` is copied `2` times/,
  },
  'rows that are cleared by a mask are no equal ones': {
    init: [LAYER],
    forward: ['x = x.unsqueeze(1).expand(-1, n, -1)', 'return self.fc(x.masked_fill(mask.unsqueeze(-1), 0))'],
    signature: 'x, mask, n',
    rule: 'IKB102',
    level: 'warning',
    message:
      /^`x\.unsqueeze\(1\)` is copied `n` times before `self\.fc`, whose product is then the same for every copy, up to a factor/,
  },
  'sizes under one name are no count': {
    init: [LAYER],
    forward: ['sizes = (x.shape[0], n, -1)', 'return self.fc(x.unsqueeze(1).expand(sizes))'],
    signature: 'x, n',
    rule: 'IKB102',
    level: 'warning',
    message: /^`x\.unsqueeze\(1\)` is copied `n` times before/,
  },
  'and so has what a list multiplies': {
    init: ['self.fc = nn.Linear(32, 8)'],
    forward: ['return self.fc(torch.cat([torch.stack([user] * 4, dim=1), x], dim=-1))'],
    signature: 'user, x',
    rule: 'IKB101',
    level: 'warning',
    message: /^`user` is copied `4` times and concatenated/,
  },
  'two copies are hardly worth a split': {
    init: ['self.fc = nn.Linear(32, 8)'],
    forward: ['b, t, d = x.shape', 'return self.fc(torch.cat([torch.cat([x, x], dim=0), y], dim=-1))'],
    signature: 'x, y',
    rule: 'IKB101',
    level: 'information',
    message: /^`x` is copied `2` times and concatenated/,
  },
  'a size that is one thing or another is called as it is where the copy is made': {
    init: ['self.fc = nn.Linear(32, 8)'],
    forward: [
      'if m > 0:',
      '    x = x[:, :m, :]',
      'u = user.unsqueeze(1).expand(-1, x.size(1), -1)',
      'return self.fc(torch.cat([u, x], dim=-1))',
    ],
    signature: 'user, x, m',
    rule: 'IKB101',
    level: 'warning',
    message: /the same for every copy: user\.shape\[0\]\*user\.shape\[1\]\*x\.shape\[1\]\*2 bytes/,
  },
  'a list that grows in a loop has no known length': {
    init: ['self.token = nn.Parameter(torch.zeros(1, 4, 16))', LAYER],
    forward: [
      'rows = []',
      'for i in range(n):',
      '    rows.append(x[i].sum())',
      'rows = torch.stack(rows, dim=0)',
      'return self.fc(self.token.expand(rows.shape[0], -1, -1))',
    ],
    signature: 'x, n',
    rule: 'IKB102',
    level: 'warning',
    message: /: rows\.shape\[0\]\*128 bytes/,
  },
  'a model of unknown class projects at first, and nothing is said of what follows': {
    init: [TOKEN, 'self.model = make()'],
    forward: [
      'q = self.token.expand(x.shape[0], -1, -1)',
      'return self.model(query_embeds=q, encoder_hidden_states=x)',
    ],
    rule: 'IKB102',
    level: 'information',
    message: /into `query_embeds` of `self\.model`, whose first layer, by that keyword, projects every copy/,
  },
  'each of several weights meets its own copy': {
    init: ['self.w = nn.Parameter(torch.zeros(4, 32, 8))'],
    forward: ['a = action.unsqueeze(0).repeat_interleave(4, dim=0)', 'return torch.cat([x, a], dim=-1) @ self.w'],
    signature: 'x, action',
    rule: 'IKB301',
    level: 'warning',
    message: /copied `4` times and concatenated in an operand of .*; the product of that part can read one copy/,
  },
  'rows looked up for a product in which every row meets another matrix': {
    init: ['self.w = nn.Parameter(torch.zeros(6, 16, 16))', 'self.pairs = torch.triu_indices(4, 4, 1)'],
    forward: ['left = torch.index_select(x, 1, self.pairs[0])', 'return torch.matmul(left.unsqueeze(2), self.w)'],
    rule: 'IKB301',
    level: 'information',
    message: /as an operand of `torch\.matmul`; the product could look the rows up/,
  },
  'positions that may be missing are the same for each copy where they are there': {
    init: [TOKEN, LAYER, "self.places = None if kind == 'none' else nn.Parameter(torch.zeros(1, 65, 16))"],
    forward: [
      'x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)',
      'if exists(self.places):',
      '    x += self.places',
      'return self.fc(x)',
    ],
    rule: 'IKB102',
    level: 'information',
    message: /that `self\.fc` reads; the copied rows/,
  },
  'a table of numbers that lists make has as many axes as lists': {
    init: [TOKEN, LAYER],
    forward: [
      'table = torch.FloatTensor([[i / (j + 1) for i in range(16)] for j in range(65)])',
      'x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)',
      'return self.fc(x + table)',
    ],
    rule: 'IKB102',
    level: 'information',
    message: /^`self\.token` is copied `x\.shape\[0\]` times into the rows that `self\.fc` reads;/,
  },
  'rows of a group share a matrix, which no product broadcasts by itself': {
    init: [],
    forward: ['b, n, m = w.shape', 'return torch.bmm(w.repeat_interleave(k, 0), x)'],
    signature: 'w, x, k',
    rule: 'IKB301',
    level: 'warning',
    message: /as an operand of `torch\.bmm`; the product could be taken group by group, with one copy for each/,
  },
  'a row put behind keys is few': {
    init: ['self.bias = nn.Parameter(torch.zeros(1, 1, 16))'],
    forward: ['v = torch.cat([v, self.bias.repeat(v.shape[0], 1, 1)], dim=1)', 'return torch.bmm(p, v)'],
    signature: 'p, v',
    rule: 'IKB301',
    level: 'information',
    message: /concatenated in an operand of `torch\.bmm`/,
  },
  'a condition that both sides of a branch reach is none': {
    init: ['self.decoder = make()'],
    forward: [
      'k = x.repeat_interleave(n, dim=0)',
      'if guided:',
      '    k = torch.cat([y, k], dim=0)',
      'return self.decoder(encoder_hidden_states=k)',
    ],
    signature: 'x, y, n, guided',
    rule: 'IKB201',
    level: 'warning',
    message: /^`x` is copied `n` times before the attention in `self\.decoder`; all copies/,
  },
  'what a branch in between does is no condition of the copy': {
    init: [TOKEN, LAYER, 'self.mix = make()'],
    forward: [
      'x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)',
      'if self.mixed:',
      '    x = self.mix(x)',
      'return self.fc(x)',
    ],
    rule: 'IKB102',
    level: 'information',
    message: /that `self\.fc` reads \(on some paths\); the copied/,
  },
  'a condition that only some ways have is none of the copy': {
    init: ['self.decoder = make()'],
    forward: [
      'k = x.repeat_interleave(n, dim=0)',
      'if self.doubled:',
      '    k = torch.cat([k, y, k], dim=0)',
      'elif self.guided:',
      '    k = torch.cat([y, k], dim=0)',
      'else:',
      '    k = y',
      'return self.decoder(encoder_hidden_states=k)',
    ],
    signature: 'x, y, n',
    rule: 'IKB201',
    level: 'warning',
    message: /before the attention in `self\.decoder` \(on some paths\); all copies/,
  },
  'rows that a loop writes one by one are read in every pass': {
    init: ['self.cell = nn.LSTMCell(16, 8)'],
    forward: [
      'ctx = user.unsqueeze(1).repeat(1, 4, 1).view(-1, 16)',
      'for step in range(9):',
      '    h = self.cell(ctx)[0]',
      '    out[step] = h',
      'return out',
    ],
    signature: 'user, out',
    rule: 'IKB102',
    level: 'warning',
    message: /before `self\.cell`, whose first product/,
  },
  'a condition that does not hold is put the other way round': {
    init: ['self.fc = nn.Linear(32, 8)'],
    forward: [
      'if tokens is None:',
      '    u = user',
      'else:',
      '    u = user.unsqueeze(1).expand(-1, tokens.shape[1], -1)',
      'return self.fc(torch.cat([u, x], dim=-1))',
    ],
    signature: 'user, x, tokens=None',
    rule: 'IKB101',
    level: 'warning',
    message: /`self\.fc` \(when tokens is not None\);/,
  },
  'after a branch that returns, the other condition stands': {
    init: ['self.fc = nn.Linear(32, 8)'],
    forward: [
      'def spread(t):',
      '    if n == 1:',
      '        return t',
      '    return t.unsqueeze(1).expand(-1, n, -1)',
      'return self.fc(torch.cat([spread(user), x], dim=-1))',
    ],
    signature: 'user, x, n',
    rule: 'IKB101',
    level: 'warning',
    message: /`self\.fc` \(when n != 1\);/,
  },
  'a recurrence differs behind its first product': {
    init: ['self.rnn = nn.GRU(16, 8)'],
    forward: ['return self.rnn(user.unsqueeze(1).repeat(1, n, 1), h)'],
    signature: 'user, h, n',
    rule: 'IKB102',
    level: 'warning',
    message: /before `self\.rnn`, whose first product is then the same for every copy/,
  },
  'queries that are all the same meet other keys': {
    init: [TOKEN, 'self.attn = nn.MultiheadAttention(16, 4, batch_first=True)'],
    forward: ['return self.attn(self.token.expand(x.shape[0], -1, -1), x, x)[0]'],
    rule: 'IKB102',
    level: 'warning',
    message: /before `self\.attn`, whose first product is then the same/,
  },
  'groups of channels are no heads': {
    init: [],
    forward: [
      'b, c, h, w = x.shape',
      'p = p.view(b, 4, 1, h, h).expand(b, 4, c // 4, h, h).contiguous().view(b, c, h, h)',
      'return p.matmul(x)',
    ],
    signature: 'x, p',
    rule: 'IKB301',
    level: 'warning',
    message: /as an operand of `p\.matmul`; the product needs one of them, but would write out a view/,
  },
  'coordinates are few columns': {
    init: ['self.fc = nn.Linear(19, 8)'],
    forward: ['return self.fc(torch.cat([center[:, None].expand(-1, x.shape[1], -1), x], dim=-1))'],
    signature: 'center: Float[Tensor, "b 3"], x: Float[Tensor, "b n 16"]',
    rule: 'IKB101',
    level: 'information',
    message: /^`center\[:, None\]` is copied `x\.shape\[1\]` times and concatenated/,
  },
  'copies of a vector are little beside the matrices that it meets': {
    init: ['self.bias = nn.Parameter(torch.zeros(8, 16))'],
    forward: [
      'b, h, s, d = k.shape',
      'bias = self.bias.view(1, 8, 1, 16).repeat(b, 1, 1, 1)',
      'return torch.matmul(bias, k.transpose(2, 3))',
    ],
    signature: 'k',
    rule: 'IKB301',
    level: 'information',
    message:
      /copied `b` times as an operand of `torch\.matmul`; the product needs one of them, but would write out a view/,
  },
  'an addition broadcasts by itself': {
    init: ['self.one = nn.Parameter(torch.eye(16).unsqueeze(0))'],
    forward: ['b, d, k = x.shape', 'return torch.bmm(y, x + self.one.repeat(b, 1, 1))'],
    signature: 'x, y',
    rule: 'IKB301',
    level: 'information',
    message: /added to other values in an operand of `torch\.bmm`; the addition needs no copy/,
  },
  'a weight that matmul copies to meet a vector each': {
    init: ['self.w = nn.Parameter(torch.zeros(6, 16, 16))'],
    forward: ['b, f, d = x.shape', 'return torch.matmul(self.w, x.unsqueeze(-1))'],
    rule: 'IKB302',
    level: 'warning',
    message: /^`torch\.matmul` broadcasts `self\.w` along batch axes and writes every copy: b\*3072 bytes/,
  },
  'a weight that matmul copies to meet a matrix each': {
    init: ['self.w = nn.Parameter(torch.zeros(6, 16, 16))'],
    forward: ['b, f, t, d = x.shape', 'return torch.matmul(x, self.w)'],
    rule: 'IKB302',
    level: 'information',
    message: /broadcasts `self\.w` along batch axes/,
  },
  'only the first pass of a loop reads the copies': {
    init: ['self.cell = nn.LSTMCell(32, 8)'],
    forward: [
      'ctx = user.unsqueeze(1).repeat(1, 4, 1).view(-1, 16)',
      'for step in range(9):',
      '    h = self.cell(torch.cat([ctx, x], dim=1))[0]',
      '    ctx = self.attend(h)',
      'return ctx',
    ],
    signature: 'user, x',
    rule: 'IKB101',
    level: 'warning',
    message: /`self\.cell` \(in the first pass of the loop\);/,
  },
  'one of several layers is reached on some paths': {
    init: ['self.fc = make() if deep else nn.Linear(16, 8)'],
    forward: ['return self.fc(user.unsqueeze(1).repeat(1, n, 1))'],
    signature: 'user, n',
    rule: 'IKB102',
    level: 'warning',
    message: /before `self\.fc` \(on some paths\), which/,
  },
  'rows of nodes have no batch axis': {
    init: [],
    forward: ['row, col = edge_index', 'return x[row] @ matrix'],
    signature: 'x, edge_index, matrix',
    rule: 'IKB304',
    level: 'information',
    message:
      /gathered once per entry of `row` before .*; where edges outnumber nodes, projecting before gathering does fewer/,
  },
  'a vector that is picked from copies is small': {
    init: [],
    forward: ['rows = axis.repeat(9, 1)', 'return [turn @ rows[i] for i in range(9)]'],
    signature: 'axis: Float[Tensor, "3"], turn: Float[Tensor, "3 3"]',
    rule: 'IKB301',
    level: 'information',
    message: /^`axis` is copied `9` times as an operand/,
  },
  'a list that holds one tensor some number of times': {
    init: ['self.fc = nn.Linear(32, 8)', 'self.count = count'],
    forward: ['return self.fc(torch.cat([torch.stack([user] * self.count, dim=1), x], dim=-1))'],
    signature: 'user, x',
    rule: 'IKB101',
    level: 'warning',
    message: /^`user` is copied `(self\.)?count` times and concatenated/,
  },
  'a field of several tensors that were moved together': {
    init: [TOKEN, LAYER],
    forward: [
      'tokens = self.tokenizer(texts).to(device)',
      'rows = torch.cat([tokens.ids, tokens.ids, other], dim=0)',
      'return self.fc(self.token.expand(rows.shape[0], -1, -1))',
    ],
    signature: 'texts, device, other',
    rule: 'IKB102',
    level: 'warning',
    message: /: rows\.shape\[0\]\*32 bytes/,
  },
  'a sink behind branches counts less than one on the way': {
    init: [TOKEN, LAYER, 'self.block = Block()'],
    forward: [
      'x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)',
      "if kind == 'a':",
      '    x = self.block(x)',
      "elif kind == 'b':",
      '    x = self.block(x)',
      'return self.fc(x)',
    ],
    signature: 'x, kind',
    rule: 'IKB102',
    level: 'information',
    message: /that `self\.inner` reads/,
  },
};

const HELPER = `
import torch

def spread(mode, rows, times):
    return rows.repeat_interleave(times, dim=0)
`;
const CALLER = `
import torch
from torch import nn
from helper import spread

class Model(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count = count
        self.fc = nn.Linear(8, 8)

    def forward(self, user, cand):
        return self.fc(torch.cat([spread('all', user, self.count), cand], dim=-1))
`;

const base: Claim = { init: [], forward: [], rule: '', level: 'warning', message: /./ };

const moduleOf = ({ init, forward, signature }: Claim): string => `
import torch
import torch.nn as nn
from elsewhere import make
from jaxtyping import Float
from torch import Tensor

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(16, 16)

    def forward(self, x):
        y = self.inner(x)
        return x + torch.bmm(y, y.transpose(1, 2)).sum(-1, keepdim=True)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
${init.map((line) => `        ${line}\n`).join('')}
    def forward(self, ${signature ?? 'x'}):
${forward.map((line) => `        ${line}\n`).join('')}`;

describe('messages are true:', () => {
  it('a buffer that another method replaces has other sizes', async () => {
    const [finding] =
      await findingsOf(`${moduleOf({ ...base, init: ['self.grid = torch.zeros(1, 1, 3)', 'self.fc = nn.Linear(3, 8)'] })}
        if self.grid.shape[1] != x.shape[1]:
            self.grid = self.positions(x.shape[1])
        return self.late(x)

    def late(self, x):
        return self.fc(self.grid.expand(x.shape[0], -1, -1))
`);
    assert.match(
      finding?.message ?? '',
      /^`self\.grid` is copied `x\.shape\[0\]` times before `self\.fc`, which then computes equal rows$/,
    );
  });
  it('what a function of another file copies is the argument that it copies', async () => {
    const files = { read: (path: string) => (path === 'helper.py' ? HELPER : undefined) };
    const { findings } = (await theEngine()).check('model.py', CALLER, { files });
    assert.match(findings[0]?.message ?? '', /^`user` is copied `self\.count` times and concatenated/);
    assert.equal(findings.length, 1);
  });
  it('what a function of another file copies of its own is in that function', async () => {
    const helper = HELPER.replace('(mode, rows, times)', '(mode, given, times)').replace(
      'return',
      'rows = load(mode)\n    return',
    );
    const files = { read: (path: string) => (path === 'helper.py' ? helper : undefined) };
    const { findings } = (await theEngine()).check('model.py', CALLER, { files });
    assert.match(findings[0]?.message ?? '', /^a tensor in `spread` is copied `self\.count` times and concatenated/);
  });
  it('tokens of two kinds that are joined cost their own rows each', async () => {
    const findings = await findingsOf(
      moduleOf({
        ...base,
        init: [TOKEN, 'self.actions = nn.Parameter(torch.zeros(7, 16))', LAYER],
        forward: [
          'b = x.shape[0]',
          'actions = self.actions.unsqueeze(0).expand(b, -1, -1)',
          'return self.fc(torch.cat([self.token.expand(b, -1, -1), actions], dim=1))',
        ],
      }),
    );
    const costs = findings.map(({ level, cost }) => `${level} ${cost.bytes}, ${cost.flops}`);
    assert.deepEqual(costs.sort(), ['information b*224, 7*(b - 1)*16*8*2', 'information b*32, (b - 1)*16*8*2']);
  });

  const MAKER = 'import torch.nn as nn\n\ndef make():\n    return nn.Linear(20, 8)\n';
  const joined = 'return self.fc(torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1))';
  const widths: Readonly<Record<string, readonly [layer: string, forward: readonly string[], said: string]>> = {
    'a width of this file': ['nn.Linear(20, 8)', [joined], '20 is not a multiple of 8'],
    'a width of another file': ['make()', [joined], '20 (line 4 of elsewhere.py) is not a multiple of 8'],
    'a width that the blocks show': [
      'make()',
      ['# ikbo: user=[U, 12], item=[B, 8], U=4, n=50', joined],
      '20 is not a multiple of 8',
    ],
  };
  for (const [what, [layer, forward, said]] of Object.entries(widths)) {
    it(`${what}: where it is made, or none`, async () => {
      const text = moduleOf({ ...base, init: [`self.fc = ${layer}`], forward, signature: 'user, item, n' });
      const files = { read: (path: string) => (path === 'elsewhere.py' ? MAKER : undefined) };
      const { findings } = (await theEngine()).check('model.py', text, { files, hints: true });
      const messages = findings.filter(({ rule }) => rule === 'IKB401').map(({ message }) => message);
      assert.deepEqual(messages, [`the contracted size of \`self.fc\`: ${said}; pad it once when the model is built`]);
    });
  }

  for (const [what, claim] of Object.entries(CLAIMS)) {
    it(what, async () => {
      const findings = await findingsOf(moduleOf(claim));
      assert.deepEqual(
        findings.map(({ rule, level }) => ({ rule, level })),
        [{ rule: claim.rule, level: claim.level }],
        JSON.stringify(findings, null, 2),
      );
      assert.match(findings[0]?.message ?? '', claim.message);
    });
  }
});
