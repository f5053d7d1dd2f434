import type { Rule } from './rule';
import { copies, costText, sinkText, sourceText, when } from './wording';

export const ikb303: Rule = {
  code: 'IKB303',
  name: 'copy-after-expand',
  summary: 'A cast, normalization or activation on an expanded view',
  level: 'warning',
  docs: {
    what: 'Finds an operator that runs element by element, or row by row, on an expanded view whose consumer would have read the view as it is.',
    why: 'The operator writes every copy. In front of the expand it computes the same values once.',
    example: 'm = memory.expand(batch, -1, -1).to(torch.bfloat16)\ny = torch.bmm(q, m)',
    useInstead: 'm = memory.to(torch.bfloat16).expand(batch, -1, -1)\ny = torch.bmm(q, m)',
    fixSafety:
      'The result is the same, also behind a normalization over the last axis. With gradients, the sum over the copies is taken in the type after a cast: printed as a condition. Not offered where the result is read elsewhere: it would be a view there, into which nobody may write.',
    limits:
      'Silent where the consumer would have written the view anyway, and not offered where the operator does not stand directly behind the expand, or where the result is read elsewhere: it would be a view there.',
    references: ['https://pytorch.org/docs/stable/generated/torch.Tensor.expand.html'],
  },
  match: (match) => match.code === 'IKB303',
  message(match) {
    return `${sourceText(match)} is expanded ${copies(match)} and then written by an operator that works row by row before ${sinkText(match)}${when(match)}; that operator can run before the expand${costText(match)}`;
  },
  rewrites: [{ id: 'before-expand', title: 'Run the operator before the expand' }],
};
