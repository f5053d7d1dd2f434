/**
 * What can be done about a match: each rewrite with its edits and tier, or with the reason why there is none. A rewrite
 * keeps parameters where they are, changes no byte outside its edits, and leaves nothing that the same rule would find.
 */
import type { Rewrite, TextEdit } from '../finding';
import type { Match, RuleCode } from '../judge/match';
import { foldedAttention, mappedAttention } from './attention';
import { dropExpand, dropLetter } from './batch-product';
import { catLinear } from './cat-linear';
import { type Written, decompose } from './decompose';
import { enableGqa, foldHeads } from './grouped-heads';
import { requireEditable } from './guards';
import { Refusal } from './refusal';
import { sinkBroadcast } from './sink-broadcast';

interface Builder {
  readonly id: string;
  readonly title: string;
  readonly build: (match: Match) => Written;
}

const BUILDERS: Readonly<Partial<Record<RuleCode, readonly Builder[]>>> = {
  IKB101: [
    { id: 'decompose', title: 'Split the Linear and multiply the shared part once', build: decompose },
    { id: 'ikbo', title: 'Use ikbo_lens.cat_linear with the map instead of the copy', build: catLinear },
  ],
  IKB102: [
    { id: 'sink-broadcast', title: 'Multiply the small tensor and copy the result instead', build: sinkBroadcast },
  ],
  IKB103: [
    { id: 'decompose', title: 'Split the compression and multiply the shared part once', build: decompose },
    { id: 'ikbo', title: 'Use ikbo_lens.linear_compression with the map instead of the copy', build: catLinear },
  ],
  IKB201: [
    { id: 'ikbo', title: 'Use ikbo_lens.attention with the map instead of the copies', build: mappedAttention },
    { id: 'fold', title: 'Fold the queries that share keys into one longer query axis', build: foldedAttention },
  ],
  IKB202: [
    { id: 'enable-gqa', title: 'Pass the key and value heads as they are with enable_gqa=True', build: enableGqa },
    { id: 'fold-heads', title: 'Fold the query heads that share a key head into the query axis', build: foldHeads },
  ],
  IKB301: [
    { id: 'drop-expand', title: 'Drop the expand: the product broadcasts by itself', build: dropExpand },
    { id: 'drop-letter', title: 'Take the copied letter out of the equation', build: dropLetter },
  ],
};

/** The rewrites of a match, most recommended first. Ask while the match's file is open. */
export function rewritesFor(match: Match): readonly Rewrite[] {
  const { path } = match.origin.file;
  return (BUILDERS[match.code] ?? []).map(({ id, title, build }) => {
    try {
      requireEditable(match);
      const { edits, conditions } = build(match);
      const reason = conditions.length > 0 ? sentence(conditions.join('; ')) : null;
      return {
        id,
        title,
        tier: reason === null ? 'safe' : 'suggestion',
        reason,
        edits: edits.map((edit): TextEdit => ({ path, ...edit })),
      };
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      return { id, title, tier: 'none', reason: sentence(problem.reason), edits: [] };
    }
  });
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
