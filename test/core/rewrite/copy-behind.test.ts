import { type Expected, type Model, expectRewrite, modelText } from './wrong';

/** `if n: x = copies of x` in front of `y = self.net(x)`. */
describe('rewrites: a copy on a condition', () => {
  const COPY = 'x = x.unsqueeze(1).repeat_interleave(n, dim=1)';
  const NET = 'y = self.net(x)';
  const HELPER = [
    'def spread(rows, dim: int, n: int):',
    '    return rows.unsqueeze(dim).repeat_interleave(n, dim=dim)',
  ];
  const check = (title: string, lines: readonly string[], expected: Expected, more: Model = {}): void => {
    const init = ['self.net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))'];
    const text = modelText({ init, signature: 'x, n', forward: lines, ...more });
    it(title, () => expectRewrite(text, 'sink-broadcast', expected));
  };
  const moved =
    /y = self\.net\(x\)\n {8}if n is not None:\n {12}y = y\.unsqueeze\(1\)\.repeat_interleave\(n, dim=1\)\n {8}return y/;
  const IF = 'if n is not None:';
  const HELPED = ['if repeat is not None:', '    x = spread(x, 1, repeat)', NET, 'return y'];
  check('is made of the result', [IF, `    ${COPY}`, NET, 'return y'], { tier: 'safe', text: moved });
  check('by a function', HELPED, { tier: 'safe', text: /y = spread\(y, 1, repeat\)/ }, { head: HELPER, signature: 'x, repeat=None' }); // prettier-ignore
  check('of the same name', [IF, `    ${COPY}`, 'x = self.net(x)', 'return x'], { tier: 'safe' });
  const none = (reason: RegExp): Expected => ({ tier: 'none', reason });
  const apart = /on a branch that|in no form that is rewritten/;
  check('read behind the product', [IF, `    ${COPY}`, NET, 'return y.sum() + x.sum()'], none(/reads `x` too/));
  check('written into behind the product', [IF, `    ${COPY}`, NET, 'x += 1', 'return y'], none(/reads `x` too/));
  check('with an else', [IF, `    ${COPY}`, 'else:', '    x = x * 2', NET, 'return y'], none(apart));
  check('with more in its branch', [IF, `    ${COPY}`, '    n = None', NET, 'return y'], none(apart));
  check('with a statement in between', [IF, `    ${COPY}`, 'n = None', NET, 'return y'], none(apart));
  check('of rows chosen by its shape', ['if x.dim() == 2:', `    ${COPY}`, 'x = self.net(x)', 'return x'], none(/reads `x`/)); // prettier-ignore
  const effect = none(/may have an effect, and would run later/);
  check('on what counts', ['if self.flip():', `    ${COPY}`, NET, 'return y'], effect, {
    signature: 'x, n',
    tail: ['    def flip(self):', '        self.k = 1', '        return True'],
  });
  check('on what a walrus binds', ['if (n := n + 1) > 1:', `    ${COPY}`, NET, 'return y'], effect);
  check('on what is not known', ['if chance():', `    ${COPY}`, NET, 'return y'], effect);
  check(
    'on what a function of the file says',
    ['if exists(n):', `    ${COPY}`, NET, 'return y'],
    { tier: 'safe' },
    {
      signature: 'x, n',
      head: ['def exists(v):', '    return v is not None'],
    },
  );
  check('with a comment', [IF, `    ${COPY}  # many`, NET, 'return y'], none(/has a comment/));
  check('from behind', [IF, '    x = x.unsqueeze(-2).repeat_interleave(n, dim=-2)', NET, 'return y'], none(apart));
  check('that does more', [IF, `    ${COPY}.relu()`, NET, 'return y'], none(apart));
  check('by a function that does more', HELPED, none(apart), {
    signature: 'x, repeat=None',
    head: [HELPER[0] ?? '', '    return (rows * 2).unsqueeze(dim).repeat_interleave(n, dim=dim)'],
  });
  check('by a function that is defined twice', HELPED, none(apart), {
    signature: 'x, repeat=None',
    head: [...HELPER, ...HELPER],
  });
  check('in a loop', ['for _ in range(2):', `    ${IF}`, `        ${COPY}`, `    ${NET}`, 'return y'], none(/loop/));
  check('read by a function inside', ['look = lambda: x', IF, `    ${COPY}`, NET, 'return y + look()'], none(/reads `x` too/)); // prettier-ignore
  check('in front of dropout', [IF, `    ${COPY}`, NET, 'return y'], { tier: 'suggestion', reason: /one draw of Dropout/ }, { init: ['self.net = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.1))'] }); // prettier-ignore
});
