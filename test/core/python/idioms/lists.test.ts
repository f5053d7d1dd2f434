import { idioms } from './idioms';

idioms('idioms: lists', {
  'of networks, filled in a loop before they are handed over': `
module Critic(backbone):
    self.backbone = backbone
    self.last = nn.Linear(4, 1)
    def forward(self, seen, action):
        return self.last(self.backbone(torch.cat([seen, action], dim=1)))  #= backbone

class Learner:
    def __init__(self, critics: nn.ModuleList, n: int):
        self.critics = critics
        self.n = n
    def learn(self, seen, actions):
        copies = seen.unsqueeze(1).repeat(1, self.n, 1).view(-1, seen.shape[-1])  #! IKB101 -> backbone
        return torch.stack([critic(copies, actions) for critic in self.critics], 0)

def main(args):
    critics = []
    for i in range(args.n):
        backbone = nn.Linear(args.width, 4)
        critics.append(Critic(backbone))
    critics = nn.ModuleList(critics)
    return Learner(critics, n=10)
`,
  'of what is no network, filled in a loop': `
class Learner:
    def __init__(self, critics, n: int):
        self.critics = critics
        self.n = n
    def learn(self, seen):
        copies = seen.unsqueeze(1).repeat(1, self.n, 1)
        return [critic(copies) for critic in self.critics]

def main(args):
    critics = []
    for i in range(args.n):
        critics.append(args.load(i))
    return Learner(critics, n=10)
`,
  'of one tensor many times, in brackets of their own': `
module Tagger(d):
    self.lstm = nn.LSTM(2 * d, d)
    self.fc = nn.Linear(d, d)
    def forward(self, words, aspect):
        v = aspect.sum(dim=1, keepdim=True)
        x = torch.cat((words, torch.cat(([v] * words.shape[1]), 1)), 2)  #! IKB101 -> lstm
        return self.lstm(x)  #= lstm
    def pooled(self, words, aspect):
        v = aspect.sum(dim=1)
        return self.fc(torch.stack([v.float()] * words.shape[1], 1))  #! IKB102 -> fc  #= fc
`,
  'of one tensor many times, joined later': `
module Tagger(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, words, user, n):
        copies = [user] * n
        return self.fc(torch.cat([words, torch.stack(copies, 1)], -1))  #! IKB101 -> fc  #= fc
`,
  'of one tensor many times, and a part of it': `
module Decoder(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, roots, z, n):
        times, left = n // len(roots), n % len(roots)
        roots = torch.cat([roots] * times + [roots[:left]], dim=0)  #! IKB101 -> fc
        return self.fc(torch.cat([roots, z], dim=-1))  #= fc
    def parts(self, roots, z, n):
        rows = [roots[:n]]
        for i in range(n):
            rows.append(roots[i * n : i * n + n])
        return self.fc(torch.cat([torch.cat(rows, dim=0), z], dim=-1))
    def others(self, roots, more, z, n):
        return self.fc(torch.cat([torch.cat([roots] * n + [more[:n]], dim=0), z], dim=-1))
`,
  'of numbers, and of lists of layers': `
module Tagger(d, depth):
    self.fc = nn.Linear(d, d)
    sizes = [d] * depth
    self.all = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes)])
    def forward(self, words):
        return self.fc(torch.cat([words, words.new_zeros(*[1] * words.dim())], -1))
`,
  'as often as an axis is long': `
module Net(d):
    self.conv = nn.Conv2d(2 * d, d, 1)
    def forward(self, x, style):
        style = style[:, :, None, None]
        style = torch.cat(x.shape[2] * [style], 2)  #! IKB101 -> conv
        style = torch.cat(x.shape[3] * [style], 3)  #! IKB101 -> conv
        return self.conv(torch.cat([x, style], 1))  #= conv
`,
});
