import assert from 'node:assert/strict';
import { rewritesOf } from '../core/rewrite/cases';
import { generate } from './generate';
import { type Claim, proveAll } from './prove';
import { describeTorch } from './python';

const MODELS = 400;

describeTorch('rewrites of generated models', () => {
  it(`every fix of ${MODELS} models computes the same`, async function () {
    this.timeout(600_000);
    const claims: Claim[] = [];
    for (let seed = 0; seed < MODELS; seed++) {
      const model = generate(seed);
      for (const { finding, rewrite, text } of await rewritesOf(model.text)) {
        if (text === null) continue;
        const name = `${model.name}: ${finding.rule} ${rewrite.id} (${rewrite.tier})`;
        claims.push({ name, before: model.text, after: text, proof: model.proof });
      }
    }
    assert.ok(claims.length > MODELS / 2, `only ${claims.length} rewrites: the generator no longer reaches the rules`);
    const failed = proveAll(claims).filter((proof) => proof.problems.length > 0);
    assert.deepEqual(
      failed.map((proof) => [proof.name, proof.problems[0]]),
      [],
    );
  });
});
