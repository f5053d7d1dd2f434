import assert from 'node:assert/strict';
import { rewritesOf } from './cases';
import { TRICKY } from './tricky';
import { modelText } from './wrong';

describe('rewrites: tricky programs', () => {
  for (const { title, tier, reason, ...model } of TRICKY) {
    it(title, async () => {
      const [first] = await rewritesOf(modelText(model));
      assert.ok(first, 'no rewrite');
      assert.equal(first.rewrite.tier, tier, first.rewrite.reason ?? '');
      if (reason) assert.match(first.rewrite.reason ?? '', reason);
    });
  }
});
