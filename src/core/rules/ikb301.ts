import { writesViews } from '../judge/batch-axes';
import type { Rule } from './rule';
import { copies, costText, sinkText, sourceText, when } from './wording';

export const ikb301: Rule = {
  code: 'IKB301',
  name: 'broadcast-batch-matmul',
  summary: 'A replicated operand of a product that would broadcast by itself',
  level: 'warning',
  docs: {
    what: 'Finds `matmul`, `bmm`, `einsum` or `@` with an operand that was copied along a batch axis (or gathered per row from a small table of matrices).',
    why: 'The product reads a view of stride 0 as well, or has a form that needs no copy: an einsum without the batch letter, a product folded into the output width, a grouped product per relation.',
    example: 'w = self.bases.repeat(batch, 1, 1)\ny = torch.bmm(x, w)',
    useInstead: 'w = self.bases.expand(batch, -1, -1)\ny = torch.bmm(x, w)',
    fixSafety:
      'Safe with three axes, where the product reads a view of stride 0 as it is; with four it would write the copy itself (see IKB302). In an einsum the copied letter is taken out of the equation; where nothing says that another operand has as many rows along it, and not one, that is a printed condition. Where the copy is handed to another function, a view takes its place: the conditions say what no function that gets it may do.',
    limits:
      'Silent where the copies differ. Reported, but not rewritten, where groups of rows share an operand, and where four axes would make the product copy by itself. Copies of a vector for matrices, blocks of which each copy meets a weight of its own, and a copied term of a sum, which the addition would broadcast by itself, are reported as information, and so are matrices that are picked by an index, which only a kernel of its own could look up, rows that are joined to those of another operand, and an index that only its name gives away. A product with a parameter that requires a gradient may still copy the view in its backward pass.',
    references: ['https://pytorch.org/docs/stable/generated/torch.matmul.html'],
  },
  match: (match) => match.code === 'IKB301',
  message(match) {
    const looked = match.replicas.some((replica) => replica.map.kind === 'indexed');
    const instead = looked
      ? 'could look the rows up'
      : writesViews(match)
        ? 'needs one of them, but would write out a view of it, too'
        : match.replicas.some(({ map }) => /^(blocks|cycle)$/.test(map.kind))
          ? 'could be taken group by group, with one copy for each'
          : 'can read one copy';
    const [block, ...more] = match.form?.blocks ?? [];
    if (more.length > 0)
      return `${sourceText(match)} is copied ${copies(match)} and concatenated in an operand of ${sinkText(match)}${when(match)}; the product of that part ${instead}${costText(match)}`;
    if ((block?.terms.length ?? 0) > 1)
      return `${sourceText(match)} is copied ${copies(match)} and added to other values in an operand of ${sinkText(match)}${when(match)}; ${looked ? 'a sum of rows that are looked up could be taken without the copy' : 'the addition needs no copy'}${costText(match)}`;
    return `${sourceText(match)} is copied ${copies(match)} as an operand of ${sinkText(match)}${when(match)}; the product ${instead}${costText(match)}`;
  },
  rewrites: [
    { id: 'drop-expand', title: 'Keep the operand a view: the product reads one copy' },
    { id: 'drop-letter', title: 'Take the copied letter out of the equation' },
    { id: 'expand', title: 'Hand over a view of stride 0 instead of the copy' },
  ],
};
