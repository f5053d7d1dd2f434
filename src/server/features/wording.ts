/** How rewrites are called in menus and hovers. */
import type { Rewrite } from '../../core/finding';

/** "Split the layer, if the index is sorted"; for refused ones without the reason. */
export function describeRewrite({ title, tier, reason }: Pick<Rewrite, 'title' | 'tier' | 'reason'>): string {
  return tier === 'suggestion' && reason ? `${title}, if ${asClause(reason)}` : title;
}

/** A sentence as part of another one. */
function asClause(sentence: string): string {
  const text = sentence.replace(/\.$/, '');
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}
