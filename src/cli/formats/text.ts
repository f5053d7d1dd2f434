/** The report for people: one block per finding with the source line, the way to the sink, the cost and the fixes. */
import { styleText } from 'node:util';
import type { Finding, Note, Report, Rewrite } from '../../core/finding';
import { linesAround, placeText } from '../../notebook/place';

type Style = Parameters<typeof styleText>[0];
type Paint = (style: Style, text: string) => string;

export function painter(color: boolean): Paint {
  return (style, text) => (color ? styleText(style, text, { validateStream: false }) : text);
}

const LEVEL_STYLE = { error: 'red', warning: 'yellow', information: 'cyan', hint: 'gray' } as const;

/** Names of files and lines of code as a terminal may show them: what would steer it is replaced. */
// eslint-disable-next-line no-control-regex
export const visible = (text: string): string => text.replace(/[\x00-\x08\x0a-\x1f\x7f-\x9f]/g, '\u00b7');

/** The lines that a finding counts in, by the texts of all. Each is split once: a file may have thousands of findings. */
export function linesIn(texts: ReadonlyMap<string, string>): (finding: Finding) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (finding) => {
    const key = `${finding.cell ?? ''}:${finding.path}`;
    const text = texts.get(finding.path);
    const lines = known.get(key) ?? (text === undefined ? [] : linesAround(finding, text));
    known.set(key, lines);
    return lines;
  };
}

export function textReport(
  report: Report,
  notes: readonly Note[],
  texts: ReadonlyMap<string, string>,
  color: boolean,
): string {
  const paint = painter(color);
  const linesOf = linesIn(texts);
  const blocks = report.findings.map((finding) => findingBlock(finding, linesOf(finding), paint));
  const lines = [
    ...notes.map((note) => `${placeText(note)}: ${paint('gray', 'note')}: ${note.message}`),
    ...report.errors.map((error) => `${visible(error.path)}: ${paint('red', 'error')}: ${error.message}`),
  ];
  return [...blocks, lines.join('\n'), summary(report)].filter((part) => part !== '').join('\n') + '\n';
}

/** The last line of the report. */
export function summary({ findings, errors, stats }: Report): string {
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`;
  const safe = findings.filter((finding) => finding.rewrites.some((rewrite) => rewrite.tier === 'safe'));
  const models = safe.filter((finding) => finding.path.endsWith('.onnx')).length;
  const tail = [
    ...(safe.length > models ? [`, ${safe.length - models} fixable with \`ikbo fix\``] : []),
    ...(models > 0 ? [`, ${models} with \`ikbo rewrite\``] : []),
  ].join('');
  const failed = errors.length > 0 ? `, ${count(errors.length, 'error')}` : '';
  return `${count(findings.length, 'finding')}${tail}${failed} in ${count(stats.files, 'file')} (${stats.milliseconds} ms)`;
}

/** `lines` are those of the text that the finding counts in. */
export function findingBlock(finding: Finding, lines: readonly string[], paint: Paint): string {
  const where = visible(`${placeText(finding)}:${finding.column}`);
  const head = `${paint('bold', where)}: ${paint(LEVEL_STYLE[finding.level], finding.level)} ${paint('bold', finding.rule)} ${finding.message}`;
  const chain = finding.chain.map((step) => {
    const { path, cell, line } = step;
    const near = path === finding.path && cell === finding.cell;
    const place = near ? `line ${line}` : placeText(step);
    return `    ${paint('gray', place.padEnd(9))} ${step.what}`;
  });
  return [
    head,
    ...excerpt(finding, lines, paint),
    ...chain,
    ...finding.rewrites.map((r) => rewriteLine(r, paint)),
    '',
  ].join('\n');
}

function rewriteLine(rewrite: Rewrite, paint: Paint): string {
  const mark =
    rewrite.tier === 'safe'
      ? paint('green', 'fix')
      : rewrite.tier === 'suggestion'
        ? paint('cyan', 'suggestion')
        : paint('gray', 'no fix');
  const reason = rewrite.reason === null ? '' : ` (${rewrite.reason})`;
  return `    ${mark} ${rewrite.id}: ${rewrite.title}${reason}`;
}

/** The broadcast's first line with a caret line below it. Tabs stay tabs so that both lines align. */
function excerpt(finding: Finding, lines: readonly string[], paint: Paint): string[] {
  const given = lines[finding.line - 1];
  if (given === undefined) return [];
  const source = visible(given);
  const margin = String(finding.line).padStart(6);
  const before = source.slice(0, finding.column - 1).replace(/[^\t]/g, ' ');
  const end = finding.endLine === finding.line ? finding.endColumn : source.length + 1;
  const carets = '^'.repeat(Math.max(1, end - finding.column));
  return [
    `${paint('gray', `${margin} |`)} ${source}`,
    `${paint('gray', '       |')} ${before}${paint('yellow', carets)}`,
  ];
}
