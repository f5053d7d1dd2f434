import { joinedAlong } from '../judge/joined';
import type { Rule } from './rule';
import type { Match } from '../judge/match';
import { copies, costText, handedOver, inEvaluation, sinkText, sourceText, when } from './wording';

/** Behind its first product, attention and a recurrence bring in what differs from row to row. */
/** What else it is given makes the rows differ after that. */
const beginsWithProduct = ({ sink: { kind } }: Match): boolean =>
  /^(multihead-attention|recurrent|bilinear)$/.test(kind);

const equalRows = (match: Match): string =>
  beginsWithProduct(match)
    ? `its first product is the same for every copy${upTo(match)}`
    : match.scaled
      ? `the copied rows give the same product${upTo(match)}`
      : 'the copied rows give equal results';

const whichComputes = (match: Match): string =>
  beginsWithProduct(match)
    ? `whose first product is then the same for every copy${upTo(match)}`
    : match.scaled
      ? `whose product is then the same for every copy${upTo(match)}`
      : `which then computes equal ${equalParts(match)}`;

const upTo = ({ scaled }: Match): string => (scaled ? ', up to a factor' : '');

/** Copies on the right of a product are its columns, or matrices of a batch. */
function equalParts({ sink, replicas: [replica] }: Match): string {
  if (sink.side !== 'right' || !replica) return 'rows';
  const { axis, rank } = replica;
  return axis === -1 || (rank !== null && axis === rank - 1) ? 'columns' : 'results';
}

export const ikb102: Rule = {
  code: 'IKB102',
  name: 'broadcast-linear',
  summary: 'A replicated tensor alone is fed to a linear layer',
  level: 'warning',
  docs: {
    what: 'Finds a tensor that is copied along a row axis and, through row-wise operators only, multiplied by a weight.',
    why: 'Every copy gives the same result: the layer, and every row-wise operator around it, runs once per copy instead of once per source row. Class and query tokens that are joined to other rows are reported at information level: the copies are few.',
    example: 'h = self.fc(user.repeat_interleave(n, dim=0))',
    useInstead: 'h = self.fc(user).repeat_interleave(n, dim=0)',
    fixSafety:
      'The result is bit for bit that of one row per source, up to the kernel that the library picks for the smaller product. Where a stage draws random numbers per row in training (dropout) or takes statistics over the rows (batch normalization), that is a printed condition. A module of the project that is called on the copies runs on the small tensor where its whole forward plainly works row by row. A recurrent layer, an encoder layer and attention of a tensor with itself treat the sequences of a batch one by one: they run on the small batch where whole sequences are copied and nothing but the sequences that they give is read. A copy that is made on a condition right in front of the layer is made of its result on that condition. Not offered when something else reads the copies, or when what stands between copy and layer is not known to work row by row.',
    limits:
      'Silent where anything on the way takes rows together or makes them differ: batch statistics aside, normalization over rows, a softmax over rows, noise, a mask per row. Modules whose class is not in the project are not looked through: what is handed to one as `inputs_embeds` or `query_embeds` is reported as information, since its first layer projects equal rows and the deeper ones may not. Class and query tokens that are joined to other rows are reported as information: the copies are few, and what they cost is mostly not worth a change. An index that only its name gives away (`user_idx`) is reported as information.',
    references: ['https://pytorch.org/docs/stable/generated/torch.nn.Linear.html'],
  },
  match: (match) => match.code === 'IKB102',
  message(match) {
    const handed = handedOver(match);
    if (handed !== null) return `${sourceText(match)} is copied ${copies(match)} ${handed}`;
    const axis = match.minor && !match.takenOut ? joinedAlong(match) : null;
    if (axis !== null)
      return `${sourceText(match)} is copied ${copies(match)} and joined along axis ${axis} in front of ${sinkText(match)}${when(match)}; its part of the result is the same for every copy${inEvaluation(match)}${costText(match)}`;
    return match.minor && !match.takenOut
      ? `${sourceText(match)} is copied ${copies(match)} into the rows that ${sinkText(match)} reads${when(match)}; ${equalRows(match)}${inEvaluation(match)}${costText(match)}`
      : `${sourceText(match)} is copied ${copies(match)} before ${sinkText(match)}${when(match)}, ${whichComputes(match)}${inEvaluation(match)}${costText(match)}`;
  },
  rewrites: [{ id: 'sink-broadcast', title: 'Multiply the small tensor and copy the result instead' }],
};
