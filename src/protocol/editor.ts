/**
 * What the language server hangs on diagnostics and code lenses, and what the extension reads back from them. The values
 * travel through the client and come back as JSON of unknown origin, hence the parsers.
 */
import type { Op } from './bench';

/** LSP positions: 0-based, UTF-16. */
export interface TextRange {
  readonly start: { readonly line: number; readonly character: number };
  readonly end: { readonly line: number; readonly character: number };
}

export interface RewriteData {
  readonly id: string;
  readonly title: string;
  readonly tier: 'safe' | 'suggestion' | 'none';
  readonly reason: string | null;
  readonly edits: readonly { readonly uri: string; readonly range: TextRange; readonly newText: string }[];
}

/** `Diagnostic.data`: all that a code action needs, so that the server keeps no state per diagnostic. */
export interface DiagnosticData {
  /** Version of the document that the edits were computed for; they are void for any other. */
  readonly version: number;
  readonly rule: string;
  readonly rewrites: readonly RewriteData[];
}

/** A finding that the benchmark panel can measure: the argument of `ikboLens.openBenchmark`. */
export interface BenchTarget {
  readonly uri: string;
  readonly path: string;
  /** 1-based, as in the report. */
  readonly line: number;
  readonly rule: string;
  readonly message: string;
  /** Null sizes are not known statically: the user fills them in. */
  readonly bench: { readonly op: Op; readonly dims: Readonly<Record<string, number | null>> };
}

/** A rewrite to verify: the argument of `ikboLens.verify`. */
export interface VerifyTarget {
  readonly uri: string;
  readonly path: string;
  /** 1-based, of the finding. */
  readonly line: number;
  readonly rule: string;
  readonly rewrite: string;
  readonly title: string;
}

/** Request from the extension with a VerifyTarget: what to run (a `Job`), or null when the document has changed. */
export const VERIFY_JOB_REQUEST = 'ikbo/verifyJob';

/** Request from the extension: the measurable findings of all open documents. */
export const BENCH_TARGETS_REQUEST = 'ikbo/benchTargets';

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** Undefined for anything that this server did not write. */
export function parseDiagnosticData(value: unknown): DiagnosticData | undefined {
  if (!isFields(value) || typeof value.version !== 'number' || typeof value.rule !== 'string') return undefined;
  if (!Array.isArray(value.rewrites) || !value.rewrites.every(isRewrite)) return undefined;
  return { version: value.version, rule: value.rule, rewrites: value.rewrites };
}

/** Undefined for anything but a target, e.g. when the command is started from the palette. */
export function parseBenchTarget(value: unknown): BenchTarget | undefined {
  if (!isFields(value) || !isFields(value.bench) || !isFields(value.bench.dims)) return undefined;
  const { uri, path, line, rule, message } = value;
  const op = value.bench.op;
  if (op !== 'concat-linear' && op !== 'linear-compression' && op !== 'attention') return undefined;
  if (typeof uri !== 'string' || typeof path !== 'string' || typeof line !== 'number') return undefined;
  if (typeof rule !== 'string' || typeof message !== 'string') return undefined;
  const dims: Record<string, number | null> = {};
  for (const [name, size] of Object.entries(value.bench.dims)) dims[name] = typeof size === 'number' ? size : null;
  return { uri, path, line, rule, message, bench: { op, dims } };
}

/** Undefined for anything that no code action of this server carries. */
export function parseVerifyTarget(value: unknown): VerifyTarget | undefined {
  if (!isFields(value) || typeof value.line !== 'number') return undefined;
  const { uri, path, line, rule, rewrite, title } = value;
  if (typeof uri !== 'string' || typeof path !== 'string' || typeof rule !== 'string') return undefined;
  if (typeof rewrite !== 'string' || typeof title !== 'string') return undefined;
  return { uri, path, line, rule, rewrite, title };
}

function isRewrite(value: unknown): value is RewriteData {
  return (
    isFields(value) &&
    typeof value.id === 'string' &&
    typeof value.title === 'string' &&
    (value.tier === 'safe' || value.tier === 'suggestion' || value.tier === 'none') &&
    (value.reason === null || typeof value.reason === 'string') &&
    Array.isArray(value.edits) &&
    value.edits.every((edit) => isFields(edit) && typeof edit.uri === 'string' && typeof edit.newText === 'string')
  );
}
