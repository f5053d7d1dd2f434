/** Findings as diagnostics: the chain as related information, the edits as data. */
import { isDeepStrictEqual } from 'node:util';
import {
  DiagnosticSeverity,
  type Diagnostic,
  type DiagnosticRelatedInformation,
  type Range,
} from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { ChainStep, Finding, Level, Note, Rewrite, Site } from '../../core/finding';
import type { DiagnosticData, RewriteData } from '../../protocol/editor';
import type { LensDocument } from '../documents';
import { rulePageUri } from '../rule-pages';
import { uriOf } from '../places';
import { rangeOf } from '../positions';
import type { Session } from '../session';

export const SOURCE = 'ikbo';

const SEVERITY: Readonly<Record<Level, DiagnosticSeverity>> = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  information: DiagnosticSeverity.Information,
  hint: DiagnosticSeverity.Hint,
};

/** The rewrites are in the data only if asked for: nobody needs them before the cursor is on the diagnostic. */
export function diagnosticsOf(session: Session, document: LensDocument, rewrites: boolean): Diagnostic[] {
  const { findings, notes, parsed } = rewrites ? session.check(document) : session.find(document);
  return [
    ...findings.map((finding) => diagnosticOf(session, document, finding)),
    ...notes.map((note) => noteOf(document, note, document.model !== null && !parsed)),
  ];
}

/**
 * Notes are asides, like an ignore comment that silences nothing: no squiggle, no entry in the list of problems. Only that
 * a model cannot be read is more.
 */
function noteOf(document: LensDocument, { line, message }: Note, broken: boolean): Diagnostic {
  const severity = broken ? DiagnosticSeverity.Error : DiagnosticSeverity.Hint;
  return { range: lineRange(document.text, line - 1), severity, source: SOURCE, message };
}

function diagnosticOf(session: Session, document: LensDocument, finding: Finding): Diagnostic {
  const page = rulePageUri(finding.rule);
  const data: DiagnosticData = {
    version: document.text.version,
    rule: finding.rule,
    rewrites: finding.rewrites.map((rewrite) => rewriteData(session, document, rewrite)),
  };
  return {
    range: rangeOf(finding),
    severity: SEVERITY[finding.level],
    source: SOURCE,
    code: finding.rule,
    ...(page && { codeDescription: { href: page } }),
    message: finding.message,
    relatedInformation: finding.chain.map((step) => related(session, document, finding, step)),
    data,
  };
}

function rewriteData(session: Session, document: LensDocument, rewrite: Rewrite): RewriteData {
  const { id, title, tier, reason } = rewrite;
  const edits = rewrite.edits.flatMap(({ path, start, end, text }) => {
    const file = session.file(document, path);
    if (!file) return [];
    const range = { start: file.positionAt(start), end: file.positionAt(end) };
    return [{ uri: uriOf(document.place, path, document.uri), range, newText: text }];
  });
  return { id, title, tier, reason, edits };
}

function related(
  session: Session,
  document: LensDocument,
  finding: Finding,
  step: ChainStep,
): DiagnosticRelatedInformation {
  const at = [finding.broadcast, finding.written, finding.consumer].find((site) => isAt(site, step));
  const range = at ? rangeOf(at) : lineRange(session.file(document, step.path), step.line - 1);
  return { location: { uri: uriOf(document.place, step.path, document.uri), range }, message: step.what };
}

function isAt(site: Site | null, step: ChainStep): boolean {
  return site !== null && site.path === step.path && site.line === step.line;
}

/** A line without its indentation. */
function lineRange(file: TextDocument | undefined, line: number): Range {
  const content = file?.getText({ start: { line, character: 0 }, end: { line: line + 1, character: 0 } }) ?? '';
  return {
    start: { line, character: content.length - content.trimStart().length },
    end: { line, character: content.trimEnd().length },
  };
}

/** Those among `diagnostics` that a client asks about. */
export const askedFor = (diagnostics: readonly Diagnostic[], asked: readonly Diagnostic[]): Diagnostic[] =>
  diagnostics.filter(({ code, range }) =>
    asked.some((one) => one.source === SOURCE && one.code === code && isDeepStrictEqual(one.range, range)),
  );
