import assert from 'node:assert/strict';
import { fixText } from '../../src/core/fix';
import { findingInFile, placeText } from '../../src/notebook/place';
import { withNotebooks } from '../../src/notebook/check';
import { applyEdits } from '../../src/core/edits';
import { engineForTests } from '../core/check';
import { CELLS, code, IMPORTS, lines, notebook, RANKER } from './notebook';

const check = async (raw: string) => withNotebooks(await engineForTests()).check('a/nb.ipynb', raw);
const FIX = { rules: null, unsafe: false, prefer: null };

describe('notebooks', () => {
  it('a finding names the cell and its line, over cells', async () => {
    const { findings, notes, parsed } = await check(notebook(CELLS));
    assert.deepEqual([findings.length, notes, parsed], [1, [], true]);
    const [finding] = findings;
    assert.ok(finding);
    assert.deepEqual([finding.rule, finding.cell, finding.line, finding.column], ['IKB101', 4, 7, 13]);
    assert.deepEqual([finding.consumer.cell, finding.consumer.line], [4, 8]);
    assert.ok(finding.chain.every(({ cell }) => cell === 4));
    assert.equal(placeText(finding), 'a/nb.ipynb:cell 4:7');
  });
  it('sees through cells: the copy in a function of one, the layer in the next', async () => {
    const spread = '# copies\ndef spread(user, n):\n    return user.repeat_interleave(n, dim=0)';
    const reader = RANKER.replace(/ {8}u = .*\n/, '').replace('[u,', '[spread(user, n),');
    const [finding, ...rest] = (await check(notebook([code(IMPORTS), code(spread), code(reader)]))).findings;
    assert.ok(finding && rest.length === 0);
    assert.deepEqual([finding.rule, finding.cell, finding.line, finding.consumer.cell], ['IKB101', 2, 3, 3]);
    assert.deepEqual([finding.chain.at(-1)?.cell, finding.chain.at(-1)?.line], [3, 7]);
  });
  it('a fix lands in its cell, and every other byte stays', async () => {
    for (const indent of [1, 4, '\t', 0])
      for (const cells of [CELLS, [code(IMPORTS), code(RANKER)]]) {
        const raw = notebook(cells, indent).replace(/\n$/, indent === 4 ? '' : '\n');
        const engine = withNotebooks(await engineForTests());
        const fixed = fixText(engine, 'nb.ipynb', raw, FIX);
        assert.equal(fixed.applied.length, 1);
        assert.deepEqual(fixed.left, []);
        const at = cells.length === 2 ? 1 : 3;
        const [before, after] = [raw, fixed.text].map(
          (text) => JSON.parse(text) as { cells: { source: string | string[] }[] },
        );
        const source = [after?.cells[at]?.source].flat().join('');
        const alone = fixText(engine, 'm.py', `import torch\nfrom torch import nn\n${RANKER}`, FIX).text;
        assert.equal(source, alone.slice(alone.indexOf('class Ranker')));
        for (const one of [at, cells.length === 2 ? 0 : 1]) {
          const [old, now] = [before?.cells[one], after?.cells[one]];
          assert.ok(old && now);
          now.source = old.source;
        }
        assert.deepEqual(after, before);
        assert.equal(fixed.text.endsWith('\n'), raw.endsWith('\n'));
        assert.equal(fixText(engine, 'nb.ipynb', fixed.text, FIX).text, fixed.text);
      }
  });
  it('every line of JSON that is not of the edited lines stays as it is', async () => {
    const raw = notebook(CELLS);
    const { findings } = await check(raw);
    const rewrite = findings[0]?.rewrites.find(({ tier }) => tier === 'safe');
    assert.ok(rewrite);
    const after = applyEdits(raw, rewrite.edits).split('\n');
    const gone = raw.split('\n').filter((line) => !after.includes(line));
    assert.deepEqual(gone.map((line) => line.trim()), [
      '"        u = user.repeat_interleave(n, dim=0)\\n",',
      '"        return self.fc(torch.cat([u, cand], dim=-1))"',
    ]); // prettier-ignore
  });
  it('an import of a rewrite goes below the imports, into their cell or at the head of the next', async () => {
    const raw = notebook(CELLS);
    const engine = withNotebooks(await engineForTests());
    const fixed = fixText(engine, 'nb.ipynb', raw, { ...FIX, prefer: 'ikbo' });
    const { cells } = JSON.parse(fixed.text) as { cells: { source: string[] }[] };
    assert.match(cells[1]?.source.join('') ?? '', /^import ikbo_lens$/m);
    assert.match(cells[1]?.source.join('') ?? '', /^!nvidia-smi$/m);
    assert.match(cells[3]?.source.join('') ?? '', /ikbo_lens\.cat_linear/);
  });
  it('for tools that know only files, places are those of the JSON', async () => {
    for (const cells of [CELLS, [code(IMPORTS), code(RANKER)]]) {
      const raw = notebook(cells);
      const [found] = (await check(raw)).findings;
      assert.ok(found);
      const finding = findingInFile(found, new Map([['a/nb.ipynb', raw]]));
      assert.equal(finding.cell, undefined);
      const line = raw.split('\n')[finding.line - 1] ?? '';
      assert.equal(line.slice(finding.column - 1, finding.endColumn - 1), 'user.repeat_interleave(n, dim=0)');
    }
  });
  it('a comment silences in its cell, and an unused one is noted there', async () => {
    const silent = RANKER.replace('dim=0)', 'dim=0)  # ikbo: ignore');
    const { findings, suppressed, notes } = await check(
      notebook([code(IMPORTS), code('x = 1  # ikbo: ignore'), code(silent)]),
    );
    assert.deepEqual([findings.length, suppressed[0]?.cell], [0, 3]);
    assert.deepEqual(notes.map(({ cell, line }) => [cell, line]), [[2, 1]]); // prettier-ignore
  });
  it('other kernels and other text are left alone, and said where it is a mistake', async () => {
    const julia = { kernelspec: { language: 'julia', name: 'julia-1.9' } };
    assert.deepEqual((await check(notebook(CELLS, 1, julia))).findings, []);
    const python = { language_info: { name: 'python' }, kernelspec: { language: 'python' } };
    assert.equal((await check(notebook(CELLS, 1, python))).findings.length, 1);
    assert.match((await check('{"torch": ')).notes[0]?.message ?? '', /not valid JSON/);
    assert.match((await check('["torch"]')).notes[0]?.message ?? '', /no list of cells/);
    for (const odd of ['{"torch":1,"cells":[null,1,{},{"cell_type":"code","source":{"torch":[]}}]}', 'null // torch'])
      assert.deepEqual((await check(odd)).findings, []);
  });
  it('a syntax error is said of its cell, and the others are analysed', async () => {
    const { broken, findings } = await check(notebook([code(IMPORTS), code(RANKER), code('\n\nx = = 1')]));
    assert.deepEqual([broken?.cell, broken?.line, findings.length], [3, 3, 1]);
  });
  for (const open of [
    'def broken(:\n  x = (',
    'x = """open\nrows',
    'f(x,\n  rows\n',
    'x = [1, 2',
    'x = f({1: [2}',
    'x = 1 + \\',
    "print('a' 'b\\",
    'class A(nn.Module:\n    def f(self):\n        return (1,\n',
    'd = {\n    "a": [1, 2,\n    "b": 3,\n',
  ])
    it(`a cell that does not close leaves the others alone: ${JSON.stringify(open)}`, async () => {
      const { broken, findings } = await check(notebook([code(IMPORTS), code(open), code(RANKER)]));
      assert.deepEqual([broken?.cell, findings.map(({ cell }) => cell)], [2, [3]]);
      assert.ok(findings[0]?.rewrites.some(({ tier }) => tier !== 'none'));
    });
  it('a cell of another language within a Python notebook is not Python', async () => {
    const sql = code(lines(RANKER), { metadata: { vscode: { languageId: 'sql' } } });
    assert.deepEqual((await check(notebook([code(IMPORTS), sql]))).findings, []);
  });
});
