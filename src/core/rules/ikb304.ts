import type { Match } from '../judge/match';
import type { Rule } from './rule';
import { copies, costText, sinkText, sourceText, when } from './wording';

/** `x_j` of a message function, `edges.src['h']`: the graph library has gathered it. */
const isHandedIn = ({ origin, replicas: [replica] }: Match): boolean =>
  origin.kind === 'identifier' ||
  (replica?.map.kind === 'indexed' && /(^|\.)edges\.(src|dst)$/.test(replica.map.index));

export const ikb304: Rule = {
  code: 'IKB304',
  name: 'gather-then-project',
  summary: 'Node features are gathered to edges and then projected',
  level: 'information',
  docs: {
    what: 'Finds `lin(x[src])` and `lin(torch.cat([x[src], x[dst]], dim=-1))` on the edges of a graph, and `x_i` and `x_j` of a message function that are projected.',
    why: 'A graph has many more edges than nodes. Projecting the nodes first and gathering the results does the product once per node, and an edge then adds two rows.',
    example: 'src, dst = edge_index\ne = self.lin(torch.cat([x[src], x[dst]], dim=-1))',
    useInstead:
      'd = x.shape[-1]\na = F.linear(x, self.lin.weight[:, :d])\nb = F.linear(x, self.lin.weight[:, d:], self.lin.bias)\ne = a[src] + b[dst]',
    fixSafety:
      'Same result up to the order of additions. In half precision, and under `torch.autocast`, each part is rounded before the parts are added, where one product is rounded once. Pays when edges outnumber nodes by more than about 3; the number is not known to the analysis, so it is a suggestion.',
    limits:
      'How many edges and nodes there are is not in the text: with fewer than about three edges per node the rewrite is slower. Silent where an index is a permutation, a top-k or a batch of seeds.',
    references: ['https://pytorch.org/docs/stable/generated/torch.nn.Linear.html'],
  },
  match: (match) => match.code === 'IKB304',
  message(match) {
    return `${sourceText(match)} is gathered ${isHandedIn(match) ? 'once per edge' : copies(match)} before ${sinkText(match)}${when(match)}; where edges outnumber nodes, projecting before gathering does fewer products${costText(match)}`;
  },
  rewrites: [
    { id: 'decompose', title: 'Project the nodes, then gather and add' },
    { id: 'sink-broadcast', title: 'Project the nodes, then gather' },
  ],
};
