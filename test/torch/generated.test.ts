import assert from 'node:assert/strict';
import { rewritesOf } from '../core/rewrite/cases';
import { type Model, generate } from './generate';
import { generateAttention } from './generate-attention';
import { generateCompression, generateUnit } from './generate-unit';
import { type Claim, proveAll } from './prove';
import { describeTorch } from './python';

const FAMILIES: readonly { name: string; make: (seed: number) => Model; count: number; fewest: number }[] = [
  { name: 'a copy, a concatenation, a layer', make: generate, count: 250, fewest: 200 },
  { name: 'attention', make: generateAttention, count: 120, fewest: 60 },
  { name: 'differences and products', make: generateUnit, count: 80, fewest: 20 },
  { name: 'compression', make: generateCompression, count: 60, fewest: 60 },
];

describeTorch('rewrites of generated models compute the same', () => {
  for (const { name, make, count, fewest } of FAMILIES) {
    it(`${name}: ${count} models`, async function () {
      this.timeout(600_000);
      const claims: Claim[] = [];
      for (let seed = 0; seed < count; seed++) {
        const model = make(seed);
        for (const { finding, rewrite, text } of await rewritesOf(model.text)) {
          if (text === null) continue;
          const claim = `${model.name}: ${finding.rule} ${rewrite.id} (${rewrite.tier})`;
          claims.push({ name: claim, before: model.text, after: text, proof: model.proof });
        }
      }
      assert.ok(claims.length >= fewest, `only ${claims.length} rewrites: the generator no longer reaches the rules`);
      const failed = proveAll(claims).filter((proof) => proof.problems.length > 0);
      assert.deepEqual(
        failed.map((proof) => [proof.name, proof.problems[0]]),
        [],
      );
    });
  }
});
