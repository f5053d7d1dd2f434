import { type Expected, expectRewrite, modelText } from './wrong';

describe('rewrites: GQA calls without a fused kernel', () => {
  const check = (title: string, operands: string, expected: Expected, id = 'fold-heads'): void => {
    const forward = [`return F.scaled_dot_product_attention(${operands})`];
    it(title, () => expectRewrite(modelText({ signature: 'q, k, v, mask', forward }), id, expected));
  };
  const cast = 'q.float(), k.float(), v.float()';
  const folded = /attention\(folded, k\.float\(\), v\.float\(\)\)\.unflatten/;
  check('the flag at the end', `${cast}, enable_gqa=True`, { tier: 'safe', text: folded });
  check('a comma behind it', `${cast}, enable_gqa=True,`, { tier: 'safe', text: /v\.float\(\),\)\.unflatten/ });
  check('the flag in front', 'enable_gqa=True, query=q.float(), key=k.float(), value=v.float()', {
    tier: 'safe',
    text: /attention\(query=folded, key=k\.float\(\), value=v\.float\(\)\)\.unflatten/,
  });
  check('causal', `${cast}, is_causal=True, enable_gqa=True`, { tier: 'none', reason: /causal order does not fold/ });
  check('dropout', `${cast}, dropout_p=0.1, enable_gqa=True`, { tier: 'suggestion', reason: /dropout_p=0\.1/ });
  check('a mask', `${cast}, attn_mask=mask, enable_gqa=True`, { tier: 'none', reason: /a mask/i });
  it('flash attention, which takes shared heads without a flag', () =>
    expectRewrite(
      modelText({
        head: ['from flash_attn import flash_attn_func'],
        signature: 'q, k, v, n: int',
        forward: ['return flash_attn_func(q, k.repeat_interleave(n, dim=2), v.repeat_interleave(n, dim=2))'],
      }),
      'enable-gqa',
      { tier: 'none', reason: /^Only a call of F\.scaled_dot_product_attention .* is rewritten\.$/ },
    ));
  check(
    'the cast behind',
    `${cast}, enable_gqa=True`,
    {
      tier: 'suggestion',
      reason: /`q`, `k`, `v` are in half precision/,
      text: /\(q, k, v, enable_gqa=True\)\.float\(\)/,
    },
    'cast-behind',
  );
  check(
    'casts elsewhere',
    'q.double(), k.float(), v, enable_gqa=True',
    { tier: 'none', reason: /not all cast/ },
    'cast-behind',
  );
  check(
    'repeated where there is a mask',
    `${cast}, attn_mask=mask, enable_gqa=True`,
    { tier: 'suggestion', reason: /runs on CUDA/, text: /attention\(q\.float\(\), keys, values, attn_mask=mask\)/ },
    'repeat-heads',
  );
});

describe('rewrites: a width that is no multiple of 8', () => {
  const check = (title: string, width: string, cat: string, expected: Expected, ...more: string[]): void => {
    const init = ['wide = 130', `self.fc = nn.Linear(${width}, 8)`];
    const forward = ["with torch.autocast('cuda', dtype=torch.bfloat16):", `    x = ${cat}`, '    y = self.fc(x)'];
    it(title, () =>
      expectRewrite(modelText({ init, forward: [...forward, ...more, 'return y'] }), 'pad-width', expected),
    );
  };
  const cat = 'torch.cat([user, item], dim=-1)';
  const zeros = /torch\.cat\(\[user, item, user\.new_zeros\(\*user\.shape\[:-1\], 6\)\], dim=-1\)/;
  check('by a number', '130', cat, { tier: 'suggestion', reason: /6 more columns/, text: zeros });
  check('by a name', 'wide', cat, { tier: 'none', reason: /`wide` is not written as a number/ });
  check('on another axis', '130', 'torch.cat([user, item], dim=1)', {
    tier: 'none',
    reason: /not plainly on the last axis/,
  });
  check('of computed blocks', '130', 'torch.cat([user * 2, item.relu()], dim=-1)', {
    tier: 'none',
    reason: /no block has a name/i,
  });
  check('with another reader', '130', cat, { tier: 'none', reason: /reads the concatenation too/ }, 'y = y + x.sum()');
  check(
    'of a layer used elsewhere',
    '130',
    cat,
    { tier: 'none', reason: /uses `self\.fc` too/ },
    'y = y + self.fc.weight.sum()',
  );
});
