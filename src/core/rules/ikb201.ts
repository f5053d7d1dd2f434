import type { Match } from '../judge/match';
import type { Rule } from './rule';
import { copies, costText, sinkText, sourceText, when } from './wording';

/** Positions of their own may have been added to the keys, or the values projected from something else. */
function copied({ attention, sink }: Match): string {
  const [keys, values] = [attention?.key, attention?.value].map((operand) => (operand?.replicas.length ?? 0) > 0);
  if (sink.keyword !== null || keys === values) return 'keys and values';
  return keys ? 'keys' : 'values';
}

/** Rows of several users are copied, each as often as an index names it. */
const areOfSeveral = ({ replicas: [replica] }: Match): boolean =>
  replica?.map.kind === 'indexed' && !/^arange\(\)\.repeat_interleave\(/.test(replica.map.index);

export const ikb201: Rule = {
  code: 'IKB201',
  name: 'broadcast-kv-attention',
  summary: 'Keys and values are replicated over the batch of an attention',
  level: 'warning',
  docs: {
    what: 'Finds attention whose keys or values (or the memory that they are projected from) are copied per candidate, prompt, beam or frame.',
    why: 'All copies hold the same rows. Queries of one group can attend to one K/V: fold the group into the query axis, or let the kernel look the source up by index. The copy costs memory and bandwidth that grow with the length of the sequence.',
    example:
      'k = k.repeat_interleave(n, dim=0)\nv = v.repeat_interleave(n, dim=0)\no = F.scaled_dot_product_attention(q, k, v)',
    useInstead:
      'b, h, s, d = q.shape\nq = q.view(-1, n, h, s, d).transpose(1, 2).reshape(-1, h, n * s, d)\no = F.scaled_dot_product_attention(q, k, v)    # then unfold',
    fixSafety:
      'Folding needs groups of equal size and no causal mask; a mask must be folded with the queries. Otherwise `ikbo_lens.attention` takes the index. A query of a single row, which attention would broadcast over the copies, stops with an error. Refused when a name is rebound between copy and attention.',
    limits:
      'Only calls that are known to be attention count: `F.scaled_dot_product_attention`, `nn.MultiheadAttention`, the flash and xformers functions. A decoder behind an unknown class counts by its keyword alone (`encoder_hidden_states`, `memory`), and rewrites are written for `F.scaled_dot_product_attention` only. Views that attention reads as they are (`expand` without a copy) cost nothing and are shown with `--hints` only. Copies of a batch that is hardly larger than the number of sources are reported all the same: the ratio is mostly not in the text. Where it is two (with and without guidance), they are reported as information, as are those by an index that only its name gives away (`user_idx`).',
    references: ['https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html'],
  },
  match: (match) => match.code === 'IKB201',
  message(match) {
    return `${sourceText(match)} is copied ${copies(match)} before the attention in ${sinkText(match)}${when(match)}; ${areOfSeveral(match) ? 'all entries that name one row' : 'all copies'} hold the same ${copied(match)}${costText(match)}`;
  },
  rewrites: [
    { id: 'ikbo', title: 'Use ikbo_lens.attention with the map instead of the copies' },
    { id: 'fold', title: 'Fold the queries that share keys into one longer query axis' },
  ],
};
