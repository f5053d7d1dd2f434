/** Walks, reads and checks: the part that `check` and `fix` share. */
import type { CheckOptions } from '../core/engine';
import type { Finding, Note, Report, ReportError } from '../core/finding';
import type { Context } from './context';
import { readText } from '../project/read-text';
import { reportPath, walk } from '../project/walk';

export interface Analysed {
  readonly report: Report;
  readonly notes: readonly Note[];
  /** Text of every file that has a finding, for excerpts and edits, by report path. */
  readonly texts: ReadonlyMap<string, string>;
}

export const isPython = (name: string): boolean => name.endsWith('.py');

export async function analyse(context: Context, paths: readonly string[], options: CheckOptions): Promise<Analysed> {
  const started = performance.now();
  const engine = await context.engine();
  const found = walk(context.root, paths, isPython);
  const errors: ReportError[] = [...found.errors];
  const findings: Finding[] = [];
  const notes: Note[] = [];
  const texts = new Map<string, string>();
  let parsed = 0;
  for (const file of found.files) {
    const path = reportPath(context.root, file);
    const read = readText(file);
    if ('problem' in read) {
      errors.push({ path, message: read.problem });
      continue;
    }
    const analysis = engine.check(path, read.text, options);
    if (analysis.parsed) parsed += 1;
    if (analysis.findings.length > 0) texts.set(path, read.text);
    findings.push(...analysis.findings);
    notes.push(...analysis.notes);
  }
  errors.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const stats = { files: found.files.length, parsed, milliseconds: Math.round(performance.now() - started) };
  return { report: { schema: 'ikbo-report/1', findings, errors, stats }, notes, texts };
}
