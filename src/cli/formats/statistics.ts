import type { Report } from '../../core/finding';

/** Findings per rule, most frequent first, with how many a safe rewrite fixes. */
export function statisticsReport(report: Report): string {
  const rows = new Map<string, { count: number; fixable: number }>();
  for (const finding of report.findings) {
    const row = rows.get(finding.rule) ?? { count: 0, fixable: 0 };
    row.count += 1;
    if (finding.rewrites.some((rewrite) => rewrite.tier === 'safe')) row.fixable += 1;
    rows.set(finding.rule, row);
  }
  return [...rows]
    .sort(([a, x], [b, y]) => y.count - x.count || (a < b ? -1 : 1))
    .map(([rule, { count, fixable }]) => `${String(count).padStart(6)}  ${rule}  ${fixable} with a safe rewrite\n`)
    .join('');
}
