import assert from 'node:assert/strict';
import fc from 'fast-check';
import { applyEdits } from '../../src/core/edits';

describe('applyEdits', () => {
  it('replaces, inserts and deletes, in any order', () =>
    assert.equal(
      applyEdits('abcdef', [
        { start: 4, end: 6, text: '' },
        { start: 0, end: 1, text: 'X' },
        { start: 2, end: 2, text: '-' },
      ]),
      'Xb-cd',
    ));
  it('keeps the order of insertions at one offset', () =>
    assert.equal(
      applyEdits('a', [
        { start: 1, end: 1, text: '1' },
        { start: 1, end: 1, text: '2' },
      ]),
      'a12',
    ));
  it('refuses overlaps and ranges outside the text', () => {
    assert.throws(
      () =>
        applyEdits('abc', [
          { start: 0, end: 2, text: '' },
          { start: 1, end: 3, text: '' },
        ]),
      RangeError,
    );
    assert.throws(() => applyEdits('abc', [{ start: 2, end: 4, text: '' }]), RangeError);
    assert.throws(() => applyEdits('abc', [{ start: 2, end: 1, text: '' }]), RangeError);
  });
  it('changes nothing outside the edits', () =>
    fc.assert(
      fc.property(
        fc.string(),
        fc.array(fc.tuple(fc.nat(40), fc.nat(5), fc.string({ maxLength: 4 })), { maxLength: 6 }),
        (text, raw) => {
          let at = 0;
          const edits = raw.flatMap(([gap, length, insert]) => {
            const start = at + gap;
            const end = start + length;
            if (end > text.length) return [];
            at = end;
            return [{ start, end, text: insert }];
          });
          const result = applyEdits(text, edits);
          let from = 0;
          let expected = '';
          for (const edit of edits) {
            expected += text.slice(from, edit.start) + edit.text;
            from = edit.end;
          }
          assert.equal(result, expected + text.slice(from));
        },
      ),
    ));
});
