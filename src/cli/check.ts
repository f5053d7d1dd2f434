import type { Context } from './context';
import { fileSource } from '../project/file-source';
import { analyse } from './analyse';
import { EXIT, type ExitCode } from './output';
import { textReport } from './text-report';

export interface CheckArguments {
  readonly format: 'text' | 'json';
  readonly hints: boolean;
}

/** `ikbo check`: 0 without findings, 1 with, 2 when a named path could not be read and nothing was found. */
export async function check(context: Context, paths: readonly string[], given: CheckArguments): Promise<ExitCode> {
  const options = { hints: given.hints, files: fileSource(context.root) };
  const { report, notes, texts } = await analyse(context, paths.length > 0 ? paths : ['.'], options);
  if (given.format === 'json') context.output.out(`${JSON.stringify(report, null, 2)}\n`);
  else context.output.out(textReport(report, notes, texts, context.output.color));
  if (report.findings.some((finding) => finding.materialized)) return EXIT.findings;
  return report.errors.length > 0 && report.stats.files <= report.errors.length ? EXIT.failed : EXIT.clean;
}
