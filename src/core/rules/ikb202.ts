import type { Rule } from './rule';
import { copies, costText, sinkText, sourceText, when } from './wording';

export const ikb202: Rule = {
  code: 'IKB202',
  name: 'repeated-kv-heads',
  summary: 'Key and value heads are repeated to match the query heads',
  level: 'warning',
  docs: {
    what: 'Finds `repeat_kv` and its spellings (`repeat_interleave` over heads, `unsqueeze().expand().reshape()`, `einops.repeat`) in front of attention, also when attention is written out as two products.',
    why: 'Grouped-query attention stores fewer K/V heads to read less memory. Repeating them writes it all back. Fused kernels read shared heads by themselves.',
    example: 'k = repeat_kv(k, self.n_rep)\nv = repeat_kv(v, self.n_rep)\no = F.scaled_dot_product_attention(q, k, v)',
    useInstead:
      'o = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)\n# or, where the scores are written out (n query heads share a key head):\ngrouped = q.unflatten(1, (k.shape[1], n)).flatten(2, 3)\nscores = (grouped @ k.mT).unflatten(2, (n, q.shape[2])).flatten(1, 2)',
    fixSafety:
      '`enable_gqa=True` gives the same result, and is a suggestion because of its speed: fused kernels take it for half precision without a mask and head dimensions up to 256 only; with a mask, or where the text has a cast to single precision, larger or different head dimensions, or a choice of kernels (`sdpa_kernel`, `enable_flash_sdp(False)`), it is not offered. Folding the queries that share a head into one longer query is safe in any dtype, and is offered without a mask and causal order. Attention that is written out as two products takes the heads as they are in both, with or without a mask: the queries that share a head become rows of one product; this is safe, and the copies of the heads are never made. A query of a single head, which attention would broadcast over the repeated ones, stops with an error. A helper such as `repeat_kv` is read where it is in the file, and must do nothing else.',
    limits:
      'Heads that are repeated as a view and read as one are silent. Where a dispatcher further down picks the kernel, as in model libraries with several attention implementations, only the call in the text is judged. On devices without a fused kernel for shared heads repeating may be the faster way: measure.',
    references: [
      'https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html',
      'https://arxiv.org/abs/2305.13245',
    ],
  },
  match: (match) => match.code === 'IKB202',
  message(match) {
    return `the heads of ${sourceText(match)} are repeated ${copies(match)} before the attention in ${sinkText(match)}${when(match)}; shared heads can be read without a copy${costText(match)}`;
  },
  rewrites: [
    { id: 'enable-gqa', title: 'Pass the key and value heads as they are with enable_gqa=True' },
    { id: 'fold-heads', title: 'Fold the query heads that share a key head into the query axis' },
    { id: 'fold-products', title: 'Multiply grouped queries by the heads as they are' },
  ],
};
