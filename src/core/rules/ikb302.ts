import type { Rule } from './rule';
import { costText, sinkText, sourceText, when } from './wording';

export const ikb302: Rule = {
  code: 'IKB302',
  name: 'implicit-matmul-copy',
  summary: 'A product whose own broadcasting writes the expanded operand',
  level: 'warning',
  docs: {
    what: 'Finds `matmul` calls that copy an operand inside: a three-dimensional weight against four-dimensional activations, or four-dimensional operands of which only some batch axes broadcast.',
    why: '`matmul` expands the batch axes of both operands and reshapes them to three dimensions. When the expanded axes do not collapse to one stride, that reshape writes every copy.',
    example:
      'b, f, d = h.shape\ny = torch.matmul(self.w, h.unsqueeze(-1))      # [F, D, D] @ [B, F, D, 1]: w is written B times',
    useInstead: "y = torch.einsum('fij,bfj->bfi', self.w, h).unsqueeze(-1)",
    fixSafety: 'The einsum contracts the same elements in another order. Safe up to floating-point reassociation.',
    limits:
      'Only reported where the number of axes and the sizes of the batch axes are in the text; most activations do not say so. A copy that meets matrices and no vectors is reported as information: an einsum may then copy the other operand instead, and which of the two is larger is mostly not in the text. Newer versions of PyTorch may stop copying.',
    references: ['https://pytorch.org/docs/stable/generated/torch.matmul.html'],
  },
  match: (match) => match.code === 'IKB302',
  message(match) {
    return `${sinkText(match)} broadcasts ${sourceText(match)} along batch axes and writes every copy${when(match)}${costText(match)}`;
  },
  rewrites: [{ id: 'einsum', title: 'Write the product as an einsum, which reads the operand once' }],
};
