/** What the extension asks of model files: their text, what a rewrite makes of them, and to write that. */
import { existsSync, rmSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { requestForFinding } from '../../bench/request';
import {
  checkModel,
  OnnxError,
  pieceSource,
  printModel,
  readModel,
  rewriteModel,
  type ByteSource,
  type RewrittenModel,
} from '../../core/onnx';
import { describeMeasured, measureRewrite } from '../../project/onnx/measure';
import { findRuntime } from '../../project/onnx/find-runtime';
import { verifyModel } from '../../project/onnx/verify';
import { writeModel } from '../../project/onnx/write';
import { describeError } from '../../project/walk';
import { RUNTIME_MISSING } from '../../protocol/onnx';
import type { ModelMeasure, ModelRewrite, ModelSave, ModelSaved, ModelSizes, ModelText } from '../../protocol/onnx';
import { fileOf } from '../places';
import { probeSizes } from '../../core/onnx/probe';
import { analyse } from '../../core/onnx/analyse';
import { withFile } from './document';
import { parseModelUri, type ModelUri } from './uri';

/** Reports name the model as its document does: relative to the folder. */
export interface ModelContext {
  readonly path: string;
  readonly shapes: Readonly<Record<string, number>>;
}

/** An editor holds no more than 50 MB of text. */
const MOST_TEXT = 40_000_000;

export function modelText(uri: string, context: ModelContext): ModelText {
  const model = parseModelUri(uri);
  if (!model) return { text: `# ${uri} names no model\n` };
  try {
    const text = withFile(model.file, (source) => printModel(readModel(shown(source, model, context))).text);
    return { text: text.length > MOST_TEXT ? shortened(text, model.file) : text };
  } catch (error) {
    return { text: `# ${basename(model.file)} cannot be shown: ${describeError(error)}\n` };
  }
}

/** The file as it is, or as the rewrites of the URI would make it. */
function shown(source: ByteSource, { only, target }: ModelUri, { path, shapes }: ModelContext): ByteSource {
  return only ? pieceSource(source, rewriteModel(path, source, { only, shapes, target }).pieces) : source;
}

function shortened(text: string, file: string): string {
  const end = text.lastIndexOf('\n', MOST_TEXT) + 1;
  return `${text.slice(0, end)}# ${text.length - end} more characters; \`ikbo show ${basename(file)} --around NODE\` shows any part\n`;
}

/** Throws `Error` with what to tell the user. */
export function modelRewrite(uri: string, context: ModelContext): ModelRewrite {
  const { outcomes } = planned(uri, context, (_, rewritten) => rewritten);
  const line = ({ finding }: RewrittenModel['outcomes'][number]): string => `${finding.rule} on line ${finding.line}`;
  return {
    done: outcomes
      .filter(({ reason }) => reason === null)
      .map((one) => `${line(one)}: ${one.title}${one.condition ? `, if ${one.condition.text}` : ''}`),
    refused: outcomes
      .filter(({ reason }) => reason !== null)
      .map((one) => `${line(one)}: ${one.title}: ${one.reason ?? ''}`),
  };
}

function planned<R>(
  uri: string,
  { path, shapes }: ModelContext,
  work: (source: ByteSource, rewritten: RewrittenModel) => R,
): R {
  const model = parseModelUri(uri);
  if (!model) throw new Error(`${uri} names no model`);
  try {
    return withFile(model.file, (source) =>
      work(source, rewriteModel(path, source, { only: model.only ?? [], shapes, target: model.target })),
    );
  } catch (error) {
    throw error instanceof OnnxError ? error : new Error(describeError(error), { cause: error });
  }
}

/**
 * Writes the rewritten model and runs it against the original where onnxruntime-node is found. A model that does not
 * compute the same is removed again. `dist` is the folder of the bundles.
 */
export async function saveModel(
  { uri, target, verify }: ModelSave,
  context: ModelContext,
  dist: string,
): Promise<ModelSaved> {
  const failed = (problem: string, lines: readonly string[] = []): ModelSaved => ({ problem, lines });
  const [model, path] = [parseModelUri(uri), fileOf(target)];
  if (!model || path === undefined) return failed(`${target} is no file`);
  if (resolve(path) === resolve(model.file)) return failed('The original is never overwritten; choose another name.');
  try {
    planned(uri, context, (source, { pieces }) => writeModel(path, source, pieces));
  } catch (error) {
    return failed(`${basename(path)} was not written: ${describeError(error)}`);
  }
  if (!verify) return { problem: null, lines: ['Not verified: the workspace is not trusted.'] };
  const runtime = findRuntime(dirname(model.file));
  if (!runtime || !existsSync(dist)) return { problem: null, lines: [`Not verified: ${RUNTIME_MISSING}.`] };
  const { ok, lines } = await verifyModel({ before: model.file, after: path, dist, shapes: context.shapes }, runtime);
  if (ok) return { problem: null, lines };
  rmSync(path, { force: true });
  return failed(`${basename(path)} was removed again, because it could not be verified.`, lines);
}

/** The sizes that the model's inputs leave open. */
export function modelSizes(uri: string, { shapes }: ModelContext): ModelSizes {
  const model = parseModelUri(uri);
  if (!model) return {};
  const names = withFile(model.file, (source) => [...probeSizes(analyse(readModel(source)), false).keys()]);
  return Object.fromEntries(names.map((name) => [name, shapes[name] ?? null]));
}

/** The sizes of the operator that the benchmark measures for a finding, where the model's own are given. */
export function benchDims(
  { uri, finding, sizes }: ModelMeasure,
  { path, shapes }: ModelContext,
): Readonly<Record<string, number>> {
  const model = parseModelUri(uri);
  if (!model) return {};
  const { findings } = withFile(model.file, (source) =>
    checkModel(path, source, { shapes: { ...shapes, ...sizes }, rewrites: false }),
  );
  const found = findings.find(({ rule, line }) => `${rule}:${line}` === finding);
  return (found && requestForFinding(found)?.request.dims) ?? {};
}

export async function measureModel({ uri, finding, sizes }: ModelMeasure, dist: string): Promise<string> {
  const model = parseModelUri(uri);
  if (!model) return `${uri} names no model`;
  const runtime = findRuntime(dirname(model.file));
  if (!runtime) return `Not measured: ${RUNTIME_MISSING}.`;
  const measured = await measureRewrite({ model: model.file, finding, shapes: sizes, dist, runtime, repeats: 30 });
  return typeof measured === 'string' ? `Not measured: ${measured}.` : `Measured: ${describeMeasured(measured)}.`;
}
