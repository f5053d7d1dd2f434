/** Pieces that the messages of all rules share. */
import { isOne } from '../tensor/dim';
import { factors } from '../cost/cost';
import type { Match } from '../judge/match';
import { textOf } from '../python/syntax';

const MAX = 40;

export const short = (text: string): string => {
  const flat = text.replace(/\s+/g, ' ');
  return flat.length <= MAX ? flat : `${flat.slice(0, MAX - 1)}…`;
};

export const sourceText = (match: Match): string => {
  const source = match.replicas[0]?.sourceExpression;
  return source ? `\`${short(source.text)}\`` : 'a tensor';
};

/** "once per row of `n`", "by `idx`". */
export function copies(match: Match): string {
  const [replica] = match.replicas;
  if (!replica) return 'many times';
  if (replica.map.kind === 'indexed') return `once per entry of \`${short(replica.map.index)}\``;
  const ratio = replica.ratio && !isOne(replica.ratio) ? factors([replica.ratio]) : null;
  const text = replica.mapText ?? ratio;
  return text === null ? 'many times' : `\`${short(text)}\` times`;
}

export const sinkText = (match: Match): string => {
  const { node } = match.sink;
  const fn = node.children.find((c) => c.field === 'function');
  return `\`${short(fn ? textOf(fn) : textOf(node))}\``;
};

export const when = (match: Match): string =>
  match.when.length > 0 ? ` (when ${match.when.map(short).join(' and ')})` : '';

export function costText(match: Match): string {
  const parts = [
    match.cost.bytesText === '?' ? null : `${match.cost.bytesText} bytes`,
    match.cost.flopsText === '?' || match.cost.flopsText === '0' ? null : `${match.cost.flopsText} operations`,
  ];
  const known = parts.filter((p) => p !== null);
  return known.length > 0 ? `: ${known.join(', ')} per call` : '';
}
