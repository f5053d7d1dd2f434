/** Reads and checks files one by one: what one thread of a run does. */
import { join } from 'node:path';
import type { Analysis, CheckOptions, Engine } from '../core/engine';
import { readText } from './read-text';

export type FileOutcome =
  | { readonly path: string; readonly problem: string }
  /** `text` is there only where the report needs it: for files with findings. */
  | { readonly path: string; readonly analysis: Analysis; readonly text: string | null };

export function checkFile(engine: Engine, root: string, path: string, options: CheckOptions): FileOutcome {
  const read = readText(join(root, path));
  if ('problem' in read) return { path, problem: read.problem };
  const analysis = engine.check(path, read.text, options);
  const needed = analysis.findings.length + analysis.suppressed.length > 0;
  return { path, analysis, text: needed ? read.text : null };
}
