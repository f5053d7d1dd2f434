/** Rewrites a model so that its copies never exist. The result is a list of pieces; the original is not touched. */
import type { Condition } from '../../finding';
import type { Analysed } from '../analyse';
import type { OnnxMatch } from '../judge/select';
import type { Node } from '../model';
import { compose, splice, type Piece } from '../splice';
import { editsOf } from './apply';
import { createBuilder, Refusal, type Builder, type Target } from './builder';
import { callsOf, checkCalls, inlineCalls } from './inline-calls';
import { kindOf, planMatch } from './plan';
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
  readonly condition: Condition | null;
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
  given: Analysed,
  wanted: readonly OnnxMatch[],
  force: boolean,
  target: Target = 'standard',
  opset: number | null = null,
): Plan {
  const { analysed, matches, pieces: opened } = openCalls(given, wanted);
  const { model, program, spread } = analysed;
  const version = opset === null ? null : raisedOpset(model, opset);
  let builder: Builder = createBuilder(program, target, version);
  const outcomes = matches.map((found, i): Outcome => {
    const match = wanted[i] as OnnxMatch;
    if (typeof found === 'string') {
      const { id, title } = kindOf(match);
      return { match, id, title, condition: null, reason: found };
    }
    const { kind, condition, result } = planMatch(builder, spread, found, force);
    const outcome = { match, id: kind.id, title: kind.title, condition };
    if (typeof result === 'string') return { ...outcome, reason: result };
    builder = result;
    return { ...outcome, reason: null };
  });
  rerouteShapes(model, builder);
  const pieces = splice(model.source.size, editsOf(model, builder));
  const none = outcomes.every(({ reason }) => reason !== null);
  // Calls are opened for rewrites alone.
  if (none && opened) return { outcomes, pieces: [{ start: 0, end: given.model.source.size }] };
  return { outcomes, pieces: opened ? compose(opened, pieces) : pieces };
}

/** Matches inside functions, in a model where the operators of their calls stand in the graph; or why they do not. */
function openCalls(
  analysed: Analysed,
  wanted: readonly OnnxMatch[],
): { analysed: Analysed; matches: readonly (OnnxMatch | string)[]; pieces: readonly Piece[] | null } {
  const calls = new Set<Node>();
  const refused = wanted.map((match): string | null => {
    const own = callsOf(analysed, match);
    try {
      checkCalls(analysed, own);
      own.forEach((call) => calls.add(call));
      return null;
    } catch (error) {
      if (error instanceof Refusal) return error.message;
      throw error;
    }
  });
  if (calls.size === 0) return { analysed, matches: wanted.map((match, i) => refused[i] ?? match), pieces: null };
  const inlined = inlineCalls(analysed, calls, wanted);
  const matches = inlined.matches.map(
    (match, i) => refused[i] ?? match ?? 'it is inside a function, and another finding where that is put in its place',
  );
  return { analysed: inlined.analysed, matches, pieces: inlined.pieces };
}
