/** A rule: what it matches is decided by the judge; what it says and what it offers is here, documentation included. */
import type { Level } from '../finding';
import type { Match, RuleCode } from '../judge/match';

export interface Rule {
  /** Stable once released. */
  readonly code: RuleCode;
  /** kebab-case: `broadcast-concat-linear`. */
  readonly name: string;
  /** One sentence without a full stop. */
  readonly summary: string;
  readonly level: Level;
  readonly docs: RuleDocs;
  /** True when this match is the rule's. */
  readonly match: (match: Match) => boolean;
  /** The text of the diagnostic: what is copied, where it goes, what it costs, and under which condition. */
  readonly message: (match: Match) => string;
  /** What it may offer, most recommended first. The rewriter gives each its edits or the reason why there are none. */
  readonly rewrites: readonly RewriteKind[];
}

export interface RewriteKind {
  /** Stable within the rule: `decompose`, `ikbo`, `drop-expand`. */
  readonly id: string;
  /** One line, imperative. */
  readonly title: string;
}

/** Markdown. The rule page, the hover, `ikbo explain` and SARIF's help are made from these. */
export interface RuleDocs {
  readonly what: string;
  readonly why: string;
  readonly example: string;
  readonly useInstead: string;
  readonly fixSafety: string;
  /** Where it is silent though there is something, where it speaks though there is nothing to gain, what it does not see. */
  readonly limits: string;
  readonly references: readonly string[];
}
