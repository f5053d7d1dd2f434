/** `einops.repeat` with one new axis: put in (`b d -> b n d`), or merged into another (`b d -> (b n) d`). */
import { textOf } from '../python/syntax';
import { flat } from './edit';
import type { Call } from './expression';
import type { Replicate } from './replica';

/** Reads one call. Null when the pattern does more than one such thing. */
export function einopsRepeat(call: Call): Replicate | null {
  const [source, pattern] = call.positional;
  const [inputs, outputs] = pattern?.kind === 'string' ? textOf(pattern).slice(1, -1).split('->') : [];
  if (!source || inputs === undefined || outputs === undefined || /[(.]/.test(inputs)) return null;
  const before = inputs.trim().split(/\s+/);
  const after = outputs.trim().match(/\([^)]*\)|\S+/g) ?? [];
  const axis = after.findIndex((name, i) => name !== before[i]);
  const name = after[axis];
  if (axis < 0 || name === undefined || before.some((part) => !/^\w+$/.test(part))) return null;
  const inserted = /^\w+$/.test(name);
  const rest = [...after.slice(0, axis), ...(inserted ? [] : [before[axis] ?? '']), ...after.slice(axis + 1)];
  if (rest.join(' ') !== before.join(' ')) return null;
  return inserted ? insertedAxis(call, axis, name, after.length) : mergedAxis(call, axis, name, before[axis] ?? '');
}

function insertedAxis(call: Call, axis: number, name: string, rank: number): Replicate | null {
  const [source] = call.positional;
  const count = call.keywords.get(name);
  if (!source || !count || axis === rank - 1) return null;
  const sizes = Array.from({ length: rank }, (_, i) => (i === axis ? flat(count) : '-1'));
  return {
    node: call.node,
    source,
    suffix: `.unsqueeze(${axis})`,
    kind: 'expand',
    arguments: [count],
    apply: (x) => `${x}.expand(${sizes.join(', ')})`,
    axis,
    map: () => ({ kind: 'expand', count: flat(count), axis }),
  };
}

function mergedAxis(call: Call, axis: number, group: string, old: string): Replicate | null {
  const [source] = call.positional;
  const names = group.slice(1, -1).trim().split(/\s+/);
  const added = names.find((name) => name !== old);
  const count = added === undefined ? undefined : call.keywords.get(added);
  // `(n b)` is a tile, whose copy needs the rank written out; only `(b n)` is read.
  if (!source || !count || names.length !== 2 || names[0] !== old) return null;
  return {
    node: call.node,
    source,
    suffix: '',
    kind: 'blocks',
    arguments: [count],
    apply: (x) => `${x}.repeat_interleave(${flat(count)}, dim=${axis})`,
    axis,
    map: () => ({ kind: 'repeats', count: flat(count), axis }),
  };
}
