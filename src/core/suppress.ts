/**
 * Suppression comments. `# ikbo: ignore[IKB101]` (or `# ikbo: ignore` for every rule) on a line of the broadcast silences
 * it; `# ikbo: ignore-file` or `# ikbo: ignore-file[IKB101]` silences the file. One that silences nothing is reported,
 * so that old ones do not hide new findings.
 */
import type { Finding, Note } from './finding';

export interface Comment {
  /** 1-based. */
  readonly line: number;
  /** With its `#`. */
  readonly text: string;
}

export interface Suppressed {
  readonly findings: readonly Finding[];
  /** Silenced findings, for reports that list them (SARIF). */
  readonly suppressed: readonly Finding[];
  readonly notes: readonly Note[];
}

interface Directive {
  readonly line: number;
  readonly file: boolean;
  /** Null for every rule. */
  readonly rules: ReadonlySet<string> | null;
}

const DIRECTIVE = /#\s*ikbo:\s*ignore(-file)?\s*(?:\[([^\]]*)\])?/;

function directiveOf(comment: Comment): Directive | undefined {
  const match = DIRECTIVE.exec(comment.text);
  if (!match) return undefined;
  const codes = match[2]?.split(',').map((code) => code.trim().toUpperCase());
  return {
    line: comment.line,
    file: match[1] !== undefined,
    rules: codes ? new Set(codes.filter((code) => code !== '')) : null,
  };
}

function silences(directive: Directive, finding: Finding): boolean {
  if (directive.rules && !directive.rules.has(finding.rule)) return false;
  return directive.file || (finding.line <= directive.line && directive.line <= finding.endLine);
}

/** `comments` are the comments of the file `path`; every finding is of that file. */
export function suppress(path: string, comments: readonly Comment[], findings: readonly Finding[]): Suppressed {
  const directives = comments.map(directiveOf).filter((directive) => directive !== undefined);
  const kept: Finding[] = [];
  const suppressed: Finding[] = [];
  const used = new Set<Directive>();
  for (const finding of findings) {
    const by = directives.filter((directive) => silences(directive, finding));
    for (const directive of by) used.add(directive);
    (by.length > 0 ? suppressed : kept).push(finding);
  }
  const notes = directives
    .filter((directive) => !used.has(directive))
    .map(({ line, file }) => ({
      path,
      line,
      message: `unused \`# ikbo: ignore${file ? '-file' : ''}\`: it silences no finding; remove it`,
    }));
  return { findings: kept, suppressed, notes };
}
