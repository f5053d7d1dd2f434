/** The same split as one call of `ikbo_lens`, which adds the mapped products in place. IKB101 and IKB103. */
import type { Match } from '../judge/match';
import { type Part, isCopied, readConcatenation } from './blocks';
import type { Written } from './decompose';
import { insertBefore, replace, roomFor } from './edit';
import { canHoist, conditionsOf, conditionsOfMap } from './guards';
import { conditionsOfIkbo, importIkbo } from './imports';
import { productOf } from './product';
import { draftFor, finished } from './producers';
import { refuse } from './refusal';
import { mapText } from './replica';
import { ownReplicas } from './replicate';

export function catLinear(match: Match): Written {
  const product = productOf(match);
  const { node, kind, side } = match.sink;
  const compression = kind === 'matmul' && side === 'right';
  if (kind !== 'linear' && kind !== 'matmul') refuse('there is no such product in ikbo_lens');
  // `x @ w` has its weight the other way round.
  const weight = kind === 'matmul' && !compression ? `${product.weight}.T` : product.weight;
  const draft = draftFor(node);
  const { parts, merge, conditions } = readConcatenation(match, draft);
  if (merge !== '') refuse('the rows are merged into one axis between the copies and the product');
  const ikbo = importIkbo(node);
  const blocks = `[${parts.map((part) => blockText(part, ikbo.name)).join(', ')}]`;
  const name = `${ikbo.name}.${compression ? 'linear_compression' : 'cat_linear'}`;
  const callOn = (list: string): string =>
    product.after(`${name}(${[list, weight, ...(product.bias ? [product.bias] : [])].join(', ')})`);
  const edits = [...(ikbo.edit ? [ikbo.edit] : [])];
  if (canHoist(node) && callOn(blocks).length > roomFor(draft.target, node)) {
    const list = draft.fresh('blocks');
    edits.push(insertBefore(draft.target, [`${list} = ${blocks}`]), replace(node, callOn(list)));
  } else edits.push(replace(node, callOn(blocks)));
  return {
    edits: finished(draft, edits),
    conditions: [
      ...conditionsOfIkbo(node.file.root),
      ...product.conditions,
      ...conditions,
      ...parts.filter(isCopied).flatMap(({ copy }) => conditionsOfMap(copy.replicate, copy.replicas)),
      ...conditionsOf(match),
      ...draft.stays,
    ],
  };
}

function blockText(part: Part, ikbo: string): string {
  if (!isCopied(part)) return part.text;
  const { replicate, replicas } = part.copy;
  const map = replicate.map(ownReplicas(replicate, replicas));
  if (!map)
    refuse(
      'the copies are made along several axes, or along one that the small tensor is not known to have (a docstring can state its shape)',
    );
  return `(${part.text}, ${ikbo}.${mapText(map)})`;
}
