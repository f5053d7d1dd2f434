import { type Expected, expectRewrite } from './wrong';

const USUAL = [
  'b, h, s, d = x.shape',
  'if n == 1:',
  '    return x',
  'x = x[:, :, None, :, :].expand(b, h, n, s, d)',
  'return x.reshape(b, h * n, s, d)',
];

interface Helper {
  readonly above?: readonly string[];
  readonly signature?: string;
  readonly body: readonly string[];
}

/** The way in which a file's own `repeat_kv` is read. */
function check(title: string, { above = [], signature = 'x, n', body }: Helper, expected: Expected): void {
  const text = [
    'import torch',
    'import torch.nn as nn',
    'import torch.nn.functional as F',
    '',
    ...above,
    `def repeat_kv(${signature}):`,
    ...body.map((line) => `    ${line}`),
    '',
    'class Attention(nn.Module):',
    '    def forward(self, q, k, v):',
    '        k = repeat_kv(k, 4)',
    '        v = repeat_kv(v, 4)',
    '        return F.scaled_dot_product_attention(q, k, v)',
    '',
  ].join('\n');
  it(title, () => expectRewrite(text, 'fold-heads', expected));
}

const refused = (reason: RegExp): Expected => ({ tier: 'none', reason });
const also = (...lines: string[]): Helper => ({ body: [...USUAL.slice(0, 3), ...lines, ...USUAL.slice(3)] });

describe('rewrites: a helper that repeats heads, and what else it does', () => {
  const safe: Expected = { tier: 'safe' };
  const other = refused(/`repeat_kv` does something else at line \d+/i);
  check('the usual one', { body: USUAL }, safe);
  check(
    'with types and a docstring',
    { signature: 'x: torch.Tensor, n: int', body: ['"""Repeats."""', ...USUAL] },
    safe,
  );
  check('scripted', { above: ['@torch.jit.script'], body: USUAL }, safe);
  const short = 'return torch.repeat_interleave(x, n, dim=1)';
  check('in one return', { body: [short] }, { tier: 'suggestion', reason: /`k` has four axes/ });
  check('in one return, of four axes', { body: ['b, h, s, d = x.shape', short] }, safe);
  check('scaled', also('x = x * 2'), other);
  check('normalized', also('x = F.normalize(x, dim=-1)'), other);
  check('detached', also('x = x.detach()'), other);
  check('cropped', also('x = x[:, :, 1:]'), other);
  check('written in place', also('x.mul_(2)'), other);
  check('written by index', also('x[:, 0] = 0'), other);
  check('changed on a condition', also('if n == 2:', '    x = x * 3'), other);
  check(
    'another early return',
    { body: ['if n == 1:', '    return x * 2', ...USUAL.slice(0, 1), ...USUAL.slice(3)] },
    other,
  );
  check('another condition', { body: ['if b == 1:', '    return x', ...USUAL.slice(0, 1), ...USUAL.slice(3)] }, other);
  check(
    'an else',
    { body: ['if n == 1:', '    return x', 'else:', '    x = -x', ...USUAL.slice(0, 1), ...USUAL.slice(3)] },
    other,
  );
  check('a count of its own', also('n = 2'), refused(/else|plainly/));
  check('a shape over the count', { body: ['b, n, s, d = x.shape', ...USUAL.slice(3)] }, refused(/else|plainly/));
  check(
    'shifted before a plain repeat',
    { body: ['x = x + 1', 'return torch.repeat_interleave(x, dim=1, repeats=n)'] },
    other,
  );
  check(
    'repeated twice',
    { body: ['x = x.repeat_interleave(n, dim=1)', 'return torch.repeat_interleave(x, n, dim=1)'] },
    refused(/changes `x` before|not known|in a row/),
  );
  check(
    'decorated',
    { above: ['def twice(f):', '    return lambda x, n: 2 * f(x, n)', '', '@twice'], body: USUAL },
    refused(/decorated/),
  );
});
