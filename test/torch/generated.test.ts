import assert from 'node:assert/strict';
import { findingsOf, rewritesOf } from '../core/rewrite/cases';
import { type Model, generate } from './generate';
import { generateAttention } from './generate-attention';
import { generateWritten } from './generate-written';
import { generateCompression, generateUnit } from './generate-unit';
import { type Claim, proveAll } from './prove';
import { describeTorch } from './python';

const FAMILIES: readonly { name: string; make: (seed: number) => Model; count: number; fewest: number }[] = [
  { name: 'a copy, a concatenation, a layer', make: generate, count: 200, fewest: 140 },
  { name: 'attention', make: generateAttention, count: 120, fewest: 60 },
  { name: 'attention that is written out', make: generateWritten, count: 100, fewest: 50 },
  { name: 'differences and products', make: generateUnit, count: 80, fewest: 20 },
  { name: 'compression', make: generateCompression, count: 60, fewest: 60 },
];

describeTorch('rewrites of generated models compute the same', () => {
  for (const { name, make, count, fewest } of FAMILIES) {
    it(`${name}: ${count} models`, async function () {
      this.timeout(600_000);
      const claims: Claim[] = [];
      const stays: string[] = [];
      for (let seed = 0; seed < count; seed++) {
        const model = make(seed);
        const before = await findingsOf(model.text);
        for (const { finding, rewrite, text } of await rewritesOf(model.text)) {
          if (text === null) continue;
          // What is rewritten is found no more, unless the copy is said to stay.
          const left = (await findingsOf(text)).filter(({ rule }) => rule === finding.rule).length;
          const fewer = left < before.filter(({ rule }) => rule === finding.rule).length;
          if (!fewer && rewrite.conditions.every(({ kind }) => kind !== 'stays'))
            stays.push(`${model.name}: ${finding.rule}`);
          const claim = `${model.name}: ${finding.rule} ${rewrite.id} (${rewrite.tier})`;
          claims.push({ name: claim, before: model.text, after: text, proof: model.proof });
        }
      }
      assert.ok(claims.length >= fewest, `only ${claims.length} rewrites: the generator no longer reaches the rules`);
      assert.deepEqual(stays, []);
      const failed = proveAll(claims).filter((proof) => proof.problems.length > 0);
      assert.deepEqual(
        failed.map((proof) => [proof.name, proof.problems[0]]),
        [],
      );
    });
  }
});
