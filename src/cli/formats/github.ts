import type { Finding, Report } from '../../core/finding';
import { findingInFile } from '../../notebook/place';

const COMMAND = { error: 'error', warning: 'warning', information: 'notice', hint: 'notice' } as const;

/** Workflow commands that GitHub shows as annotations on the changed lines; `texts` has the notebooks. */
export function githubReport(report: Report, texts: ReadonlyMap<string, string>): string {
  const lines = report.findings.map((found) => {
    const finding = findingInFile(found, texts);
    const place = {
      file: finding.path,
      line: finding.line,
      endLine: finding.endLine,
      col: finding.column,
      endColumn: finding.endColumn,
    };
    return command(COMMAND[finding.level], { ...place, title: `IKBO Lens ${finding.rule}` }, body(finding));
  });
  const errors = report.errors.map((error) =>
    command('error', { file: error.path, title: 'IKBO Lens' }, error.message),
  );
  return [...lines, ...errors].map((line) => `${line}\n`).join('');
}

function body(finding: Finding): string {
  const chain = finding.chain.map((step) => `${step.path}:${step.line}: ${step.what}`);
  return [finding.message, ...chain].join('\n');
}

function command(name: string, properties: Readonly<Record<string, string | number>>, message: string): string {
  const list = Object.entries(properties).map(([key, value]) => `${key}=${escapeProperty(String(value))}`);
  return `::${name} ${list.join(',')}::${escapeData(message)}`;
}

const escapeData = (text: string): string => text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
const escapeProperty = (text: string): string => escapeData(text).replace(/:/g, '%3A').replace(/,/g, '%2C');
