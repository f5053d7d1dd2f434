/** What to run to verify a rewrite of the document as it is now. The client runs it: it knows whether it may. */
import { join } from 'node:path';
import type { VerifyTarget } from '../../protocol/editor';
import { jobOf, NOTHING_GIVEN, type Job } from '../../verify/job';
import { bundledPackages } from '../../verify/run';
import { cellStarts } from '../../notebook/program';
import type { LensDocument } from '../documents';
import type { OpenNotebook } from '../notebooks';
import type { Session } from '../session';
import { toProgram } from './cells';

/** Null where the finding or its rewrite is no longer there, and for documents that are no files. */
export function verifyJob(
  session: Session,
  document: LensDocument,
  target: VerifyTarget,
  cells: Job['cells'] = null,
): Job | null {
  const { root, path } = document.place;
  const { line, rule, rewrite: id } = target;
  const finding = session.check(document).findings.find((one) => one.line === line && one.rule === rule);
  const rewrite = finding?.rewrites.find((one) => one.id === id && one.edits.length > 0);
  if (root === null || !finding || !rewrite) return null;
  const { shapes = {}, files } = session.options(document);
  const folders = ['', ...(files?.roots ?? [])].map((folder) => join(root, folder));
  const place = { file: join(root, path), text: document.text.getText(), folders, cells };
  return jobOf(place, finding, rewrite, NOTHING_GIVEN, { shapes, packages: bundledPackages() });
}

/** The same for a target in a cell, by the cell's URI and line. */
export function verifyJobInCell(session: Session, notebook: OpenNotebook, target: VerifyTarget): Job | null {
  const at = toProgram(notebook, target.uri, { line: target.line - 1, character: 0 });
  const { document, program } = notebook;
  return at ? verifyJob(session, document, { ...target, line: at.line + 1 }, cellStarts(program)) : null;
}
