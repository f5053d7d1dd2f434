import assert from 'node:assert/strict';
import type { Cost } from '../../src/core/finding';
import { describeCopy, formatBytes } from '../../src/server/features/amounts';

const cost = (part: Partial<Cost>): Cost => ({
  bytes: 'B*Ku*2',
  flops: '0',
  bound: null,
  bytesValue: null,
  flopsValue: null,
  ...part,
});

describe('amounts', () => {
  it('prints numbers with the bindings that the formula uses', () => {
    const bound = { B: 1024, Ku: 1_000_000, Kc: 7 };
    assert.equal(describeCopy(cost({ bound, bytesValue: 2.048e9 })), '2.0 GB copied per call at B=1024, Ku=1000000');
  });

  it('prints the formula where sizes are not known', () => {
    assert.equal(describeCopy(cost({})), 'B*Ku*2 bytes copied per call');
    assert.equal(describeCopy(cost({ bytes: '?*B*2' })), 'copied on every call');
    assert.equal(describeCopy(cost({ bytes: 'user.shape[0]*'.repeat(5) })), 'copied on every call');
  });

  it('moves to the next unit before four digits', () => {
    assert.equal(formatBytes(0), '0 B');
    assert.equal(formatBytes(999), '999 B');
    assert.equal(formatBytes(999_700), '1.0 MB');
    assert.equal(formatBytes(12_345_678), '12 MB');
  });
});
