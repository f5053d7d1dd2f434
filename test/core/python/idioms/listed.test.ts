/** One tensor that a list holds several times before it is stacked or concatenated. */
import { idioms } from './idioms';

idioms('one tensor several times in a list', {
  'that a loop fills': `
module Net(d, k):
    self.fc = nn.Linear(d, d)
    self.both = nn.Linear(2 * d, d)
    self.token = nn.Parameter(torch.zeros(1, d))
    self.k = k
    def stacked(self, x, n):
        rows = []
        for _ in range(n):
            rows.append(x)
        return self.fc(torch.stack(rows, dim=1))  #! IKB102 -> stacked #= stacked
    def joined(self, x, n):
        rows = list()
        for i in range(n):
            rows.append(x.unsqueeze(1))
        u = torch.cat(rows, dim=1)  #! IKB102 -> joined
        return self.fc(u)  #= joined
    def added(self, x, y):
        rows = []
        for _ in range(self.k):
            rows += [x]
        u = torch.stack(rows, dim=1)  #! IKB101 -> added
        return self.both(torch.cat([u, y], dim=-1))  #= added
    def beside(self, x, y, n):
        rows, others = [], []
        for i in range(n):
            rows.append(x)
            others.append(y[:, i])
        u = torch.stack(rows, dim=1)  #! IKB101 -> beside
        return self.both(torch.cat([u, torch.stack(others, dim=1)], dim=-1))  #= beside
`,
  'that has a name': `
module Net(d):
    self.fc = nn.Linear(d, d)
    def multiplied(self, x, n):
        rows = [x] * n
        return self.fc(torch.stack(rows, dim=1))  #! IKB102 -> multiplied #= multiplied
    def counted(self, x, n):
        rows = [x for _ in range(n)]
        return self.fc(torch.stack(rows, dim=1))  #! IKB102 -> counted #= counted
    def extended(self, x, n):
        rows = []
        rows.extend([x] * n)
        return self.fc(torch.cat(rows, dim=0))  #! IKB102 -> extended #= extended
`,
  'as often as each pass of a loop asks for': `
module Net(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, counts):
        rows = []
        for b, n in enumerate(counts):
            rows += [x[b]] * n
        return self.fc(torch.stack(rows, dim=0))  #! IKB102 -> fc #= fc
`,
  'is none where each pass adds another one': `
module Net(d, k):
    self.fc = nn.Linear(d, d)
    self.k = k
    def changed(self, x, n):
        rows = []
        for i in range(n):
            x = x + 1
            rows.append(x)
        return self.fc(torch.stack(rows, dim=1))
    def written(self, x, n):
        rows = []
        for i in range(n):
            rows.append(x)
            x.add_(1)
        return self.fc(torch.stack(rows, dim=1))
    def item(self, x, n):
        rows = []
        for i in range(n):
            rows.append(x[:, i])
        return self.fc(torch.stack(rows, dim=1))
    def state(self, x, n):
        rows, h = [], x
        for i in range(n):
            h = self.fc(h)
            rows.append(h)
        return self.fc(torch.stack(rows, dim=1))
    def dropped(self, x, n):
        rows = []
        for i in range(n):
            rows.append(F.dropout(x, 0.5))
        return self.fc(torch.stack(rows, dim=1))
`,
  'is none where only some passes add it, or the list changes later': `
module Net(d, k):
    self.fc = nn.Linear(d, d)
    self.k = k
    def some(self, x, n):
        rows = []
        for i in range(n):
            if i == self.k:
                rows.append(x)
        return self.fc(torch.stack(rows, dim=1))
    def ended(self, x, n):
        rows = []
        for i in range(n):
            rows.append(x)
            if i == self.k:
                break
        return self.fc(torch.stack(rows, dim=1))
    def replaced(self, x, y, n):
        rows = []
        for i in range(n):
            rows.append(x)
        for i in range(n):
            rows[i] = rows[i] + y[i]
        return self.fc(torch.stack(rows, dim=1))
    def another(self, x, y, n):
        rows = [x] * n
        rows.pop()
        rows.append(y)
        return self.fc(torch.stack(rows, dim=1))
`,
});
