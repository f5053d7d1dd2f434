/** Edits and changes between the protocol's positions and the engine's offsets, on any text. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { lineEdits } from '../../src/server/features/fix-all';
import { changeOf } from '../../src/server/positions';

/** Lines with all line ends, tabs, and characters outside of the basic plane. */
const text = fc
  .array(fc.constantFrom('a', 'b ', '\n', '\r\n', '\r', '\t', '🚀', '𝛼', 'x = 1', '"'), { maxLength: 40 })
  .map((parts) => parts.join(''));
const documentOf = (content: string) => TextDocument.create('untitled:a.py', 'python', 1, content);

describe('edits of a whole document', () => {
  it('turn one text into the other', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const document = documentOf(before);
        assert.equal(TextDocument.applyEdits(document, lineEdits(document, after)), after);
      }),
    );
  });

  it('leave equal lines alone', () => {
    const [edit, ...rest] = lineEdits(documentOf('a\nb\nc\nd\n'), 'a\nB\nc\nd\n');
    assert.deepEqual(rest, []);
    const range = { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } };
    assert.deepEqual(edit, { range, newText: 'B\n' });
  });
});

describe('changes of a document', () => {
  it('replace the same code units by offset as by position, one after another', () => {
    const change = fc.record({ from: fc.nat(50), to: fc.nat(50), text });
    fc.assert(
      fc.property(text, fc.array(change, { maxLength: 4 }), (content, changes) => {
        let document = documentOf(content);
        let byOffset = content;
        for (const { from, to, text: inserted } of changes) {
          const range = { start: document.positionAt(from), end: document.positionAt(Math.max(from, to)) };
          const { start, end, text: replaced } = changeOf(document, { range, text: inserted });
          byOffset = byOffset.slice(0, start) + replaced + byOffset.slice(end);
          document = TextDocument.update(document, [{ range, text: inserted }], document.version + 1);
          assert.equal(byOffset, document.getText());
        }
      }),
    );
  });
});
