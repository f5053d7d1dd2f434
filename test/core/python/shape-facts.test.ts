import assert from 'node:assert/strict';
import { tensorType, type TensorType } from '../../../src/core/python/shape-facts';
import { engineForTests } from '../check';

const TYPES: Readonly<Record<string, TensorType | null>> = {
  Tensor: { type: '', dims: null },
  'torch.LongTensor': { type: 'Long', dims: null },
  'Optional[Tensor]': { type: '', dims: null },
  'torch.Tensor | None': { type: '', dims: null },
  'Float[Tensor, "b k n"]': { type: 'Float', dims: ['b', 'k', 'n'] },
  'Optional[Float[torch.Tensor, "b 4"]]': { type: 'Float', dims: ['b', '4'] },
  "jaxtyping.Int64[Tensor, 'b']": { type: 'Long', dims: ['b'] },
  'Bool[Tensor, "b t"]': { type: 'Bool', dims: ['b', 't'] },
  'Float[Tensor, "b _ k+1 #n d=3"]': { type: 'Float', dims: ['b', null, null, null, '3'] },
  'Float[Tensor, "*batch d"]': { type: 'Float', dims: null },
  'Float[Tensor, "... d"]': { type: 'Float', dims: null },
  'Float[Tensor, ""]': { type: 'Float', dims: [] },
  'Float[np.ndarray, "b d"]': null,
  'list[Tensor]': null,
  'dict[str, Tensor]': null,
};

describe('shapes in annotations', () => {
  for (const [text, type] of Object.entries(TYPES)) it(text, () => assert.deepEqual(tensorType(text), type));

  it('name the sizes of a finding', async () => {
    const { findings } = (await engineForTests()).check(
      'm.py',
      `import torch
from jaxtyping import Float
from torch import Tensor, nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(48, 8)

    def forward(self, user: Float[Tensor, "users width"], item: Float[Tensor, "rows other"], n: int):
        return self.fc(torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1))
`,
    );
    assert.equal(findings[0]?.cost.bytes, 'n*users*width*2');
  });
});
