/**
 * Quick fixes from the diagnostics' data: one per rewrite that has edits (the first safe one preferred) and one to verify
 * it, "why no fix" for refused ones, and "ignore on this line". Data of another version than the document's is void.
 */
import {
  CodeActionKind,
  type CodeAction,
  type CodeActionParams,
  type Diagnostic,
  type TextDocumentEdit,
  type TextEdit,
} from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { parseDiagnosticData, type DiagnosticData, type RewriteData, type VerifyTarget } from '../../protocol/editor';
import { SOURCE } from './diagnostics';
import { EXPLAIN } from './commands';
import { describeRewrite } from './wording';

/** How a client verifies a rewrite: its own command, and the file's path of the report. */
export interface Verification {
  readonly command: string;
  readonly path: string;
}

/** `verification` is null for documents that are no files. */
export function quickFixes(
  document: TextDocument,
  { context }: CodeActionParams,
  verification: Verification | null,
): CodeAction[] {
  if (!wants(context.only, CodeActionKind.QuickFix)) return [];
  return context.diagnostics.flatMap((diagnostic) => {
    const data = diagnostic.source === SOURCE ? parseDiagnosticData(diagnostic.data) : undefined;
    return data && data.version === document.version ? actionsFor(document, diagnostic, data, verification) : [];
  });
}

/** Kinds are hierarchical: a request for `source` covers `source.fixAll.ikbo`. */
export function wants(only: readonly string[] | undefined, kind: string): boolean {
  return !only || only.some((asked) => asked === '' || kind === asked || kind.startsWith(`${asked}.`));
}

function actionsFor(
  document: TextDocument,
  diagnostic: Diagnostic,
  data: DiagnosticData,
  verification: Verification | null,
): CodeAction[] {
  const possible = data.rewrites.filter((rewrite) => rewrite.edits.length > 0);
  const preferred = possible.find((rewrite) => rewrite.tier === 'safe');
  const fixes = possible.map((rewrite): CodeAction => {
    return {
      title: `${data.rule} (${rewrite.tier}): ${describeRewrite(rewrite)}`,
      kind: CodeActionKind.QuickFix,
      diagnostics: [diagnostic],
      ...(rewrite === preferred && { isPreferred: true }),
      edit: { documentChanges: documentChanges(document, rewrite.edits) },
    };
  });
  const checks = verification ? possible.map((one) => verifyAction(document, diagnostic, data, one, verification)) : [];
  return [...fixes, ...checks, ...whyNoFix(diagnostic, data), ...ignoreOnLine(document, diagnostic, data.rule)];
}

function verifyAction(
  { uri }: TextDocument,
  diagnostic: Diagnostic,
  { rule }: DiagnosticData,
  rewrite: RewriteData,
  { command, path }: Verification,
): CodeAction {
  const title = `${rule}: Verify this rewrite: ${rewrite.title}`;
  const line = diagnostic.range.start.line + 1;
  const target: VerifyTarget = { uri, path, line, rule, rewrite: rewrite.id, title: rewrite.title };
  return {
    title,
    kind: CodeActionKind.QuickFix,
    diagnostics: [diagnostic],
    command: { title, command, arguments: [target] },
  };
}

/** Versioned, so that a client refuses edits of a document that has changed since. */
function documentChanges(document: TextDocument, edits: RewriteData['edits']): TextDocumentEdit[] {
  const byUri = new Map<string, TextEdit[]>();
  for (const { uri, range, newText } of edits) byUri.set(uri, [...(byUri.get(uri) ?? []), { range, newText }]);
  return [...byUri].map(([uri, list]) => ({
    textDocument: { uri, version: uri === document.uri ? document.version : null },
    edits: list,
  }));
}

function whyNoFix(diagnostic: Diagnostic, data: DiagnosticData): CodeAction[] {
  const refused = data.rewrites.filter((rewrite) => rewrite.tier === 'none');
  if (refused.length === 0) return [];
  const reasons = refused.map(({ title, reason }) => `${title}: ${reason ?? 'not possible here'}`);
  const title = `${data.rule}: Explain why ${refused.length < data.rewrites.length ? 'another fix is not offered' : 'there is no fix'}`;
  const command = { title, command: EXPLAIN, arguments: [data.rule, reasons] };
  return [{ title, kind: CodeActionKind.QuickFix, diagnostics: [diagnostic], command }];
}

/** Adds the comment to the line, or the rule to the comment that is there. Not where a backslash continues the line. */
function ignoreOnLine(document: TextDocument, diagnostic: Diagnostic, rule: string): CodeAction[] {
  const line = diagnostic.range.start.line;
  const text = document.getText({ start: { line, character: 0 }, end: { line: line + 1, character: 0 } });
  const content = text.trimEnd();
  if (content.endsWith('\\')) return [];
  const list = /#\s*ikbo:\s*ignore\[([^\]]*)\]/.exec(content);
  const at = list ? list.index + list[0].length - 1 : content.length;
  const newText = list ? `, ${rule}` : `  # ikbo: ignore[${rule}]`;
  const range = {
    start: { line, character: at },
    end: { line, character: list ? at : text.replace(/[\r\n]+$/, '').length },
  };
  return [
    {
      title: `Ignore ${rule} on this line`,
      kind: CodeActionKind.QuickFix,
      diagnostics: [diagnostic],
      edit: { documentChanges: documentChanges(document, [{ uri: document.uri, range, newText }]) },
    },
  ];
}
