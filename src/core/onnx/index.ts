/** ONNX models: read, check, show. Bytes in, plain data out; nothing here opens a file. */
import type { Analysis } from '../engine';
import type { Note } from '../finding';
import { analyse } from './analyse';
import { textAround } from './around';
import { buildGraph } from './graph';
import { findingOf } from './judge/report';
import type { Model } from './model';
import { readModel } from './read';
import { OnnxError, type ByteSource } from './source';
import { printModel, type ModelText } from './text';

export { OnnxError, memorySource, type ByteSource } from './source';
export { readModel } from './read';
export { printModel, type LineRange, type ModelText } from './text';
export type { Model } from './model';

export interface ModelOptions {
  /** Numbers for the model's size symbols, for the cost: `{ B: 1024 }`. */
  readonly shapes?: Readonly<Record<string, number>>;
}

/**
 * The broadcasts of a model. Lines are those of `printModel`. What cannot be read is a note with the byte offset, never
 * an exception; `parsed` is false then.
 */
export function checkModel(path: string, source: ByteSource, options: ModelOptions = {}): Analysis {
  let model: Model;
  try {
    model = readModel(source);
  } catch (error) {
    if (!(error instanceof OnnxError)) throw error;
    return { findings: [], notes: [{ path, line: 1, message: error.message }], parsed: false, suppressed: [] };
  }
  const { program, graph, matches } = analyse(model);
  const context = { path, program, text: printModel(model), shapes: options.shapes ?? {} };
  const findings = matches
    .map((match) => findingOf(context, match))
    .sort((a, b) => a.line - b.line || a.rule.localeCompare(b.rule));
  const notes = graph.problems.slice(0, 20).map((message): Note => ({ path, line: 1, message }));
  return { findings, notes, parsed: true, suppressed: [] };
}

export interface ShowOptions {
  /** A node's name or the name of a value: only what is near it is shown. */
  readonly around?: string;
}

/** The model's text. Throws `OnnxError` for an unreadable model, `Error` when there is no node called `around`. */
export function showModel(model: Model, options: ShowOptions = {}): ModelText {
  const printed = printModel(model);
  if (options.around === undefined) return printed;
  const text = textAround(buildGraph(model), printed, options.around);
  if (text === null) throw new Error(`no node and no value is called '${options.around}'`);
  return { ...printed, text };
}
