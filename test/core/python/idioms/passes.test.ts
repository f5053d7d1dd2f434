/** What differs from pass to pass of a loop, and where in a list something stands. */
import { idioms } from './idioms';

idioms('passes of a loop', {
  'of which there is one': `
module Net(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, y, n):
        for i in range(1):
            if i > 0:
                y = x.unsqueeze(1).repeat(1, n, 1)
        return self.fc(y)
    def always(self, x, n):
        for i in range(1):
            if i == 0:
                x = x.unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> always
        return self.fc(x)  #= always
`,
  'behind the first one, as a flag says': `
module Net(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, y, n):
        first = True
        for layer in range(n):
            if not first:
                y = self.fc(x.unsqueeze(1).repeat(1, n, 1))  #! IKB102 -> later #= later
            first = False
        return y
    def never(self, x, y, n):
        first = True
        for layer in range(n):
            if not first and self.training is None:
                y = x + y
            first = True
        return self.fc(y)
`,
});

idioms('places in a list', {
  'where something is inserted': `
module Net(d):
    self.fc = nn.Linear(d, d)
    def behind(self, x, y, n):
        rows = [y]
        rows.insert(len(rows), x.unsqueeze(1).repeat(1, n, 1))  #! IKB102 -> behind
        return self.fc(rows[-1])  #= behind
    def before(self, x, y, n):
        rows = [y]
        rows.insert(len(rows), x.unsqueeze(1).repeat(1, n, 1))
        return self.fc(rows[0])
    def between(self, x, y, n):
        rows = [y, y]
        rows.insert(-1, x.unsqueeze(1).repeat(1, n, 1))  #! IKB102 -> between
        return self.fc(rows[1])  #= between
    def anywhere(self, x, y, n, at):
        rows = [x.unsqueeze(1).repeat(1, n, 1)]
        rows.insert(at, y)
        return self.fc(rows[0])
`,
  'that is turned around': `
module Net(d):
    self.fc = nn.Linear(d, d)
    def last(self, x, y, n):
        rows = [y, x.unsqueeze(1).repeat(1, n, 1)]  #! IKB102 -> last
        return self.fc(rows[::-1][0])  #= last
    def first(self, x, y, n):
        rows = [x.unsqueeze(1).repeat(1, n, 1), y]
        return self.fc(rows[::-1][0])
`,
});
