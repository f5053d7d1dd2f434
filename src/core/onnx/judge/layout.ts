/** How changes of layout move replicated axes: transpose, reshape, insertion and removal of axes. */
import { merge, split, ALL, type MappedAxis } from '../../tensor/axis-map';
import { constant, divide, equal, isOne, multiply, ONE, product, valueOf, type Dim } from '../../tensor/dim';
import type { AxisState, Replica } from './state';

type Shape = readonly Dim[];

export const permute = (axes: readonly AxisState[], order: readonly number[]): AxisState[] =>
  order.map((i) => axes[i] ?? null);

/** New axes of size 1 at these positions of the result. */
export function insertAxes(axes: readonly AxisState[], at: ReadonlySet<number>): AxisState[] {
  const rest = [...axes];
  return Array.from({ length: axes.length + at.size }, (_, i) => (at.has(i) ? null : (rest.shift() ?? null)));
}

export const removeAxes = (axes: readonly AxisState[], gone: ReadonlySet<number>): AxisState[] =>
  axes.filter((_, i) => !gone.has(i));

/** A part of an input axis that goes whole into one output axis. */
interface Part {
  readonly extent: Dim;
  readonly state: AxisState;
}

/** Which output axis an input axis becomes unchanged, or null when it is merged or split. */
export function keptAxis(from: Shape, to: Shape, axis: number): number | null {
  const groups = factor(from, to);
  const at = groups?.findIndex(
    (group) => group.inputs.length === 1 && group.inputs[0] === axis && group.outputs.length === 1,
  );
  return at === undefined || at < 0 ? null : (groups?.[at]?.outputs[0] ?? null);
}

interface Group {
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/**
 * The coarsest groups of neighbouring axes that a reshape keeps together, from both ends inwards; what remains in the
 * middle is one group. Null when nothing is known.
 */
function factor(from: Shape, to: Shape): Group[] | null {
  const head: Group[] = [];
  const tail: Group[] = [];
  let [i, j] = [0, 0];
  let [m, n] = [from.length, to.length];
  const same = (a: number, b: number): boolean => equal(from[a] ?? null, to[b] ?? null) === true;
  while (i < m && j < n && same(i, j)) head.push({ inputs: [i++], outputs: [j++] });
  while (i < m && j < n && same(m - 1, n - 1)) tail.unshift({ inputs: [--m], outputs: [--n] });
  const span = (start: number, end: number): number[] => Array.from({ length: end - start }, (_, k) => start + k);
  const middle: Group[] = [];
  // Inside, a group closes where the products of both sides are equal again.
  let [a, b] = [i, j];
  while (a < m || b < n) {
    const [group, nextA, nextB] = closeGroup(from, to, a, m, b, n);
    middle.push({ inputs: span(a, nextA), outputs: span(b, nextB) });
    if (!group) break;
    [a, b] = [nextA, nextB];
  }
  return [...head, ...middle, ...tail];
}

function closeGroup(from: Shape, to: Shape, a: number, m: number, b: number, n: number): [boolean, number, number] {
  let [i, j] = [Math.min(a + 1, m), Math.min(b + 1, n)];
  while (i < m || j < n) {
    const left = product(from.slice(a, i));
    const right = product(to.slice(b, j));
    if (left && right && equal(left, right) === true) return [true, i, j];
    if (left && right && i < m && divide(right, left)) i++;
    else if (left && right && j < n && divide(left, right)) j++;
    else return [false, m, n];
  }
  return [true, m, n];
}

export function reshapeAxes(axes: readonly AxisState[], from: Shape, to: Shape): AxisState[] {
  const result = Array<AxisState>(to.length).fill(null);
  let single: Part | null = null;
  for (const { inputs, outputs } of factor(from, to) ?? []) {
    const parts = inputs.map((i): Part => ({ extent: from[i] ?? null, state: axes[i] ?? null }));
    // An axis of size 1 that is a piece of something goes into the axis after it.
    if (single) parts.unshift(single);
    single = outputs.length === 0 ? (parts.find(({ state }) => state?.kind === 'piece') ?? null) : null;
    const sizes = outputs.map((j) => to[j] ?? null);
    const states = regroup(parts, sizes);
    outputs.forEach((j, k) => (result[j] = states[k] ?? null));
  }
  return result;
}

/** The states of the output axes that one group of input axes becomes. */
function regroup(parts: readonly Part[], sizes: readonly Dim[]): AxisState[] {
  if (parts.length === 1 && sizes.length === 1) return [parts[0]?.state ?? null];
  if (parts.every(({ state }) => state === null)) return sizes.map(() => null);
  if (sizes.length === 1) return [mergeAll(parts)];
  // Cut the input axes so that each piece belongs to one output axis, then merge the pieces.
  const rest = [...parts];
  return sizes.map((size, k) => {
    if (k === sizes.length - 1) return mergeAll(rest.splice(0));
    const mine: Part[] = [];
    let need = size;
    while (rest.length > 0 && !(mine.length > 0 && isOne(need))) {
      const [part] = rest;
      if (!part || !need) return abandon(rest);
      const smaller = divide(need, part.extent);
      if (smaller) {
        mine.push(part);
        rest.shift();
        need = smaller;
        continue;
      }
      const inner = divide(part.extent, need);
      if (!inner) return abandon(rest);
      const [outer, left] = cut(part, need, inner);
      mine.push(outer);
      rest[0] = left;
      need = constant(1);
    }
    return mergeAll(mine);
  });
}

function abandon(rest: Part[]): null {
  rest.splice(0);
  return null;
}

function cut({ state }: Part, before: Dim, after: Dim): [Part, Part] {
  if (state?.kind !== 'replica')
    return [
      { extent: before, state: null },
      { extent: after, state: null },
    ];
  const halves = insideBlocks(state.mapped, after) ?? split(state.mapped, before, after);
  const keep = (mapped: MappedAxis | null): AxisState => mapped && { ...state, mapped };
  return [
    { extent: before, state: keep(halves.before) },
    { extent: after, state: keep(halves.after) },
  ];
}

/**
 * Position (b, a) of blocks of r with `after` = m*r reads row b*m + a // r: the outer part is free, the inner one has the
 * blocks. What a batch merged with repeated heads becomes when it is taken apart again.
 */
function insideBlocks({ map }: MappedAxis, after: Dim): ReturnType<typeof split> | null {
  const source = map.kind === 'blocks' && !isOne(map.ratio) ? divide(after, map.ratio) : null;
  return source && !isOne(source) ? { before: null, after: { map, source, extent: after } } : null;
}

function mergeAll(parts: readonly Part[]): AxisState {
  const [first, ...rest] = parts.filter(({ extent, state }) => state !== null || !isOne(extent));
  if (!first) return null;
  return rest.reduce(mergeTwo, first).state;
}

function mergeTwo(before: Part, after: Part): Part {
  const mapped = withBlocks(before, after) ?? merge(asMerge(before), asMerge(after));
  const extent = product([before.extent, after.extent]);
  const replica = [after.state, before.state].find((state): state is Replica => state?.kind === 'replica');
  if (!mapped || !replica) return { extent, state: null };
  // One row of something, repeated: the repetition of a piece.
  const piece = before.state?.kind === 'piece' ? before.state : (replica.piece ?? null);
  const map =
    piece && mapped.map.kind === 'blocks' && isOne(before.extent) ? { map: ALL, source: ONE, extent } : mapped;
  return { extent, state: { ...replica, mapped: { ...map, extent: mapped.extent ?? extent }, piece } };
}

/** The reverse of `insideBlocks`: a free axis merged with blocks after it gives blocks of both. */
function withBlocks(before: Part, after: Part): MappedAxis | null {
  if (before.state !== null || after.state?.kind !== 'replica') return null;
  const { map, source, extent } = after.state.mapped;
  if (map.kind !== 'blocks' || equal(multiply(source, map.ratio), extent) !== true) return null;
  return { map, source: multiply(before.extent, source), extent: multiply(before.extent, extent) };
}

const asMerge = ({ extent, state }: Part): Parameters<typeof merge>[0] => ({
  extent,
  mapped: state?.kind === 'replica' ? state.mapped : null,
});

/** The number of copies as a number, where known. */
export function ratioOf({ source, extent }: MappedAxis): number | null {
  const [s, e] = [valueOf(source), valueOf(extent)];
  if (s !== null && e !== null && s > 0) return e / s;
  return valueOf(divide(extent, source));
}
