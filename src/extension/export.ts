/** A result as a document: untitled, so that the user sees what it is and saves it where it belongs. */
import * as vscode from 'vscode';
import { csvReport } from '../bench/csv';
import { markdownReport } from '../bench/report';
import { svgReport } from '../bench/svg';
import type { BenchResult } from '../protocol/bench';
import type { ExportFormat } from '../protocol/panel';

interface Writer {
  readonly language: string;
  readonly write: (result: BenchResult) => string;
}

const WRITERS: Readonly<Record<ExportFormat, Writer>> = {
  json: { language: 'json', write: (result) => `${JSON.stringify(result, null, 2)}\n` },
  markdown: { language: 'markdown', write: markdownReport },
  csv: { language: 'plaintext', write: csvReport },
  svg: { language: 'xml', write: (result) => svgReport(result, result.request.regimes[0] ?? 'flush') },
};

export async function exportResult(result: BenchResult, format: ExportFormat): Promise<void> {
  const { language, write } = WRITERS[format];
  const document = await vscode.workspace.openTextDocument({ content: write(result), language });
  await vscode.window.showTextDocument(document, { preview: false });
}
