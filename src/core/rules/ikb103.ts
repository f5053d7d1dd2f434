import type { Rule } from './rule';
import { copies, costText, inEvaluation, sinkText, sourceText, when } from './wording';

export const ikb103: Rule = {
  code: 'IKB103',
  name: 'broadcast-compression',
  summary: 'A replicated block is concatenated on the contracted axis of W @ E',
  level: 'warning',
  docs: {
    what: 'Finds the linear compression of embeddings, `W @ torch.cat([user, cand], dim=1)`, with a block that is copied per candidate.',
    why: 'The concatenation writes the copies, and the product of W with the shared block is computed per candidate. It splits along the columns of W.',
    example:
      'u = user.repeat_interleave(n, dim=0)           # [B, Ku, D], n copies of each user\ne = torch.cat([u, cand], dim=1)               # [B, Ku + Kc, D]\ny = self.w @ e                                # [M, Ku + Kc] @ [B, Ku + Kc, D]',
    useInstead: 'ku = user.shape[1]\ny = (self.w[:, :ku] @ user).repeat_interleave(n, dim=0) + self.w[:, ku:] @ cand',
    fixSafety:
      'Same result up to the order of floating-point additions. In half precision, and under `torch.autocast`, each part is rounded before the parts are added, where one product is rounded once. Sizes that do not fit, an error of `cat`, broadcast where one of them is 1. Not offered when the index or a name is rebound, or when the concatenation is read elsewhere and would have to stay.',
    limits:
      'Silent where the weight has a batch axis of its own, where the concatenation is not on the contracted axis, or where the index is not known to take rows several times. Below about three copies per row the split does not pay: two small products replace one. An index that only its name gives away (`user_idx`) is reported as information.',
    references: ['https://pytorch.org/docs/stable/generated/torch.matmul.html'],
  },
  match: (match) => match.code === 'IKB103',
  message(match) {
    return `${sourceText(match)} is copied ${copies(match)} and concatenated on the contracted axis of ${sinkText(match)}${when(match)}; W times that block is the same for every copy${inEvaluation(match)}${costText(match)}`;
  },
  rewrites: [
    { id: 'decompose', title: 'Split the compression and multiply the shared part once' },
    { id: 'ikbo', title: 'Use ikbo_lens.linear_compression with the map instead of the copy' },
  ],
};
