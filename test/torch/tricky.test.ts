import assert from 'node:assert/strict';
import { rewritesOf } from '../core/rewrite/cases';
import { TRICKY } from '../core/rewrite/tricky';
import { modelText } from '../core/rewrite/wrong';
import { type Claim, proveAll } from './prove';
import { describeTorch } from './python';

const PROOF = `import torch


def build(m):
    return m.Model()


def samples():
    for users, n in ((1, 1), (3, 2), (2, 0)):
        yield f"U={users} n={n}", (torch.randn(users, 4), torch.randn(users * n, 6), n)
`;

describeTorch('rewrites of tricky programs compute the same', () => {
  it('all that are offered', async function () {
    this.timeout(120_000);
    const claims: Claim[] = [];
    for (const { title, untrue, ...model } of TRICKY) {
      const before = modelText(model);
      for (const { rewrite, text } of untrue ? [] : await rewritesOf(before)) {
        // The package is not for TorchScript, as its condition says.
        if (rewrite.conditions.some(({ kind }) => kind === 'compiler')) continue;
        if (text !== null) claims.push({ name: `${title}: ${rewrite.id}`, before, after: text, proof: PROOF });
      }
    }
    assert.ok(claims.length >= 30, `only ${claims.length} rewrites`);
    const failed = proveAll(claims).filter((proof) => proof.problems.length > 0);
    assert.deepEqual(
      failed.map((proof) => [proof.name, ...proof.problems]),
      [],
    );
  });
});
