import assert from 'node:assert/strict';
import { rewritesOf } from './cases';
import { modelText } from './wrong';

/** The body of `forward` after the split, line by line. */
function check(title: string, forward: readonly string[], expected: readonly string[], end = '\n'): void {
  it(title, async () => {
    const text = modelText({ forward }).replaceAll('\n', end);
    const found = (await rewritesOf(text)).find(({ rewrite }) => rewrite.id === 'decompose');
    assert.ok(found?.text, found?.rewrite.reason ?? 'no rewrite');
    const lines = found.text.split(end);
    const body = lines.slice(lines.findIndex((line) => line.includes('def forward')) + 1);
    assert.deepEqual(
      body.filter((line) => line !== '').map((line) => line.replace(/^ {8}/, '')),
      expected,
    );
  });
}

const SPLIT = [
  'item_part = F.linear(item, self.fc.weight[:, user.shape[-1]:], self.fc.bias)',
  'user_part = F.linear(user, self.fc.weight[:, :user.shape[-1]])',
];
const SUM = 'return item_part + user_part.repeat_interleave(n, dim=0)';

describe('rewrites: comments in what is taken away', () => {
  const COPY = 'u = user.repeat_interleave(n, dim=0)';
  const PRODUCT = 'return self.fc(torch.cat([u, item], dim=-1))';
  check('behind a statement that goes', [`${COPY}  # one per item`, PRODUCT], ['# one per item', ...SPLIT, SUM]);
  check('with CRLF', [`${COPY}  # one per item`, PRODUCT], ['# one per item', ...SPLIT, SUM], '\r\n');
  check('above a statement that goes', ['# one per item', COPY, PRODUCT], ['# one per item', ...SPLIT, SUM]);
  check('behind the product', [COPY, `${PRODUCT}  # out`], [...SPLIT, `${SUM}  # out`]);
  check(
    'inside the product',
    [COPY, 'return self.fc(', '    torch.cat([', '        u,  # user', '        item,  # item', '    ], dim=-1)', ')'],
    ['# user', '# item', ...SPLIT, SUM],
  );
  check(
    'inside both',
    [
      'u = user.repeat_interleave(  # copies',
      '    n, dim=0',
      ')',
      'x = torch.cat([u, item], dim=-1)  # joined',
      'return self.fc(x)',
    ],
    ['# copies', '# joined', ...SPLIT, SUM],
  );
  check('for tools', [`${COPY}  # noqa: E501`, PRODUCT], [...SPLIT, SUM]);
  check(
    'a # in a string is none',
    ["u = user.repeat_interleave({'#': n}['#'], dim=0)", PRODUCT],
    [...SPLIT, SUM.replace('(n,', "({'#': n}['#'],")],
  );
});
