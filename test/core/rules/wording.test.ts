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
});
