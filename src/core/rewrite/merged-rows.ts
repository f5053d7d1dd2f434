/** A view between a concatenation and its product that merges row axes: it may as well follow the product. */
import type { Match } from '../judge/match';
import { type Node, textOf } from '../python/syntax';

import { worksBetween } from './draws';
import { callOf, integer, isSize } from './expression';
import { refuse } from './refusal';
import { type Traced, trace } from './trace';

export interface Merged extends Traced {
  /** What has to follow the product: `.flatten(0, -2)`, mostly nothing. */
  readonly merge: string;
}

/** From the input of a sink back to what is concatenated, through such a view. Refuses where anything else stands there. */
export function tracedRows({ form }: Match, input: Node): Merged {
  const made = trace(input);
  const [between, ...more] = form?.between ?? [];
  if (!between) return { ...made, merge: '' };
  const merged = between === made.value && more.length === 0 ? mergedRows(made.value) : null;
  if (!merged) refuse(worksBetween(between));
  const inner = trace(merged.tensor);
  return { value: inner.value, definitions: [...made.definitions, ...inner.definitions], merge: merged.merge };
}

/** `x.view(-1, d)`, `x.reshape(b * n, -1)`, `x.flatten(0, 1)`, of which the evaluation says that they keep the last axis. */
function mergedRows(value: Node): { readonly tensor: Node; readonly merge: string } | null {
  const call = callOf(value);
  if (!call?.receiver || call.splat || call.keywords.size > 0 || !call.positional.every(isSize)) return null;
  const tensor = call.receiver;
  const [first, last, ...more] = call.positional;
  if (!first || !last || more.length > 0) return null;
  if (call.method === 'view' || call.method === 'reshape') return { tensor, merge: '.flatten(0, -2)' };
  const [from, to] = [integer(first), integer(last)];
  const rows = from !== null && to !== null && from >= 0 && (to > from || to < -1);
  return call.method === 'flatten' && rows ? { tensor, merge: `.flatten(${textOf(first)}, ${textOf(last)})` } : null;
}

/** The sum of the parts with what has to follow it. */
export const merged = (sum: string, merge: string): string => (merge === '' ? sum : `(${sum})${merge}`);
