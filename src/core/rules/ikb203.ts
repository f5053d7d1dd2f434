import type { Rule } from './rule';
import { sinkText } from './wording';

export const ikb203: Rule = {
  code: 'IKB203',
  name: 'gqa-fallback',
  summary: 'enable_gqa=True where no fused kernel can take it',
  level: 'information',
  docs: {
    what: 'Finds `scaled_dot_product_attention(..., enable_gqa=True)` with a cause that keeps fused kernels from taking it, as far as the text says so: single or double precision, head dimensions above 256, or different head dimensions.',
    why: 'The call then runs on the math path, which writes the scores and repeats the heads itself: slower than repeating them by hand.',
    example: 'o = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), enable_gqa=True)',
    useInstead:
      'n = q.shape[1] // k.shape[1]                   # queries that share a head, as one longer query\nfolded = q.float().unflatten(1, (k.shape[1], n)).flatten(2, 3)\no = F.scaled_dot_product_attention(folded, k.float(), v.float()).unflatten(2, (n, q.shape[2])).flatten(1, 2)\n# or, where half precision is good enough:\no = F.scaled_dot_product_attention(q, k, v, enable_gqa=True).float()',
    fixSafety:
      'Folding gives the same result up to the order of additions, without any copy; it is not offered with a mask or causal order, which do not fold. Moving a cast behind the attention rounds the result to half precision, and repeating the heads (offered with a mask) writes them: both are suggestions. Which kernel runs depends on the device and the version of PyTorch: measure. Nothing is said where neither dtype nor sizes are in the text.',
    limits:
      'Silent where neither dtype nor sizes are in the text: most models get their dtype from outside. The cause is read from the text, not from the device; on a CPU the call has no fused kernel to lose.',
    references: ['https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html'],
  },
  match: (match) => match.code === 'IKB203',
  message(match) {
    return `enable_gqa=True in ${sinkText(match)} cannot use a fused kernel: ${match.why?.text ?? 'unknown'}`;
  },
  rewrites: [
    { id: 'fold-heads', title: 'Fold the queries that share a head into one longer query axis' },
    { id: 'cast-behind', title: 'Attend in half precision and cast the result' },
    { id: 'repeat-heads', title: 'Repeat the heads, so that a fused kernel takes the masked call' },
  ],
};
