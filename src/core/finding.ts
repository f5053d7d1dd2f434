/**
 * What the analysis says of one materialized (or lazy) broadcast, as plain data. The shape is the public report
 * format `ikbo-report/1`: paths are relative with forward slashes, lines and columns are 1-based, edit offsets count
 * UTF-16 code units from the start of the file.
 *
 * In a notebook (`.ipynb`), `cell` is there and lines and columns are those of that cell's text; edits are still of the
 * file, its JSON.
 */

/** A half-open piece of source text: `endColumn` is the column after the last character. */
export interface Site {
  readonly path: string;
  /** Of a notebook only: number of the cell, 1-based, counted over all cells. */
  readonly cell?: number;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/** One step from the broadcast to the sink, in the order in which the data flows. */
export interface ChainStep {
  readonly path: string;
  readonly cell?: number;
  readonly line: number;
  /** What happens here, in the field's words: "cat writes the copy", "Linear contracts the last axis". */
  readonly what: string;
}

/** What the replica costs per call; symbolic, with numbers where every symbol is bound. */
export interface Cost {
  /** Bytes written for the replica, e.g. `B*Ku*2`. `?` stands for an unknown dimension. */
  readonly bytes: string;
  /** Floating-point operations spent on replicated rows that one row per source would not need. */
  readonly flops: string;
  /** The bindings used for the values below, or null when none are known. */
  readonly bound: Readonly<Record<string, number>> | null;
  readonly bytesValue: number | null;
  readonly flopsValue: number | null;
}

export interface TextEdit {
  readonly path: string;
  /** UTF-16 offset of the first replaced code unit, and of the one after the last. Edits of a rewrite never overlap. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** `safe`: all guards proved. `suggestion`: correct under the printed condition. `none`: refused, with the reason. */
export type Tier = 'safe' | 'suggestion' | 'none';

/**
 * What a condition is about:
 * - `gradient`: the results are the same, and gradients may not be, or cannot be taken
 * - `shared-draw`, `other-draws`, `batch-statistics`: random numbers, or statistics over rows, in training
 * - `row-wise`, `layer`, `saved-weights`: what a module does, and what it is loaded with
 * - `dtype`, `rounding`, `shape`: types, rounding, axes and sizes
 * - `ratio`, `map`: how many copies there are, and what an index, a count or a helper copies
 * - `writes`, `names`, `errors`, `compiler`: what other code does with what is rewritten
 * - `kernel`: where it is faster; `stays`: a copy is left; `layout`: comments and layout of the text may go
 */
export type ConditionKind =
  | 'gradient'
  | 'shared-draw'
  | 'other-draws'
  | 'batch-statistics'
  | 'row-wise'
  | 'layer'
  | 'saved-weights'
  | 'dtype'
  | 'rounding'
  | 'shape'
  | 'ratio'
  | 'map'
  | 'writes'
  | 'names'
  | 'errors'
  | 'compiler'
  | 'kernel'
  | 'stays'
  | 'layout';

/** What must hold for a suggestion to be right, or to be worth it. */
export interface Condition {
  readonly kind: ConditionKind;
  readonly text: string;
}

export interface Rewrite {
  /** Stable within a rule: `decompose`, `ikbo`, `drop-expand`, ... */
  readonly id: string;
  /** Imperative, as a menu entry: "Split the layer and compute the user part once". */
  readonly title: string;
  readonly tier: Tier;
  /** Those of a suggestion; empty for the other tiers. */
  readonly conditions: readonly Condition[];
  /** The conditions of a suggestion in one sentence, or why there is no edit; null for safe ones. */
  readonly reason: string | null;
  /** Empty exactly when the tier is `none`. */
  readonly edits: readonly TextEdit[];
}

/** Why a rewrite is not done after all. */
export const refused = ({ id, title }: Pick<Rewrite, 'id' | 'title'>, reason: string): Rewrite => ({
  id,
  title,
  tier: 'none',
  conditions: [],
  reason,
  edits: [],
});

export type Level = 'error' | 'warning' | 'information' | 'hint';

/** The range of the finding itself (path .. endColumn) is the broadcast's. */
export interface Finding extends Site {
  readonly rule: string;
  readonly level: Level;
  /** True when the replica is really written to memory; false for lazy (stride-0) ones, reported as hints on request. */
  readonly materialized: boolean;
  readonly message: string;
  /** The expression that replicates. */
  readonly broadcast: Site;
  /** The operator that writes the replica; null for lazy ones. */
  readonly written: Site | null;
  /** The matrix product or attention that reads it. */
  readonly consumer: Site;
  readonly chain: readonly ChainStep[];
  readonly cost: Cost;
  readonly rewrites: readonly Rewrite[];
  /** What to measure: the operator and its shapes, for `ikbo bench --finding`; null where no arm fits. */
  readonly bench: BenchHint | null;
}

/** Shapes of the matched chain by the benchmark's own dimension names; null values are not known statically. */
export interface BenchHint {
  readonly op: 'concat-linear' | 'linear-compression' | 'attention';
  readonly dims: Readonly<Record<string, number | null>>;
}

/** Something the user should know that is not a finding: a budget reached, a syntax error skipped. */
export interface Note {
  readonly path: string;
  readonly cell?: number;
  readonly line: number;
  readonly message: string;
}

export interface ReportError {
  readonly path: string;
  readonly message: string;
}

export interface Report {
  readonly schema: 'ikbo-report/1';
  readonly findings: readonly Finding[];
  readonly errors: readonly ReportError[];
  readonly stats: { readonly files: number; readonly parsed: number; readonly milliseconds: number };
}
