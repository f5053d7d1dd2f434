/** SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/. Offsets and columns count UTF-16 code units. */
import type { Finding, Level, Report, Rewrite, Site } from '../../core/finding';
import { findingInFile } from '../../notebook/place';

/** What the log says of a rule; made from the rule files by the caller. */
export interface SarifRule {
  readonly code: string;
  readonly name: string;
  readonly summary: string;
  readonly level: Level;
  /** The rule page, Markdown. */
  readonly page: string;
}

export interface SarifInput {
  readonly report: Report;
  /** Findings silenced by a comment (`inSource`) or counted by a baseline (`external`). */
  readonly suppressed: readonly { readonly finding: Finding; readonly kind: 'inSource' | 'external' }[];
  readonly rules: readonly SarifRule[];
  readonly version: string;
  /** Text by report path, for fixes and fingerprints. */
  readonly texts: ReadonlyMap<string, string>;
}

const LEVEL = { error: 'error', warning: 'warning', information: 'note', hint: 'note' } as const;

export function sarifReport(input: SarifInput): string {
  const { report, rules, texts } = input;
  const index = new Map(rules.map((rule, at) => [rule.code, at]));
  const fingerprint = fingerprinter(texts);
  const result = (found: Finding) => resultOf(findingInFile(found, texts));
  const resultOf = (finding: Finding) => ({
    ruleId: finding.rule,
    ...(index.has(finding.rule) ? { ruleIndex: index.get(finding.rule) } : {}),
    level: LEVEL[finding.level],
    message: { text: finding.message },
    locations: [{ physicalLocation: location(finding) }],
    relatedLocations: finding.chain.map((step, id) => ({
      id,
      message: { text: step.what },
      physicalLocation: { artifactLocation: artifact(step.path), region: { startLine: step.line } },
    })),
    partialFingerprints: { 'ikboFinding/v1': fingerprint(finding) },
    fixes: finding.rewrites.filter((rewrite) => rewrite.edits.length > 0).map((rewrite) => fix(rewrite, texts)),
    properties: { cost: finding.cost, materialized: finding.materialized },
  });
  const run = {
    tool: {
      driver: {
        name: 'IKBO Lens',
        semanticVersion: input.version,
        rules: rules.map((rule) => ({
          id: rule.code,
          name: rule.name,
          shortDescription: { text: rule.summary },
          help: { text: rule.page, markdown: rule.page },
          defaultConfiguration: { level: LEVEL[rule.level] },
        })),
      },
    },
    columnKind: 'utf16CodeUnits',
    originalUriBaseIds: { ROOT: { description: { text: 'The folder that the check ran in.' } } },
    invocations: [
      {
        executionSuccessful: report.errors.length === 0,
        toolExecutionNotifications: report.errors.map((error) => ({
          level: 'error',
          message: { text: error.message },
          locations: [{ physicalLocation: { artifactLocation: artifact(error.path) } }],
        })),
      },
    ],
    results: [
      ...report.findings.map(result),
      ...input.suppressed.map(({ finding, kind }) => ({ ...result(finding), suppressions: [{ kind }] })),
    ],
  };
  const log = { $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0', runs: [run] };
  return `${JSON.stringify(log, null, 2)}\n`;
}

const artifact = (path: string) => ({ uri: path.split('/').map(encodeURIComponent).join('/'), uriBaseId: 'ROOT' });

function location(site: Site) {
  const region = { startLine: site.line, startColumn: site.column, endLine: site.endLine, endColumn: site.endColumn };
  return { artifactLocation: artifact(site.path), region };
}

function fix(rewrite: Rewrite, texts: ReadonlyMap<string, string>) {
  const paths = [...new Set(rewrite.edits.map((edit) => edit.path))];
  const condition = rewrite.reason === null ? '' : ` (${rewrite.reason})`;
  return {
    description: { text: `${rewrite.title}${condition}` },
    artifactChanges: paths.map((path) => ({
      artifactLocation: artifact(path),
      replacements: rewrite.edits
        .filter((edit) => edit.path === path)
        .map((edit) => ({
          deletedRegion: region(texts.get(path) ?? '', edit.start, edit.end),
          insertedContent: { text: edit.text },
        })),
    })),
  };
}

/** Lines end at LF, CRLF or a lone CR, as SARIF's text regions count them. */
function region(text: string, start: number, end: number) {
  const place = (offset: number) => {
    const before = text.slice(0, offset).split(/\r\n|\r|\n/);
    return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
  };
  const from = place(start);
  const to = place(end);
  return { startLine: from.line, startColumn: from.column, endLine: to.line, endColumn: to.column };
}

/**
 * Stays the same when lines move: rule, path, the text of the broadcast, and its number among equal ones. FNV-1a over
 * UTF-16 code units, 64 bits.
 */
function fingerprinter(texts: ReadonlyMap<string, string>): (finding: Finding) => string {
  const seen = new Map<string, number>();
  return (finding) => {
    const lines = (texts.get(finding.path) ?? '').split(/\r\n|\r|\n/).slice(finding.line - 1, finding.endLine);
    const key = [finding.rule, finding.path, lines.map((line) => line.trim()).join('\n')].join('\0');
    const number = seen.get(key) ?? 0;
    seen.set(key, number + 1);
    let hash = 0xcbf29ce484222325n;
    for (const character of `${key}\0${number}`) {
      hash = BigInt.asUintN(64, (hash ^ BigInt(character.codePointAt(0) ?? 0)) * 0x100000001b3n);
    }
    return hash.toString(16).padStart(16, '0');
  };
}
