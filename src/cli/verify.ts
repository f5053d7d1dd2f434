/** `ikbo verify FILE:LINE`: runs the finding's function before and after each rewrite and compares. */
import { resolve } from 'node:path';
import { NAME, patternOf } from '../core/python/words';
import { isNotebook } from '../notebook/check';
import { inProgram } from '../notebook/in-program';
import { placeText } from '../notebook/place';
import { cellStarts } from '../notebook/program';
import { findPython } from '../project/interpreter';
import { namingFolders } from '../project/scope';
import { bundledPackages, runJobs } from '../verify/run';
import { jobOf } from '../verify/job';
import { answerLines } from '../verify/text';
import type { Context } from './context';
import { EXIT, UsageError, type ExitCode } from './output';
import { findingsAt } from './place';
import { parseSizes } from './sizes';

export interface VerifyArguments {
  /** Only this rewrite of the finding; null for every one that has edits. */
  readonly rewrite: string | null;
  readonly shape: string;
  /** NAME=EXPRESSION each. */
  readonly arg: readonly string[];
  readonly call: string | null;
  readonly main: boolean;
  /** Null for the GPU if torch can use one, else the CPU. */
  readonly device: string | null;
  readonly python: string | null;
  readonly timeout: number;
  readonly json: boolean;
}

/** 0 when every rewrite gave the same results, 1 when one did not, 2 when one could not be compared. */
export async function verify(context: Context, place: string, given: VerifyArguments): Promise<ExitCode> {
  const { path, text, findings, config } = await findingsAt(context, place, place);
  if (text === undefined) throw new UsageError(`${place}: a model is verified by \`ikbo rewrite --verify\``);
  const offered = findings.flatMap((finding) => finding.rewrites.map((rewrite) => ({ finding, rewrite })));
  const ids = new Set(offered.flatMap(({ rewrite }) => (rewrite.edits.length > 0 ? [rewrite.id] : [])));
  if (given.rewrite !== null && !offered.some(({ rewrite }) => rewrite.id === given.rewrite) && ids.size > 0)
    throw new UsageError(
      `${place}: --rewrite ${given.rewrite}: no such rewrite here; ${[...ids].join(', ')} can be run`,
    );
  const chosen = offered.filter(
    ({ rewrite }) => rewrite.edits.length > 0 && (given.rewrite ?? rewrite.id) === rewrite.id,
  );
  if (chosen.length === 0) {
    const reasons = offered.map(({ rewrite }) => `${rewrite.id}: ${rewrite.reason ?? 'has edits'}`);
    throw new UsageError(`${place}: no rewrite to verify${reasons.length > 0 ? `\n  ${reasons.join('\n  ')}` : ''}`);
  }
  const stated = {
    sizes: parseSizes(given.shape),
    arguments: Object.fromEntries(given.arg.map(parseArgument)),
    call: given.call,
    script: given.main,
    device: given.device,
  };
  const folders = [...new Set([context.root, ...namingFolders(context.root, [path])])];
  const from = { file: resolve(context.root, path), text, folders, cells: null };
  const options = { shapes: config.shapes, packages: bundledPackages() };
  const jobs = chosen.map(({ finding, rewrite }) => {
    if (!isNotebook(path)) return jobOf(from, finding, rewrite, stated, options);
    const { program, ...found } = inProgram(text, finding, rewrite);
    const cells = { ...from, text: program.text, cells: cellStarts(program) };
    return jobOf(cells, found.finding, found.rewrite, stated, options);
  });
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  process.once('SIGINT', stop);
  try {
    const python = findPython(context.root, given.python);
    const answers = await runJobs(jobs, { python, seconds: given.timeout, signal: abort.signal });
    const results = chosen.map(({ finding, rewrite }, at) => ({
      path,
      ...(finding.cell !== undefined && { cell: finding.cell }),
      line: finding.line,
      rule: finding.rule,
      rewrite: rewrite.id,
      title: rewrite.title,
      condition: rewrite.reason,
      ...(answers[at] ?? { ok: false, problem: 'no answer' }),
    }));
    if (given.json) context.output.out(`${JSON.stringify(results, null, 2)}\n`);
    else {
      for (const result of results) {
        const condition = result.condition === null ? '' : ` (${result.condition})`;
        const head = `${placeText(result)}: ${result.rule} ${result.rewrite}: ${result.title}${condition}`;
        context.output.out(`${[head, ...answerLines(result).map((line) => `    ${line}`)].join('\n')}\n`);
      }
    }
    if (results.some(({ runs }) => runs === undefined)) return EXIT.failed;
    return results.every(({ ok }) => ok) ? EXIT.clean : EXIT.findings;
  } finally {
    process.off('SIGINT', stop);
  }
}

const ARGUMENT = patternOf(`^\\s*(${NAME})\\s*=\\s*(.+)$`, 'su');

function parseArgument(text: string): [string, string] {
  const match = ARGUMENT(text).exec(text);
  if (!match?.[1] || !match[2]) throw new UsageError(`--arg: "${text}" is not NAME=VALUE, as in user=[U, 64]`);
  return [match[1], match[2].trim()];
}
