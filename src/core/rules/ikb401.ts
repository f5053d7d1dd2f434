import type { Rule } from './rule';
import { sinkText } from './wording';

export const ikb401: Rule = {
  code: 'IKB401',
  name: 'unaligned-contraction',
  summary: 'The contracted size keeps the product from the fast kernels',
  level: 'hint',
  docs: {
    what: 'Finds a half-precision product whose contracted size is known and not a multiple of 8 (4 for TF32), where it comes from a concatenation.',
    why: 'Tensor cores read 16 bytes at a time. A size that is not a multiple falls to kernels that are several times slower.',
    example: 'x = torch.cat([user, cand], dim=-1)            # 130 columns\ny = self.fc(x)',
    useInstead: 'Pad the weight and one block once, when the model is built: 136 columns.',
    fixSafety: 'Padding must be done once; a pad per call costs more than it gains.',
    references: ['https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html'],
  },
  match: (match) => match.code === 'IKB401',
  message(match) {
    return `the contracted size of ${sinkText(match)}: ${match.why ?? ''}; pad it once when the model is built`;
  },
  rewrites: [],
};
