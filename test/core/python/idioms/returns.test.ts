import assert from 'node:assert/strict';
import { check } from '../../check';

const conditionOf = (message: string | undefined): string | undefined => /\(when ([^)]*)\)/.exec(message ?? '')?.[1];

describe('several returns of a function', () => {
  it('are told apart by all that stands before each of them', async () => {
    const findings = await check(`
def spread(x, n, flat):
    if n == 1:
        return x
    if flat:
        return x.repeat_interleave(n, dim=0)  #! IKB102 -> flat
    return x.unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> flat

class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x, n, flat):
        return self.fc(spread(x, n, flat))  #= flat
`);
    assert.deepEqual(
      findings.map(({ message }) => conditionOf(message)),
      ['flat and n != 1', 'not flat and n != 1'],
    );
  });
});
