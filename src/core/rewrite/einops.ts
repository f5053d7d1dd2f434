/** `einops.repeat` with one new axis: put in (`b d -> b n d`), or merged into another (`b d -> (b n) d`). */
import { type Node, textOf } from '../python/syntax';
import { flat } from './edit';
import type { Call } from './expression';
import type { Replicate } from './replica';

/** Reads one call. Null when the pattern does more than one such thing. */
export function einopsRepeat(call: Call): Replicate | null {
  const [source, pattern] = call.positional;
  const { text, sizes } = pattern?.kind === 'string' ? readPattern(pattern) : NO_PATTERN;
  const [inputs, outputs] = text.split('->');
  const countOf = (name: string): Node | undefined => sizes.get(name) ?? call.keywords.get(name);
  if (!source || inputs === undefined || outputs === undefined || /[(.]/.test(inputs)) return null;
  const before = inputs.trim().split(/\s+/);
  const after = outputs.trim().match(/\([^)]*\)|\S+/g) ?? [];
  const axis = after.findIndex((name, i) => name !== before[i]);
  const name = after[axis];
  if (axis < 0 || name === undefined || before.some((part) => !/^\w+$/.test(part))) return null;
  const inserted = /^\w+$/.test(name) || sizes.has(name);
  const rest = [...after.slice(0, axis), ...(inserted ? [] : [before[axis] ?? '']), ...after.slice(axis + 1)];
  if (rest.join(' ') !== before.join(' ')) return null;
  return inserted
    ? insertedAxis(call, axis, countOf(name), after.length)
    : mergedAxis(call, axis, name, before[axis] ?? '', countOf);
}

interface Pattern {
  readonly text: string;
  /** What stands in `{}`, by that text. */
  readonly sizes: ReadonlyMap<string, Node>;
}

const NO_PATTERN: Pattern = { text: '', sizes: new Map() };

/** Of `f'b d -> (b {n}) d'` as of a plain string; nothing of what is formatted further. */
function readPattern(node: Node): Pattern {
  const text = textOf(node);
  if (!/^f['"]/.test(text)) return { ...NO_PATTERN, text: text.slice(1, -1) };
  const sizes = new Map<string, Node>();
  for (const part of node.children.filter(({ kind }) => kind === 'interpolation')) {
    const [size, more] = part.children;
    if (!size || more || !/^\{[\w.]+\}$/.test(textOf(part))) return NO_PATTERN;
    sizes.set(textOf(part), size);
  }
  return { text: text.slice(2, -1), sizes };
}

function insertedAxis(call: Call, axis: number, count: Node | undefined, rank: number): Replicate | null {
  const [source] = call.positional;
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

function mergedAxis(
  call: Call,
  axis: number,
  group: string,
  old: string,
  countOf: (name: string) => Node | undefined,
): Replicate | null {
  const [source] = call.positional;
  const names = group.slice(1, -1).trim().split(/\s+/);
  const added = names.find((name) => name !== old);
  const count = added === undefined ? undefined : countOf(added);
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
