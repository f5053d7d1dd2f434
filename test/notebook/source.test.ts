import assert from 'node:assert/strict';
import fc from 'fast-check';
import { applyEdits } from '../../src/core/edits';
import { rawEdit, sourcesOf, textOfSource, type RawEdit } from '../../src/notebook/source';
import { code, lines, notebook } from './notebook';

/** The file after the edits, and the cell's text as it should be. Everything else must be as it was. */
function edited(raw: string, cell: number, edits: readonly RawEdit[]): void {
  const source = sourcesOf(raw)[cell];
  assert.ok(source);
  const text = textOfSource(source);
  const one = rawEdit(raw, source, edits);
  const after = applyEdits(raw, [one]);
  const wanted = JSON.parse(raw) as { cells: { source: string | string[] }[] };
  const got = JSON.parse(after) as typeof wanted;
  const [before, now] = [wanted.cells[cell], got.cells[cell]];
  assert.ok(before && now);
  assert.equal(typeof now.source, typeof before.source);
  assert.equal([now.source].flat().join(''), applyEdits(text, edits));
  now.source = before.source;
  assert.deepEqual(got, wanted);
}

describe('sources of a notebook', () => {
  it('are found in every style, escapes and all', () => {
    for (const indent of [0, 1, 4, '\t'])
      for (const source of ['a"b\\n\n\té', lines('a"b\\n\n\té'), '', []])
        for (const raw of [
          notebook([{ source: 1 }, code(source)], indent),
          `\uFEFF${notebook([{}, code(source)], indent)}`,
        ]) {
          const [first, second] = sourcesOf(raw);
          assert.equal(first, null);
          assert.equal(second && textOfSource(second), [source].flat().join(''));
        }
  });
  it('an edit of a line leaves the other lines of the JSON', () => {
    const raw = notebook([code(['a = 1\n', 'b = "\\u00e9"\n', 'c = 3'])]).replace('é', '\\u00e9');
    const source = sourcesOf(raw)[0];
    assert.ok(source);
    const after = applyEdits(raw, [rawEdit(raw, source, [{ start: 6, end: 6, text: 'x = "é"\n' }])]);
    const added = after.split('\n').filter((line) => !raw.split('\n').includes(line));
    assert.deepEqual(added, ['    "x = \\"\\u00e9\\"\\n",'], 'in the escapes of the file');
    assert.equal(after.split('\n').length, raw.split('\n').length + 1);
  });
  it('any edits of any cell change that source and nothing else', () => {
    const piece = fc.constantFrom('x', '\n', '"', '\\', '\\n', 'é', '\u{1f600}', '\t', '\r\n', ' = ');
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    const style = fc.record({ indent: fc.constantFrom(0, 1, 2, '\t'), array: fc.boolean() });
    const changes = fc.array(fc.tuple(fc.nat(12), fc.nat(4), text), { maxLength: 3 });
    fc.assert(
      fc.property(text, style, changes, (cell, { indent, array }, wanted) => {
        const raw = notebook([code('x'), code(array ? lines(cell) : cell), code(['y'])], indent);
        let at = 0;
        const edits: RawEdit[] = [];
        for (const [skip, length, fresh] of wanted) {
          const start = Math.min(cell.length, at + skip);
          const end = Math.min(cell.length, start + length);
          edits.push({ start, end, text: fresh });
          at = end;
        }
        edited(raw, 1, edits);
      }),
      { numRuns: 500 },
    );
  });
});
