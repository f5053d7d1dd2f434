import type { Rule } from './rule';
import { sinkText } from './wording';

export const ikb203: Rule = {
  code: 'IKB203',
  name: 'gqa-fallback',
  summary: 'enable_gqa=True where no fused kernel can take it',
  level: 'information',
  docs: {
    what: 'Finds `scaled_dot_product_attention(..., enable_gqa=True)` with a cause that keeps fused kernels from taking it: single or double precision, head dimensions above 256, or different head dimensions.',
    why: 'The call then runs on the math path, which writes the scores and repeats the heads itself: slower than repeating them by hand.',
    example: 'o = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), enable_gqa=True)',
    useInstead: 'o = F.scaled_dot_product_attention(q, k, v, enable_gqa=True).float()',
    fixSafety: 'A suggestion: which kernel runs depends on the device and the version of PyTorch.',
    references: ['https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html'],
  },
  match: (match) => match.code === 'IKB203',
  message(match) {
    return `enable_gqa=True in ${sinkText(match)} cannot use a fused kernel: ${match.why ?? 'unknown'}`;
  },
  rewrites: [],
};
