import { idioms } from './idioms';

idioms('idioms: sizes', {
  'of what a layer returned, named where they are unpacked': `
module Relations(d, m):
    self.conv = nn.Sequential(nn.Conv2d(3, d, [3, 3], 2, 1), nn.BatchNorm2d(d), nn.ReLU())
    self.g = nn.Sequential(nn.Linear(2 * d + 4, m), nn.ReLU())
    self.register_buffer('coords', torch.randn(1, 2, 8, 8))
    def forward(self, image):
        x = self.conv(image)
        b, c, h, w = x.size()
        n = h * w
        x = torch.cat([x, self.coords.expand(b, 2, h, w)], 1)
        c += 2
        x = x.view(b, c, -1).permute(0, 2, 1)
        one = x.unsqueeze(1).expand(b, n, n, c)  #! IKB101 -> g
        two = x.unsqueeze(2).expand(b, n, n, c)  #! IKB101 -> g
        one = one.contiguous().view(-1, n * n, c)
        two = two.contiguous().view(-1, n * n, c)
        return self.g(torch.cat([one, two], 2))  #= g
`,
  'of the last state of a recurrent layer': `
module Reader(d, h):
    self.lstm = nn.LSTM(d, h, batch_first=True)
    self.g = nn.Linear(h + d, h)
    def forward(self, words, things):
        _, (state, _) = self.lstm(words)
        asked = state.permute(1, 0, 2).expand(things.size(0), things.size(1), -1)  #! IKB101 -> g
        return self.g(torch.cat([things, asked], 2))  #= g
`,
  'of the last state of both directions, which is no single row': `
module Reader(d, h):
    self.lstm = nn.LSTM(d, h, batch_first=True, bidirectional=True)
    self.g = nn.Linear(h, h)
    def forward(self, words, n):
        _, (state, _) = self.lstm(words)
        return self.g(state.permute(1, 0, 2).expand(words.size(0), n, -1))
`,
  'that another tensor names, beside one that is known': `
module Denoiser(d):
    self.project = nn.Conv1d(2 * d, d, 1)
    self.d = d
    def forward(self, x, step, features):
        b, c, k, t = x.shape
        n, length = step.shape[:2]
        step = step.unsqueeze(2).expand(-1, -1, features.shape[0], -1)  #! IKB101 -> project
        names = features.unsqueeze(0).unsqueeze(0).expand(n, length, -1, -1)  #! IKB101 -> project
        side = torch.cat([step, names], dim=-1).permute(0, 3, 2, 1)
        _, width, _, _ = side.shape
        return self.project(side.reshape(b, width, k * t))  #= project
`,
  'after those that are named, of any number': `
module Policy(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        y = x.unsqueeze(1).expand(-1, n, *x.shape[1:]).reshape(-1, *x.shape[1:])  #! IKB102 -> a
        return self.fc(y)  #= a
    def lists(self, x, n):
        x = x.unsqueeze(1)
        x = x.expand(-1, n, *([-1] * len(x.shape[2:])))  #! IKB102 -> b
        return self.fc(x.reshape(x.shape[0] * n, *x.shape[2:]))  #= b
    def tuples(self, x, n):
        y = x[None].expand((n,) + x.shape)  #! IKB102 -> c
        return self.fc(y.reshape((n * x.shape[0],) + x.shape[1:]))  #= c
    def grown(self, x, n):
        y = x.expand(n, *x.shape)  #! IKB102 -> d
        return self.fc(y)  #= d
    def repeated(self, x, n):
        y = x.unsqueeze(0).repeat(n, *([1] * x.dim()))  #! IKB102 -> e
        return self.fc(y.view(-1, *x.shape[1:]))  #= e
    def others(self, x, y, n):
        return self.fc(x.unsqueeze(1).expand(-1, n, -1).reshape(-1, *y.shape[1:]))
`,
  'of copies in a row, whose width is what is left': `
module Slate(d):
    self.gru = nn.GRU(d, d, batch_first=True)
    self.embed = nn.Linear(d, d // 2)
    def forward(self, state, items):
        b, n, _ = items.shape
        state = self.embed(state).repeat(1, n).reshape(b, n, -1)  #! IKB101 -> gru
        return self.gru(torch.cat((state, items), dim=2))  #= gru
`,
  'behind a leading -1, beside one that is known': `
module Flow(d, k):
    self.rnn = nn.GRU(d, d)
    self.embed = nn.Embedding(k, d)
    self.k, self.d = k, d
    def forward(self, lags, names, past, future, train):
        if train:
            n = past
        else:
            n = past + future
        name = self.embed(names)
        names = name.unsqueeze(1).expand(-1, n, -1, -1).reshape((-1, n, self.k * self.d))  #! IKB101 -> rnn
        return self.rnn(torch.cat((lags, names), dim=-1))  #= rnn
`,
  'of another tensor of that shape': `
module Knowledge(d: int, k: int):
    self.q = nn.Linear(d, d)
    self.params = nn.Parameter(torch.randn(k, d))
    self.k = k
    def forward(self, asked, known):
        b, t, d = asked.size()
        query = self.params[None, :, None, :].expand(b, -1, t, -1).contiguous().view(b * self.k, t, d)  #! IKB102 -> q
        known = known.unsqueeze(1).expand(-1, self.k, -1, -1).reshape_as(query)  #! IKB102 -> k
        known = self.q(known)  #= k
        return self.q(query), known  #= q
`,
  'counted from the back, of a list that repeats one tensor': `
def stack(x, n=None, dim=0):
    return x if n is None else torch.stack([x] * n, dim=dim)

module Process(d):
    self.fc = nn.Linear(2 * d, d)
    self.out = nn.Linear(2 * d, d)
    def forward(self, code, x):
        code = torch.stack([code] * x.shape[-2], -2)  #! IKB101 -> fc
        return self.fc(torch.cat([code, x], -1))  #= fc
    def sample(self, z, x):
        z = torch.stack([z] * x.shape[-2], dim=-2)  #! IKB101 -> out
        return self.out(torch.cat([z, x], -1))  #= out
`,
  'that an assertion states of copies': `
class Stacked(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.n = n
        self.weight = nn.Parameter(torch.empty(n, 2 * d, d))
    def forward(self, state, action):
        x = torch.cat([state, action], dim=-1)
        if x.dim() != 3:
            x = x.unsqueeze(0).repeat_interleave(self.n, dim=0)  #! IKB301 -> weight
        assert x.dim() == 3
        return x @ self.weight  #= weight

module Learner(d):
    self.critic = Stacked(d, 10)
    def forward(self, state, action):
        n = self.critic.n
        state = state.unsqueeze(0).repeat_interleave(n, dim=0)  #! IKB301 -> weight
        action = action.unsqueeze(0).repeat_interleave(n, dim=0).requires_grad_(True)
        return self.critic(state, action)
`,
  'that an assertion states': `
module Pooling(d):
    self.fc = nn.Conv1d(2 * d, d, kernel_size=1)
    def forward(self, x):
        if len(x.shape) == 4:
            x = x.reshape(x.shape[0], x.shape[1] * x.shape[2], x.shape[3])
        assert len(x.shape) == 3
        mean = torch.mean(x, dim=-1, keepdim=True).expand_as(x)  #! IKB101 -> fc
        return self.fc(torch.cat((x, mean), dim=1))  #= fc
`,
  'that an expand leaves as they are': `
module Attention(d):
    self.mlp = nn.Linear(2 * d, 1)
    def forward(self, target, seen):
        target = target.unsqueeze(1).repeat(1, seen.size(1), 1)  #! IKB101 -> mlp
        keys = torch.cat((target, seen), dim=-1).unsqueeze(1).expand(-1, 1, -1, -1)
        return self.mlp(keys)  #= mlp
`,
  'of lists and tensors, by what they are': `
def several(n, x):
    if torch.is_tensor(x):
        x = x.unsqueeze(1)
        x = x.expand(-1, n, *([-1] * len(x.shape[2:])))  #! IKB102 -> b
        x = x.reshape(x.shape[0] * n, *x.shape[2:])
    elif type(x) is list or type(x) is tuple:
        x = [several(n, y) for y in x]
    return x

module Captioner(d):
    self.a = nn.Linear(d, d)
    self.b = nn.Linear(d, d)
    def forward(self, fc, att, n):
        fc, att = several(n, [self.a(fc), self.b(att)])
        return self.b(fc)  #= b
`,
  'rows of copies that become heads, under a batch of another name': `
module Attend(d, n, w):
    self.n, self.w = n, w
    self.to_k = nn.Linear(d, n * w)
    def forward(self, q, context, times):
        b = q.shape[0]
        k = repeat(self.to_k(context), 'b ... -> (b f) ...', f=times)  #! IKB301 -> product
        k = k.reshape(b, k.shape[1], self.n, self.w).permute(0, 2, 1, 3)
        return q @ k.transpose(2, 3)  #= product
`,
  'copies of what may be zeros of another size, made rows': `
class Pipeline:
    def encode(self, embeds, n, guided, negative=None):
        if guided and negative is None and self.config.zeros:
            negative = torch.zeros_like(embeds)
        elif guided and negative is None:
            negative = self.encoder(embeds)[0]
        length = negative.shape[1]
        negative = negative.repeat(1, n, 1)  #! IKB201 -> call
        negative = negative.view(len(embeds) * n, length, -1)
        return self.unet(0, encoder_hidden_states=torch.cat([negative, embeds]))  #= call
`,
  'copies behind one another, not made rows': `
class Pipeline:
    def encode(self, embeds, n, length):
        embeds = embeds.repeat(1, n, 1)
        embeds = embeds.view(-1, length, 768)
        return self.unet(0, encoder_hidden_states=embeds)
`,
  'what has the leading sizes of copies of which the rank is not known, and another last': `
module Coder(d, latent):
    self.fc = nn.Linear(d, d)
    self.latent = latent
    def forward(self, seen, n):
        seen = seen.repeat_interleave(n, dim=0)  #! IKB101 -> fc
        z = torch.randn(seen.shape[:-1] + (self.latent,))
        return self.fc(torch.cat([seen, z], dim=-1))  #= fc
`,
});
