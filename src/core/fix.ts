/**
 * Applies rewrites one at a time, checking again after each: a rewrite may make another one safe (it removed the other
 * reader of a copy) or void (it removed the sink), so applying two that were computed on the same text is not sound.
 */
import { applyEdits } from './edits';
import type { CheckOptions, Engine } from './engine';
import type { Finding, Rewrite } from './finding';

export interface FixOptions extends CheckOptions {
  /** Only these rules; null for all. */
  readonly rules: ReadonlySet<string> | null;
  /** Also apply suggestions, whose printed condition the caller accepts. */
  readonly unsafe: boolean;
  /** Preferred rewrite id where a finding offers several of the same tier, e.g. `ikbo`; null for the rule's own order. */
  readonly prefer: string | null;
}

export interface AppliedFix {
  readonly rule: string;
  /** Line of the broadcast in the text that the rewrite was applied to; of the cell in a notebook. */
  readonly line: number;
  readonly cell?: number;
  readonly rewrite: Rewrite;
}

export interface Fixed {
  readonly text: string;
  readonly applied: readonly AppliedFix[];
  /** Findings that are left, with their reasons in `rewrites`. */
  readonly left: readonly Finding[];
}

/** More rewrites than this in one file is a rewrite that does not converge. */
const MOST_REWRITES = 200;

/** The rewrite that `fix` takes for a finding, or undefined when none is allowed. */
export function chooseRewrite(finding: Finding, options: Pick<FixOptions, 'unsafe' | 'prefer'>): Rewrite | undefined {
  const tiers = options.unsafe ? (['safe', 'suggestion'] as const) : (['safe'] as const);
  for (const tier of tiers) {
    const allowed = finding.rewrites.filter((rewrite) => rewrite.tier === tier);
    const preferred = allowed.find((rewrite) => rewrite.id === options.prefer) ?? allowed[0];
    if (preferred) return preferred;
  }
  return undefined;
}

/** Edits of other files are left out: one call owns one file. */
export function fixText(engine: Pick<Engine, 'check'>, path: string, text: string, options: FixOptions): Fixed {
  const applied: AppliedFix[] = [];
  let current = text;
  for (;;) {
    const findings = engine.check(path, current, options).findings;
    const next = applied.length < MOST_REWRITES ? firstFix(findings, path, options) : undefined;
    if (!next) return { text: current, applied, left: findings };
    const after = applyEdits(current, next.rewrite.edits);
    if (after === current) return { text: current, applied, left: findings };
    current = after;
    applied.push(next);
  }
}

function firstFix(findings: readonly Finding[], path: string, options: FixOptions): AppliedFix | undefined {
  for (const finding of findings) {
    if (options.rules && !options.rules.has(finding.rule)) continue;
    const rewrite = chooseRewrite(finding, options);
    if (!rewrite || rewrite.edits.some((edit) => edit.path !== path)) continue;
    const { rule, line, cell } = finding;
    return { rule, line, rewrite, ...(cell === undefined ? {} : { cell }) };
  }
  return undefined;
}
