import { idioms } from './idioms';

idioms('idioms: sequences of several lengths', {
  'states that are copied as long as they last, padded and joined': `
module Speech(d):
    self.query = nn.Linear(d, d)
    def regulate(self, phonemes, durations, longest):
        frames = []
        for one, lengths in zip(phonemes, durations):
            frames.append(self.spread(one, lengths))
        return torch.stack([F.pad(f, (0, 0, 0, longest - f.size(0)), 'constant', 0.0) for f in frames])
    def spread(self, one, lengths):
        out = list()
        for i, state in enumerate(one):
            out.append(state.expand(int(lengths[i].item()), -1))  #! IKB102 -> query
        return torch.cat(out, 0)
    def forward(self, phonemes, durations, longest):
        return self.query(self.regulate(phonemes, durations, longest))  #= query
`,
  'states that are copied, padded by a function of its own and added to positions': `
def pad(rows, longest=None):
    if longest is None:
        longest = max([rows[i].size(0) for i in range(len(rows))])
    out = list()
    for i, row in enumerate(rows):
        out.append(F.pad(row, (0, 0, 0, longest - row.size(0)), 'constant', 0.0))
    return torch.stack(out)

module Regulator(d):
    self.d = d
    def spread(self, one, lengths):
        out = list()
        for i, state in enumerate(one):
            out.append(state.expand(max(int(lengths[i].item()), 0), -1))  #! IKB101 -> query
        return torch.cat(out, 0)
    def forward(self, phonemes, durations, longest):
        frames, counts = list(), list()
        for one, lengths in zip(phonemes, durations):
            spread = self.spread(one, lengths)
            frames.append(spread)
            counts.append(spread.shape[0])
        frames = pad(frames, longest) if longest is not None else pad(frames)
        return frames, torch.LongTensor(counts)

module Speech(d):
    self.regulate = Regulator(d)
    self.query = nn.Linear(d, d)
    def forward(self, phonemes, durations, longest, pitch):
        frames, counts = self.regulate(phonemes, durations, longest)
        frames = frames + pitch
        return self.query(frames)  #= query
`,
  'rows that are copied as often as they count, of each sequence': `
from torch.nn.utils.rnn import pad_sequence

module Speech(d):
    self.query = nn.Linear(d, d)
    def first(self, phonemes, durations):
        frames = [torch.repeat_interleave(p, n, dim=0) for p, n in zip(phonemes, durations)]  #! IKB102 -> query
        return self.query(pad_sequence(frames, batch_first=True))  #= query
    def last(self, phonemes, durations):
        frames = []
        for p, n in zip(phonemes, durations):
            frames.append(torch.repeat_interleave(p, n, dim=0))  #! IKB102 -> other
        return self.query(pad_sequence(frames))  #= other
    def none(self, phonemes):
        return self.query(pad_sequence([p * 2 for p in phonemes]))
`,
  'copies along one axis, padded along another': `
module Ranker(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, user, items, n, width):
        user = F.pad(user.unsqueeze(1).repeat(1, n, 1), (0, width))  #! IKB101 -> fc
        return self.fc(torch.cat([user, items], dim=-1))  #= fc
    def unknown(self, user, n, amounts):
        return self.fc(F.pad(user.unsqueeze(1).repeat(1, n, 1), amounts))
`,
  'samples of one past, of which the last step is taken and cut into samples': `
module Decoder(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, data, z, n):
        past = data['past'].repeat_interleave(n, dim=1)  #! IKB101 -> fc
        last = past[[-1]]
        last = last.view(-1, n, last.shape[-1])
        return self.fc(torch.cat([last, z.view(-1, n, z.shape[-1])], dim=-1))  #= fc
    def other(self, data, z, n, m):
        past = data['past'].repeat_interleave(n, dim=1)
        last = past[-1].view(-1, m, past.shape[-1])
        return self.fc(torch.cat([last, z], dim=-1))
`,
});

idioms('idioms: copies that are kept, named or chosen', {
  'kept in an attribute by one method and read by another': `
module Scorer(d):
    self.fc = nn.Linear(d, d)
    def prepare(self, user, n):
        self.users = user.repeat_interleave(n, dim=0)  #! IKB102 -> fc
    def forward(self, user, n):
        self.prepare(user, n)
        return self.fc(self.users)  #= fc
`,
  'by a pattern with sizes in it': `
module Scorer(d):
    self.fc = nn.Linear(d, d)
    self.k = 4
    def forward(self, user, n):
        return self.fc(repeat(user, f'b d -> (b {n}) d'))  #! IKB102 -> fc  #= fc
    def behind(self, user):
        return self.fc(repeat(user, f"b d -> b {self.k} d"))  #! IKB102 -> behind  #= behind
    def split(self, user, items, n):
        users = repeat(user, f'b d -> (b {n}) d')
        return self.fc(rearrange(users, f'(b {n}) d -> b {n} d')[:, 0])
`,
  'in one case of several': `
module Scorer(d):
    self.fc = nn.Linear(d, d)
    def forward(self, user, rows, n, mode):
        match mode:
            case 'user':
                x = user.repeat_interleave(n, dim=0)  #! IKB102 -> fc
            case 'row' | 'rows':
                x = rows
            case _:
                raise ValueError(mode)
        return self.fc(x)  #= fc
    def undone(self, user, rows, n, mode):
        x = user.repeat_interleave(n, dim=0)
        match mode:
            case _:
                x = rows
        return self.fc(x)
`,
  'rows of pairs of positions': `
module Pairs(d):
    self.fc = nn.Linear(2 * d, d)
    def product(self, a, b):
        pairs = torch.cartesian_prod(torch.arange(a.shape[0]), torch.arange(b.shape[0]))
        return self.fc(torch.cat([a[pairs[:, 0]], b], -1))  #! IKB101 -> product  #= product
    def grid(self, a, b):
        i, j = torch.meshgrid(torch.arange(a.shape[0]), torch.arange(b.shape[0]), indexing='ij')
        return self.fc(torch.cat([a[i.reshape(-1)], b], -1))  #! IKB101 -> grid  #= grid
    def coordinates(self, a, b):
        i, j = torch.meshgrid(torch.arange(a.shape[0]), torch.arange(b.shape[0]))
        return self.fc(torch.stack([i, j], -1).float())
    def of_space(self, a):
        i, j = torch.meshgrid(torch.linspace(0, 1, 4), torch.linspace(0, 1, 4))
        return self.fc(torch.stack([i, j], -1).flatten(0, 1))
    def of_data(self, a, b):
        return self.fc(torch.cartesian_prod(a, b))
`,
  'for networks that a method of an agent makes and returns': `
module Decoder(layers):
    self.layers = nn.ModuleList([])
    for i in range(len(layers)):
        self.layers.append(nn.Linear(layers[i], layers[i]))
    def forward(self, latent, seen):
        h = torch.cat((latent, seen), dim=-1)
        for i in range(len(self.layers)):
            h = torch.relu(self.layers[i](h))  #= first
        return h

class Agent:
    def __init__(self, args):
        self.args = args
        self.state_decoder, self.reward_decoder = self.initialise_decoder()
    def initialise_decoder(self):
        if self.args.disable_decoder:
            return None, None
        if self.args.decode_state:
            state_decoder = Decoder(layers=self.args.layers).to(self.args.device)
        else:
            state_decoder = None
        # The text of a method as long as this one is would not be followed for its size alone: it is followed, since it makes
        # what the agent works with, and gives it to the constructor, which keeps it in attributes that all other methods read.
        if self.args.decode_reward:
            reward_decoder = Decoder(layers=self.args.layers).to(self.args.device)
        else:
            reward_decoder = None
        return state_decoder, reward_decoder
    def loss(self, samples, seen, n):
        latent = samples.unsqueeze(0).expand((n, *samples.shape))  #! IKB101 -> first
        return self.reward_decoder(latent, seen)
`,
});
