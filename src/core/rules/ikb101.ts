import type { Match } from '../judge/match';
import { textOf } from '../python/syntax';
import type { Rule } from './rule';
import { copies, costText, handedOver, inEvaluation, sinkText, sourceText, when } from './wording';

export const ikb101: Rule = {
  code: 'IKB101',
  name: 'broadcast-concat-linear',
  summary: 'A replicated block is concatenated to others in front of a linear layer',
  level: 'warning',
  docs: {
    what: 'Finds a tensor that is copied along a row axis (`expand`, `repeat`, `repeat_interleave`, an index) and concatenated with other features, where the concatenation is then multiplied by a weight: `nn.Linear`, `F.linear`, a 1x1 convolution, a recurrent layer, or the input projection of an attention layer.',
    why: '`cat` writes every copy to memory, and the product then spends the same operations on equal rows again and again. A linear layer over a concatenation is a sum of linear layers over its blocks, so the shared block can be multiplied once per source row.',
    example:
      'u = user.repeat_interleave(n, dim=0)           # [B, Du], n copies of each user\nx = torch.cat([u, cand], dim=-1)               # writes B*(Du + Dc)\ny = self.fc(x)',
    useInstead:
      'du = user.shape[-1]\ny = F.linear(user, self.fc.weight[:, :du]).repeat_interleave(n, dim=0) + F.linear(cand, self.fc.weight[:, du:], self.fc.bias)',
    fixSafety:
      'The result is the same up to the order of floating-point additions. In half precision, and under `torch.autocast`, each part is rounded before the parts are added, where one product is rounded once. Parameters and `state_dict` stay as they are. Where the layer stands at the front of a module that is called, its weight is reached through that module; what the forward does behind the layer becomes a method of its own, which `forward` calls too (only in the same file, where nothing stands before the layer; of a loop over layers, the first pass is handed its product). So it is where a module concatenates what it is given, as critics do with states and actions. Where a copy is handed to another function that adds it to a full tensor, a view is handed over instead; that is a suggestion, because a view cannot be written into. It is not offered when a normalization runs over the concatenated axis, when the layer is not plainly an `nn.Linear` (norms, hooks, adapters, subclasses, replaced modules), when a name is bound again or a tensor is written between the copy and the layer, also by a function of the file that is called there; a call of an unknown function on such a tensor is a printed condition. Only `cat` converts a block of integers or booleans: one is refused when its text, annotation, name or use as an index shows it, and where nothing shows that a block holds floating-point numbers (a layer that gives or reads it, arithmetic, an annotation as `torch.FloatTensor`, a comment as `# ikbo: user=[U, D]`), that is a printed condition. Should it not hold, the split stops with a dtype error at its first call; it never gives another number. So it does in a model in double precision where a block is made in single (`.float()`, `torch.rand`), which `cat` had widened: a printed condition where the file has a word of double precision. Sizes that do not fit, an error of `cat`, now broadcast where one of them is 1; around a `try` or `suppress` that waits for that error, this is a printed condition, and so is a tensor that is written into behind the product, since autograd keeps it and no copy. Where each of several functions hands views to the concatenation that only broadcast (`expand`), the layer is split where it stands, and all of them hand over what they expanded. Blocks that are copied alike are added up before they are copied. Where copied blocks stand among others, the others take a product each; reordering the `cat` and, once, the columns of the weight (`fc.weight[:, order]`) leaves one. The message names the order; the rewrite does not do it, since saved weights would no longer fit.',
    limits:
      "Silent where the copies are filled, masked or noised row by row before the layer, where a normalization runs over the concatenation, over masks and ids, where an index is not known to take rows several times, and for sums whose copied terms were multiplied before they were copied. An index that only its name gives away (`user_idx`) is reported as information. A copy of something that was projected before is still reported where it meets another layer: that product too is the same for every copy. What other files do to a layer from outside (a subclass that replaces it, a hook that a training script sets) is not seen. Little is gained below about three copies per row (two are reported as information, as are blocks of up to four columns), or where the copied block is much narrower than the layer's output: in plain PyTorch the product of each row is then copied at that width, which `ikbo_lens.cat_linear` avoids.",
    references: ['https://pytorch.org/docs/stable/generated/torch.nn.Linear.html'],
  },
  match: (match) => match.code === 'IKB101',
  message(match) {
    const joined = isAddend(match) ? 'added to other values' : 'concatenated';
    const handed = handedOver(match);
    if (handed !== null) return `${sourceText(match)} is copied ${copies(match)} and ${joined}, ${handed}`;
    return `${sourceText(match)} is copied ${copies(match)} and ${joined} in front of ${sinkText(match)}${when(match)}; its part of the product is the same for every copy${inEvaluation(match)}${costText(match)}${reordered(match)}`;
  },
  rewrites: [
    { id: 'decompose', title: 'Split the layer and multiply the shared part once' },
    { id: 'ikbo', title: 'Use ikbo_lens.cat_linear with the map instead of the copy' },
    { id: 'broadcast-add', title: 'Let the addition broadcast the shared tensor' },
    { id: 'expand', title: 'Hand over a view of stride 0 instead of the copy' },
  ],
};

const MOST_REORDERED = 6;

/** How the blocks would have to stand for what is not copied to be one product; nothing where they do. */
function reordered({ form, sink, local }: Match): string {
  const blocks = form?.blocks ?? [];
  const isCopy = blocks.map(({ terms }) => terms.every((term) => term.replicated));
  const runs = isCopy.filter((copy, i) => !copy && (i === 0 || isCopy[i - 1])).length;
  if (!local || sink.kind !== 'linear' || runs < 2 || blocks.length > MOST_REORDERED) return '';
  const given = form?.node?.children.find(({ kind }) => kind === 'argument_list');
  const texts = given?.children.find(({ kind }) => kind === 'list' || kind === 'tuple')?.children.map(textOf) ?? [];
  if (texts.length !== blocks.length || !texts.every((text) => /^\w+$/.test(text))) return '';
  const order = [...texts.filter((_, i) => isCopy[i]), ...texts.filter((_, i) => !isCopy[i])];
  return `; joined as [${order.join(', ')}], with the weight's columns in that order, the rest is one product`;
}

/** It is a part of sums alone, which may be joined to other blocks. */
function isAddend({ form, origin }: Match): boolean {
  const own = form?.blocks.filter(({ terms }) =>
    terms.some(({ factors }) => factors.some(({ replicas }) => replicas.some((r) => r.origin === origin))),
  );
  return form?.axis === null || (own !== undefined && own.length > 0 && own.every(({ terms }) => terms.length > 1));
}
