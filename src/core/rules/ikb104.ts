import type { Rule } from './rule';
import { copies, costText, sinkText, sourceText, when } from './wording';

export const ikb104: Rule = {
  code: 'IKB104',
  name: 'difference-product-linear',
  summary: 'Blocks [q, k, q - k, q * k] with a replicated q in front of a linear layer',
  level: 'warning',
  docs: {
    what: 'Finds the attention unit of DIN and its relatives: a query is expanded over a history and concatenated with the history, their difference and their product, in front of an MLP.',
    why: 'Plain and difference blocks are linear in q, so their part of the first layer can be computed once per query: `(W1 + W3) q + (W2 - W3) k + W4 (q * k)`. Only the product needs one row per history item, and four blocks become two.',
    example: 'q = q.unsqueeze(1).expand(-1, t, -1)\nx = torch.cat([q, k, q - k, q * k], dim=-1)\nh = self.mlp(x)',
    useInstead:
      'w1, w2, w3, w4 = self.mlp[0].weight.chunk(4, dim=1)\nh = F.linear(q, w1 + w3).unsqueeze(1) + F.linear(k, w2 - w3, self.mlp[0].bias) + F.linear(q.unsqueeze(1) * k, w4)\nh = self.mlp[1:](h)',
    fixSafety:
      'Exact algebra, but the sums of weights round differently from the sums of products: a suggestion, never applied by fix-all. A view that merges row axes in front of the layer follows the product, and a layer at the front of another module is reached through it.',
    limits:
      'Silent where the blocks are not sums and products of the same tensors (an outer product, an attention score), and not offered where groups of rows share one query, since the query then does not broadcast by itself. With half precision and large, nearly equal `W1` and `W3` the recombined weights lose digits: compare before you deploy. An index that only its name gives away (`user_idx`) is reported as information.',
    references: ['https://arxiv.org/abs/1706.06978'],
  },
  match: (match) => match.code === 'IKB104',
  message(match) {
    return `${sourceText(match)} is copied ${copies(match)} and concatenated with its differences or products in front of ${sinkText(match)}${when(match)}; the plain and difference blocks need one row per source${costText(match)}`;
  },
  rewrites: [{ id: 'recombine', title: 'Recombine the weights and multiply the shared query once' }],
};
