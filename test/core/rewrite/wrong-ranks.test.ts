import { type Expected, type Model, expectRewrite, modelText } from './wrong';

const check = (title: string, model: Model, expected: Expected, id = 'ikbo'): void => {
  it(title, () => expectRewrite(modelText(model), id, expected));
};
const copied = (copy: string, ...lines: string[]): Model => ({
  forward: [...lines, `u = ${copy}`, 'return self.fc(torch.cat([u, item], dim=-1))'],
});

describe('rewrites: the axes of what is expanded', () => {
  const axes: Expected = { tier: 'suggestion', reason: /`user` has 2 axes before it is copied/ };
  check('of unknown rank', copied('user.expand(n, -1)'), axes);
  check('of unknown rank, repeated', copied('user.repeat(n, 1)'), { tier: 'none', reason: /not known to have/ });
  check('for a split it does not matter', copied('user.expand(n, -1)'), { tier: 'safe' }, 'decompose');
  check('with an axis put in', copied('user.unsqueeze(0).expand(n, -1)'), { tier: 'safe' });
  check('with an axis put in under a name', copied('one.expand(n, -1)', 'one = user[None]'), { tier: 'safe' });
  check('with the first axis kept', copied('user.expand(-1, n, -1)'), { tier: 'safe' });
  check(
    'a parameter',
    {
      init: ['self.fc = nn.Linear(10, 8)', 'self.u = nn.Parameter(torch.zeros(1, 4))'],
      ...copied('self.u.expand(n, -1)'),
    },
    { tier: 'safe' },
  );
  check(
    'a parameter with fewer axes',
    {
      init: ['self.fc = nn.Linear(10, 8)', 'self.u = nn.Parameter(torch.zeros(4))'],
      ...copied('self.u.expand(n, -1)'),
    },
    { tier: 'none', reason: /`self\.u` has one axis, and the copy puts another in front/ },
  );
});

describe('rewrites: an index that may be a mask', () => {
  const model: Model = { signature: 'user, item, item_to_user', ...copied('user[item_to_user]') };
  check('for ikbo_lens', model, { tier: 'suggestion', reason: /holds row numbers as int64, and is no mask/ });
  const both: Model = {
    signature: 'user, item, other, item_to_user',
    init: ['self.fc = nn.Linear(14, 8)'],
    forward: ['return self.fc(torch.cat([user[item_to_user], item, other[item_to_user]], dim=-1))'],
  };
  check('said once of two copies', both, {
    tier: 'suggestion',
    reason: /^(?!.*no mask.*no mask).*holds row numbers as int64, and is no mask/,
  });
});

describe('rewrites: a weight that is a vector', () => {
  const functional = (parameter: string): Model => ({
    init: [`self.v = nn.Parameter(${parameter})`],
    forward: ['u = user.repeat_interleave(n, dim=0)', 'return F.linear(torch.cat([u, item], dim=-1), self.v)'],
  });
  check('a vector', functional('torch.randn(10)'), { tier: 'none', reason: /`self\.v` is no matrix/ }, 'decompose');
  check('a matrix', functional('torch.randn(8, 10)'), { tier: 'safe' }, 'decompose');
  check('a matrix of a listed size', functional('torch.empty((8, 10))'), { tier: 'safe' }, 'decompose');
});

describe('rewrites: keys that may have three axes, of which the second one is of tokens', () => {
  const attention = (...forward: string[]): Model => ({ signature: 'q, k, v, n: int', forward });
  const both = (dim: number): readonly string[] =>
    ['k', 'v'].map((x) => `${x} = ${x}.repeat_interleave(n, dim=${dim})`);
  const sdpa = 'return F.scaled_dot_product_attention(q, k, v)';
  const products = 'return (q @ k.transpose(-2, -1)).softmax(-1) @ v';
  const untold: Expected = { tier: 'suggestion', reason: /`[kv]` has four axes/ };
  const safe: Expected = { tier: 'safe' };
  const told = '# ikbo: q=[B, H, L, D]';
  const unpacked = 'b, h, s, d = k.shape';
  check('repeated before a fused call', attention(...both(1), sdpa), untold, 'fold-heads');
  check('told of the query', attention(told, ...both(1), sdpa), safe, 'fold-heads');
  check('repeated before two products', attention(...both(1), products), untold, 'fold-products');
  check('told by sizes', attention(unpacked, ...both(1), products), safe, 'fold-products');
  check('copied over the batch', attention(...both(0), sdpa), untold, 'fold');
  check('copied over the batch, for ikbo_lens', attention(...both(0), sdpa), untold, 'ikbo');
  check('copied over the batch, told', attention(told, ...both(0), sdpa), safe, 'fold');
});
