/** Answers about the program of a notebook as answers about its cells. */
import type { CodeAction, CodeLens, Diagnostic, Hover, Position, Range, TextDocumentEdit } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { placer, TWO_CELLS } from '../../notebook/check';
import { cellEdit, partAtLine, type Part } from '../../notebook/program';
import {
  parseBenchTarget,
  parseDiagnosticData,
  type BenchTarget,
  type RewriteData,
  type TextRange,
} from '../../protocol/editor';
import type { OpenNotebook } from '../notebooks';

interface InCell {
  readonly cell: TextDocument;
  readonly range: Range;
}

function partOf({ cells, program }: OpenNotebook, uri: string): Part | undefined {
  return program.parts.find(({ cell }) => cells[cell.number - 1]?.uri === uri);
}

/** A range of the program, which never reaches over two cells: it is that of an expression or a line. */
function inCell({ cells, program }: OpenNotebook, { start, end }: TextRange): InCell | undefined {
  const part = partAtLine(program, start.line + 1);
  const cell = part && cells[part.cell.number - 1];
  if (!cell) return undefined;
  const up = ({ line, character }: Position): Position => ({ line: Math.max(0, line - part.line + 1), character });
  return { cell, range: { start: up(start), end: up(end) } };
}

/** Undefined for a cell that is not in the program, e.g. one of text. */
export function toProgram(notebook: OpenNotebook, cell: string, { line, character }: Position): Position | undefined {
  const part = partOf(notebook, cell);
  return part && { line: line + part.line - 1, character };
}

const wordsOf = (notebook: OpenNotebook) => placer(notebook.document.place.path, notebook.program).words;

/** Diagnostics of every cell, an empty list for one without. */
export function diagnosticsByCell(
  notebook: OpenNotebook,
  diagnostics: readonly Diagnostic[],
): Map<TextDocument, Diagnostic[]> {
  const found = new Map<TextDocument, Diagnostic[]>(notebook.cells.map((cell) => [cell, []]));
  for (const diagnostic of diagnostics) {
    const at = inCell(notebook, diagnostic.range);
    if (at) found.get(at.cell)?.push(diagnosticInCell(notebook, diagnostic, at));
  }
  return found;
}

function diagnosticInCell(notebook: OpenNotebook, diagnostic: Diagnostic, { cell, range }: InCell): Diagnostic {
  const words = wordsOf(notebook);
  const data = parseDiagnosticData(diagnostic.data);
  const related = diagnostic.relatedInformation?.map(({ location, message }) => {
    const at = location.uri === notebook.document.uri ? inCell(notebook, location.range) : undefined;
    return { location: at ? { uri: at.cell.uri, range: at.range } : location, message };
  });
  return {
    ...diagnostic,
    range,
    message: words(diagnostic.message),
    ...(related && { relatedInformation: related }),
    ...(data && {
      data: { ...data, version: cell.version, rewrites: data.rewrites.map((one) => rewriteInCells(notebook, one)) },
    }),
  };
}

function rewriteInCells(notebook: OpenNotebook, rewrite: RewriteData): RewriteData {
  const reason = rewrite.reason === null ? null : wordsOf(notebook)(rewrite.reason);
  const edits = rewrite.edits.map((edit) => editInCell(notebook, edit));
  return edits.includes(undefined)
    ? { ...rewrite, tier: 'none', reason: TWO_CELLS, edits: [] }
    : { ...rewrite, reason, edits: edits.flatMap((edit) => edit ?? []) };
}

type Edit = RewriteData['edits'][number];

/** Undefined where the edit reaches over two cells. */
function editInCell({ document, program, cells }: OpenNotebook, edit: Edit): Edit | undefined {
  if (edit.uri !== document.uri) return edit;
  const [start, end] = [document.text.offsetAt(edit.range.start), document.text.offsetAt(edit.range.end)];
  const own = cellEdit(program, { start, end, text: edit.newText });
  const cell = own && cells[own.cell.number - 1];
  if (!cell) return undefined;
  return {
    uri: cell.uri,
    range: { start: cell.positionAt(own.start), end: cell.positionAt(own.end) },
    newText: own.text,
  };
}

/** Actions that edit the program (fix all), as edits of its cells; those that cannot be are left out. */
export function actionsInCells(notebook: OpenNotebook, actions: readonly CodeAction[]): CodeAction[] {
  return actions.flatMap((action) => {
    const list = (action.edit?.documentChanges ?? []).flatMap((change) =>
      'edits' in change
        ? change.edits.flatMap((edit) => ('newText' in edit ? [{ ...edit, uri: change.textDocument.uri }] : []))
        : [],
    );
    const edits = list.map((edit) => editInCell(notebook, edit));
    if (edits.includes(undefined)) return [];
    const byCell = new Map<string, TextDocumentEdit>();
    for (const edit of edits) {
      if (!edit) continue;
      const version = notebook.cells.find(({ uri }) => uri === edit.uri)?.version ?? null;
      const change = byCell.get(edit.uri) ?? { textDocument: { uri: edit.uri, version }, edits: [] };
      byCell.set(edit.uri, { ...change, edits: [...change.edits, { range: edit.range, newText: edit.newText }] });
    }
    return [{ ...action, edit: { documentChanges: [...byCell.values()] } }];
  });
}

/** What can be measured in the cells; `benchTargets` of the program otherwise. */
export const targetsInCells = (notebook: OpenNotebook, targets: readonly BenchTarget[]): BenchTarget[] =>
  targets.map((target) => targetInCell(notebook, target));

function targetInCell(notebook: OpenNotebook, target: BenchTarget): BenchTarget {
  const start = { line: target.line - 1, character: 0 };
  const at = inCell(notebook, { start, end: start });
  if (!at) return target;
  const path = `${target.path}:cell ${notebook.cells.indexOf(at.cell) + 1}`;
  const message = wordsOf(notebook)(target.message);
  return { ...target, uri: at.cell.uri, path, line: at.range.start.line + 1, message };
}

/** The lenses of one cell. */
export function lensesInCell(notebook: OpenNotebook, uri: string, lenses: readonly CodeLens[]): CodeLens[] {
  return lenses.flatMap((lens) => {
    const at = inCell(notebook, lens.range);
    if (at?.cell.uri !== uri) return [];
    const { command } = lens;
    const target = parseBenchTarget(command?.arguments?.[0]);
    return [
      {
        range: at.range,
        ...(command && {
          command: target ? { ...command, arguments: [targetInCell(notebook, target)] } : command,
        }),
      },
    ];
  });
}

export function hoverInCell(notebook: OpenNotebook, hover: Hover | null): Hover | null {
  if (!hover?.range || typeof hover.contents !== 'object' || !('value' in hover.contents)) return hover;
  const at = inCell(notebook, hover.range);
  // Links into the notebook's file would lead into its JSON.
  const plain = hover.contents.value.replaceAll(/\[(line \d+)\]\([^)]*\)/g, '$1');
  return at ? { contents: { ...hover.contents, value: wordsOf(notebook)(plain) }, range: at.range } : null;
}
