import assert from 'node:assert/strict';
import type { ReplicaFact } from '../../../src/core/judge/match';
import { textOf } from '../../../src/core/python/syntax';
import { mapText } from '../../../src/core/rewrite/replica';
import { replicateOf } from '../../../src/core/rewrite/replicate';
import { nodeAt, parse } from './parse';

describe('expressions that replicate', () => {
  /** `source`, the copy of another tensor `Y`, and the map for a copied axis 0 (or `axis`). Null: not known. */
  function check(
    expression: string,
    source: string | null,
    copy: string | null = null,
    map: string | null = null,
    axis = 0,
  ): void {
    it(expression, async () => {
      const root = await parse(`def f(x, n, idx):\n    y = ${expression}\n    return y\n`);
      const found = replicateOf(nodeAt(root, expression));
      if (source === null) return assert.equal(found, null);
      assert.ok(found);
      const replica = { axis, rank: null, map: { kind: 'all' }, origin: found.node } as unknown as ReplicaFact;
      assert.equal(textOf(found.source) + found.suffix, source);
      assert.equal(found.apply?.('Y') ?? null, copy);
      const read = found.map([replica]);
      assert.equal(read && mapText(read), map);
    });
  }

  check('x.repeat_interleave(n, dim=0)', 'x', 'Y.repeat_interleave(n, dim=0)', 'repeats(n)');
  check('x.repeat_interleave(n, 1)', 'x', 'Y.repeat_interleave(n, dim=1)', 'repeats(n, dim=1)');
  check('torch.repeat_interleave(x, n, dim=0)', 'x', 'Y.repeat_interleave(n, dim=0)', 'repeats(n)');
  check('x.repeat_interleave(n)', null); // flattens
  check('x.repeat_interleave(n, 0, output_size=m)', 'x', 'Y.repeat_interleave(n, dim=0, output_size=m)', 'repeats(n)');
  check('x[idx]', 'x', 'Y[idx]', 'index(idx)');
  check('x[:, idx]', 'x', 'Y[:, idx]', 'index(idx, dim=1)');
  check('x[0]', null);
  check('x[1:]', null);
  check('x[:, None]', null);
  check('x[idx, 0]', null);
  check('x.index_select(0, idx)', 'x', 'Y.index_select(0, idx)', 'index(idx)');
  check('torch.index_select(x, 1, idx)', 'x', 'Y.index_select(1, idx)', 'index(idx, dim=1)');
  check('x.expand(n, -1)', 'x', 'Y.expand(n, -1)', 'expand(n)');
  check('x.expand(n, d)', 'x', 'Y.expand(n, -1)', 'expand(n)');
  check('x.expand((n, d))', 'x', 'Y.expand(n, -1)', 'expand(n)');
  check('x.unsqueeze(1).expand(-1, n, -1)', 'x.unsqueeze(1)', 'Y.expand(-1, n, -1)', 'expand(n, dim=1)', 1);
  check('x.expand(n, *x.shape[1:])', 'x', null, null);
  check('x.expand_as(y)', 'x', 'Y.expand(*y.shape[:-1], -1)', 'expand(y.shape[0])');
  check('torch.broadcast_to(x, (n, d))', 'x', 'Y.expand(n, -1)', 'expand(n)');
  check('x.unsqueeze(1).repeat(1, n, 1)', 'x.unsqueeze(1)', 'Y.repeat(1, n, 1)', 'expand(n, dim=1)', 1);
  check('x.repeat(n, 2)', 'x', null, null);
  check('torch.tile(x, (n, 1))', 'x', 'Y.repeat(n, 1)', null);
  check('x.unsqueeze(1).expand(-1, n, -1).reshape(-1, d)', 'x', 'Y.repeat_interleave(n, dim=0)', 'repeats(n)');
  check('x[:, None, :].expand(-1, n, -1).flatten(0, 1)', 'x', 'Y.repeat_interleave(n, dim=0)', 'repeats(n)');
  check('x.unsqueeze(1).repeat(2, n, 1).view(-1, d)', null);
  check('x.repeat_interleave(n, 0).contiguous()', 'x', 'Y.repeat_interleave(n, dim=0)', 'repeats(n)');
  check('x.repeat_interleave(n, 0).float()', 'x.float()', 'Y.repeat_interleave(n, dim=0)', 'repeats(n)');
  check('x.repeat_interleave(n, 0).softmax(-1)', null);
  check("repeat(x, 'b d -> b n d', n=n)", 'x.unsqueeze(1)', 'Y.expand(-1, n, -1)', 'expand(n, dim=1)', 1);
  check("einops.repeat(x, 'b t d -> (b n) t d', n=4)", 'x', 'Y.repeat_interleave(4, dim=0)', 'repeats(4)');
  check("repeat(x, f'b d -> b {n} d')", 'x.unsqueeze(1)', 'Y.expand(-1, n, -1)', 'expand(n, dim=1)', 1);
  check('repeat(x, f"b d -> (b {m.n}) d")', 'x', 'Y.repeat_interleave(m.n, dim=0)', 'repeats(m.n)');
  check("repeat(x, f'b d -> b {n + 1} d')", null);
  check("repeat(x, f'b d -> {axes}')", null);
  check("repeat(x, 'b d -> (n b) d', n=n)", null);
  check("repeat(x, 'b d -> b d n', n=n)", null);
  check('torch.stack([x] * n)', 'x.unsqueeze(0)', 'Y.repeat_interleave(n, dim=0)', 'expand(n)');
  check(
    'torch.stack([x for _ in range(n)], dim=1)',
    'x.unsqueeze(1)',
    'Y.repeat_interleave(n, dim=1)',
    'expand(n, dim=1)',
    1,
  );
  check(
    'torch.cat(n * [x], dim=1)',
    'x',
    'Y.unsqueeze(1).repeat_interleave(n, dim=1).flatten(1, 2)',
    'expand(n, dim=1)',
    1,
  );
  check('torch.cat([x] * n, dim=-2)', null);
  check('torch.cat([x, z] * n)', null);
  check('torch.stack([f(_) for _ in range(n)])', null);
  check('torch.stack([x for x in range(n)])', null);
  check('torch.stack([x for _ in range(1, n)])', null);
  check("repeat(x, 'b d -> d b n', n=n)", null);
  check("repeat(x, '(b h) d -> b h n d', n=n)", null);
  check('np.repeat(x, n)', null);
  check('f(x)', null);
});
