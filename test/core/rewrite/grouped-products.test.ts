import { type Expected, expectRewrite, modelText } from './wrong';

/** Attention that is written out: what stands between the repeated heads and the two products. */
describe('rewrites: repeated heads in front of two products', () => {
  const check = (title: string, forward: readonly string[], expected: Expected, head: readonly string[] = []): void => {
    const text = modelText({ head, signature: 'q, k, v, n: int', forward });
    it(title, () => expectRewrite(text, 'fold-products', expected));
  };
  const repeats = ['keys = k.repeat_interleave(n, dim=1)', 'values = v.repeat_interleave(n, dim=1)'];
  const shapes = ['b, h, s, d = k.shape'];
  const views = [
    ...shapes,
    'keys = k[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)',
    'values = v[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)',
  ];
  const products = (between: readonly string[] = []): readonly string[] => [
    'w = torch.matmul(q, keys.transpose(-2, -1)).softmax(dim=-1)',
    ...between,
    'return torch.matmul(w, values)',
  ];
  const folded = /grouped = torch\.matmul\(grouped, k\.transpose\(-2, -1\)\)/;
  check('repeat_interleave', [...shapes, ...repeats, ...products()], { tier: 'safe', text: folded });
  check('views', [...views, ...products()], { tier: 'safe', text: folded });
  check('mT', [...views, 'w = (q @ keys.mT).softmax(-1)', 'return w @ values'], {
    tier: 'safe',
    text: /grouped = grouped @ k\.mT/,
  });
  check('exchanged under a name', [...views, 't = keys.permute(0, 1, 3, 2)', 'return (q @ t).softmax(-1) @ values'], {
    tier: 'safe',
    text: /grouped @ k\.permute\(0, 1, 3, 2\)/,
  });
  check('sizes read', [...views, ...products(['w = w[..., : keys.size(2)]'])], {
    tier: 'safe',
    text: /w\[\.\.\., : k\.size\(2\)\]/,
  });
  const nested = 'torch.matmul(torch.matmul(q, keys.mT).softmax(-1), values)';
  check('one in the other', [...views, `return ${nested}`], {
    tier: 'safe',
    text: /rows = grouped\.unflatten\(-2, \(n, q\.shape\[-2\]\)\)\.flatten\(-4, -3\)\.softmax\(-1\)\n/,
  });
  check('in a list comprehension', [...views, `return [${nested} for _ in range(2)][0]`], {
    tier: 'none',
    reason: /is not known/,
  });
  const spread = [
    'def repeat_kv(x, n):',
    '    b, h, s, d = x.shape',
    '    return x[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)',
  ];
  const branch = ['if n > 1:', '    k = repeat_kv(k, n)', '    v = repeat_kv(v, n)'];
  check(
    'repeated on a branch',
    [...branch, 'return (q @ k.transpose(-2, -1)).softmax(-1) @ v'],
    { tier: 'none', reason: /^`k` gets its value in several places/ },
    spread,
  );
  check(
    'over lines, with comments',
    [...views, 'w = torch.matmul(', '    q,  # queries', '    keys.mT,', ')', 'return w.softmax(-1) @ values'],
    {
      tier: 'safe',
      text: /# queries\n.*\n\s+grouped = torch\.matmul\(grouped, k\.mT\)\n/,
    },
  );
  check('the number of heads read', [...views, ...products(['w = w * keys.shape[1]'])], {
    tier: 'none',
    reason: /reads `keys` too/,
  });
  check('values read', [...views, ...products(['w = w + values.mean()'])], {
    tier: 'none',
    reason: /reads `values` too/,
  });
  check('written into', [...views, 'keys.mul_(2)', ...products()], { tier: 'none', reason: /written in(to| place)/ });
  check('heads written into', [...views, 'k.mul_(2)', ...products()], { tier: 'none', reason: /written in place/ });
  check('heads bound again', [...views, 'k = q', ...products()], { tier: 'none', reason: /bound again/ });
  check('the other order', [...views, 'return (keys @ q.mT).mT.softmax(-1) @ values'], {
    tier: 'none',
    reason: /not the right operand/,
  });
  const helper = (line: string): readonly string[] => [
    '',
    'def repeat_kv(x, n):',
    '    b, h, s, d = x.shape',
    `    ${line}`,
    '    return x[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)',
  ];
  const calls = ['keys = repeat_kv(k, n)', 'values = repeat_kv(v, n)'];
  check('a helper', [...calls, ...products()], { tier: 'safe', text: folded }, helper('if n == 1: return x'));
  check(
    'a helper that scales',
    [...calls, ...products()],
    { tier: 'none', reason: /something else/ },
    helper('x = x * 2'),
  );
});
