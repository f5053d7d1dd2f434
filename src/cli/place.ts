/**
 * `FILE:LINE` on a command line, or `NOTEBOOK:CELL:LINE`, and the findings there. A column may follow and the cell may be
 * `cell 3`, as reports print it.
 */
import type { Finding } from '../core/finding';
import type { Config } from '../project/config';
import { configFor } from '../project/scope';
import { analyse } from './analyse';
import type { Context } from './context';
import { UsageError } from './output';

export interface FindingsAt {
  readonly path: string;
  readonly text: string | undefined;
  readonly findings: readonly Finding[];
  readonly config: Config;
}

/**
 * The findings on a line, at least one, with `sizes` besides those of the configuration. Throws UsageError that says where there
 * are some. `shown` is what the user wrote.
 */
export async function findingsAt(
  context: Context,
  shown: string,
  place: string,
  sizes: Readonly<Record<string, number>> = {},
): Promise<FindingsAt> {
  const { path, cell, line } = parsePlace(place) ?? {};
  if (path === undefined || line === undefined)
    throw new UsageError(`${shown}: expected FILE:LINE, of a notebook FILE.ipynb:CELL:LINE`);
  const config = configFor(context.root, [path]);
  const { report, texts } = await analyse(context, [path], {
    config: { ...config, shapes: { ...config.shapes, ...sizes } },
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
    const shownLine = (one: Finding) => (one.cell === undefined ? `${one.line}` : `${one.cell}:${one.line}`);
    const cells = report.findings.some((one) => one.cell !== undefined);
    const lines = [...new Set(report.findings.map(shownLine))].join(', ');
    throw new UsageError(
      `${shown}: no finding on that line; ${lines === '' ? 'the file has none' : `there are findings on ${cells ? 'cell and line' : 'lines'} ${lines}`}`,
    );
  }
  const name = findings[0]?.path ?? path;
  return { path: name, text: texts.get(name), findings, config };
}

function parsePlace(place: string) {
  const inCell = /^(.+\.ipynb):(?:cell )?(\d+):(\d+)(?::\d+)?$/.exec(place);
  if (inCell) return { path: inCell[1], cell: Number(inCell[2]), line: Number(inCell[3]) };
  const match = /^(.+?):(\d+)(?::\d+)?$/.exec(place);
  return match ? { path: match[1], cell: undefined, line: Number(match[2]) } : undefined;
}
