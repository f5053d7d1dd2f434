import assert from 'node:assert/strict';
import { allCases, rewritesOf } from '../core/rewrite/cases';
import { type Claim, proveAll } from './prove';
import { describeTorch } from './python';

/** Every rewrite of every fixture, once. */
async function claims(): Promise<readonly Claim[]> {
  const found = new Map<string, Claim>();
  for (const case_ of allCases()) {
    for (const { finding, rewrite, text } of await rewritesOf(case_.bad)) {
      const name = `${finding.rule} ${case_.name}: ${rewrite.id} (${rewrite.tier})`;
      if (text !== null && finding.rule === case_.rule) {
        found.set(name, { name, before: case_.bad, after: text, proof: case_.proof, autocast: true });
      }
    }
  }
  return [...found.values()];
}

describeTorch('rewrites compute the same', () => {
  it('each in fp32, in bf16 and under autocast, forward and backward, at all sizes', async function () {
    this.timeout(300_000);
    const proofs = proveAll(await claims());
    assert.ok(proofs.length >= 20, `only ${proofs.length} rewrites`);
    const failed = proofs.filter((proof) => proof.problems.length > 0);
    assert.deepEqual(
      failed.map((proof) => [proof.name, ...proof.problems]),
      [],
    );
    const peaks = proofs.flatMap((proof) => (proof.peaks ? [{ name: proof.name, peaks: proof.peaks }] : []));
    assert.ok(peaks.length >= 5);
    for (const {
      name,
      peaks: [before, after],
    } of peaks) {
      assert.ok(after < before, `${name} allocates ${after} bytes at its peak, the original ${before}`);
    }
  });

  it('and a wrong one is caught', function () {
    this.timeout(120_000);
    const case_ = allCases().find((one) => one.name === 'computed-source');
    assert.ok(case_);
    const wrong = [
      case_.bad.replace('expand(n, -1)', 'expand(n, -1).mul(1.001)'),
      case_.bad.replace('torch.cat([user,', 'torch.cat([user.detach(),'),
      case_.bad.replace('self.fc = ', 'self.fc2 = ').replace('self.fc(', 'self.fc2('),
      case_.bad.replace('return self.fc(', 'return self.fc(').replace('], dim=1))', '], dim=1)).double()'),
      case_.bad.replace('item.shape[0]', 'max(item.shape[0], 1)'),
    ];
    const proofs = proveAll(
      wrong.map((after, i) => ({ name: `wrong ${i}`, before: case_.bad, after, proof: case_.proof })),
    );
    for (const proof of proofs) assert.ok(proof.problems.length > 0, `${proof.name} was believed`);
  });
});
