/** Walks, reads, checks and selects: the part that `check` and `fix` share. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Analysis, CheckOptions } from '../core/engine';
import type { Finding, Note, Report, ReportError } from '../core/finding';
import { compareBaseline, parseBaseline, type Baseline } from '../project/baseline';
import type { Config } from '../project/config';
import { fileSource } from '../project/file-source';
import { readText } from '../project/read-text';
import { excluder, selector } from '../project/select';
import { reportPath, walk } from '../project/walk';
import type { Context } from './context';

export interface Analysed {
  readonly report: Report;
  readonly notes: readonly Note[];
  /** Findings that a comment or the baseline silences. */
  readonly suppressed: readonly { readonly finding: Finding; readonly kind: 'inSource' | 'external' }[];
  /** Text of every file that was checked, for excerpts and edits, by report path. */
  readonly texts: ReadonlyMap<string, string>;
}

export interface AnalyseOptions {
  readonly config: Config;
  readonly hints: boolean;
  /** Report what the baseline counts, too. */
  readonly ignoreBaseline: boolean;
  /** Only files for which this holds; null for all. */
  readonly only: ReadonlySet<string> | null;
}

export const isPython = (name: string): boolean => name.endsWith('.py');

/** What the engine is asked for, the same for every file of a run. */
export function checkOptions(context: Context, options: Pick<AnalyseOptions, 'config' | 'hints'>): CheckOptions {
  const { config } = options;
  return { hints: options.hints || config.hints, shapes: config.shapes, files: fileSource(context.root) };
}

/** What one file adds to a run. */
interface FileResult {
  readonly analysis: Analysis;
  readonly text: string;
}

export async function analyse(context: Context, paths: readonly string[], options: AnalyseOptions): Promise<Analysed> {
  const started = performance.now();
  const engine = await context.engine();
  const found = walk(context.root, paths, isPython);
  const excluded = excluder(options.config);
  const check = checkOptions(context, options);
  const errors: ReportError[] = [...found.errors];
  const results = new Map<string, FileResult>();
  let files = 0;
  for (const file of found.files) {
    const path = reportPath(context.root, file);
    if (excluded(reportPath(options.config.folder, file)) || (options.only && !options.only.has(path))) continue;
    files += 1;
    const read = readText(file);
    if ('problem' in read) errors.push({ path, message: read.problem });
    else results.set(path, { analysis: engine.check(path, read.text, check), text: read.text });
  }
  return collect(context, options, results, errors, { files, started });
}

/** One text under a name, as `ikbo check -` does for an editor's buffer. */
export async function analyseText(
  context: Context,
  path: string,
  text: string,
  options: AnalyseOptions,
): Promise<Analysed> {
  const started = performance.now();
  const engine = await context.engine();
  const analysis = engine.check(path, text, checkOptions(context, options));
  return collect(context, options, new Map([[path, { analysis, text }]]), [], { files: 1, started });
}

function collect(
  context: Context,
  options: AnalyseOptions,
  results: ReadonlyMap<string, FileResult>,
  errors: readonly ReportError[],
  run: { readonly files: number; readonly started: number },
): Analysed {
  const { config } = options;
  const select = selector(config);
  const configPath = baselinePath(context, config);
  const kept = (list: readonly Finding[]) =>
    list.map((finding) => select(finding, configPath(finding))).filter((finding) => finding !== undefined);
  const all = [...results.values()];
  const findings = kept(all.flatMap(({ analysis }) => analysis.findings));
  const baseline = options.ignoreBaseline ? undefined : readBaseline(config);
  const compared = baseline ? compareBaseline(baseline, findings, configPath) : { findings, known: [] };
  const report: Report = {
    schema: 'ikbo-report/1',
    findings: compared.findings,
    errors: [...errors].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)),
    stats: {
      files: run.files,
      parsed: all.filter(({ analysis }) => analysis.parsed).length,
      milliseconds: Math.round(performance.now() - run.started),
    },
  };
  const silenced = kept(all.flatMap(({ analysis }) => analysis.suppressed));
  return {
    report,
    notes: all.flatMap(({ analysis }) => analysis.notes),
    suppressed: [
      ...silenced.map((finding) => ({ finding, kind: 'inSource' as const })),
      ...compared.known.map((finding) => ({ finding, kind: 'external' as const })),
    ],
    texts: new Map([...results].map(([path, { text }]) => [path, text])),
  };
}

/** A finding's path as the baseline names it: relative to the configuration, wherever the command runs. */
export function baselinePath(context: Context, config: Config): (finding: Finding) => string {
  return (finding) => reportPath(config.folder, resolve(context.root, finding.path));
}

/** The baseline that the configuration names; none named or none there is none. Throws BaselineError. */
function readBaseline(config: Config): Baseline | undefined {
  if (config.baseline === null) return undefined;
  const file = join(config.folder, config.baseline);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined; // Named before it was first written.
  }
  return parseBaseline(file, text);
}
