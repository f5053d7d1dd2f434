import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import Ajv from 'ajv-draft-04';
import type { Report } from '../../../src/core/finding';
import { githubReport } from '../../../src/cli/formats/github';
import { junitReport } from '../../../src/cli/formats/junit';
import { sarifReport, type SarifInput } from '../../../src/cli/formats/sarif';
import { statisticsReport } from '../../../src/cli/formats/statistics';
import { textReport } from '../../../src/cli/formats/text';
import { finding, rewrite } from '../../finding';
import { golden } from '../../golden';

const text = 'import torch\r\nu = "é😀"; x = u.repeat(2)\r\n';
const findings = [
  finding({
    line: 2,
    column: 12,
    endColumn: 23,
    rewrites: [
      rewrite('decompose', 'safe', [{ path: 'a.py', start: 20, end: 25, text: 'y' }]),
      rewrite('ikbo', 'none'),
    ],
  }),
  finding({
    line: 2,
    path: 'dir/b c.py',
    rule: 'IKB202',
    level: 'hint',
    materialized: false,
    message: 'a < b & "c", 100% of d\nnext',
  }),
];
const report: Report = {
  schema: 'ikbo-report/1',
  findings,
  errors: [{ path: 'bad.py', message: 'binary file' }],
  stats: { files: 3, parsed: 2, milliseconds: 7 },
};
const empty: Report = {
  schema: 'ikbo-report/1',
  findings: [],
  errors: [],
  stats: { files: 0, parsed: 0, milliseconds: 0 },
};
const texts = new Map([['a.py', text]]);
const rules: SarifInput['rules'] = [
  {
    code: 'IKB101',
    name: 'broadcast-concat-linear',
    summary: 'copied',
    level: 'warning',
    page: '# IKB101\n',
  },
];

describe('report formats', () => {
  it('text', () =>
    golden(
      'cli/formats/golden/report.txt',
      textReport(report, [{ path: 'a.py', line: 1, message: 'skipped' }], texts, false),
    ));
  it('GitHub annotations', () => golden('cli/formats/golden/github.txt', githubReport(report, texts)));
  it('JUnit', () => golden('cli/formats/golden/junit.xml', junitReport(report)));
  it('statistics', () => golden('cli/formats/golden/statistics.txt', statisticsReport(report)));
  it('JUnit holds what XML cannot', () =>
    assert.match(
      junitReport({ ...report, findings: [finding({ line: 1, message: 'a\u0001\uD800b' })] }),
      /a\uFFFD\uFFFDb/,
    ));

  describe('SARIF', () => {
    const schema: unknown = JSON.parse(
      readFileSync(require.resolve('@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json'), 'utf8'),
    );
    const valid = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(schema as object);
    const sarif = (input: Partial<SarifInput>) => {
      const log: unknown = JSON.parse(
        sarifReport({ report, suppressed: [], rules, version: '1.2.3', texts, ...input }),
      );
      assert.ok(valid(log), JSON.stringify(valid.errors?.slice(0, 3)));
      return log as {
        runs: [
          { results: { partialFingerprints: Record<string, string>; fixes: unknown[]; suppressions?: unknown }[] },
        ];
      };
    };
    it('follows the schema', () =>
      golden(
        'cli/formats/golden/report.sarif',
        sarifReport({ report, suppressed: [], rules, version: '1.2.3', texts }),
      ));
    it('follows the schema when empty', () => assert.equal(sarif({ report: empty }).runs[0].results.length, 0));
    it('the schema check can fail', () => assert.equal(valid({ version: '2.1.0', runs: [{}] }), false));
    it('lists suppressed findings as such', () => {
      const { results } = sarif({ suppressed: [{ finding: finding({ line: 9 }), kind: 'inSource' }] }).runs[0];
      assert.deepEqual(
        results.map((result) => result.suppressions),
        [undefined, undefined, [{ kind: 'inSource' }]],
      );
    });
    it('fingerprints stay when lines move, and differ between equal lines', () => {
      const prints = (given: string, lines: number[]) =>
        sarif({
          texts: new Map([['a.py', given]]),
          report: { ...report, findings: lines.map((line) => finding({ line })) },
        }).runs[0].results.map((r) => r.partialFingerprints['ikboFinding/v1']);
      const [first] = prints('x = u.repeat(2)\n', [1]);
      const moved = prints('\n\n  x = u.repeat(2)\n  x = u.repeat(2)\n', [3, 4]);
      assert.equal(moved[0], first);
      assert.notEqual(moved[1], first);
    });
  });
});
