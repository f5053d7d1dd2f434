/** The rewrites that a finding of a model offers, as edits of the model's text. */
import { applyEdits } from '../edits';
import { type Condition, type Finding, type Rewrite, type TextEdit, refused } from '../finding';
import type { Analysed } from './analyse';
import type { OnnxMatch } from './judge/select';
import { lineEdits } from './line-edits';
import { readModel } from './read';
import { planRewrites, type Target } from './rewrite';
import { callsOf } from './rewrite/inline-calls';
import { kindOf } from './rewrite/plan';
import { pieceSource } from './splice';
import { printModel, type ModelText } from './text';
import { moveEdits } from './move-edits';

/** Trying a rewrite prints the model anew; beyond so many lines in all only the reason is given. */
const MAX_LINES = 400_000;
/** Where a function's call is opened, the model is read and followed once more: so many lines' work for each of its own. */
const READ_ANEW = 8;
const TOO_LARGE = 'the model is too large for a preview; `ikbo rewrite` applies it';

/** `printed` is the model as `printModel` prints it, `text` what the edits are for. */
export function withRewrites(
  analysed: Analysed,
  text: ModelText,
  printed: ModelText,
  found: readonly { finding: Finding; match: OnnxMatch }[],
): Finding[] {
  const lines = analysed.graph.operators.length;
  let spent = 0;
  return found.map(({ finding, match }) => {
    const opens = callsOf(analysed, match).size > 0;
    spent += lines * (opens ? READ_ANEW : 1);
    const rewrites =
      spent > MAX_LINES ? [tooMany(analysed, match, opens)] : offers(analysed, finding.path, text, printed, match);
    return { ...finding, rewrites };
  });
}

const LAID_OUT: Condition = {
  kind: 'layout',
  text: 'the comments and the layout of the text may go: it is written anew',
};

/** With standard operators; where that is not possible, also with an operator of ai.ikbo that comes with its definition. */
function offers(analysed: Analysed, path: string, text: ModelText, printed: ModelText, match: OnnxMatch): Rewrite[] {
  const standard = offer(analysed, path, text, printed, match, 'standard');
  if (standard.tier !== 'none' || match.events[0].code !== 'IKB201') return [standard];
  const own = offer(analysed, path, text, printed, match, 'ikbo');
  return own.id === 'ikbo' && own.tier !== 'none'
    ? [standard, { ...own, tier: 'suggestion', conditions: [NEEDS_KERNEL], reason: NEEDS_KERNEL.text }]
    : [standard];
}

const NEEDS_KERNEL: Condition = {
  kind: 'kernel',
  text: 'faster only where the runtime has a kernel for the operator; others run its definition, which copies as before',
};

const reasonOf = (conditions: readonly Condition[]): string | null =>
  conditions.length > 0 ? conditions.map(({ text }) => text).join('; ') : null;

function offer(
  analysed: Analysed,
  path: string,
  text: ModelText,
  printed: ModelText,
  match: OnnxMatch,
  target: Target,
): Rewrite {
  const { outcomes, pieces } = planRewrites(analysed, [match], false, target);
  const [outcome] = outcomes;
  if (!outcome) throw new Error('a match without an outcome');
  const { id, title, reason, condition } = outcome;
  if (reason !== null) return refused({ id, title }, reason);
  const after = printModel(readModel(pieceSource(analysed.model.source, pieces))).text;
  const edits = exactEdits(path, printed.text, after);
  const moved = text.text === printed.text ? edits : moveEdits(edits, printed, text);
  const conditions = [...(condition ? [condition] : []), ...(moved ? [] : [LAID_OUT])];
  return {
    id,
    title,
    tier: conditions.length === 0 ? 'safe' : 'suggestion',
    conditions,
    reason: reasonOf(conditions),
    edits: moved ?? [{ path, start: 0, end: text.text.length, text: after }],
  };
}

function exactEdits(path: string, before: string, after: string): TextEdit[] {
  const edits = lineEdits(path, before, after);
  return applyEdits(before, edits) === after ? edits : [{ path, start: 0, end: before.length, text: after }];
}

function tooMany(analysed: Analysed, match: OnnxMatch, opens: boolean): Rewrite {
  const { id, title } = kindOf(match);
  if (opens) return refused({ id, title }, TOO_LARGE);
  const [outcome] = planRewrites(analysed, [match], false).outcomes;
  return refused({ id: outcome?.id ?? '', title: outcome?.title ?? '' }, outcome?.reason ?? TOO_LARGE);
}
