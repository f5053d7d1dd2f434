/** Rewrites a model so that its copies never exist. The result is a list of pieces; the original is not touched. */
import type { Analysed } from '../analyse';
import type { OnnxMatch } from '../judge/select';
import { splice, type Piece } from '../splice';
import { editsOf } from './apply';
import { createBuilder, type Builder, type Target } from './builder';
import { planMatch } from './plan';
import { raisedOpset } from './raise-opset';
import { rerouteShapes } from './reroute';

export { Refusal, type Target } from './builder';

export interface Outcome {
  readonly match: OnnxMatch;
  readonly id: string;
  readonly title: string;
  /** Null when it was applied. */
  readonly reason: string | null;
  /** Under what condition the results are the same; null for always. */
  readonly condition: string | null;
}

export interface Plan {
  readonly outcomes: readonly Outcome[];
  readonly pieces: readonly Piece[];
}

/**
 * Applies what can be applied of these matches. `force` lets rewrites pass that would not pay; `opset` raises the model's
 * version of the standard operators. Throws `Refusal` where that is not possible.
 */
export function planRewrites(
  analysed: Analysed,
  matches: readonly OnnxMatch[],
  force: boolean,
  target: Target = 'standard',
  opset: number | null = null,
): Plan {
  const { model, program, spread } = analysed;
  const version = opset === null ? null : raisedOpset(model, opset);
  let builder: Builder = createBuilder(program, target, version);
  const outcomes = matches.map((match): Outcome => {
    const { kind, condition, result } = planMatch(builder, spread, match, force);
    const outcome = { match, id: kind.id, title: kind.title, condition };
    if (typeof result === 'string') return { ...outcome, reason: result };
    builder = result;
    return { ...outcome, reason: null };
  });
  rerouteShapes(model, builder);
  return { outcomes, pieces: splice(model.source.size, editsOf(model, builder)) };
}
