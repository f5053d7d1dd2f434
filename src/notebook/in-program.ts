/** The way back from a notebook's file to the program of its cells, for what runs it. */
import { applyEdits } from '../core/edits';
import type { Finding, Rewrite, Site } from '../core/finding';
import { readCells } from './check';
import { programOf, type Program } from './program';

export interface InProgram {
  readonly program: Program;
  readonly finding: Finding;
  readonly rewrite: Rewrite;
}

/** A finding and its rewrite, said of the file, as said of the program. `raw` is the text of a notebook that has the finding. */
export function inProgram(raw: string, finding: Finding, rewrite: Rewrite): InProgram {
  const program = programIn(raw);
  const site = <T extends Site>(one: T): T => {
    const part = program.parts.find(({ cell }) => cell.number === one.cell);
    if (one.path !== finding.path || !part) return one;
    return { ...one, line: part.line + one.line - 1, endLine: part.line + one.endLine - 1 };
  };
  const { broadcast, written, consumer } = finding;
  const sites = { broadcast: site(broadcast), written: written && site(written), consumer: site(consumer) };
  // What the edits leave in the file is what will run.
  const after = programIn(applyEdits(raw, rewrite.edits)).text;
  const edits = [{ path: finding.path, start: 0, end: program.text.length, text: after }];
  return { program, finding: { ...site(finding), ...sites }, rewrite: { ...rewrite, edits } };
}

function programIn(raw: string): Program {
  const cells = readCells(raw);
  return programOf(typeof cells === 'string' ? [] : cells);
}
