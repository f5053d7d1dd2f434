/**
 * A baseline lets an old code base adopt the checks: findings that it counts are not reported, new ones are. It counts per
 * file and rule, so that moved lines do not matter; where a file has more findings of a rule than counted, all of them
 * are reported, since nobody can tell which one is new.
 */
import type { Finding } from '../core/finding';

export interface Baseline {
  readonly schema: 'ikbo-baseline/1';
  /** Path, then rule, then count. Paths are relative to the baseline's folder, with forward slashes. */
  readonly counts: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export class BaselineError extends Error {}

/** Throws BaselineError when the text is not a baseline. */
export function parseBaseline(file: string, text: string): Baseline {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BaselineError(`${file}: not valid JSON; write it again with \`ikbo check --write-baseline ${file}\``);
  }
  if (!isBaseline(value))
    throw new BaselineError(
      `${file}: not an ikbo-baseline/1 file; write it again with \`ikbo check --write-baseline ${file}\``,
    );
  return value;
}

function isBaseline(value: unknown): value is Baseline {
  if (!isTable(value) || value['schema'] !== 'ikbo-baseline/1') return false;
  const { counts } = value;
  return (
    isTable(counts) &&
    Object.values(counts).every(
      (rules) =>
        isTable(rules) && Object.values(rules).every((count) => Number.isSafeInteger(count) && Number(count) >= 0),
    )
  );
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `pathOf` gives a finding's file relative to the baseline's folder. Sorted, so that it changes only where findings did. */
export function makeBaseline(findings: readonly Finding[], pathOf: (finding: Finding) => string): Baseline {
  const counts = new Map<string, Map<string, number>>();
  const pairs = findings.map((finding) => ({ path: pathOf(finding), rule: finding.rule }));
  const key = (pair: (typeof pairs)[number]) => `${pair.path}\0${pair.rule}`;
  for (const { path, rule } of pairs.sort((a, b) => (key(a) < key(b) ? -1 : 1))) {
    const rules = counts.get(path) ?? new Map<string, number>();
    counts.set(path, rules.set(rule, (rules.get(rule) ?? 0) + 1));
  }
  const plain = [...counts].map(([path, rules]) => [path, Object.fromEntries(rules)] as const);
  return { schema: 'ikbo-baseline/1', counts: Object.fromEntries(plain) };
}

export interface Compared {
  readonly findings: readonly Finding[];
  /** Counted ones, which are not reported. */
  readonly known: readonly Finding[];
}

export function compareBaseline(
  baseline: Baseline,
  findings: readonly Finding[],
  pathOf: (finding: Finding) => string,
): Compared {
  const now = makeBaseline(findings, pathOf).counts;
  const isKnown = (finding: Finding): boolean => {
    const path = pathOf(finding);
    return (now[path]?.[finding.rule] ?? 0) <= (baseline.counts[path]?.[finding.rule] ?? 0);
  };
  return { findings: findings.filter((finding) => !isKnown(finding)), known: findings.filter(isKnown) };
}
