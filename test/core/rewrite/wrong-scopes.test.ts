import { type Expected, type Model, expectRewrite, modelText } from './wrong';

const check = (title: string, model: Model, expected: Expected, id = 'decompose'): void => {
  it(title, () => expectRewrite(modelText(model), id, expected));
};

describe('rewrites: functions that read variables by name', () => {
  const reading = (line: string): Model => ({
    forward: ['u = user.repeat_interleave(n, dim=0)', 'y = self.fc(torch.cat([u, item], dim=-1))', line, 'return y'],
  });
  const refused: Expected = { tier: 'none', reason: /may read variables by their names/ };
  check('locals()', reading('d = locals()'), refused);
  check('vars()', reading('d = vars()'), refused);
  check('eval()', reading("d = eval('u')"), refused);
  check('exec()', reading("exec('u')"), refused);
  check('vars(self)', reading('d = vars(self)'), { tier: 'safe' });
  check('a method eval()', reading('d = self.eval()'), { tier: 'safe' });
});

describe('rewrites: stages behind a layer', () => {
  const stages = (...list: string[]): Model => ({
    init: [`self.fc = nn.Sequential(nn.Linear(4, 5), ${list.join(', ')})`],
    forward: ['return self.fc(user.repeat_interleave(n, dim=0))'],
  });
  const id = 'sink-broadcast';
  const together: Expected = { tier: 'none', reason: /takes rows together/ };
  check('softmax over the rows', stages('nn.GELU()', 'nn.Softmax(dim=0)'), together, id);
  check('softmax over the columns', stages('nn.Softmax(dim=-1)'), { tier: 'safe' }, id);
  check('softmax over an axis', stages('nn.Softmax(dim=1)'), { tier: 'suggestion', reason: /row by row/ }, id);
  check('a pooling', stages('nn.AvgPool1d(2)'), together, id);
  check('a random slope', stages('nn.RReLU()'), { tier: 'suggestion', reason: /one draw of RReLU/ }, id);
  const both: Expected = { tier: 'suggestion', reason: /one draw of Dropout.*; every stage .* row by row/ };
  check('dropout and something unknown', stages('nn.Dropout(0.1)', 'Mystery(5)'), both, id);
});

it('rewrites: what a graph library gathers, by a key that is not written there', () => {
  const head = ['import torch', 'import torch.nn as nn', 'class Layer(nn.Module):'];
  const init = ['    def __init__(self, d):', '        super().__init__()', '        self.fc = nn.Linear(d, d)'];
  const forward = [
    '    def forward(self, g):',
    "        key = 'feat' if self.training else 'h'",
    '        def message(edges):',
    "            return {'m': self.fc(edges.dst[key])}",
    '        g.update_all(message, None)',
    '',
  ];
  const reason = /`edges\.dst\[key\]` is gathered by the graph library/;
  return expectRewrite([...head, ...init, ...forward].join('\n'), 'sink-broadcast', { tier: 'none', reason });
});
