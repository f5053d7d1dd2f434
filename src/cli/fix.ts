import { join } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { fixText, type AppliedFix } from '../core/fix';
import type { Finding } from '../core/finding';
import { RULES } from '../core/rules';
import { withNotebooks } from '../notebook/check';
import { placeText } from '../notebook/place';
import { fileSource } from '../project/file-source';
import { configFor, namingFolders } from '../project/scope';
import { describeError } from '../project/walk';
import { analyse, checkOptions, noteNothing } from './analyse';
import type { Context } from './context';
import { EXIT, UsageError, type ExitCode } from './output';
import { painter, visible } from './formats/text';
import { replaceFile } from './write-file';

export interface FixArguments {
  /** Write the files; otherwise print a unified diff. */
  readonly write: boolean;
  readonly rules: readonly string[];
  readonly unsafe: boolean;
  readonly prefer: string | null;
}

/** `ikbo fix`: 0 when nothing is left to fix, 1 when findings remain (or, without --write, a diff was printed), 2 on failure. */
export async function fix(context: Context, paths: readonly string[], given: FixArguments): Promise<ExitCode> {
  for (const code of given.rules)
    if (!RULES.some((rule) => rule.code === code))
      throw new UsageError(`--rule ${code}: no such rule; \`ikbo explain\` lists them`);
  if (paths.includes('-')) throw new UsageError('-: fix changes files; standard input can only be checked');
  const engine = withNotebooks(await context.engine());
  const named = paths.length > 0 ? paths : ['.'];
  const config = configFor(context.root, named);
  const analysis = { config, hints: false, ignoreBaseline: true, only: null, jobs: null, cache: null };
  const analysed = await analyse(context, named, analysis);
  const { report, texts } = analysed;
  noteNothing(context, analysed, named);
  const options = {
    ...checkOptions(analysis),
    files: fileSource(context.root, 1, namingFolders(context.root, named)),
    rules: given.rules.length > 0 ? new Set(given.rules) : null,
    unsafe: given.unsafe,
    prefer: given.prefer,
  };
  let failed = report.errors.length > 0;
  for (const error of report.errors) context.output.error(`${visible(error.path)}: error: ${error.message}\n`);
  const applied: AppliedFix[] = [];
  const left: Finding[] = [];
  for (const path of new Set(report.findings.map((finding) => finding.path))) {
    const text = texts.get(path);
    if (text === undefined) continue; // A model: `ikbo rewrite` makes a new file of it.
    const fixed = fixText(engine, path, text, options);
    if (fixed.text !== text && !given.write) {
      const patch = createTwoFilesPatch(`a/${path}`, `b/${path}`, text, fixed.text, '', '', { context: 3 });
      context.output.out(paintDiff(patch.slice(patch.indexOf('---')), context.output.color));
    } else if (fixed.text !== text) {
      try {
        replaceFile(join(context.root, path), fixed.text);
      } catch (error) {
        failed = true;
        left.push(...report.findings.filter((finding) => finding.path === path));
        context.output.error(`${path}: error: not written: ${describeError(error)}\n`);
        continue;
      }
      for (const one of fixed.applied)
        context.output.out(`${visible(placeText({ ...one, path }))}: ${one.rule} ${one.rewrite.title}\n`);
    }
    applied.push(...fixed.applied);
    left.push(...fixed.left);
  }
  const offered = new Set(report.findings.flatMap(({ rewrites }) => rewrites.map(({ id }) => id)));
  if (given.prefer !== null && offered.size > 0 && !offered.has(given.prefer))
    context.output.error(`note: --prefer ${given.prefer}: not offered here; ${[...offered].join(', ')} are\n`);
  context.output.error(fixSummary(applied.length, left, given));
  if (failed) return EXIT.failed;
  return left.length > 0 || (!given.write && applied.length > 0) ? EXIT.findings : EXIT.clean;
}

function fixSummary(applied: number, left: readonly Finding[], given: FixArguments): string {
  const advice = applied > 0 ? '; apply with --write' : '';
  const done = `${applied} rewrite${applied === 1 ? '' : 's'} ${given.write ? 'applied' : `proposed${advice}`}`;
  const suggestions = left.filter((f) => f.rewrites.some((rewrite) => rewrite.tier === 'suggestion')).length;
  const hint =
    suggestions > 0 && !given.unsafe
      ? ` (${suggestions} with suggestions: read their conditions with \`ikbo check\`, apply with --unsafe)`
      : left.length > 0
        ? '; `ikbo check` says what stands in the way'
        : '';
  return `${done}; ${left.length} finding${left.length === 1 ? '' : 's'} left${hint}\n`;
}

function paintDiff(patch: string, color: boolean): string {
  const paint = painter(color);
  if (!color) return patch;
  return patch
    .split('\n')
    .map((line) => {
      if (line.startsWith('+') && !line.startsWith('+++')) return paint('green', line);
      if (line.startsWith('-') && !line.startsWith('---')) return paint('red', line);
      return line.startsWith('@@') ? paint('cyan', line) : line;
    })
    .join('\n');
}
