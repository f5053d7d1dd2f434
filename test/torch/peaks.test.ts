import assert from 'node:assert/strict';
import { join } from 'node:path';
import { rewritesOf } from '../core/rewrite/cases';
import { type Model, generate } from './generate';
import { generateAttention } from './generate-attention';
import { generateCompression, generateUnit } from './generate-unit';
import { describeTorch, jsonLines, root } from './python';

interface Peak {
  readonly name: string;
  readonly before: number;
  readonly after: number;
  /** What the finding says that the copy takes, at the sizes of the call; null where it does not say so in variables. */
  readonly stated: number | null;
  readonly problem: string | null;
}

interface Family {
  readonly name: string;
  readonly make: (seed: number, scale: number) => Model;
  readonly count: number;
  /** Of the rewrites, how many at least state a cost that can be compared. */
  readonly fewest: number;
}

const FAMILIES: readonly Family[] = [
  { name: 'a copy, a concatenation, a layer', make: generate, count: 45, fewest: 15 },
  { name: 'attention', make: generateAttention, count: 20, fewest: 5 },
  { name: 'differences and products', make: generateUnit, count: 18, fewest: 10 },
  { name: 'compression', make: generateCompression, count: 8, fewest: 8 },
];

/** What the allocator rounds up, and what is kept of the small operands. */
const SHARE = 0.85;

describeTorch('rewrites save the memory that the finding states', () => {
  for (const { name, make, count, fewest } of FAMILIES) {
    it(`${name}: ${count} models`, async function () {
      this.timeout(120_000);
      const cases: object[] = [];
      for (let seed = 0; seed < count; seed++) {
        const model = make(seed, 32);
        for (const { finding, rewrite, text } of await rewritesOf(model.text)) {
          if (text === null || rewrite.conditions.some(({ kind }) => kind === 'stays')) continue;
          const title = `${model.name}: ${finding.rule} ${rewrite.id}`;
          cases.push({ name: title, before: model.text, after: text, proof: model.large, cost: finding.cost.bytes });
        }
      }
      const peaks = jsonLines<Peak>(
        [join(root, 'test', 'torch', 'peaks.py')],
        cases.map((one) => `${JSON.stringify(one)}\n`).join(''),
      );
      assert.deepEqual(
        peaks.filter(({ problem }) => problem !== null),
        [],
      );
      const stated = peaks.filter((peak) => peak.stated !== null);
      assert.ok(stated.length >= fewest, `only ${stated.length} of ${peaks.length} costs could be compared`);
      const short = peaks.filter(({ before, after, stated: bytes }) => before - after < SHARE * (bytes ?? 0));
      assert.deepEqual(short, []);
    });
  }
});
