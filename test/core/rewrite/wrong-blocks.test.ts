import { type Expected, type Model, expectRewrite, modelText } from './wrong';

const check = (title: string, model: Model, expected: Expected, id = 'decompose'): void => {
  it(title, () => expectRewrite(modelText(model), id, expected));
};
const forward = (block: string, ...lines: string[]): Model => ({
  forward: [...lines, 'u = user.repeat_interleave(n, dim=0)', `return self.fc(torch.cat([u, ${block}], dim=-1))`],
});

describe('rewrites: blocks that a concatenation converts', () => {
  const refused: Expected = { tier: 'none', reason: /may hold integers or booleans/ };
  const named = (block: string, line: string): Model => forward(block, line);
  check('a comparison', forward('item > 0'), refused);
  check('a comparison under a name', named('m', 'm = item > 0'), refused);
  check('a view of a comparison', forward('(item > 0)[:, None]'), refused);
  check('a negated mask', forward('~item'), refused);
  check('long()', named('m', 'm = item.long()'), refused);
  check('a view of bool()', named('m', 'm = item.bool().unsqueeze(-1)'), refused);
  check('to(torch.int64)', named('m', 'm = item.to(torch.int64)'), refused);
  check('one_hot', named('m', 'm = F.one_hot(item, 6)'), refused);
  check('a mask', { ...forward('mask'), signature: 'user, mask, n' }, refused);
  check('ids', { ...forward('item_ids'), signature: 'user, item_ids, n' }, refused);
  check('a float mask', { ...named('m', 'm = mask.float()'), signature: 'user, mask, n' }, { tier: 'safe' });
  check('a comparison made float', named('m', 'm = (item > 0).float()'), { tier: 'safe' });
  check('to(torch.float32)', named('m', 'm = item.to(torch.float32)'), { tier: 'safe' });
  check('to a device', named('m', 'm = item.to(self.device)'), { tier: 'safe' });
  check('also for ikbo_lens', forward('item > 0'), refused, 'ikbo');
  check('two comparisons', forward('(item > 0) & (item < 1)'), refused);
  check('a counted comparison', forward('(item > 0) * 2'), refused);
  check('a weighted comparison', forward('(item > 0) * 0.5'), { tier: 'safe' });
  check('whole numbers', named('m', 'm = torch.full((n, 6), 1)'), refused);
  check('numbers', named('m', 'm = torch.full((n, 6), 1.0)'), { tier: 'safe' });
  check('stacked masks', named('m', 'm = torch.stack([item > 0, item > 1], dim=-1)'), refused);
  check('an annotation', { ...forward('item'), signature: 'user, item: torch.LongTensor, n' }, refused);
  check(
    'an annotation of floats',
    { ...forward('item'), signature: 'user, item: torch.FloatTensor, n' },
    { tier: 'safe' },
  );
  const doubt: Expected = { tier: 'suggestion', reason: /`y` holds floating-point numbers of the weight's precision/ };
  const given = (y: string, ...lines: string[]): Model => ({ ...forward('y', ...lines), signature: `user, ${y}, n` });
  check('a label by its name', given('y'), doubt);
  check('a view of it', { ...forward('y.unsqueeze(-1)'), signature: 'user, y, n' }, doubt);
  check('also for ikbo_lens', given('y'), doubt, 'ikbo');
  check('a label that is cast', given('y', 'y = y.float()'), { tier: 'safe' });
  check('a label of floats', given('y: "Float[Tensor, \'b 6\']"'), { tier: 'safe' });
  check('a label that a layer reads', given('y', 'z = self.fc(y)'), { tier: 'safe' });
  // Integers are scaled and squashed, too.
  check('a label that is scaled', given('y', 'z = y * 0.5'), doubt);
  check('a label that is squashed', given('y', 'z = y.sigmoid()'), doubt);
  const looked = { ...forward('y'), signature: 'user, y, n' };
  check(
    'a label of which a layer reads what is looked up by it',
    {
      ...looked,
      forward: [
        'u = user.repeat_interleave(n, dim=0)',
        'z = self.fc(torch.cat([u, y], dim=-1))',
        'y = self.table(y)',
        'return self.fc(y) + z',
      ],
    },
    doubt,
  );
  const around = (clause: string, copy: string, ...product: string[]): Model => ({
    init: ['self.fc = nn.Linear(10, 8)', 'self.enc = nn.Linear(4, 4)'],
    forward: [clause, `    e = ${copy}`, 'u = e.repeat_interleave(n, dim=0)', ...product],
  });
  const outside = 'return self.fc(torch.cat([u, item], dim=-1))';
  const precision: Expected = {
    tier: 'suggestion',
    reason: /`e` holds floating-point numbers of the weight's precision/,
  };
  check('made under autocast', around("with torch.autocast('cuda'):", 'self.enc(user)', outside), precision);
  check('made under autocast and cast', around("with torch.autocast('cuda'):", 'self.enc(user).float()', outside), { tier: 'safe' }); // prettier-ignore
  check('made under autocast that is off', around('with torch.no_grad():', 'self.enc(user)', "with torch.autocast('cuda', enabled=False):", `    ${outside}`), precision); // prettier-ignore
  check('read under autocast', around('with torch.no_grad():', 'self.enc(user)', "with torch.autocast('cuda'):", `    ${outside}`), { tier: 'safe' }); // prettier-ignore
  check('an item of a batch', forward("batch['action']", 'batch = item'), {
    tier: 'suggestion',
    reason: /`batch\['action'\]` holds floating-point numbers of the weight's precision/,
  });
  check('an index elsewhere', forward('item', 'table = self.table[item]'), refused);
  const mixed: Expected = {
    tier: 'none',
    reason: /is of another precision than .*: the concatenation brings both to one type/,
  };
  check('one block in half precision', forward('item.half()'), mixed);
  check('the copy in another precision', forward('item', 'user = user.to(torch.bfloat16)'), mixed);
  for (const cast of ['item.type(torch.float16)', 'item.to(item.device, torch.half)', 'item.to(dtype=torch.double)'])
    check(cast, forward('m', `m = ${cast}`), mixed);
  check('made in half precision', forward('m', 'm = torch.zeros(n, 6, dtype=torch.bfloat16)'), mixed);
  const typed = (user: string, item: string): Model => ({
    ...forward('other'),
    signature: `user: torch.${user}, other: torch.${item}, n`,
    forward: ['u = user.repeat_interleave(n, dim=0)', 'return self.fc(torch.cat([u, other], dim=-1))'],
  });
  const unlike: Expected = { tier: 'none', reason: /the concatenation brings both to one type/ };
  check('an annotation of another precision', typed('HalfTensor', 'FloatTensor'), unlike);
  check('annotations of one precision', typed('HalfTensor', 'HalfTensor'), { tier: 'safe' });
  check('both in half precision', forward('item.half()', 'user = user.half()'), { tier: 'safe' });
});

describe('rewrites: concatenations that a program has written', () => {
  const product = 'return self.fc(torch.cat([';
  const many = Array.from({ length: 150 }, () => 'user.repeat_interleave(n, dim=0)').join(', ');
  it('of hundreds of blocks', async function () {
    this.timeout(20_000); // Took half a minute where each copy looked through all blocks for its rewrites.
    await expectRewrite(modelText({ forward: [`${product}${many}, item], dim=-1))`] }), 'decompose', {
      tier: 'none',
      reason: /has more than 64 blocks/,
    });
  });
  it('hundreds of them in one function', async function () {
    this.timeout(20_000);
    const forward = Array.from({ length: 200 }, () => `z = self.fc(torch.cat([user.repeat(n, 1), item], dim=-1))`);
    await expectRewrite(modelText({ forward: [...forward, 'item.mul_(2)', 'return z'] }), 'decompose', {
      tier: 'suggestion',
      reason: /writes? into `item`/,
    });
  });
});

describe('rewrites: blocks of a type that the text does not tell', () => {
  const untold: Expected = {
    tier: 'suggestion',
    reason: /^`other` holds floating-point numbers of the weight's precision\.$/,
  };
  const safe: Expected = { tier: 'safe' };
  const [layer, rows] = ['self.fc = nn.Linear(10, 8)', 'self.register_buffer("rows", '];
  const given = (block: string, lines: readonly string[] = [], more: Model = {}): Model => ({
    ...forward(block, ...lines),
    signature: 'user, other, n',
    ...more,
  });
  const copied = (source: string, block: string, signature: string): Model => ({
    signature,
    forward: [`u = ${source}.repeat_interleave(n, dim=0)`, `return self.fc(torch.cat([u, ${block}], dim=-1))`],
  });
  check('a parameter', given('other'), untold);
  check('a slice of it', given('other[:, :6]'), untold);
  check('for ikbo_lens, too', given('other'), untold, 'ikbo');
  check('both', copied('rows', 'other', 'rows, other, n'), {
    tier: 'suggestion',
    reason: /^`rows` and `other` hold floating-point numbers of the weight's precision\.$/,
  });
  check('what is joined, not the module that joins it', given('torch.cat([other, more], -1)', [], { signature: 'user, other, more, n' }), { tier: 'suggestion', reason: /^`torch\.cat\(\[other, more\], -1\)` holds floating-point numbers of the weight's precision\.$/ }); // prettier-ignore
  check('parts of one tensor have one type', copied('other[:2]', 'other[2:]', 'other, n'), safe);
  check('what is divided and rounded', given('other // 2'), { tier: 'suggestion' });
  check('a quotient', given('other / 2'), safe);
  check('what a layer gives', given('self.emb(other)', [], { init: [layer, 'self.emb = nn.Embedding(5, 6)'] }), safe);
  check('an annotation', given('other', [], { signature: 'user, other: "Float[Tensor, \'b d\']", n' }), safe);
  check('a name', given('other_emb', [], { signature: 'user, other_emb, n' }), safe);
  check('a comment', given('other', ['# ikbo: other=[N, D]']), safe);
  check('a docstring', given('other', ['"""', 'other (`torch.FloatTensor` of shape `(n, d)`): x', '"""']), safe);
  const method = (result: string): Model => ({ tail: ['    def part(self, x):', `        return ${result}`] });
  check('a method that gives numbers', given('self.part(other)', [], method('torch.tanh(x)')), safe);
  check('a method that does not say', given('self.part(other)', [], method('x')), { tier: 'suggestion' });
  const suggestion: Expected = { tier: 'suggestion' };
  const act = { init: [layer, 'self.act = resolve("relu")', 'self.extract = Extract()'] };
  check('what an activation gives of numbers', given('self.act(torch.tanh(other))', [], act), safe);
  check('what an activation gives of something else', given('self.act(other)', [], act), suggestion);
  check('what is called nearly so', given('self.extract(torch.tanh(other))', [], act), suggestion);
  check('the largest values', given('torch.max(torch.tanh(other), dim=1)[0]'), safe);
  check('where they stand', given('torch.max(torch.tanh(other), dim=1)[1]'), suggestion);
  check('the values of a ranking', given('torch.tanh(other).topk(3, dim=0)[0]'), safe);
  check('what is joined with numbers', given('torch.cat([other, torch.tanh(more)], -1)', [], { signature: 'user, other, more, n' }), safe); // prettier-ignore
  const weights = { init: [layer, 'self.emb = nn.Embedding(6, 6)'] };
  check('the weight of a layer', given('self.emb.weight[:n]', [], weights), safe);
  const kept = (first: string): readonly string[] => [`rows = ${first}`, "rows['b'] = self.emb(other)"];
  check('what a layer gave a dictionary', given("rows['b']", kept('{}'), weights), safe);
  check('a dictionary that was made elsewhere', given("rows['b']", kept('self.made(other)'), weights), suggestion);
  check(
    'what another place gave it, too',
    given("rows['b']", [...kept('{}'), "rows['b'] = other"], weights),
    suggestion,
  );
  const rbf = (result: string): Model => ({
    ...given('rbf(other)'),
    tail: ['', 'def rbf(x):', `    return ${result}`],
  });
  check('a function that gives numbers', rbf('torch.exp(-x)'), safe);
  check('a function that does not say', rbf('x[0]'), suggestion);
  const parameter = 'self.rows = nn.Parameter(torch.randn(6, 6))';
  check('a parameter of the model', given('self.rows[:n]', [], { init: [layer, parameter] }), safe);
  check('a buffer of floats', given('self.rows', [], { init: [layer, `${rows}torch.randn(6, 6))`] }), safe);
  check('a buffer of another type', given('self.rows', [], { init: [layer, `${rows}torch.arange(36).view(6, 6))`] }), {
    tier: 'suggestion',
  });
});

describe('rewrites: maps whose arguments have effects', () => {
  const counted = (count: string): Model => ({
    forward: [
      `u = user.repeat_interleave(${count}, dim=0)`,
      'x = torch.cat([u, item], dim=-1)',
      'z = next(n)',
      'return self.fc(x) * z',
    ],
  });
  const refused: Expected = { tier: 'none', reason: /may have an effect, and would run later/ };
  check('next()', counted('next(n)'), refused);
  check('pop()', counted('n.pop()'), refused);
  check('a method of the model', counted('self.count()'), refused);
  check('a random number', counted('torch.randint(1, 3, ()).item()'), refused);
  check('a walrus', counted('(m := 3)'), refused);
  check('next() for ikbo_lens', counted('next(n)'), refused, 'ikbo');
  check('a size', counted('item.shape[0] // user.size(0)'), { tier: 'safe' });
  check('len()', counted('len(item)'), { tier: 'safe' });
});
