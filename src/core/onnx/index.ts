/** ONNX models: read, check, show. Bytes in, plain data out; nothing here opens a file. */
import type { Analysis } from '../engine';
import type { Condition, Finding, Note } from '../finding';
import { suppress } from '../suppress';
import { analyse } from './analyse';
import { textAround } from './around';
import { buildGraph } from './graph';
import { findingOf } from './judge/report';
import type { Model } from './model';
import { withRewrites } from './offer';
import { planRewrites, type Target } from './rewrite';

import { commentsOf, OnnxTextError, readModelText } from './read-text';
import { readModel } from './read';
import { OnnxError, type ByteSource } from './source';
import { sizeOf, type Piece } from './splice';
import { printModel, type ModelText } from './text';

export { Refusal } from './rewrite';
export { OnnxError, memorySource, type ByteSource } from './source';
export { readModel } from './read';
export { printModel, type LineRange, type ModelText } from './text';
export { pictureOf, type Picture, type PictureBox } from './picture';
export { readModelText, OnnxTextError } from './read-text';
export { inspectModel, type ModelIndex, type ValueFacts } from './inspect';
export type { Graph, Model, Node } from './model';
export { chunks, pieceSource, sizeOf, type Piece } from './splice';

export interface ModelOptions {
  /** Numbers for the model's size symbols, for the cost: `{ B: 1024 }`. */
  readonly shapes?: Readonly<Record<string, number>>;
  /** False for the findings alone, which is several times as fast. Default true. */
  readonly rewrites?: boolean;
}

/**
 * The broadcasts of a model. Lines are those of `printModel`. What cannot be read is a note with the byte offset, never
 * an exception; `parsed` is false then.
 */
export function checkModel(path: string, source: ByteSource, options: ModelOptions = {}): Analysis {
  try {
    const model = readModel(source);
    const printed = printModel(model);
    return check(path, model, printed, printed, options);
  } catch (error) {
    if (!(error instanceof OnnxError)) throw error;
    return { findings: [], notes: [{ path, line: 1, message: error.message }], parsed: false, suppressed: [] };
  }
}

/**
 * The same for a model as text, in the syntax that `printModel` writes: lines and edits are those of the text as it is.
 * `# ikbo: ignore[IKB101]` at the end of a node's line silences a finding.
 */
export function checkModelText(path: string, text: string, options: ModelOptions = {}): Analysis {
  try {
    const { model, printed } = readModelText(text);
    const { findings, notes } = check(
      path,
      model,
      printed,
      options.rewrites === false ? printed : printModel(model),
      options,
    );
    const kept = suppress(path, commentsOf(text), findings);
    return { findings: kept.findings, suppressed: kept.suppressed, notes: [...notes, ...kept.notes], parsed: true };
  } catch (error) {
    if (!(error instanceof OnnxTextError) && !(error instanceof OnnxError)) throw error;
    const line = error instanceof OnnxTextError ? error.line : 1;
    return { findings: [], notes: [{ path, line, message: error.message }], parsed: false, suppressed: [] };
  }
}

function check(path: string, model: Model, text: ModelText, printed: ModelText, options: ModelOptions): Analysis {
  const analysed = analyse(model);
  const { program, graph, matches, spread } = analysed;
  const context = { path, program, spread, text, shapes: options.shapes ?? {} };
  const found = matches.map((match) => ({ match, finding: findingOf(context, match) }));
  const all =
    options.rewrites === false ? found.map(({ finding }) => finding) : withRewrites(analysed, text, printed, found);
  const findings = all.sort((a, b) => a.line - b.line || a.rule.localeCompare(b.rule));
  const notes = graph.problems.slice(0, 20).map((message): Note => ({ path, line: 1, message }));
  return { findings, notes, parsed: true, suppressed: [] };
}

export interface ShowOptions {
  /** The name of a node or a value (inputs and weights, too): only what is near it is shown. */
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

export interface RewriteOptions extends ModelOptions {
  /** Only findings of this rule (`IKB101`) or at this line (`IKB101:27`); all when empty. */
  readonly only?: readonly string[];
  /** `standard` (default): ONNX operators alone. `ikbo`: operators of ai.ikbo with their definitions where they fit. */
  readonly target?: Target;
  /** Raise the version of the standard operators to this one, for what is new in it. Null keeps the model's. */
  readonly opset?: number | null;
  /** Also where the ratio makes it a loss. */
  readonly force?: boolean;
}

export interface RewriteOutcome {
  readonly finding: Finding;
  /** The kind of rewrite: `decompose`, `algebra`, `sink`, `fold`, `drop-expand`. */
  readonly id: string;
  readonly title: string;
  /** Null when it was applied, else why it was not. */
  readonly reason: string | null;
  /** Under what condition the results are the same; null for always. */
  readonly condition: Condition | null;
}

export interface RewrittenModel {
  readonly outcomes: readonly RewriteOutcome[];
  /** The new file: ranges of the old one and new bytes. Write them with `chunks`. */
  readonly pieces: readonly Piece[];
  readonly size: number;
}

/**
 * Rewrites what can be rewritten. The source is only read. Throws `OnnxError` for an unreadable model, `Refusal` where the
 * opset cannot be raised.
 */
export function rewriteModel(path: string, source: ByteSource, options: RewriteOptions = {}): RewrittenModel {
  const analysed = analyse(readModel(source));
  const context = {
    path,
    program: analysed.program,
    spread: analysed.spread,
    text: printModel(analysed.model),
    shapes: options.shapes ?? {},
  };
  const only = options.only ?? [];
  const chosen = analysed.matches
    .map((match) => ({ match, finding: findingOf(context, match) }))
    .filter(
      ({ finding }) =>
        only.length === 0 || only.includes(finding.rule) || only.includes(`${finding.rule}:${finding.line}`),
    );
  const { outcomes, pieces } = planRewrites(
    analysed,
    chosen.map(({ match }) => match),
    options.force ?? false,
    options.target ?? 'standard',
    options.opset ?? null,
  );
  const told = outcomes.flatMap(({ match, id, title, reason, condition }) => {
    const finding = chosen.find((other) => other.match === match)?.finding;
    return finding ? [{ finding, id, title, reason, condition }] : [];
  });
  return { outcomes: told, pieces, size: sizeOf(pieces) };
}
