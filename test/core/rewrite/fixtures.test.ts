import assert from 'node:assert/strict';
import { fixText } from '../../../src/core/fix';
import { golden } from '../../golden';
import { type Applied, type Case, allCases, findingsOf, rewritesOf, theEngine } from './cases';
import { parse } from './parse';

/** Rewrites by id. Key and value of one attention are two findings with one rewrite, which the first of them offers. */
function byId(case_: Case, applied: readonly Applied[]): ReadonlyMap<string, Applied> {
  const found = new Map<string, Applied>();
  for (const one of applied.filter(({ finding }) => finding.rule === case_.rule)) {
    const before = found.get(one.rewrite.id);
    if (before && one.text !== null) assert.equal(one.text, before.text, `two different rewrites: ${one.rewrite.id}`);
    else if (!before) found.set(one.rewrite.id, one);
  }
  return found;
}

for (const case_ of allCases()) {
  describe(`rewrites: ${case_.rule} ${case_.name}`, () => {
    it('finds bad.py and says nothing of that rule about good.py', async () => {
      assert.ok((await findingsOf(case_.bad)).some((finding) => finding.rule === case_.rule));
      assert.deepEqual(
        (await findingsOf(case_.good))
          .filter((finding) => finding.rule === case_.rule)
          .map((finding) => finding.message),
        [],
      );
    });

    it('offers what the golden files hold', async () => {
      const found = byId(case_, await rewritesOf(case_.bad));
      const summary = [...found.values()].map(({ rewrite }) =>
        [`${rewrite.id}: ${rewrite.tier}`, ...(rewrite.reason === null ? [] : [`    ${rewrite.reason}`])].join('\n'),
      );
      golden(`${case_.folder}/rewrites.txt`, `${summary.join('\n')}\n`);
      const texts = [...found.values()].filter((one) => one.text !== null);
      for (const [i, { rewrite, text }] of texts.entries()) {
        golden(`${case_.folder}/${i === 0 ? 'fixed.py' : `fixed.${rewrite.id}.py`}`, text ?? '');
      }
    });

    it('has a reason exactly where it is not safe, and edits exactly where it is not refused', async () => {
      for (const { rewrite } of await rewritesOf(case_.bad)) {
        assert.equal(rewrite.reason === null, rewrite.tier === 'safe', rewrite.id);
        assert.equal(rewrite.edits.length === 0, rewrite.tier === 'none', rewrite.id);
      }
    });

    it('leaves a file that parses, has nothing more for the rule, and keeps its line ends', async () => {
      for (const { finding, rewrite, text } of await rewritesOf(case_.bad)) {
        if (text === null || finding.rule !== case_.rule) continue;
        assert.ok(!(await parse(text)).broken, rewrite.id);
        assert.equal(/(?<!\r)\n/.test(text), /(?<!\r)\n/.test(case_.bad), `${rewrite.id}: line ends`);
        if (rewrite.conditions.some(({ kind }) => kind === 'stays')) continue;
        assert.deepEqual(
          (await findingsOf(text)).filter((f) => f.rule === case_.rule).map((f) => `${f.line}: ${f.message}`),
          [],
          rewrite.id,
        );
      }
    });

    it('leaves no finding of another rule in the place of its own', async () => {
      const before = (await findingsOf(case_.bad)).map(({ rule }) => rule);
      for (const { rewrite, text } of await rewritesOf(case_.bad)) {
        if (text === null) continue;
        const other = (await findingsOf(text)).filter(({ rule }) => !before.includes(rule));
        assert.deepEqual(
          other.map(({ rule, line, message }) => `${rule} ${line}: ${message}`),
          [],
          rewrite.id,
        );
      }
    });

    it('is done after applying the safe ones', async () => {
      const options = { rules: new Set([case_.rule]), unsafe: false, prefer: null };
      const once = fixText(await theEngine(), 'model.py', case_.bad, options);
      const twice = fixText(await theEngine(), 'model.py', once.text, options);
      assert.equal(twice.text, once.text);
      assert.ok(once.left.every((f) => f.rule !== case_.rule || f.rewrites.every((r) => r.tier !== 'safe')));
    });
  });
}
