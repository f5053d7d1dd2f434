/** `source.fixAll.ikbo`: every safe rewrite, one at a time with a fresh check after each, as one edit of the document. */
import { CodeActionKind, type CodeAction, type TextEdit } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { diffLines } from 'diff';
import { fixText } from '../../core/fix';
import type { LensDocument } from '../documents';
import type { Session } from '../session';

export const FIX_ALL = `${CodeActionKind.SourceFixAll}.ikbo`;

export function fixAll(session: Session, document: LensDocument): CodeAction[] {
  const rules = new Set(session.check(document).findings.map((finding) => finding.rule));
  if (rules.size === 0) return [];
  const before = document.text.getText();
  const fixed = fixText(session.engine, document.place.path, before, {
    ...session.options(document),
    rules,
    unsafe: false,
    prefer: null,
  });
  if (fixed.text === before) return [];
  const { uri, version } = document.text;
  return [
    {
      title: `Apply all safe IKBO Lens fixes (${fixed.applied.length})`,
      kind: FIX_ALL,
      edit: { documentChanges: [{ textDocument: { uri, version }, edits: lineEdits(document.text, fixed.text) }] },
    },
  ];
}

/** Whole-line replacements, so that cursors and folds elsewhere in the document stay. */
export function lineEdits(document: TextDocument, after: string): TextEdit[] {
  const edits: TextEdit[] = [];
  let at = 0;
  let open: { readonly start: number; readonly text: string } | undefined;
  const close = () => {
    if (!open) return;
    edits.push({ range: { start: document.positionAt(open.start), end: document.positionAt(at) }, newText: open.text });
    open = undefined;
  };
  for (const { added, removed, value } of diffLines(document.getText(), after)) {
    if (!added && !removed) close();
    else open = { start: open?.start ?? at, text: (open?.text ?? '') + (added ? value : '') };
    if (!added) at += value.length;
  }
  close();
  return edits;
}
