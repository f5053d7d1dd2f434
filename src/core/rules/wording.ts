/** Pieces that the messages of all rules share. */
import { isOne } from '../tensor/dim';
import { factors } from '../cost/cost';
import type { Match } from '../judge/match';
import { type Node, textOf } from '../python/syntax';
import { hasWord } from '../python/words';

const MAX = 40;

/** As it would stand on one line. */
export const onOneLine = (text: string): string =>
  text
    .replace(/\\\r?\n\s*/g, '')
    .replace(/([([])\s*\n\s*/g, '$1')
    .replace(/,?\s*\n\s*(?=[)\]])/g, '')
    .replace(/\s+/g, ' ');

export const short = (text: string): string => {
  const flat = onOneLine(text);
  return flat.length <= MAX ? flat : `${flat.slice(0, MAX - 1)}…`;
};

export const sourceText = (match: Match): string => {
  const [replica] = match.replicas;
  const text = replica?.sourceExpression?.text ?? replica?.listed?.text;
  if (text) return `\`${short(text)}\``;
  return replica?.helper ? `a tensor in \`${short(replica.helper)}\`` : 'a tensor';
};

/** Nothing says how often, which may be once. */
const UNCOUNTED = 'an unknown number of times';

/** "once per row of `n`", "by `idx`". */
export function copies(match: Match): string {
  const [replica] = match.replicas;
  if (!replica) return UNCOUNTED;
  if (match.times.length > 0) {
    const factors = match.times.map((text) => (text !== null && !/^[\w.[\]-]+$/.test(text) ? `(${text})` : text));
    return factors.includes(null) ? UNCOUNTED : `\`${short(factors.join(' * '))}\` times`;
  }
  const counts =
    replica.map.kind === 'indexed' ? /^arange\(\)\.repeat_interleave\((.*)\)$/.exec(replica.map.index)?.[1] : null;
  if (counts) return `as often as \`${short(counts)}\` says`;
  if (replica.map.kind === 'indexed') return `once per entry of \`${short(replica.map.index)}\``;
  const ratio = replica.ratio && !isOne(replica.ratio) ? factors([match.named(replica.ratio)]) : null;
  const own = isPart(replica.mapText, ratio) ? ratio : (replica.mapText ?? ratio);
  // How long a list has become says how many copies there are of all that it holds.
  const text = replica.listed?.times ?? (own?.includes('?') ? null : own);
  return text === null ? UNCOUNTED : `\`${short(text)}\` times`;
}

/** `expand(b, c, -1, -1)` whose first two axes were then made one: both of them say how often. */
function isPart(size: string | null, ratio: string | null): boolean {
  const parts = ratio?.split('*') ?? [];
  return (
    size !== null &&
    parts.length > 1 &&
    !parts.includes('?') &&
    parts.includes(size.replace(/\.size\((.*)\)$/, '.shape[$1]'))
  );
}

export const sinkText = (match: Match): string => {
  const { node } = match.sink;
  const elsewhere =
    node.file === (match.via ?? match.origin).file ? '' : ` of ${node.file.path.split('/').pop() ?? ''}`;
  return `${calleeText(node)}${elsewhere}`;
};

/** What is called, or the operator with its operands. */
const calleeText = (node: Node): string => {
  const fn = node.children.find((c) => c.field === 'function') ?? node;
  const text = onOneLine(textOf(fn));
  const method = fn.kind === 'attribute' ? fn.children.find((c) => c.field === 'attribute') : undefined;
  // Of a long receiver its method says more than its beginning.
  return text.length > MAX && method ? `\`….${short(textOf(method))}\`` : `\`${short(text)}\``;
};

/** What a callee that is not known does with the copies, as far as the keyword says. */
export const handedOver = (match: Match): string | null => {
  const { keyword } = match.sink;
  if (keyword === null) return null;
  const first = /embeds$/.test(keyword) ? 'whose first layer' : 'whose cross-attention';
  return `into \`${keyword}\` of ${sinkText(match)}${when(match)}, ${first}, by that keyword, projects every copy${costText(match)}`;
};

const LONGEST_CONDITION = 48;

/** Two conditions at most, each whole: half of one may say the opposite. */
export function when(match: Match): string {
  const first = match.first ? ['in the first pass of the loop'] : [];
  const shown = match.when
    .map((text) => text.replace(/\s+/g, ' '))
    .filter((text) => text.length <= LONGEST_CONDITION)
    .slice(0, 2)
    .map((text, _, list) => (list.length > 1 && / or /.test(text) ? `(${text})` : text));
  const some = match.partly || shown.length < match.when.length ? ['on some paths'] : [];
  const all = [...(shown.length > 0 ? [`when ${shown.join(' and ')}`] : []), ...first, ...some];
  return all.length > 0 ? ` (${all.join(', ')})` : '';
}

/** Whether a dropout stands between the copies and the product. */
export const isDropped = ({ path }: Match): boolean => path.some(({ kind }) => kind === 'draw');

/** The copies are equal then, and not so in training. */
export const inEvaluation = (match: Match): string => (isDropped(match) ? ' in evaluation' : '');

/** What the copy writes: a number where the shapes are bound, the expression otherwise, nothing if a factor is unknown. */
export function costText(match: Match): string {
  const bytes = match.size(match.cost.bytes);
  const half = match.cost.itemSize === null ? ' in half precision' : '';
  if (bytes !== null) return `: ${amount(bytes)} per call${half}${shareText(match)}${boundAt(match)}`;
  return isReadable(match.cost.bytesText) ? `: ${match.cost.bytesText} bytes per call${half}` : '';
}

/** How much of the product is spent on copies: what a split saves of its operations. Null where a width or the ratio is not known. */
function shareOf({ code, form, cost, size }: Match): number | null {
  // Recombined weights save more, and batches of matrices nothing.
  if (!/^IKB10[123]$/.test(code)) return null;
  const ratio = size(cost.ratio);
  const widths = form?.blocks.map(({ width }) => size(width)) ?? [];
  const all = widths.reduce<number | null>((sum, width) => (sum === null || width === null ? null : sum + width), 0);
  if (ratio === null || ratio < 1 || !all) return null;
  const copied = (form?.blocks ?? []).reduce(
    (sum, { terms }, i) => sum + (terms.every((term) => term.replicated) ? (widths[i] ?? 0) : 0),
    0,
  );
  return (copied * (1 - 1 / ratio)) / all;
}

function shareText(match: Match): string {
  const share = shareOf(match);
  return share === null || share === 0 ? '' : ` and ${Math.round(share * 100)} % of the product's operations`;
}

const LONGEST_FORMULA = 60;

/** Every factor is known and has a name of its own: `x.shape[1]`, no piece of code. */
const isReadable = (formula: string): boolean =>
  formula.length <= LONGEST_FORMULA && !/\?|\[(?!-?\d+\])|(?<!\blen)(?<=\w)\(/.test(formula);

/** ` at B=1024`: the bindings that the number depends on. */
function boundAt(match: Match): string {
  const widths = shareOf(match) === null ? [] : (match.form?.blocks.map(({ width }) => match.named(width)) ?? []);
  const text = [match.cost.bytesText, ...widths.map((width) => factors([width]))].join(' ');
  const used = Object.entries(match.bindings).filter(([name]) => hasWord(text, name));
  return used.length > 0 ? ` at ${used.map(([name, value]) => `${name}=${value}`).join(', ')}` : '';
}

export function amount(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? ''}`;
}
