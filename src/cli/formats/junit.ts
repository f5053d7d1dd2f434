import type { Finding, Report } from '../../core/finding';
import { placeText } from '../../notebook/place';

/** JUnit XML: a test suite per file with findings, a failed test case per finding. */
export function junitReport(report: Report): string {
  const byFile = new Map<string, Finding[]>();
  for (const finding of report.findings) byFile.set(finding.path, [...(byFile.get(finding.path) ?? []), finding]);
  const suites = [...byFile].map(([path, findings]) =>
    suite(
      path,
      findings.map((finding) => testCase(finding)),
      'failures',
    ),
  );
  for (const error of report.errors) {
    const inner = `<testcase name="read" classname="${xml(error.path)}"><error message="${xml(error.message)}"/></testcase>`;
    suites.push(suite(error.path, [inner], 'errors'));
  }
  const clean = report.stats.files - byFile.size - report.errors.length;
  if (report.findings.length + report.errors.length === 0)
    suites.push(suite('ikbo', [`<testcase name="check" classname="${clean} files"/>`], null));
  const tests = Math.max(1, report.findings.length + report.errors.length);
  const head = `<testsuites name="ikbo" tests="${tests}" failures="${report.findings.length}" errors="${report.errors.length}" time="${report.stats.milliseconds / 1000}">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${head}\n${suites.join('\n')}\n</testsuites>\n`;
}

function suite(name: string, cases: readonly string[], counted: 'failures' | 'errors' | null): string {
  const counts = {
    failures: counted === 'failures' ? cases.length : 0,
    errors: counted === 'errors' ? cases.length : 0,
  };
  return `  <testsuite name="${xml(name)}" tests="${cases.length}" failures="${counts.failures}" errors="${counts.errors}">\n    ${cases.join('\n    ')}\n  </testsuite>`;
}

function testCase(finding: Finding): string {
  const name = xml(`${finding.rule} ${finding.cell === undefined ? '' : `cell ${finding.cell} `}line ${finding.line}`);
  const chain = finding.chain.map((step) => `${placeText(step)}: ${step.what}`).join('\n');
  return `<testcase name="${name}" classname="${xml(finding.path)}"><failure message="${xml(finding.message)}" type="${finding.rule}">${xml(chain)}</failure></testcase>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Escapes markup, and leaves out the control characters and lone surrogates that XML 1.0 cannot hold. */
function xml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
