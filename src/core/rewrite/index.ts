/**
 * What can be done about a match: each rewrite with its edits and tier, or with the reason why there is none. A rewrite
 * keeps parameters where they are, changes no byte outside its edits, and leaves nothing that the same rule would find.
 */
import type { TorchVersion } from '../engine';
import { type Rewrite, type TextEdit, refused } from '../finding';
import type { Match, RuleCode } from '../judge/match';
import { ruleFor } from '../rules';
import { foldedAttention, mappedAttention } from './attention';
import { dropExpand, dropLetter } from './batch-product';
import { beforeExpand } from './before-expand';
import { conditionsOfWrites } from './behind';
import { conditionsOfCalls } from './between';
import { broadcastAdd, isSum } from './broadcast-add';
import { catLinear } from './cat-linear';
import { keepComments } from './comments';
import { copyBehind } from './copy-behind';
import { copySequences, isOfSequences } from './copy-sequences';
import { type Written, decompose } from './decompose';
import { differenceProduct } from './difference-product';
import { once, sentence, sentenceOf } from './conditions';
import { conditionsOfDraws } from './draws';
import { castBehind, foldShared, repeatHeads } from './gqa-fallback';
import { GQA_TORCH, enableGqa, foldHeads } from './grouped-heads';
import { groupedProducts } from './grouped-products';
import { conditionsOfModule, requireEditable } from './guards';
import { closeGaps, inOrder } from './edit';
import { requireUnhooked } from './gradients';
import { einsumProduct } from './implicit-product';
import { lazyCopy } from './lazy-copy';
import { lift } from './lift';
import { liftConcatenation } from './lift-concatenation';
import { padWidth } from './pad-width';
import { Refusal, refuse } from './refusal';
import { sinkBroadcast } from './sink-broadcast';
import { splitInPlace } from './split-in-place';

interface Builder {
  /** One of the rule's own `rewrites`, which give it its title. */
  readonly id: string;
  readonly build: (match: Match, torch: TorchVersion | null) => Written;
  /** The oldest PyTorch that has what the rewritten code uses. */
  readonly needs?: { readonly what: string; readonly torch: TorchVersion };
  /** What is tried where the copy is made in another function than the product, or on a branch. */
  readonly apart?: (match: Match) => Written;
  /** True for one that looks at the place of the copy alone. */
  readonly across?: boolean;
  /** True for one whose product still reads the copy by its name, as a view. */
  readonly keeps?: boolean;
  /** Left out where it could never apply; by default it is offered, or refused with a reason. */
  readonly applies?: (match: Match) => boolean;
}

const LENS = { what: '`ikbo_lens`', torch: [2, 4] } as const;
const GQA = { what: '`enable_gqa`', torch: GQA_TORCH } as const;

const BUILDERS: Readonly<Partial<Record<RuleCode, readonly Builder[]>>> = {
  IKB101: [
    { id: 'decompose', build: decompose, apart: splitInPlace, applies: (match) => !isSum(match) },
    { id: 'ikbo', needs: LENS, build: catLinear, applies: (match) => !isSum(match) },
    { id: 'broadcast-add', build: broadcastAdd, applies: (match) => isSum(match) && match.local },
    { id: 'expand', build: lazyCopy, across: true, keeps: true, applies: (match) => isSum(match) && !match.local },
  ],
  IKB102: [
    {
      id: 'sink-broadcast',
      build: (match) => (isOfSequences(match) ? copySequences(match) : sinkBroadcast(match)),
      apart: copyBehind,
    },
  ],
  IKB103: [
    { id: 'decompose', build: decompose },
    { id: 'ikbo', needs: LENS, build: catLinear },
  ],
  IKB104: [{ id: 'recombine', build: differenceProduct }],
  IKB201: [
    { id: 'ikbo', needs: LENS, build: mappedAttention },
    { id: 'fold', build: foldedAttention },
  ],
  IKB202: [
    { id: 'enable-gqa', needs: GQA, build: enableGqa, applies: isAttention },
    { id: 'fold-heads', build: foldHeads, applies: isAttention },
    { id: 'fold-products', build: groupedProducts, applies: (match) => !isAttention(match) },
  ],
  IKB203: [
    { id: 'fold-heads', build: foldShared },
    { id: 'cast-behind', build: castBehind, applies: ({ why }) => why?.kind === 'precision' },
    { id: 'repeat-heads', build: repeatHeads, applies: ({ attention }) => attention?.mask !== null },
  ],
  IKB301: [
    {
      id: 'drop-expand',
      build: dropExpand,
      keeps: true,
      applies: ({ sink, local }) => local && sink.kind !== 'einsum',
    },
    { id: 'drop-letter', build: dropLetter, applies: ({ sink, local }) => local && sink.kind === 'einsum' },
    { id: 'expand', build: lazyCopy, across: true, keeps: true, applies: ({ local }) => !local },
  ],
  IKB302: [{ id: 'einsum', build: einsumProduct }],
  IKB303: [{ id: 'before-expand', build: beforeExpand }],
  IKB304: [
    { id: 'decompose', build: decompose, applies: ({ form }) => (form?.blocks.length ?? 0) > 1 },
    { id: 'sink-broadcast', build: sinkBroadcast, applies: ({ form }) => (form?.blocks.length ?? 0) <= 1 },
  ],
  IKB401: [{ id: 'pad-width', build: padWidth }],
};

/** Only what splits can do without the concatenation. */
const liftedConcatenation = (match: Match): Match | null =>
  match.code === 'IKB101' && !isSum(match) ? liftConcatenation(match) : null;

/** True for a fused call; attention that is written out is two products. */
function isAttention({ sink }: Match): boolean {
  return sink.kind === 'attention';
}

/** The rewrites of a match, most recommended first. Ask while the match's file is open. `torch` is null where not known. */
export function rewritesFor(found: Match, torch: TorchVersion | null): readonly Rewrite[] {
  return (BUILDERS[found.code] ?? [])
    .filter(({ applies }) => applies?.(found) ?? true)
    .map(({ id, build: usual, apart, needs, across, keeps }) => {
      const title = ruleFor(found.code).rewrites.find((kind) => kind.id === id)?.title ?? id;
      try {
        if (needs && torch && isOlder(torch, needs.torch))
          refuse(`${needs.what} needs torch ${needs.torch.join('.')}, and the project runs on ${torch.join('.')}, too`);
        const match = found.local || across ? found : (lift(found) ?? liftedConcatenation(found) ?? found);
        const { file } = across ? match.origin : match.sink.node;
        const inPlace = apart && (!match.local || match.facts.apart === 'branch') ? apart : null;
        const build = inPlace ?? usual;
        requireEditable(match, across === true || match.code === 'IKB202', inPlace !== null);
        const { edits: own, conditions: given } = build(match, torch);
        if (!keeps) requireUnhooked(match);
        const edits = inOrder([...own, ...(match.sink.behind?.edits ?? [])]);
        // Those look at the function around the product, which may be another one here.
        const around = across
          ? []
          : [
              ...conditionsOfCalls(match, edits),
              ...conditionsOfWrites(match, edits),
              ...conditionsOfModule(match, edits),
            ];
        const conditions = once([...given, ...conditionsOfDraws(match, given), ...around]);
        const reason = sentenceOf(conditions);
        return {
          id,
          title,
          tier: reason === null ? 'safe' : 'suggestion',
          conditions,
          reason,
          edits: closeGaps(file.text, keepComments(file.root, edits)).map((edit): TextEdit => ({
            path: file.path,
            ...edit,
          })),
        };
      } catch (problem) {
        if (!(problem instanceof Refusal)) throw problem;
        return refused({ id, title }, sentence(problem.reason));
      }
    });
}

const isOlder = (one: TorchVersion, other: TorchVersion): boolean =>
  one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);
