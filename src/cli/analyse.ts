/** Walks, reads, checks and selects: the part that `check` and `fix` share. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { version } from '../../package.json';
import type { CheckOptions } from '../core/engine';
import type { Finding, Note, Report, ReportError } from '../core/finding';
import { compareBaseline, parseBaseline, type Baseline } from '../project/baseline';
import type { Config } from '../project/config';
import { engineKey, openCache, type ResultCache } from '../project/cache';
import { checkText, createFileChecker, isChecked, isModel, outcomeOf, type FileOutcome } from '../project/check-files';
import { fileSource } from '../project/file-source';
import { readText } from '../project/read-text';
import { namingFolders } from '../project/scope';
import { excluder, selector } from '../project/select';
import { torchVersion } from '../project/torch-version';
import { reportPath, walk } from '../project/walk';
import type { Context } from './context';
import { checkOnThreads, threadsFor } from './pool';

export interface Analysed {
  readonly report: Report;
  readonly notes: readonly Note[];
  /** Findings that a comment or the baseline silences. */
  readonly suppressed: readonly { readonly finding: Finding; readonly kind: 'inSource' | 'external' }[];
  /** Text of every file that has a finding, for excerpts and edits, by report path. */
  readonly texts: ReadonlyMap<string, string>;
  /** Folders that were looked through. */
  readonly folders: readonly string[];
  /** Files that are named and that the configuration excludes, and the configuration's file. */
  readonly excluded: readonly (readonly [path: string, by: string])[];
  /** Something that is named is not there. */
  readonly missing: boolean;
  /** Nothing could be read, or not what is named. */
  readonly failed: boolean;
}

export interface AnalyseOptions {
  readonly config: Config;
  readonly hints: boolean;
  /** Report what the baseline counts, too. */
  readonly ignoreBaseline: boolean;
  /** Only files, by their absolute paths, for which this holds; null for all. */
  readonly only: ((file: string) => boolean) | null;
  /** Threads at most; null for as many as the machine has processors. */
  readonly jobs: number | null;
  /** Folder of earlier results; null for none. */
  readonly cache: string | null;
}

/** What the engine is asked for, the same for every file of a run; without the files, which each thread reads itself. */
export function checkOptions({ config, hints }: Pick<AnalyseOptions, 'config' | 'hints'>): Omit<CheckOptions, 'files'> {
  const torch = torchVersion(config.folder, config.torch);
  return { hints: hints || config.hints, shapes: config.shapes, ...(torch && { torch }) };
}

export async function analyse(context: Context, paths: readonly string[], options: AnalyseOptions): Promise<Analysed> {
  const started = performance.now();
  const found = walk(context.root, paths, isChecked);
  const excluded = excluder(options.config);
  const isExcluded = (file: string): boolean => excluded(reportPath(options.config.folder, file));
  const wanted = found.files
    .filter((file) => !isExcluded(file) && (options.only === null || options.only(file)))
    .map((file) => reportPath(context.root, file));
  const check = checkOptions(options);
  const cache =
    options.cache === null
      ? null
      : openCache(options.cache, context.root, `${engineKey(context.dist, version)} ${JSON.stringify(check)}`);
  const folders = namingFolders(context.root, paths);
  const known = cache?.hasEntries ? lookUp(context.root, folders, cache, wanted) : new Map<string, FileOutcome>();
  const left = wanted.filter((path) => !known.has(path));
  const fresh = await checkAll(context, left, check, folders, threadsFor(left.length, options.jobs));
  for (const outcome of fresh) {
    known.set(outcome.path, outcome);
    if (cache && 'analysis' in outcome && outcome.sources) cache.store(outcome.path, outcome.sources, outcome.analysis);
  }
  // Whoever names a folder for results wants nothing written elsewhere, and code that is run is not left where a checkout may bring
  // a forged one. `--no-cache` is another matter: compiled code says nothing of any file that is checked.
  if (options.cache === null || options.cache === context.cacheFolder) context.onChecked(fresh.length);
  const unwritten = cache?.save() ?? null;
  if (unwritten !== null) context.output.error(`note: results are not kept in ${options.cache}: ${unwritten}\n`);
  const outcomes = wanted.flatMap((path) => known.get(path) ?? []);
  const given = new Set(paths.map((path) => resolve(context.root, path)));
  return collect(context, options, outcomes, {
    ...found,
    missing: found.errors.some(({ path }) => path === "''" || given.has(resolve(context.root, path))),
    excluded: found.files
      .filter((file) => given.has(file) && isExcluded(file))
      .map((file) => reportPath(context.root, file)),
    files: wanted.length,
    started,
  });
}

/** Outcomes that are known from before, or that need no engine. */
function lookUp(
  root: string,
  folders: readonly string[],
  cache: ResultCache,
  paths: readonly string[],
): Map<string, FileOutcome> {
  const known = new Map<string, FileOutcome>();
  const files = fileSource(root, 1, folders);
  for (const path of paths) {
    if (isModel(path)) continue;
    const textHash = files.hash(path);
    if (textHash === null) {
      const read = readText(join(root, path));
      if ('problem' in read) known.set(path, { path, problem: read.problem });
      continue;
    }
    const analysis = cache.find(path, textHash, files.hash);
    if (analysis) known.set(path, outcomeOf(path, analysis, files.read(path) ?? '', { hash: textHash, asked: [] }));
  }
  return known;
}

async function checkAll(
  context: Context,
  paths: readonly string[],
  options: Omit<CheckOptions, 'files'>,
  folders: readonly string[],
  threads: number,
): Promise<readonly FileOutcome[]> {
  if (paths.length === 0) return [];
  const { root, dist } = context;
  const checker = async (mayLimitYoung?: () => boolean): Promise<(path: string) => FileOutcome> =>
    createFileChecker(await context.engine(1 / threads), root, options, 1 / threads, folders, mayLimitYoung);
  return threads > 1
    ? checkOnThreads({ root, dist, options, folders }, paths, threads, checker)
    : paths.map(await checker());
}

/** One text under a name, as `ikbo check -` does for an editor's buffer. */
export async function analyseText(
  context: Context,
  path: string,
  text: string,
  options: AnalyseOptions,
): Promise<Analysed> {
  const started = performance.now();
  const files = fileSource(context.root, 1, namingFolders(context.root, [path]));
  const outcome = checkText(await context.engine(), path, text, { ...checkOptions(options), files });
  return collect(context, options, [outcome], {
    errors: [],
    folders: [],
    missing: false,
    excluded: [],
    files: 1,
    started,
  });
}

function collect(
  context: Context,
  options: AnalyseOptions,
  outcomes: readonly FileOutcome[],
  run: {
    readonly errors: readonly ReportError[];
    readonly folders: readonly string[];
    /** Something that is named is not there. */
    readonly missing: boolean;
    readonly excluded: readonly string[];
    readonly files: number;
    readonly started: number;
  },
): Analysed {
  const { config } = options;
  const select = selector(config);
  const configPath = baselinePath(context, config);
  const kept = (list: readonly Finding[]) =>
    list.map((finding) => select(finding, configPath(finding))).filter((finding) => finding !== undefined);
  const checked = outcomes.flatMap((outcome) => ('analysis' in outcome ? [outcome] : []));
  const problems = outcomes.flatMap((outcome) => ('problem' in outcome ? [outcome] : []));
  const broken = checked.flatMap(({ path, analysis }) => {
    const error = analysis.broken;
    if (!error) return [];
    const cell = error.cell === undefined ? '' : `cell ${error.cell}, `;
    return [{ path, message: `${cell}line ${error.line}: ${error.message}` }];
  });
  const errors = [...run.errors, ...problems.map(({ path, problem }) => ({ path, message: problem })), ...broken];
  const findings = kept(checked.flatMap(({ analysis }) => analysis.findings));
  const baseline = options.ignoreBaseline ? undefined : readBaseline(config);
  const compared = baseline ? compareBaseline(baseline, findings, configPath) : { findings, known: [] };
  const report: Report = {
    schema: 'ikbo-report/1',
    findings: compared.findings,
    errors: errors.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)),
    stats: {
      files: run.files,
      parsed: checked.filter(({ analysis }) => analysis.parsed).length,
      milliseconds: Math.round(performance.now() - run.started),
    },
  };
  const silenced = kept(checked.flatMap(({ analysis }) => analysis.suppressed));
  return {
    report,
    notes: checked.flatMap(({ analysis }) => analysis.notes),
    suppressed: [
      ...silenced.map((finding) => ({ finding, kind: 'inSource' as const })),
      ...compared.known.map((finding) => ({ finding, kind: 'external' as const })),
    ],
    folders: run.folders,
    excluded: run.excluded.map((path) => [path, config.file ?? ''] as const),
    missing: run.missing,
    failed: run.missing || (errors.length > 0 && problems.length + broken.length >= run.files),
    texts: new Map(checked.flatMap(({ path, text }) => (text === null ? [] : [[path, text] as const]))),
  };
}

/** What is named and was not looked at is said: silence would pass for a check. */
export function noteNothing(
  context: Context,
  { report, excluded }: Analysed,
  named: readonly string[],
  changedSince: string | null = null,
): void {
  for (const [path, by] of excluded) context.output.error(`note: ${path}: not checked; ${by} excludes it\n`);
  if (report.stats.files + report.errors.length + excluded.length > 0) return;
  const what = `no Python file, notebook or ONNX model in ${named.join(', ')}`;
  const which = changedSince === null ? '' : ` differs from ${changedSince}`;
  context.output.error(`note: ${what}${which}, besides what is ignored or excluded\n`);
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
