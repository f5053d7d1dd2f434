/** `ikbo show` and `ikbo rewrite`: ONNX models. The original is only read. */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { OnnxError, Refusal, readModel, rewriteModel, showModel, type ByteSource, type Piece } from '../core/onnx';
import { RULES } from '../core/rules';
import { openFileBytes } from '../project/byte-source';
import { findRuntime } from '../project/onnx/find-runtime';
import { verifyModel } from '../project/onnx/verify';
import { RUNTIME_MISSING } from '../protocol/onnx';
import { writeModel } from '../project/onnx/write';
import { configFor } from '../project/scope';
import { describeError } from '../project/walk';
import type { Context } from './context';
import { checkModelSizes, parseSizes } from './sizes';
import { EXIT, UsageError, type ExitCode } from './output';

/** Prints the model in ONNX's textual syntax, weights elided; `around` names a node or value. */
export function show(context: Context, file: string, around: string | undefined): ExitCode {
  return withModel(context, file, (source) => {
    const model = readModel(source);
    try {
      context.output.out(showModel(model, around === undefined ? {} : { around }).text);
    } catch (error) {
      if (error instanceof OnnxError) throw error;
      throw new UsageError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
    }
    return EXIT.clean;
  });
}

export interface RewriteArguments {
  readonly target: 'standard' | 'ikbo';
  readonly only: readonly string[];
  readonly output: string | null;
  readonly force: boolean;
  /** Sizes to measure at, as text. */
  readonly shape: string;
  /** The version of the standard operators to raise the model to; null keeps its own. */
  readonly opset: number | null;
  /** True: must be verified; false: is not; null: is where onnxruntime-node is found. */
  readonly verify: boolean | null;
}

/** 0 when a model was written, 1 when nothing could be rewritten (the reasons are printed), 2 on failure. */
export async function rewrite(context: Context, file: string, given: RewriteArguments): Promise<ExitCode> {
  for (const only of given.only)
    if (!RULES.some(({ code }) => only === code || only.startsWith(`${code}:`)))
      throw new UsageError(`--only ${only}: no such rule; \`ikbo explain\` lists them`);
  const output = given.output ?? file.replace(/(\.onnx)?$/, '.ikbo.onnx');
  const target = resolve(context.root, output);
  if (target === resolve(context.root, file))
    throw new UsageError(`${output}: the original is never overwritten; choose another name with -o`);
  const stated = parseSizes(given.shape);
  const shapes = { ...configFor(context.root, [file]).shapes, ...stated };
  const runtime = given.verify === false ? null : findRuntime(context.root);
  if (given.verify && !runtime) throw new UsageError(`${file}: ${RUNTIME_MISSING}`);
  const code = withModel(context, file, (source) => {
    checkModelSizes(file, source, stated);
    const rewritten = rewriteModel(file, source, {
      shapes,
      only: given.only,
      target: given.target,
      force: given.force,
      opset: given.opset,
    });
    for (const { finding, title, reason, condition } of rewritten.outcomes) {
      const outcome = reason !== null ? `not rewritten: ${reason}` : condition ? `${title} (${condition.text})` : title;
      context.output.error(`${finding.path}:${finding.line}: ${finding.rule} ${outcome}\n`);
    }
    const done = rewritten.outcomes.filter(({ reason }) => reason === null).length;
    if (done === 0) {
      context.output.error(`${file}: nothing to rewrite\n`);
      return EXIT.findings;
    }
    write(target, output, source, rewritten.pieces);
    context.output.error(`${output}: ${done} rewrite${done === 1 ? '' : 's'}, ${rewritten.size} bytes\n`);
    return EXIT.clean;
  });
  if (code !== EXIT.clean || given.verify === false) return code;
  if (!runtime) {
    context.output.error(`${output}: not verified: ${RUNTIME_MISSING}\n`);
    return code;
  }
  return prove(context, resolve(context.root, file), target, output, shapes, runtime);
}

/** A model that does not compute the same is removed: it is no result. */
async function prove(
  context: Context,
  before: string,
  after: string,
  shown: string,
  shapes: Readonly<Record<string, number>>,
  runtime: string,
): Promise<ExitCode> {
  const { ok, lines } = await verifyModel({ before, after, dist: context.dist, shapes }, runtime);
  for (const line of lines) context.output.error(`${shown}: ${line}\n`);
  if (ok) return EXIT.clean;
  rmSync(after, { force: true });
  context.output.error(`${shown}: removed, because it could not be verified (--no-verify keeps it)\n`);
  return EXIT.failed;
}

function withModel(context: Context, file: string, work: (source: ByteSource) => ExitCode): ExitCode {
  try {
    const source = openFileBytes(resolve(context.root, file));
    try {
      return work(source);
    } finally {
      source.close();
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof OnnxError) throw new UsageError(`${file}: no ONNX model, or a damaged one: ${error.message}`);
    if (error instanceof Refusal) throw new UsageError(`${file}: ${error.message}`);
    if (error instanceof Error && 'code' in error) throw new UsageError(`${file}: ${describeError(error)}`);
    throw error;
  }
}

function write(target: string, shown: string, source: ByteSource, pieces: readonly Piece[]): void {
  try {
    writeModel(target, source, pieces);
  } catch (error) {
    throw new UsageError(`${shown}: not written: ${describeError(error)}`);
  }
}
