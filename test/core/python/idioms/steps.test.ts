import { idioms } from './idioms';

idioms('idioms: what steps of time and pairs make different', {
  'a state that starts as copies and that each step makes anew': `
module Cell(d):
    self.u = nn.Linear(d, 2 * d)
    self.first = nn.Parameter(torch.zeros(1, d))
    def steps(self, w, h):
        out = []
        for k in range(w.shape[1]):
            gates = w[:, k] + self.u(h)
            at, zt = gates.chunk(2, 1)
            h = zt * h + (1 - zt) * at
            out.append(h)
        return torch.stack(out, dim=1)
    def forward(self, w):
        return self.steps(w, self.first.expand(w.shape[0], -1))
`,
  'the same, of as many copies as there are, which may be one of two numbers': `
module Tracer(d):
    self.known = nn.Parameter(torch.zeros(1, d))
    self.fc = nn.Linear(d, d)
    def forward(self, ids, x, n):
        if n != len(ids):
            n = len(ids)
        k = self.known.repeat(n, 1) if n > 1 else self.known
        for i in range(1, ids.size(1) + 1):
            k = torch.sigmoid(self.fc(k - x[i])) * k
        return k
`,
  'the same, over the steps themselves': `
module Cell(d):
    self.u = nn.Linear(d, d)
    def forward(self, frames: Tensor, first: Tensor):
        h = first.repeat(frames.shape[1], 1)
        for frame in frames:
            h = torch.tanh(frame + self.u(h))
        return h
`,
  'what each step reads and none changes': `
module Decoder(d):
    self.u = nn.Linear(d, d)
    def forward(self, w, memory, n):
        memory = memory.repeat_interleave(n, dim=0)  #! IKB102 -> product
        h = 0
        for k in range(w.shape[1]):
            h = w[:, k] + self.u(memory) * h  #= product
        return h
`,
  'queries that each layer refines: copies before the first of them': `
module Layer(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, context):
        return x + self.fc(x) @ context.transpose(1, 2)  #= layer

module Decoder(d, n):
    self.queries = nn.Parameter(torch.zeros(1, 8, d))
    self.layers = nn.ModuleList([Layer(d) for _ in range(n)])
    def forward(self, context):
        x = self.queries.repeat(context.shape[0], 1, 1)  #! IKB102 -> layer
        for layer in self.layers:
            x = layer(x, context)
        return x
`,
  'rows that each pass writes to': `
module Search(d):
    self.fc = nn.Linear(d, d)
    def forward(self, best, rows, n, length):
        xs = best.repeat(n, 1).clone()
        for i in range(length):
            at = self.fc(xs.float()).argmax(dim=1)
            xs[rows, at] = torch.logical_not(xs[rows, at])
        return xs
`,
  'rows that are written to where they are no copies': `
module Labels(d):
    self.fc = nn.Linear(d, d)
    def forward(self, q, rows, n):
        q_padded = q.new_zeros(n, 8, 4) if self.whole else q.repeat(n, 1)  #! IKB102 -> fc
        for i, row in enumerate(rows):
            if self.whole:
                q_padded[:, i] = row
        return self.fc(q_padded)  #= fc
`,
  'pairs of microphones: rows by one index times rows by another': `
def weights(steering, x):
    at = torch.triu_indices(4, 4)
    a = steering[:, :, 0, at[0, :]]
    b = steering[:, :, 1, at[0, :]]
    c = steering[:, :, 0, at[1, :]]
    d = steering[:, :, 1, at[1, :]]
    w = a * c + b * d
    return torch.matmul(x, w.reshape(w.shape[0], -1).transpose(0, 1))
`,
  'rows of two tables, for the pairs of a mini-batch': `
def contrast(user_emb, item_emb, centroids, user_idx, item_idx):
    users = user_emb[user_idx] @ centroids.T
    return users + item_emb[item_idx] @ centroids.T
`,
  'the user of each candidate': `
def score(user_emb, candidates, user_idx):
    users = user_emb[user_idx]  #! IKB301 -> product
    return torch.bmm(candidates, users.unsqueeze(2))  #= product
`,
  'a layer that a variable names': `
module Forecaster(d, h, kind, layers):
    self.rnn = getattr(nn, kind)(2 * d, h, layers, batch_first=True)
    def forward(self, past, static):
        static = static.unsqueeze(1).repeat(1, past.shape[1], 1)  #! IKB101 -> rnn
        out, _ = self.rnn(torch.cat([past, static], dim=-1))  #= rnn
        return out
`,
  'an activation that a variable names, in front of a linear': `
module Scorer(d, activation):
    self.act = getattr(nn, activation)()
    self.fc = nn.Linear(d, d)
    def forward(self, user, n):
        user = user.repeat_interleave(n, dim=0)  #! IKB102 -> fc
        return self.fc(self.act(user))  #= fc
`,
  'another class that a variable names': `
module Other(d, kind):
    self.pool = getattr(nn, kind)(d)
    self.fc = nn.Linear(d, d)
    def forward(self, user, n):
        return self.fc(self.pool(user.repeat_interleave(n, dim=0)))
`,
  'a row of which the last size is its first': `
module Parser(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, states, trees, nodes, i):
        state = torch.cat([states[i, :], trees[i]])
        state = state.expand(len(nodes), state.shape[0])  #! IKB101 -> fc
        return self.fc(torch.cat([state, nodes], dim=1))  #= fc
`,
  'a context that is padded by what is there, in front of a convolution of one position': `
module Conv(c, d, kernel, mode="reflect"):
    self.mode = mode
    self.kernel = kernel
    self.conv = nn.Conv1d(c, d, self.kernel)
    def forward(self, x):
        x = F.pad(x, amounts(self.kernel), mode=self.mode)
        return self.conv(x)  #= conv

module Pool(d):
    self.tdnn = Conv(3 * d, d, 1)
    def forward(self, x, mean, std, n):
        mean = mean.unsqueeze(2).repeat(1, 1, n)  #! IKB101 -> conv
        std = std.unsqueeze(2).repeat(1, 1, n)  #! IKB101 -> conv
        return self.tdnn(torch.cat([x, mean, std], dim=1))
`,
  'the same in front of a wide one, and padded by zeros': `
module Pool(d):
    self.wide = nn.Conv1d(2 * d, d, 3)
    self.narrow = nn.Conv1d(2 * d, d, 1)
    def forward(self, x, mean, n, by):
        x = torch.cat([x, mean.unsqueeze(2).repeat(1, 1, n)], dim=1)
        wide = self.wide(F.pad(x, by, mode='reflect'))
        return wide + self.narrow(F.pad(x, by))
`,
  'scaled by the root of a width, and a table of positions that has no batch added': `
module Positions(width, n):
    self.scale = width ** 0.5
    angles = torch.arange(n)[:, None] * torch.exp(torch.arange(width // 2))[None, :]
    self.register_buffer('pe', torch.cat([torch.sin(angles), torch.cos(angles)], dim=1).unsqueeze(0))
    def forward(self, x):
        return x * self.scale + self.pe[:, : x.size(1)]

module Speech(d):
    self.embed = nn.Embedding(4, d)
    self.positions = Positions(d, 100)
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        task = self.embed(torch.LongTensor([[1, 2]])).repeat(x.size(0), 1, 1)  #! IKB102 -> fc
        x = torch.cat([task, x], dim=1)
        return self.fc(self.positions(x))  #= fc
`,
  'positions of each sample make rows of their own': `
module Speech(d):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.fc = nn.Linear(d, d)
    self.norm = nn.LayerNorm(d)
    def forward(self, x, positions):
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], dim=1)
        return self.fc(self.norm(x * 0.5 + positions))
`,
});
