import { check } from '../check';

/** Ways of model code that are seen once in many repositories: each with what it must be taken for. */
const CASES: Readonly<Record<string, string>> = {
  'copies of two tensors in the same order, joined and normalized': `
class Conditioner(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(2 * d)
        self.embed = nn.Linear(2 * d, d)
    def forward(self, trunk, profile):
        return self.embed(self.norm(torch.cat((trunk, profile), dim=-1)))  #= embed

class Sampler(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.condition = Conditioner(d)
    def forward(self, trunk, profile, samples):
        return self.condition(
            trunk.repeat_interleave(samples, 0),  #! IKB102 -> embed
            profile.repeat_interleave(samples, 0),  #! IKB102 -> embed
        )
`,
  'copies of two tensors in the same order, added and activated': `
class Modulated(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale = nn.Sequential(nn.SiLU(), nn.Linear(d, 2 * d))
    def forward(self, time, label, frames):
        t = repeat(time, 'n d -> (n f) d', f=frames)  #! IKB102 -> scale
        y = repeat(label, 'n d -> (n f) d', f=frames)  #! IKB102 -> scale
        return self.scale(t + y)  #= scale
`,
};

const CLEAN: Readonly<Record<string, string>> = {
  'copies of two tensors in different orders, joined and normalized': `
class Pairs(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(2 * d)
        self.fc = nn.Linear(2 * d, d)
    def forward(self, x, n):
        pairs = torch.cat([x.repeat_interleave(n, 0), x.repeat(n, 1)], dim=-1)
        return self.fc(self.norm(pairs))
`,
  'copies as often as something else says': `
class Pairs(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(2 * d)
        self.fc = nn.Linear(2 * d, d)
    def forward(self, x, y, n, m):
        pairs = torch.cat([x.repeat_interleave(n, 0), y.repeat_interleave(m, 0)], dim=-1)
        return self.fc(self.norm(pairs))
`,
};

describe('idioms', () => {
  for (const [name, source] of Object.entries(CASES)) it(name, async () => void (await check(source)));
});

describe('idioms that are no copies', () => {
  for (const [name, source] of Object.entries(CLEAN)) it(name, async () => void (await check(source)));
});
