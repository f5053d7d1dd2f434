/** `FILE:LINE` on a command line, or `NOTEBOOK:cell N:LINE` as reports print it, and the findings there. */
import type { Finding } from '../core/finding';
import type { Config } from '../project/config';
import { analyse } from './analyse';
import type { Context } from './context';
import { UsageError } from './output';

export interface FindingsAt {
  readonly path: string;
  readonly text: string | undefined;
  readonly findings: readonly Finding[];
}

/** The findings on a line, at least one. Throws UsageError that says where there are some. `shown` is what the user wrote. */
export async function findingsAt(context: Context, config: Config, shown: string, place: string): Promise<FindingsAt> {
  const match = /^(.+?)(?::cell (\d+))?:(\d+)$/.exec(place);
  const [path, line] = [match?.[1], Number(match?.[3])];
  const cell = match?.[2] === undefined ? undefined : Number(match[2]);
  if (path === undefined) throw new UsageError(`${shown}: expected FILE:LINE`);
  const { report, texts } = await analyse(context, [path], {
    config,
    hints: true,
    ignoreBaseline: true,
    only: null,
    jobs: 1,
    cache: null,
  });
  const findings = report.findings.filter(
    (finding) => finding.cell === cell && finding.line <= line && line <= finding.endLine,
  );
  if (findings.length === 0) {
    const [error] = report.errors;
    if (error) throw new UsageError(`${shown}: ${error.message}`);
    const shownLine = (one: Finding) => (one.cell === undefined ? `${one.line}` : `cell ${one.cell}:${one.line}`);
    const lines = [...new Set(report.findings.map(shownLine))].join(', ');
    throw new UsageError(
      `${shown}: no finding on that line; ${lines === '' ? 'the file has none' : `there are findings on lines ${lines}`}`,
    );
  }
  const name = findings[0]?.path ?? path;
  return { path: name, text: texts.get(name), findings };
}
