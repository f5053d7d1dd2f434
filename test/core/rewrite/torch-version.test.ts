import assert from 'node:assert/strict';
import type { TorchVersion } from '../../../src/core/engine';
import { engineForTests } from '../check';

const TEXT = `import torch
import torch.nn.functional as F


def attend(q, k, v, n):
    k = k.repeat_interleave(n, dim=1)
    v = v.repeat_interleave(n, dim=1)
    return F.scaled_dot_product_attention(q, k, v)
`;

describe('what a rewrite may use', () => {
  const gqa = async (torch?: TorchVersion) => {
    const { findings } = (await engineForTests()).check('m.py', TEXT, torch ? { torch } : {});
    return findings[0]?.rewrites.find(({ id }) => id === 'enable-gqa');
  };
  it('is a condition where the version is not known', async () => {
    assert.match((await gqa())?.reason ?? '', /^Torch is 2\.5 or newer and, on CUDA/);
  });
  it('is no condition where it is new enough', async () => {
    for (const version of [
      [2, 5],
      [2, 10],
      [3, 0],
    ] as const) {
      const rewrite = await gqa(version);
      assert.equal(rewrite?.tier, 'suggestion');
      assert.match(rewrite.reason ?? '', /^On CUDA/);
    }
  });
  it('is refused where it is too old, and says which', async () => {
    const rewrite = await gqa([2, 4]);
    assert.deepEqual([rewrite?.tier, rewrite?.edits], ['none', []]);
    assert.match(rewrite?.reason ?? '', /`enable_gqa` needs torch 2\.5, and the project runs on 2\.4, too/);
  });
  it('is ikbo_lens only where PyTorch is new enough for it', async () => {
    const text = `import torch


def score(fc: torch.nn.Linear, user: torch.FloatTensor, item: torch.FloatTensor, n):
    return torch.nn.functional.linear(torch.cat([user.repeat_interleave(n, dim=0), item], -1), fc.weight)
`;
    const tierOf = async (torch: TorchVersion) => {
      const { findings } = (await engineForTests()).check('m.py', text, { torch });
      return findings[0]?.rewrites.map(({ id, tier }) => `${id} ${tier}`);
    };
    assert.deepEqual(await tierOf([2, 3]), ['decompose safe', 'ikbo none']);
    assert.deepEqual(await tierOf([2, 4]), ['decompose safe', 'ikbo safe']);
  });
});
