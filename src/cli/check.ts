import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { version } from '../../package.json';
import { RULES } from '../core/rules';
import { rulePage } from '../core/rules/page';
import { makeBaseline } from '../project/baseline';
import { isModel } from '../project/check-files';
import { decodeText } from '../project/read-text';
import { configFor, decidingFolders } from '../project/scope';
import { describeError, reportPath } from '../project/walk';
import type { Config } from '../project/config';
import { analyse, analyseText, baselinePath, noteNothing, type Analysed, type AnalyseOptions } from './analyse';
import { changedSince } from './changed';
import type { Context } from './context';
import { githubReport } from './formats/github';
import { junitReport } from './formats/junit';
import { sarifReport } from './formats/sarif';
import { statisticsReport } from './formats/statistics';
import { textReport } from './formats/text';
import { EXIT, UsageError, type ExitCode } from './output';
import { watch } from './watch';

export const FORMATS = ['text', 'json', 'sarif', 'github', 'junit'] as const;
export type Format = (typeof FORMATS)[number];

export interface CheckArguments {
  readonly format: Format;
  readonly hints: boolean;
  readonly statistics: boolean;
  /** A git revision; only files that differ from it are checked. */
  readonly changedSince: string | null;
  /** Write the findings as a baseline to this file and report none. */
  readonly writeBaseline: string | null;
  readonly ignoreBaseline: boolean;
  /** Path `-` reads this from standard input under this name. */
  readonly stdinFilename: string | null;
  /** Threads at most. */
  readonly jobs: number | null;
  /** Keep results, and use those of before. */
  readonly cache: boolean;
  /** Check again on every change, until Ctrl-C. */
  readonly watch: boolean;
  /** Where results are kept; null for the user's cache folder. */
  readonly cacheDir: string | null;
}

/** `ikbo check`: 0 without findings, 1 with, 2 when nothing or not what was named could be read, or the call was wrong. */
export async function check(context: Context, paths: readonly string[], given: CheckArguments): Promise<ExitCode> {
  const stdin = paths.includes('-') ? stdinPath(context, paths, given) : null;
  if (stdin === null && given.stdinFilename !== null)
    throw new UsageError('--stdin-filename names the text on standard input; give - as the path to read it');
  if (given.statistics && given.format !== 'text')
    throw new UsageError(`--statistics prints text; not together with --format ${given.format}`);
  const named = stdin !== null ? [stdin] : paths.length > 0 ? paths : ['.'];
  const config = () => configFor(context.root, named);
  noteUnknownRules(context, config());
  const cache = given.cache ? cacheFolder(context, given.cacheDir) : null;
  // Made for each check: files that decide may change, too.
  const optionsNow = (folder: string | null): AnalyseOptions => ({
    config: config(),
    hints: given.hints,
    jobs: given.jobs,
    cache: folder,
    ignoreBaseline: given.ignoreBaseline || given.writeBaseline !== null,
    only: given.changedSince === null ? null : changedSince(context.root, named, given.changedSince),
  });
  const run = (folder: string | null) => analyse(context, named, optionsNow(folder));
  const print = (analysed: Analysed): void =>
    context.output.out(given.statistics ? statisticsReport(analysed.report) : format(given.format, analysed, context));
  if (given.watch) {
    if (stdin !== null || given.writeBaseline !== null)
      throw new UsageError('--watch: not together with standard input or --write-baseline');
    const beside = () => decidingFolders(context.root, named);
    const deltas = given.format === 'text' && !given.statistics;
    return exitCode(await watch(context, { run, print, beside, deltas, cache }));
  }
  const analysed = stdin !== null ? await analyseStdin(context, stdin, optionsNow(null)) : await run(cache);
  if (given.writeBaseline !== null) return writeBaseline(context, given.writeBaseline, optionsNow(null), analysed);
  print(analysed);
  noteNothing(context, analysed, named, given.changedSince);
  return exitCode(analysed);
}

/** A slip in `select` would turn the check off without a word. */
function noteUnknownRules(context: Context, { file, select, ignore }: Config): void {
  for (const code of [...(select ?? []), ...ignore])
    if (!RULES.some((rule) => rule.code.startsWith(code)))
      context.output.error(`note: ${file}: ${code} is no rule; \`ikbo explain\` lists them\n`);
}

/** A slip in a path is not hidden behind the findings of others. */
function exitCode({ report, missing, failed }: Analysed): ExitCode {
  if (missing) return EXIT.failed;
  if (report.findings.some((finding) => finding.materialized)) return EXIT.findings;
  return failed ? EXIT.failed : EXIT.clean;
}

const cacheFolder = (context: Context, named: string | null): string | null =>
  named === null ? context.cacheFolder : resolve(context.root, named);

/** The report path of what is read from standard input; editors give absolute ones. */
function stdinPath({ root }: Context, paths: readonly string[], { stdinFilename }: CheckArguments): string {
  if (paths.length > 1) throw new UsageError('- (standard input) stands alone; name no other paths');
  const path = reportPath(root, resolve(root, stdinFilename || 'stdin.py'));
  if (isModel(path)) throw new UsageError(`${path}: a model is not read from standard input; name its file`);
  return path;
}

async function analyseStdin(context: Context, path: string, options: AnalyseOptions): Promise<Analysed> {
  const read = decodeText(readFileSync(0));
  if ('problem' in read) throw new UsageError(`standard input: ${read.problem}`);
  return analyseText(context, path, read.text, options);
}

function writeBaseline(context: Context, file: string, options: AnalyseOptions, { report }: Analysed): ExitCode {
  const baseline = makeBaseline(report.findings, baselinePath(context, options.config));
  try {
    writeFileSync(resolve(context.root, file), `${JSON.stringify(baseline, null, 2)}\n`);
  } catch (error) {
    throw new UsageError(`${file}: not written: ${describeError(error)}`);
  }
  const named = options.config.baseline === null ? `; name it in ikbo.toml: baseline = "${file}"` : '';
  context.output.error(
    `${file}: ${report.findings.length} finding${report.findings.length === 1 ? '' : 's'} recorded${named}\n`,
  );
  return EXIT.clean;
}

function format(name: Format, analysed: Analysed, context: Context): string {
  const { report, notes, texts, suppressed } = analysed;
  switch (name) {
    case 'text':
      return textReport(report, notes, texts, context.output.color);
    case 'json':
      return `${JSON.stringify(report, null, 2)}\n`;
    case 'github':
      return githubReport(report, texts);
    case 'junit':
      return junitReport(report);
    case 'sarif': {
      const pages = RULES.map((rule) => ({ ...rule, page: rulePage(rule) }));
      return sarifReport({ report, suppressed, rules: pages, version, texts });
    }
  }
}
