/** What a change of the files changed in the report: new findings in full, those that are gone in a line each. */
import type { Finding, Report } from '../../core/finding';
import { placeText } from '../../notebook/place';
import { findingBlock, linesIn, painter, summary } from './text';

interface Reported {
  readonly report: Report;
  readonly texts: ReadonlyMap<string, string>;
}

/** The same finding when only its line has moved. */
const keyOf = ({ path, rule, message }: Finding): string => [path, rule, message].join('\0');

/** Findings of the first list that the second does not have, as often as it does not. */
function without(list: readonly Finding[], others: readonly Finding[]): Finding[] {
  const left = new Map<string, number>();
  for (const one of others) left.set(keyOf(one), (left.get(keyOf(one)) ?? 0) + 1);
  return list.filter((one) => {
    const count = left.get(keyOf(one)) ?? 0;
    left.set(keyOf(one), count - 1);
    return count <= 0;
  });
}

export function deltaReport(before: Reported, after: Reported, color: boolean): string {
  const paint = painter(color);
  const linesOf = linesIn(after.texts);
  const gone = without(before.report.findings, after.report.findings).map(
    (one) => `${paint('green', 'gone')} ${placeText(one)}: ${one.rule} ${one.message}`,
  );
  const fresh = without(after.report.findings, before.report.findings).map((one) =>
    findingBlock(one, linesOf(one), paint),
  );
  const known = new Set(before.report.errors.map(({ path, message }) => `${path}: ${message}`));
  const errors = after.report.errors
    .map(({ path, message }) => `${path}: ${message}`)
    .filter((line) => !known.has(line))
    .map((line) => `${paint('red', 'error')} ${line}`);
  return `${[...gone, ...fresh, ...errors, summary(after.report)].join('\n')}\n`;
}
