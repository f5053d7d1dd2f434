import { idioms } from './idioms';

idioms('idioms: what is annotated, chosen and counted', {
  'a network by an annotation in quotes, kept by a helper that is no module': `
module Decoder(d):
    self.fc = nn.Linear(d, d)
    def forward(self, ids, audio):
        return self.fc(audio)  #= fc

module Net(d):
    self.decoder = Decoder(d)

class Inference:
    def __init__(self, model: "Net", start: int):
        self.model: "Net" = model
        self.start = start
    def logits(self, ids, audio):
        return self.model.decoder(ids[:, self.start :], audio)

class Task:
    def __init__(self, model: "Net", options):
        self.options = options
        self.inference = Inference(model, 3)
    def loop(self, ids, audio):
        return self.inference.logits(ids, audio)
    def run(self, ids, audio, n):
        audio = audio.repeat_interleave(n, dim=0)  #! IKB102 -> fc
        return self.loop(ids, audio)
`,
  'one that may be missing': `
module Net(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        return self.fc(x)  #= fc

def score(net: Optional["Net"], x, n):
    return net(x.repeat_interleave(n, dim=0))  #! IKB102 -> fc

def other(net: "Net" | None, x, n):
    return net(x.repeat_interleave(n, dim=0))  #! IKB102 -> fc
`,
  'a class of layers that a constructor is handed': `
KINDS = {'rnn': nn.RNN, 'gru': nn.GRU, 'lstm': nn.LSTM}

module Decoder(e, h, rnn_class='lstm', layers=2):
    self.words = nn.Embedding(100, e)
    self.rnn = rnn_class(e + h, h, layers, batch_first=True)
    def forward(self, ids, context):
        x = self.words(ids)
        seen = context[:, -1, :].unsqueeze(1).expand(-1, ids.size(1), -1)  #! IKB101 -> rnn
        out, _ = self.rnn(torch.cat((x, seen), dim=-1))  #= rnn
        return out

module Model(options):
    rnn_class = nn.LSTM
    self.encoder = Other(
        options.width,
        rnn_class=rnn_class,
    )
    self.decoder = Decoder(
        options.width,
        options.hidden,
        rnn_class=rnn_class,
    )

module Second(options):
    self.decoder = Decoder(3, 4, rnn_class=KINDS[options['rnn']])
`,
  'a size that another method changes': `
module Base(d, config):
    self.count = d
    self.fc = nn.Linear(d, 4)
    self.embed = nn.Embedding(d, 4)

class Sampled(Base):
    def __init__(self, d, config):
        self.all = d
        super().__init__(d, config)
    def sample(self, size):
        self.count = size
    def forward(self, time, mask, ids=None):
        B, K, L = mask.shape
        time = time.unsqueeze(2).expand(-1, -1, self.count, -1)  #! IKB101 -> fc
        if self.count == self.all:
            rows = self.embed(torch.arange(self.count)).unsqueeze(0).unsqueeze(0).expand(B, L, -1, -1)  #! IKB101 -> fc
        else:
            rows = self.embed(ids).unsqueeze(1).expand(-1, L, -1, -1)  #! IKB101 -> fc
        return self.fc(torch.cat([time, rows], dim=-1))  #= fc
`,
  'as often as two attributes say, and a part of that': `
module Forecast(a, b):
    self.conv = nn.Conv1d(a, b, kernel_size=1)
    def features(self, static, time):
        static = torch.repeat_interleave(static[..., None], self.past + self.future, dim=-1)  #! IKB101 -> conv
        return torch.cat([time, static], dim=1)
    def forward(self, static, time):
        return self.conv(self.features(static, time)[..., 1:])  #= conv
`,
  'sizes in a torch.Size': `
module Attention(d, heads, groups):
    self.q = nn.Linear(d, d)
    self.heads, self.groups, self.width = heads, groups, d // heads
    def forward(self, q, k):
        B, T, _ = q.shape
        q = self.q(q).view(B, T, self.heads, self.width).transpose(1, 2)
        k = k.view(B, -1, self.groups, self.width).transpose(1, 2)
        size = k.size()
        k = k.unsqueeze(2).expand(size[:2] + torch.Size([self.heads // self.groups]) + size[2:])  #! IKB202 -> product
        k = k.reshape(size[:1] + torch.Size([self.heads]) + size[2:])
        return torch.matmul(q, k.transpose(-2, -1))  #= product
`,
  'a tensor made of a tensor': `
module Net(d):
    self.fc = nn.Linear(d, d)
    def embed(self, ids, static):
        return self.fc(torch.cat((ids, torch.tensor(static)), dim=-1))  #= fc
    def forward(self, ids, static, n):
        static = static.repeat_interleave(n, dim=0)  #! IKB101 -> fc
        return self.embed(ids, static)
`,
  'several residual streams, and rows from the first on': `
from hyper_connections import get_init_and_expand_reduce_stream_functions

module Attention(d):
    self.norm = nn.LayerNorm(d)
    self.to_q = nn.Linear(d, d)
    def forward(self, x, cache=None):
        return self.to_q(self.norm(x)), (cache, x)  #= q

module Transformer(d, depth, streams):
    init, self.spread, self.join = get_init_and_expand_reduce_stream_functions(streams, disable=streams == 1)
    self.layers = nn.ModuleList([])
    for _ in range(depth):
        self.layers.append(nn.ModuleList([init(dim=d, branch=Attention(d)), init(dim=d, branch=nn.Linear(d, d))]))
    def forward(self, x, cache=None):
        if cache is not None:
            seen = cache.shape[-2]
        else:
            seen = 0
        x = self.spread(x[:, seen:])
        for attend, ff in self.layers:
            x, (cache, values) = attend(x, cache=cache)
            x = ff(x)
        return self.join(x)

module Model(d):
    self.start = nn.Parameter(torch.zeros(d))
    self.transformer = Transformer(d, 2, 4)
    def forward(self, tokens):
        start = repeat(self.start, 'd -> b 1 d', b=tokens.shape[0])  #! IKB102 -> q
        return self.transformer(torch.cat((start, tokens), dim=1))
`,
  'a model that a function loads, beside the script that hands it over': `
module Decoder(d):
    self.k = nn.Linear(d, d)
    def forward(self, ids, memory):
        return self.k(memory)  #= k

module Transformer(d):
    self.encoder = nn.Linear(d, d)
    self.decoder = Decoder(d)

module Translator(model, beams):
    self.model = model
    self.beams = beams
    def decode(self, ids, memory):
        return self.model.decoder(ids, memory)
    def start(self, ids):
        memory = self.model.encoder(ids)
        memory = memory.repeat(self.beams, 1, 1)  #! IKB102 -> k
        return memory, ids
    def translate(self, ids):
        memory, ids = self.start(ids)
        return self.decode(ids, memory)

def load_model(options, device):
    stored = torch.load(options.model, map_location=device)
    settings = stored['settings']
    print('what takes a while: read from there, with all that was said when it was trained ${'.'.repeat(300)}')
    print('what takes a while: read from there, with all that was said when it was trained ${'.'.repeat(300)}')
    model = Transformer(settings.width).to(device)
    model.load_state_dict(stored['model'])
    return model

def main(options, device):
    translator = Translator(model=load_model(options, device), beams=options.beams).to(device)
`,
  'a layer that is annotated as one of torch': `
def project(x, layer: nn.Linear, n):
    return layer(x.repeat_interleave(n, dim=0))  #! IKB102 -> sink  #= sink

module Head(d, attend: Optional[nn.MultiheadAttention]):
    self.attend = attend
    def forward(self, q, x):
        x = x.repeat_interleave(q.shape[0], dim=0)  #! IKB201 -> attend
        return self.attend(q, x, x)  #= attend
`,
  'layers of another library, and a module path in full': `
from allennlp.modules import FeedForward, TimeDistributed

module Pairs(score: FeedForward, d):
    self.score = TimeDistributed(score)
    self.both = torch.nn.modules.Bilinear(d, d, 3)
    def forward(self, spans, others):
        left = spans.unsqueeze(2).expand_as(others)  #! IKB101 -> score
        return self.score(torch.cat([left, others], -1))  #= score
    def pairs(self, head, child):
        size = [head.size(0), head.size(1), child.size(1), -1]
        head = head.unsqueeze(2).expand(*size).contiguous()  #! IKB102 -> both
        return self.both(head, child)  #= both
`,
  'copies of a parameter that was filled, by a keyword and a shape that goes on': `
module Embedding(d, nodes, steps):
    self.table = nn.init.xavier_uniform_(nn.Parameter(torch.empty(steps, nodes, d)))
    self.q = nn.Linear(2 * d, d)
    def forward(self, x, extra):
        parts = [x]
        parts.append(self.table.expand(size=(x.shape[0], *self.table.shape)))  #! IKB101 -> q
        return self.q(torch.cat(parts, dim=-1))  #= q
    def other(self, x, extra):
        extra = extra.expand(size=(x.shape[0], *extra.shape))  #! IKB101 -> second
        return self.q(torch.cat([x, extra], dim=-1))  #= second
`,
  'a view that is added to what has rows of its own: only the sum is written': `
module Refine(d):
    self.nodes = nn.Linear(d, d)
    self.graph = nn.Linear(d, d)
    self.joined = nn.Linear(3 * d, 1)
    self.w = nn.Parameter(torch.zeros(d, d))
    def view(self, x, u):
        batch, count, d = x.size()
        y = x + u.max(1)[0][:, None, :].expand(batch, count, d)
        return torch.matmul(y.contiguous().view(-1, d), self.w)
    def relu(self, x, u, n):
        return F.relu(x + u.unsqueeze(1).expand(-1, n, -1)) @ self.w
    def projected(self, x, u, n):
        y = self.nodes(x) + self.graph(u)[:, None, :].repeat(1, n, 1)
        return y @ self.w
    def written(self, x, u, n):
        y = x + u.unsqueeze(1).repeat(1, n, 1)  #! IKB101 -> w
        return y @ self.w  #= w
    def both(self, x, u, n):
        q = u.unsqueeze(1).expand(-1, n, -1)  #! IKB104 -> d
        return self.joined(torch.cat([q, x, q - x], dim=-1))  #= d
`,
  'a convolution of a class of its own, with the kernel that it hands on': `
class Conv(nn.Conv1d):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.buffer = None

class Pointwise(Conv):
    def __init__(self, a, b, bias=True):
        super().__init__(a, b, kernel_size=1, padding=0, bias=bias)

class Plain(nn.Conv1d):
    pass

def make(a, b, kernel, **kwargs):
    conv = Conv(a, b, kernel, **kwargs)
    nn.init.kaiming_normal_(conv.weight)
    return nn.utils.weight_norm(conv)

module Block(d):
    self.first = make(d, d, 1, padding=0)
    self.second = Pointwise(d, d)
    self.third = Plain(d, d, 1)
    self.wide = make(d, d, 3, padding=1)
    self.plain = Plain(d, d, 3)
    def one(self, g, n):
        g = g.unsqueeze(-1).expand(-1, -1, n).contiguous()  #! IKB102 -> first
        return self.first(g)  #= first
    def two(self, g, n):
        g = g.unsqueeze(-1).expand(-1, -1, n).contiguous()  #! IKB102 -> second
        return self.second(g)  #= second
    def three(self, g, n):
        g = g.unsqueeze(-1).expand(-1, -1, n).contiguous()  #! IKB102 -> third
        return self.third(g)  #= third
    def four(self, g, n):
        g = g.unsqueeze(-1).expand(-1, -1, n).contiguous()
        return self.wide(g), self.plain(g)
`,
  'a vector for each row of something that nothing tells the rank of': `
module Match(a, b):
    self.fc = nn.Linear(a + b, 1)
    self.dropout = nn.Dropout(0.1)
    def forward(self, x, y):
        y = y.unsqueeze(1).expand_as(x)  #! IKB101 -> fc
        return self.fc(torch.cat([x, y], 2))  #= fc
    def flat(self, x, y):
        x, y = self.dropout(x), self.dropout(y)
        y = y.unsqueeze(1).expand_as(x)  #! IKB101 -> flat
        rows = torch.cat([x, y, x * y, torch.abs(x - y)], 2).contiguous().view(x.size(0) * x.size(1), -1)
        return self.fc(rows)  #= flat
`,
  'a mask of noise that takes no gradient, and copies that take none or one each': `
class Drop(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p
    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        if len(x.size()) == 3:
            mask = torch.bernoulli((1 - self.p) * (x.data.new(x.size(0), x.size(2)).zero_() + 1))
            mask.requires_grad = False
            return mask.unsqueeze(1).expand_as(x) * x
        return F.dropout(x, self.p, self.training)

module Match(a, b, p):
    self.fc = nn.Linear(a + b, 1)
    self.dropout = Drop(p)
    def forward(self, x, y):
        x, y = self.dropout(x), self.dropout(y)
        y = y.unsqueeze(1).expand_as(x)  #! IKB101 -> fc
        return self.fc(torch.cat([x, y], 2))  #= fc
    def fixed(self, x, u, n):
        u = u.unsqueeze(1).repeat(1, n, 1)  #! IKB101 -> fixed
        u.requires_grad = False
        return self.fc(torch.cat([x, u], dim=-1))  #= fixed
    def searched(self, x, u, n):
        u = u.unsqueeze(1).repeat(1, n, 1)
        u.requires_grad = True
        return self.fc(torch.cat([x, u], dim=-1))
`,
  'what follows an annotated cache that must not be given': `
module Cache(size):
    self.size = size
    def update(self, k):
        return k

def spread(x, n):
    b, s, h, d = x.shape
    if n == 1:
        return x
    return x.unsqueeze(3).expand(b, s, h, n, d).reshape(b, s, h * n, d)  #! IKB202 -> attend

module Backend(n):
    self.n = n
    def forward(self, q, k, v, cache: Optional[Cache] = None):
        if cache is not None:
            raise RuntimeError('no cache')
        k = spread(k, self.n)
        v = spread(v, self.n)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v)  #= attend
`,
});
