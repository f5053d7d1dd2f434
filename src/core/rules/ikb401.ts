import type { Rule } from './rule';
import { sinkText, when } from './wording';

export const ikb401: Rule = {
  code: 'IKB401',
  name: 'unaligned-contraction',
  summary: 'The contracted size keeps the product from the fast kernels',
  level: 'information',
  docs: {
    what: 'Finds a layer, or a parameter of the class (`@ self.w`, `F.linear(x, self.w)`), over a concatenation whose width is known and not a multiple of 8 in half precision, or of 4 in single precision (for TF32, which PyTorch takes only where it is told to: there it is a hint). Reported where the text says that the product runs in half precision: its input is cast, the layer is made so (`dtype=torch.bfloat16`, `.half()`), or it stands under `torch.autocast`. Where nothing says so it is a hint, shown with `--hints` only, and in functions that copy something besides: others are not looked into.',
    why: 'Tensor cores read 16 bytes at a time. A row whose size is not a multiple falls to kernels that are slower, several times in the worst case.',
    example:
      'self.fc = nn.Linear(130, 64)\n...\nwith torch.autocast("cuda", dtype=torch.bfloat16):\n    y = self.fc(torch.cat([user, cand], dim=-1))     # 130 columns',
    useInstead:
      'self.fc = nn.Linear(136, 64)                   # once, when the model is built\n...\n    y = self.fc(torch.cat([user, cand, cand.new_zeros(*cand.shape[:-1], 6)], dim=-1))',
    fixSafety:
      'A suggestion: the result is the same whatever the new columns of the weight hold, since they meet zeros, and their gradient is zero; but the shape of a parameter changes, so that saved weights need the columns when they are loaded, and a new model draws other initial weights. The concatenation writes the zeros with the rest: the weight is never padded per call. Not offered where the layer or the concatenation is used elsewhere too, or the width is no number where the layer or the parameter is made. Wrong where a library pads by itself, and of no use on a CPU.',
    limits:
      'Wrong where a library pads by itself, and of no use on a CPU. Silent where the width is not known, which is most often so, and for layers that other code reads the width of.',
    references: ['https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html'],
  },
  match: (match) => match.code === 'IKB401',
  message(match) {
    return `the contracted size of ${sinkText(match)}${when(match)}: ${match.why?.text ?? ''}; pad it once when the model is built`;
  },
  rewrites: [{ id: 'pad-width', title: 'Widen the weight once and let zeros meet the new columns' }],
};
