import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Expected, type Model, expectRewrite, modelText } from './wrong';

const check = (title: string, model: Model, expected: Expected, id = 'decompose'): void => {
  it(title, () => expectRewrite(modelText(model), id, expected));
};

const body = (...lines: string[]): readonly string[] => [
  ...lines,
  'u = user.repeat_interleave(n, dim=0)',
  'return self.fc(torch.cat([u, item], dim=-1))',
];

const traced: Model = { head: ['from torch.fx import symbolic_trace'] };
describe('rewrites: what cannot follow ikbo_lens', () => {
  it('torch.fx', () => expectRewrite(modelText(traced), 'ikbo', { tier: 'suggestion', reason: /traced by torch\.fx/ }));
  it('but plain PyTorch', () => expectRewrite(modelText(traced), 'decompose', { tier: 'safe' }));
});

describe('rewrites: names that stand for something else where the new lines go', () => {
  const long: Expected = { tier: 'safe', text: /torch\.nn\.functional\.linear\(/ };
  check('the usual `F`', {}, { tier: 'safe', text: /[^.]\bF\.linear\(/ });
  check('a local `F`', { forward: body('F = 3') }, long);
  check('a parameter `F`', { signature: 'user, item, n, F=2' }, long);
  check('keywords `**F`', { signature: 'user, item, n, **F' }, long);
  check('a loop variable `F`', { forward: body('for F in range(2):', '    print(F)') }, long);
  check('a local import as `F`', { forward: body('import math as F') }, long);
  check('`F` at the top of the file', { head: ['F = None'] }, long);
  check('`F` made global elsewhere', { head: ['def off():', '    global F', '    F = None'] }, long);
  check(
    '`F` in another function',
    { head: ['def g(x):', '    B, F = x.shape'] },
    { tier: 'safe', text: /\bF\.linear/ },
  );
  check('`F` in a class body', { head: ['class C:', '    F = 1'] }, { tier: 'safe', text: /[^.]\bF\.linear/ });
  check(
    '`F` and `torch` as parameters',
    {
      signature: 'user, item, n, F, torch',
      imports: ['import torch', 'from torch import cat, nn', 'import torch.nn.functional as F'],
      forward: ['u = user.repeat_interleave(n, dim=0)', 'return self.fc(cat([u, item], dim=-1))'],
    },
    { tier: 'safe', text: /\bnn\.functional\.linear\(/ },
  );
  check(
    'no name left',
    {
      imports: ['import torch', 'from torch import nn', 'import torch.nn.functional as F', 'from torch import cat'],
      signature: 'user, item, n, F, torch, nn',
      forward: ['u = user.repeat_interleave(n, dim=0)', 'return self.fc(cat([u, item], dim=-1))'],
    },
    { tier: 'none', reason: /`F` and `torch` are variables here/ },
  );
  check(
    'a parameter `ikbo_lens`',
    { signature: 'user, item, n, ikbo_lens' },
    { tier: 'none', reason: /`ikbo_lens` is a variable here/ },
    'ikbo',
  );
});

describe('rewrites: names in other scripts', () => {
  const critic = readFileSync(join(__dirname, '../../fixtures/rewrite/IKB101/critic-of-copies/bad.py'), 'utf8');
  it('keep their place among the parameters of a method that is made', () =>
    expectRewrite(critic.replaceAll('scale', 'maß'), 'decompose', {
      tier: 'safe',
      text: /def after_net\(self, net_out, maß: float = 1\.0\)/,
    }));
  it('of a class that replaces the layer', () =>
    expectRewrite(
      modelText({
        tail: [
          'class Дочь(Model):',
          '    def __init__(self):',
          '        super().__init__()',
          '        self.fc = Other()',
        ],
      }),
      'decompose',
      { tier: 'none' },
    ));
});
