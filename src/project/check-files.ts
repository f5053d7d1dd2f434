/** Reads and checks files one by one: what one thread of a run does. */
import { join } from 'node:path';
import type { Analysis, CheckOptions, Engine } from '../core/engine';
import { checkModel, checkModelText, OnnxError } from '../core/onnx';
import { isNotebook, withNotebooks } from '../notebook/check';
import { openFileBytes } from './byte-source';
import { hashText, type Sources } from './cache';
import { createCollector } from './collect';
import { fileSource, type ProjectFiles } from './file-source';
import { readText } from './read-text';
import { describeError } from './walk';

export type FileOutcome =
  | { readonly path: string; readonly problem: string }
  /** `text` is there only where the report needs it: for sources with findings. A model has none. */
  | {
      readonly path: string;
      readonly analysis: Analysis;
      readonly text: string | null;
      /** What the result depends on; null where that is not known, as for models, which are not read as a whole. */
      readonly sources: Sources | null;
    };

export type CheckedFile = Extract<FileOutcome, { readonly analysis: Analysis }>;

export const isPython = (name: string): boolean => name.endsWith('.py');
export const isModel = (name: string): boolean => name.endsWith('.onnx');
/** A model in ONNX's textual syntax, as `ikbo show` prints it. */
export const isModelText = (name: string): boolean => name.endsWith('.onnxtxt');
/** What a walk through folders picks up. */
export const isChecked = (name: string): boolean =>
  isPython(name) || isNotebook(name) || isModel(name) || isModelText(name);

/**
 * Checks one file after another; shared by all who check many. See `fileSource` for the share and the folders, and `createCollector`
 * for the last.
 */
export function createFileChecker(
  engine: Engine,
  root: string,
  options: Omit<CheckOptions, 'files'>,
  share = 1,
  folders: readonly string[] = [root],
  mayLimitYoung?: () => boolean,
): (path: string) => FileOutcome {
  const files = fileSource(root, share, folders);
  const collect = createCollector(share, mayLimitYoung);
  return (path) => {
    const outcome = checkFile(engine, root, path, options, files);
    collect();
    return outcome;
  };
}

/** A defect in the analysis of one file is that file's problem: the rest of a run still counts. */
function checkFile(
  engine: Engine,
  root: string,
  path: string,
  options: Omit<CheckOptions, 'files'>,
  files: ProjectFiles,
): FileOutcome {
  try {
    return isModel(path) ? checkModelFile(root, path, options) : checkSource(engine, root, path, options, files);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return { path, problem: `not analysed: internal error (${what}); please report it with this file` };
  }
}

function checkSource(
  engine: Engine,
  root: string,
  path: string,
  options: Omit<CheckOptions, 'files'>,
  files: ProjectFiles,
): FileOutcome {
  const read = readText(join(root, path));
  if ('problem' in read) return { path, problem: read.problem };
  const { result, asked } = files.recorded((source) =>
    checkText(engine, path, read.text, { ...options, files: source }),
  );
  if ('problem' in result) return result;
  return outcomeOf(path, result.analysis, read.text, { hash: hashText(read.text), asked });
}

/** One text under a name, which says what it is: Python, a notebook, or a model in its textual syntax. */
export function checkText(engine: Engine, path: string, text: string, options: CheckOptions): FileOutcome {
  if (!isModelText(path)) {
    const analysis = withNotebooks(engine).check(path, text, options);
    return { path, analysis, text, sources: null };
  }
  const analysis = checkModelText(path, text, { shapes: options.shapes ?? {} });
  const [problem] = analysis.parsed ? [] : analysis.notes;
  return problem
    ? { path, problem: `line ${problem.line}: ${problem.message}` }
    : { path, analysis, text, sources: null };
}

/** The outcome for a source; its text is kept only where the report needs it. */
export function outcomeOf(path: string, analysis: Analysis, text: string, sources: Sources): CheckedFile {
  const needed = analysis.findings.length + analysis.suppressed.length > 0;
  return { path, analysis, text: needed ? text : null, sources };
}

function checkModelFile(root: string, path: string, options: Pick<CheckOptions, 'shapes'>): FileOutcome {
  try {
    const source = openFileBytes(join(root, path));
    try {
      const analysis = checkModel(path, source, { shapes: options.shapes ?? {} });
      const [problem] = analysis.parsed ? [] : analysis.notes;
      return problem ? { path, problem: problem.message } : { path, analysis, text: null, sources: null };
    } finally {
      source.close();
    }
  } catch (error) {
    return { path, problem: error instanceof OnnxError ? error.message : describeError(error) };
  }
}
