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
});
