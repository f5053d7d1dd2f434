import { idioms } from './idioms';

idioms('idioms: networks of what a class holds', {
  'that are handed to it where it is made': `
module Coder(encoder, decoder):
    self.encoder = encoder
    self.decoder = decoder
    def decode(self, state, z):
        return self.decoder(torch.cat([state, z], dim=-1))  #= fc

class Learner:
    def __init__(self, coder: Coder, n):
        self.coder = coder
        self.n = n
    def learn(self, seen, z):
        return self.coder.decode(seen.repeat_interleave(self.n, dim=0), z)  #! IKB101 -> fc

def main(d):
    fc = nn.Linear(2 * d, d)
    learner = Learner(Coder(nn.Linear(d, d), fc), 10)
`,
  'that are handed to what that holds': `
module Critic(net):
    self.net = net
    def forward(self, seen, act):
        return self.net(torch.cat([seen, act], dim=-1))  #= fc

module Policy(critic: Critic):
    self.critic = critic

class Learner:
    def __init__(self, policy: Policy):
        self.policy = policy
    def learn(self, seen, act, n):
        return self.policy.critic(seen.repeat(n, 1), act)  #! IKB101 -> fc

def main(d):
    fc = nn.Linear(2 * d, d)
    return Learner(Policy(Critic(fc)))
`,
  'unless it is handed none that is known': `
module Coder(decoder):
    self.decoder = decoder

class Learner:
    def __init__(self, coder: Coder):
        self.coder = coder
    def learn(self, seen, n):
        return self.coder.decoder(seen.repeat(n, 1))

def main(decoder):
    return Learner(Coder(decoder))
`,
  'by the constructor of a generic base class': `
T = TypeVar('T')

class Base(nn.Module, Generic[T]):
    def __init__(self, net):
        super().__init__()
        self.net = net

class Agent(Base[dict[str, int]]):
    def __init__(self, d):
        super().__init__(nn.Linear(d, d))
    def act(self, seen, n):
        seen = seen.repeat_interleave(n, dim=0)  #! IKB102 -> net
        return self.net(seen)  #= net
`,
});
