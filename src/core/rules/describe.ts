/** From a match to the finding that users see. */
import { bound } from '../cost/cost';
import { type Finding, type Rewrite, type Site, refused } from '../finding';
import type { Match } from '../judge/match';
import { type Node, positionOf } from '../python/syntax';
import { benchHint } from './bench-hint';
import { ruleFor } from './index';
import type { Rule } from './rule';

export function siteOf(node: Node): Site {
  const start = positionOf(node.file, node.start);
  const end = positionOf(node.file, node.end);
  return { path: node.file.path, line: start.line, column: start.column, endLine: end.line, endColumn: end.column };
}

/** Null for lazy ones when hints are not asked for. */
export function describe(
  match: Match,
  hints: boolean,
  rewritesFor: (match: Match) => readonly Rewrite[],
): Finding | null {
  const materialized = match.written !== null;
  if (!materialized && !hints) return null;
  const rule = ruleFor(match.code);
  const broadcast = siteOf(match.origin);
  const named = match.replicas.some((r) => r.evidence === 'named');
  const level = !materialized ? 'hint' : match.minor || named ? 'information' : rule.level;
  const hasBindings = Object.keys(match.bindings).length > 0;
  return {
    ...(match.via ? siteOf(match.via) : broadcast),
    rule: rule.code,
    level,
    materialized,
    message: rule.message(match),
    broadcast,
    written: match.written && siteOf(match.written),
    consumer: siteOf(match.sink.node),
    chain: match.path.map((step) => ({
      path: step.node.file.path,
      line: positionOf(step.node.file, step.node.start).line,
      what: step.what,
    })),
    cost: {
      bytes: match.cost.bytesText,
      flops: match.cost.flopsText,
      bound: hasBindings ? match.bindings : null,
      bytesValue: bound(match.cost.bytes, match.bindings),
      flopsValue: bound(match.cost.flops, match.bindings),
    },
    rewrites: !materialized ? [] : match.via ? fromElsewhere(match, rule) : rewritesFor(match),
    bench: benchHint(match),
  };
}

/** A copy that another file makes is not changed from here. */
function fromElsewhere({ origin }: Match, { rewrites: [kind] }: Rule): readonly Rewrite[] {
  const reason = `The copy is made in ${origin.file.path} (line ${positionOf(origin.file, origin.start).line}), which is not changed from here.`;
  return kind ? [refused(kind, reason)] : [];
}
