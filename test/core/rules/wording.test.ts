import assert from 'node:assert/strict';
import { findingsOf } from '../rewrite/cases';
import { modelText } from '../rewrite/wrong';

describe('messages', () => {
  const check = (title: string, forward: readonly string[], expected: RegExp, signature = 'user, item, n'): void => {
    it(title, async () => {
      const [first] = await findingsOf(`# ikbo: index idx many-to-one\n${modelText({ forward, signature })}`);
      assert.match(first?.message ?? '', expected);
    });
  };
  const branch = (condition: string): string[] => [
    'u = user',
    `if ${condition}:`,
    '    u = user.unsqueeze(1).expand(-1, n, -1)',
    'return self.fc(torch.cat([u, item], dim=-1))',
  ];
  const long = "self.training and n is not None and self.mode == 'candidates'";
  check('name a short condition', branch('n > 1'), /\(when n > 1\)/);
  for (const type of ['int', 'bool', 'Optional[int]', 'int | None'])
    check(
      `name what is asked of a parameter that may be missing: ${type}`,
      branch('n is not None'),
      /\(when n is not None\)/,
      `user, item, n: ${type} = None`,
    );
  for (const [kind, empty, full, read] of [
    ['list', '[]', '[user.repeat_interleave(n, dim=0)]', 'parts + [item]'],
    ['dict', "{'u': user}", "{'u': user.repeat_interleave(n, dim=0)}", "[parts['u'], item]"],
  ] as const)
    check(
      `name the condition of a ${kind} that is made on a branch`,
      [`parts = ${empty}`, 'if self.prefix:', `    parts = ${full}`, `return self.fc(torch.cat(${read}, dim=-1))`],
      /`self\.fc` \(when self\.prefix\);/,
    );
  check(
    'name the condition of a function that is defined on a branch',
    [
      'if n > 1:',
      '    spread = lambda t: t.repeat_interleave(n, dim=0)',
      'else:',
      '    spread = lambda t: t',
      'return self.fc(torch.cat([spread(user), item], dim=-1))',
    ],
    /`self\.fc` \(when n > 1\);/,
  );
  check('cut none', branch(long), /`self\.fc` \(on some paths\);/);
  check(
    'say neither half of a long one',
    [
      'u = user',
      `if ${long}:`,
      '    pass',
      'elif self.training:',
      '    u = user.unsqueeze(1).expand(-1, n, -1)',
      'return self.fc(torch.cat([u, item], dim=-1))',
    ],
    /\(when self\.training, on some paths\)/,
  );
  check(
    'leave out a cost with an unknown factor',
    ['u = user.repeat_interleave(n, dim=0)', 'return self.fc(torch.cat([u, item], dim=-1))'],
    /the same for every copy$/,
  );
  check(
    'leave out a cost that is a piece of code',
    ['B, H, L, D = q.shape', 'return F.scaled_dot_product_attention(q, k[cand_to_user], v[cand_to_user])'],
    /the same keys and values$/,
    'q, k, v, cand_to_user',
  );
  check(
    'name the condition of the product, where it stands behind the copy',
    [
      'u = user.repeat_interleave(n, dim=0)',
      'if self.gated:',
      '    return self.fc(torch.cat([u, item], dim=-1))',
      'return item',
    ],
    /`self\.fc` \(when self\.gated\);/,
  );
  check(
    'name no condition whose opposite leads to a product as well',
    [
      'u = user.repeat_interleave(n, dim=0)',
      'if self.gated:',
      '    if self.long:',
      '        return self.fc(torch.cat([u, item], dim=-1))',
      '    else:',
      '        return self.fc(torch.cat([u, -item], dim=-1))',
      'elif self.long:',
      '    return self.fc(torch.cat([u, item.exp()], dim=-1))',
      'return self.fc(torch.cat([u, item.abs()], dim=-1))',
    ],
    /`self\.fc`;/,
  );
  check(
    'leave out what another condition implies',
    [
      'u = user',
      "if self.kind == 'a':",
      '    pass',
      "elif self.kind == 'b' and n > 1:",
      '    u = user.unsqueeze(1).expand(-1, n, -1)',
      'return self.fc(torch.cat([u, item], dim=-1))',
    ],
    /\(when self\.kind == 'b' and n > 1\);/,
  );
  check(
    'call a size as it is called where the copy stands',
    [
      'def embed(x):',
      '    B, C = x.shape',
      '    return x',
      'user = embed(user)',
      'batch, width = user.shape',
      'u = user.repeat_interleave(n, dim=0)',
      'return self.fc(torch.cat([u, item], dim=-1))',
    ],
    /: batch\*n\*width\*2 bytes/,
  );
  check(
    'call how often it copies the same in the cost',
    [
      'copies = item.size(0)',
      'u = user.view(1, 8).expand(item.size(0), -1)',
      'return self.fc(torch.cat([u, item], dim=-1))',
    ],
    /copied `item\.size\(0\)` times.*: copies\*16 bytes/,
  );
  check(
    'say the size that a pattern is given',
    [
      'from einops import repeat',
      'rows, *_ = n',
      "u = repeat(user, 'd -> b d', b=rows)",
      'return self.fc(torch.cat([u, item], dim=-1))',
    ],
    /copied `rows` times/,
  );
  it('name an axis of what is copied, rather than a variable of another function', async () => {
    const [finding] = await findingsOf(
      modelText({
        imports: ['import torch', 'import torch.nn as nn', 'from einops import repeat'],
        head: ['def embed(value, other):', '    inner = other(value)', '    return inner'],
        forward: ['x = embed(user, item)', "return self.fc(repeat(x, 'b d -> (b c) d', c=n))"],
      }),
    );
    assert.match(finding?.message ?? '', /: n\*x\.shape\[0\]\*x\.shape\[1\]\*2 bytes/);
  });
  check(
    'call copies on the right of a product columns',
    ['return user @ item.repeat(1, 1, n)'],
    /computes equal columns/,
  );
  check(
    'say which of keys and values are copied',
    ['k = user.repeat_interleave(n, dim=0)', 'return F.scaled_dot_product_attention(item, k, item)'],
    /all copies hold the same keys:/,
  );
  check(
    'say of rows of several users which are equal',
    ['k = user[user_idx]', 'return F.scaled_dot_product_attention(item, k, item)'],
    /once per entry of `user_idx` before .*; all entries that name one row hold the same keys/,
  );
  check(
    'write an expression of several lines on one',
    ['u = user[', '    :n', '].\\', '    repeat_interleave(n, dim=0)', 'return self.fc(torch.cat([u, item], dim=-1))'],
    /^`user\[:n\]` is copied/,
  );
  check(
    'say that the product may not be reached where it stands on a branch of another function',
    [
      'def project(x):',
      '    if self.deep:',
      '        x = self.fc(x)',
      '    return x',
      'u = user.repeat_interleave(n, dim=0)',
      'return project(torch.cat([u, item], dim=-1))',
    ],
    /`self\.fc` \(on some paths\);/,
  );
  check(
    'name the order of blocks that leaves one product of the rest',
    [
      'u = user.repeat_interleave(n, dim=0)',
      'c = context.repeat_interleave(n, dim=0)',
      'return self.fc(torch.cat([u, item, c, price], dim=-1))',
    ],
    /; joined as \[u, c, item, price\], with the weight's columns in that order, the rest is one product$/,
  );
  check(
    'name no order where the rest is one product as it is',
    [
      'u = user.repeat_interleave(n, dim=0)',
      'c = context.repeat_interleave(n, dim=0)',
      'return self.fc(torch.cat([u, item, price, c], dim=-1))',
    ],
    /is the same for every copy$/,
  );
  check(
    'say that copies which drop elements are equal in evaluation',
    ['u = user.repeat_interleave(n, dim=0)', 'return self.fc(F.dropout(u, 0.1, self.training))'],
    /equal rows in evaluation$/,
  );
  check(
    'say nothing of a dropout in front of the copy',
    ['u = F.dropout(user, 0.1, self.training).repeat_interleave(n, dim=0)', 'return self.fc(u)'],
    /equal rows$/,
  );
  check(
    'say nothing of a dropout that drops nothing',
    ['u = user.repeat_interleave(n, dim=0)', 'return self.fc(F.dropout(u, 0.1, False))'],
    /equal rows$/,
  );
  it('say of what a graph library hands over that it is gathered once per edge', async () => {
    const [finding] = await findingsOf(
      [
        'import torch.nn as nn',
        'from torch_geometric.nn import MessagePassing',
        'class Conv(MessagePassing):',
        '    def __init__(self):',
        '        super().__init__()',
        '        self.fc = nn.Linear(8, 8)',
        '    def message(self, x_j):',
        '        h = x_j',
        '        h = self.fc(x_j)',
        '        return h',
      ].join('\n'),
    );
    assert.match(finding?.message ?? '', /^`x_j` is gathered once per edge before `self\.fc`;/);
    assert.equal(finding?.chain[0]?.what, 'holds rows that were gathered before');
    assert.equal(finding?.line, 9);
  });
  check(
    'name the condition under which a view is written, though the other branch reads it as it is',
    [
      'w = user.view(1, 8, 4).expand(n, -1, -1)',
      'if item.dtype == torch.float16:',
      '    return torch.bmm(item, w.half())',
      'return torch.bmm(item, w)',
    ],
    /\(when item\.dtype == torch\.float16\)/,
  );
  check(
    'count the copies of both axes where they are made one',
    [
      'b, c, l, d = item.shape',
      'u = user.view(1, 1, 1, d).expand(b, c, -1, -1)',
      'h = torch.cat([u, item], dim=2).view(b * c, -1, d)',
      'return self.fc(h)',
    ],
    /copied `b\*c` times/,
  );
});
