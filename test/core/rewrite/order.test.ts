/** What runs before the sink in its own statement still runs before the product's parts. */
import { expectRewrite, modelText } from './wrong';

describe('rewrites keep the order of evaluation', () => {
  const sink = 'self.fc(torch.cat([u, item], dim=-1))';
  const check = (result: string, text: RegExp) =>
    expectRewrite(modelText({ forward: ['u = user.repeat_interleave(n, dim=0)', `return ${result}`] }), 'decompose', {
      tier: 'safe',
      text,
    });

  it('a walrus', () =>
    check(`(item := item + 1).sum() + ${sink}`, /return \(item := item \+ 1\)\.sum\(\) \+ \(F\.linear/));
  it('a call that may have an effect', () =>
    check(`self.draw(item) + ${sink}`, /return self\.draw\(item\) \+ \(F\.linear/));
  it('a pure operand does not matter', () =>
    check(`item.sum() + ${sink}`, /user_part = .*\n {8}return item\.sum\(\) \+ /));

  it('attention with dropout is a suggestion with its condition', () => {
    const call = 'F.scaled_dot_product_attention(q, k[cand_to_user], v[cand_to_user], dropout_p=self.p)';
    const text = modelText({ signature: 'q, k, v, cand_to_user', forward: [`return ${call}`] });
    return expectRewrite(text, 'ikbo', { tier: 'suggestion', reason: /dropout_p=self\.p/ });
  });

  const heads = (scale: string) =>
    modelText({
      signature: 'q, k, v, n',
      forward: [
        '# ikbo: k=[B, G, S, D]',
        'k = k.repeat_interleave(n, dim=1)',
        'v = v.repeat_interleave(n, dim=1)',
        `return F.scaled_dot_product_attention(q, k, v, scale=${scale})`,
      ],
    });
  for (const id of ['enable-gqa', 'fold-heads']) {
    it(`an argument beside the heads that reads them: ${id}`, () =>
      expectRewrite(heads('1 / k.shape[1]'), id, { tier: 'none', reason: /computes with the copy `k` too/ }));
    it(`an argument beside the heads that does not: ${id}`, () =>
      expectRewrite(heads('q.shape[-1] ** -0.5'), id, { tier: id === 'fold-heads' ? 'safe' : 'suggestion' }));
  }

  const equation = (count: string) =>
    modelText({
      signature: 'x, e, n',
      forward: [
        '# ikbo: x=[B, I, J], e=[J, K]',
        `rows = e.unsqueeze(0).repeat(${count}, 1, 1)`,
        "return torch.einsum('bij,bjk->bik', x, rows)",
      ],
    });
  it('a letter that another operand has as well', () =>
    expectRewrite(equation('x.shape[0]'), 'drop-letter', { tier: 'safe' }));
  it('a letter along which another operand may be one row', () =>
    expectRewrite(equation('n'), 'drop-letter', {
      tier: 'suggestion',
      reason: /^Another operand has more than one row along `b`/,
    }));

  const added = (count: string, more: readonly string[] = []) =>
    modelText({
      signature: 'user, item, n: int, groups',
      forward: [`u = user.repeat_interleave(${count}, dim=0)`, 'u = u + item', ...more],
    });
  it('a sum of groups, whose other term may have other rows', () =>
    expectRewrite(added('n', ['return self.fc(u)']), 'broadcast-add', {
      tier: 'suggestion',
      reason: /^`item` has as many rows as `u`/,
    }));
  it('a sum of groups whose sizes come from it, with views behind', () =>
    expectRewrite(
      added('item.shape[0] // user.shape[0]', ['return self.fc(u.flatten(2).permute(0, 2, 1))']),
      'broadcast-add',
      {
        tier: 'safe',
        text: /\(user\.unsqueeze\(1\) \+ item\.unflatten\(0, \(user\.shape\[0\], .*\)\)\)\.flatten\(0, 1\)/,
      },
    ));
  it('a sum of groups of sizes that may differ', () =>
    expectRewrite(added('groups', ['return self.fc(u)']), 'broadcast-add', {
      tier: 'none',
      reason: /`groups` may be a tensor of counts/,
    }));

  const grouped = (attention: readonly string[], comment = '# ikbo: k=[B, G, S, D]', head: readonly string[] = []) =>
    modelText({
      head,
      signature: 'q, k, v, n',
      forward: [comment, 'k = k.repeat_interleave(n, dim=1)', 'v = v.repeat_interleave(n, dim=1)', ...attention],
    });
  const sdpa = 'return F.scaled_dot_product_attention(q, k, v)';
  const heads512 = '# ikbo: q=[B, H, L, 512], k=[B, G, S, 512], v=[B, G, S, 512]';
  const heads32 = '# ikbo: q=[B, H, L, 64], k=[B, G, S, 64], v=[B, G, S, 32]';
  for (const [why, text, reason] of [
    ['kernels that are chosen', grouped(['with sdpa_kernel(SDPBackend.MATH):', `    ${sdpa}`]), /says which kernels/],
    [
      'kernels that are taken away',
      grouped([sdpa], undefined, ['torch.backends.cuda.enable_flash_sdp(False)']),
      /takes kernels away/,
    ],
    ['heads above 256', grouped([sdpa], heads512), /heads of 512, above 256/],
    ['heads of two widths', grouped([sdpa], heads32), /different widths, 64 and 32/],
  ] as const) {
    it(`no grouped attention for ${why}`, () => expectRewrite(text, 'enable-gqa', { tier: 'none', reason }));
    it(`folded heads for ${why}`, () => expectRewrite(text, 'fold-heads', { tier: 'safe' }));
  }

  const single = (init: string) =>
    modelText({
      init: [init],
      forward: ['u = user.float().repeat_interleave(n, dim=0)', 'return self.fc(torch.cat([u, item], dim=-1))'],
    });
  it('a block in single precision, where nothing is in double', () =>
    expectRewrite(single('self.fc = nn.Linear(10, 8)'), 'decompose', { tier: 'safe' }));
  it('a block in single precision, where the layer is in double', () =>
    expectRewrite(single('self.fc = nn.Linear(10, 8, dtype=torch.float64)'), 'decompose', {
      tier: 'suggestion',
      reason: /^The layer is in single precision, as `u` is/,
    }));

  const expanded = (lines: readonly string[]) =>
    modelText({
      init: ['self.norm = nn.LayerNorm(4)', 'self.rows = nn.LayerNorm((3, 4))'],
      signature: 'q, m',
      forward: ['e = m.expand(q.shape[0], -1, -1)', ...lines],
    });
  for (const [operator, tier] of [
    ['torch.relu(e)', 'safe'],
    ['F.gelu(e)', 'safe'],
    ['self.norm(e)', 'safe'],
    ['e.exp()', 'safe'],
    ['e.half()', 'suggestion'],
    ['self.rows(e)', 'none'],
    ['e.softmax(dim=-1)', 'none'],
  ] as const)
    it(`in front of an expand under a name: ${operator}`, () =>
      expectRewrite(expanded([`h = ${operator}`, 'return torch.bmm(q, h)']), 'before-expand', { tier }));

  const beside = (product: string) =>
    modelText({
      init: ['self.fc = nn.Linear(4, 8)', 'self.w = nn.Parameter(torch.zeros(2, 4, 8))'],
      signature: 'user, n',
      forward: ['u = user.repeat_interleave(n, dim=0)', `return ${product}`],
    });
  for (const product of [
    'F.linear(u, self.fc.weight * u.shape[0])',
    'F.linear(u, self.fc.weight, bias=self.fc.bias / len(u))',
    'u @ self.w[u.shape[0] % 2]',
  ])
    it(`what a product reads beside its input: ${product}`, () =>
      expectRewrite(beside(product), 'sink-broadcast', { tier: 'none', reason: /computes with the copy `u` too/ }));
  it('what a product reads beside its input, of something else', () =>
    expectRewrite(beside('F.linear(u, self.fc.weight * n)'), 'sink-broadcast', { tier: 'safe' }));
  it('the other operand of an einsum', () =>
    expectRewrite(equation('x.shape[0]').replace(', x, rows', ', x * rows.shape[0], rows'), 'drop-letter', {
      tier: 'none',
      reason: /computes with the copy `rows` too/,
    }));
});
