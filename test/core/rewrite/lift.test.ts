import { type Expected, expectRewrite, modelText } from './wrong';

/** A copy in `Model.forward`, its product in a module of its own. */
describe('rewrites: products at the front of a module', () => {
  interface Front {
    readonly init?: readonly string[];
    readonly forward?: readonly string[];
    readonly above?: readonly string[];
    readonly head?: readonly string[];
    readonly tail?: readonly string[];
    readonly call?: string;
    readonly made?: readonly string[];
  }
  const text = (front: Front): string =>
    modelText({
      head: [
        ...(front.head ?? []),
        'class Net(nn.Module):',
        '    def __init__(self):',
        '        super().__init__()',
        ...(front.init ?? ['self.fc = nn.Linear(10, 8)', 'self.out = nn.Linear(8, 1)']).map(
          (line) => `        ${line}`,
        ),
        ...(front.above ?? []).map((line) => `    ${line}`),
        ...(front.forward ?? ['def forward(self, x):', '    h = self.fc(x).relu()', '    return self.out(h)']).map(
          (line) => `    ${line}`,
        ),
      ],
      init: front.made ?? ['self.net = Net()'],
      forward: ['u = user.repeat_interleave(n, dim=0)', front.call ?? 'return self.net(torch.cat([u, item], dim=-1))'],
      ...(front.tail ? { tail: front.tail } : {}),
    });
  const check = (title: string, front: Front, expected: Expected, id = 'decompose'): void => {
    it(title, () => expectRewrite(text(front), id, expected));
  };
  const refused: Expected = { tier: 'none', reason: /in no form that is rewritten/ };
  const split = /return self\.net\.after_fc\(item_part \+ user_part\.repeat_interleave\(n, dim=0\)\)/;
  check('a forward that goes on', {}, { tier: 'safe', text: split });
  check(
    'arguments beside it',
    {
      forward: ['def forward(self, scale, x, shift=0.0):', '    """Text."""', '    return self.fc(x) * scale + shift'],
      call: 'return self.net(2.0, torch.cat([u, item], dim=-1), shift=1.0)',
    },
    {
      tier: 'safe',
      text: /return self\.after_fc\(scale, self\.fc\(x\), shift\)\n\n {4}def after_fc\(self, scale, fc_out, shift=0\.0\):/,
    },
  );
  check('by keyword', { call: 'return self.net(x=torch.cat([u, item], dim=-1))' }, refused);
  const body = (...lines: readonly string[]): Front => ({
    forward: ['def forward(self, x):', ...lines.map((l) => `    ${l}`)],
  });
  check('the input read twice', body('h = self.fc(x).relu()', 'return h + x[:, :8]'), refused);
  check('something before it', body('print(self)', 'return self.fc(x).relu()'), refused);
  check('in a branch', body('if self.training:', '    return self.fc(x).relu()', 'return self.fc(x)'), refused);
  check('decorated', { above: ['@torch.no_grad()'] }, refused);
  check(
    'a hook',
    { made: ['self.net = Net()', 'self.net.register_forward_hook(print)'] },
    { tier: 'none', reason: /hooks `self\.net/ },
  );
  check(
    'another module',
    { made: ['self.net = Net()', 'if torch.cuda.is_available():', '    self.net = nn.Tanh()'] },
    refused,
  );
  check(
    'put in its place',
    { tail: ['m = Model()', 'm.net = nn.Tanh()'] },
    { tier: 'none', reason: /in the place of `m\.net`/ },
  );
  check(
    'its layer replaced',
    { tail: ['m = Model()', 'm.net.fc = nn.Tanh()'] },
    { tier: 'none', reason: /in the place of `m\.net\.fc`/ },
  );
  check(
    'normed',
    { init: ['self.fc = nn.utils.spectral_norm(nn.Linear(10, 8))', 'self.out = nn.Tanh()'] },
    { tier: 'none' },
  );
  check('two of its name', { head: ['class Net:', '    pass', ''] }, refused);
  check(
    'a method of that name',
    { above: ['def after_fc(self): pass', ''] },
    { tier: 'safe', text: /def after_fc_2\(self, fc_out\):/ },
  );

  check('a forward put in its place', { tail: ['Net.forward = torch.no_grad()(Net.forward)'] }, refused);
  check('a call put in its place', { tail: ['setattr(Net, "__call__", print)'] }, refused);
  check('a decorated class', { head: ['@torch.jit.script'] }, refused);
  check('a call of its own', { above: ['def __call__(self, x):', '    return super().__call__(x) * 2', ''] }, refused);
  const hooked = ['self.fc = nn.Linear(10, 8)', 'self.out = nn.Tanh()', 'self.register_forward_pre_hook(print)'];
  check('a hook on itself', { init: hooked }, refused);

  const mlp = ['self.mlp = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 1))'];
  check(
    'nothing but a Sequential',
    { init: mlp, ...body('return self.mlp(x)') },
    { tier: 'safe', text: /return self\.net\.mlp\[1:\]\(item_part/ },
  );
  check(
    'in place',
    { init: mlp, ...body('x = self.mlp(x)', 'return x') },
    { tier: 'safe', text: /self\.net\.mlp\[1:\]/ },
  );

  describe('in a loop over layers', () => {
    const layers = ['self.layers = nn.ModuleList([nn.Linear(10, 8), nn.Linear(8, 8)])'];
    const loop = (title: string, lines: readonly string[], expected: Expected, init = layers): void =>
      check(title, { init, ...body(...lines) }, expected);
    const cut = /self\.net\.layers\[0\]\.weight[^]*return self\.net\.after_layers\(item_part \+ user_part/;
    const safe = (text: RegExp): Expected => ({ tier: 'safe', text });
    const walk = ['for layer in self.layers:', '    x = layer(x).relu()', 'return x'];
    loop('by layer', walk, safe(cut));
    loop('by layer, in the method', walk, safe(/x = \(x if layer is self\.layers\[0\] else layer\(x\)\)\.relu\(\)/));
    const count = [
      'h = x',
      'for i in range(len(self.layers)):',
      '    y = self.layers[i](h)',
      '    h = y.relu()',
      'return h',
    ];
    loop('by number', count, safe(/y = h if i == 0 else self\.layers\[i\]\(h\)/));
    loop(
      'with others',
      ['for layer, act in zip(self.layers, self.acts):', '    x = act(layer(x))', 'return x'],
      safe(cut),
      [...layers, 'self.acts = nn.ModuleList([nn.ReLU(), nn.Tanh()])'],
    );
    const listed = ['self.layers = nn.ModuleList([nn.Linear(10, 8) for _ in range(k)])'];
    loop(
      'as many as a number says',
      walk,
      { tier: 'suggestion', reason: /^`self\.net\.layers` holds a layer\.$/ },
      listed,
    );
    loop('a residual', ['for layer in self.layers:', '    y = layer(x)', '    x = y + x[:, :8]', 'return x'], refused);
    loop('the input behind it', ['h = x', ...walk.slice(0, 1), '    h = layer(h)', 'return h + x.sum()'], refused);
    loop(
      'a norm in front of it',
      ['for layer in self.layers:', '    x = F.normalize(x)', '    x = layer(x)', 'return x'],
      {
        tier: 'none',
      },
    );
    loop('an else', ['for layer in self.layers:', '    x = layer(x)', 'else:', '    x = x + 1', 'return x'], refused);
    loop('from behind', ['for layer in reversed(self.layers):', '    x = layer(x)', 'return x'], { tier: 'none' });
    loop('a list that grows', walk, { tier: 'none' }, ['self.layers = nn.ModuleList()', 'self.layers.append(nn.Linear(10, 8))']); // prettier-ignore
    loop('a layer put in another place', walk, { tier: 'none' }, [...layers, 'self.layers[0] = nn.Tanh()']);
  });

  describe('run as a whole', () => {
    const whole = (title: string, front: Front, expected: Expected): void =>
      check(title, { call: 'return self.net(u) + item', ...front }, expected, 'sink-broadcast');
    const moved = /return self\.net\(user\)\.repeat_interleave\(n, dim=0\) \+ item/;
    whole('row by row', {}, { tier: 'safe', text: moved });
    whole('softmax over the last axis', body('return self.fc(x).softmax(dim=-1)'), { tier: 'safe', text: moved });
    whole('softmax over rows', body('return self.fc(x).softmax(dim=0)'), refused);
    whole('a mean over rows', body('h = self.fc(x)', 'return h - h.mean(0)'), refused);
    whole('rows put together', body('h = self.fc(x)', 'return h.view(2, -1)'), refused);
    whole(
      'another argument',
      { ...body('return self.fc(x)'), forward: ['def forward(self, x, y=None):', '    return self.fc(x)'] },
      refused,
    );
    whole(
      'dropout',
      { init: ['self.fc = nn.Linear(10, 8)', 'self.drop = nn.Dropout(0.1)'], ...body('return self.drop(self.fc(x))') },
      { tier: 'suggestion', reason: /share one draw of Dropout/, text: moved },
    );
    whole(
      'an unknown module',
      { init: ['self.fc = nn.Linear(10, 8)', 'self.act = act()'], ...body('return self.act(self.fc(x))') },
      refused,
    );
    whole(
      'a convolution',
      { init: ['self.fc = nn.Linear(10, 8)', 'self.c = nn.Conv1d(1, 1, 3)'], ...body('return self.c(self.fc(x))') },
      refused,
    );
    whole(
      'a layer put in another place',
      { tail: ['m = Model()', 'm.net.out = nn.Flatten(0)'] },
      { tier: 'none', reason: /in the place of `m\.net\.out`/ },
    );
  });
});
