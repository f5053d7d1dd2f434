/** einops patterns: which axis goes where, which are new, which merge and split. */
import { ALL } from '../tensor/axis-map';
import { type Dim, ONE, constant, divide, isOne, product } from '../tensor/dim';
import { concatenate } from '../tensor/concatenate';
import { mapReplicas, pointwise, writtenAt } from '../tensor/pointwise';
import { replica } from '../tensor/replicate';
import { mergeAxes, splitAxis } from '../tensor/merged-axes';
import { UNKNOWN_SHAPE, axisAt, exactShape, freeAxis, rankOf, tensor, withRank } from '../tensor/shape';
import type { Axis, Place, Shape, Tensor } from '../tensor/value';
import { type View, applyView } from '../tensor/views';
import { argument, asDim, asNumber, asString } from './access';
import type { Frame, Run } from './run';
import { textOf } from './syntax';
import type { Args, Value } from './value';

/** One axis of a pattern: the names merged in it; `1` is an axis of size 1, `...` any number of axes. */
type Group = readonly string[];

interface Pattern {
  readonly left: readonly Group[];
  readonly right: readonly Group[];
}

function parse(text: string): Pattern | null {
  const [left, right, more] = text.split('->');
  if (left === undefined || right === undefined || more !== undefined) return null;
  return { left: groups(left), right: groups(right) };
}

function groups(text: string): Group[] {
  const found: Group[] = [];
  for (const match of text.matchAll(/\(([^)]*)\)|(\S+)/g)) {
    if (match[2] !== undefined) found.push([match[2]]);
    else found.push((match[1] ?? '').trim() === '' ? ['1'] : (match[1] ?? '').trim().split(/\s+/));
  }
  return found;
}

interface Named {
  /** Elementary axes by name; `...` is kept apart. */
  readonly axes: ReadonlyMap<string, Axis>;
  readonly middle: readonly Axis[] | null;
}

function nameAxes(t: Tensor, pattern: Pattern, size: (name: string) => Dim): Named | null {
  const { left } = pattern;
  const dots = left.findIndex((g) => g[0] === '...');
  const rank = rankOf(t.shape);
  const shape = dots < 0 ? withRank(t, left.length) : rank !== null ? t.shape : null;
  const axes = new Map<string, Axis>();
  const put = (group: Group, axis: Axis): void => {
    const [only] = group;
    if (group.length === 1 && only) {
      axes.set(only, { ...axis, dim: size(only) ?? axis.dim });
      return;
    }
    const sizes = group.map((n) => (n === '1' ? ONE : size(n)));
    const unknown = sizes.filter((s) => s === null);
    const known = product(sizes.filter((s) => s !== null));
    const full = unknown.length === 1 ? sizes.map((s) => s ?? divide(axis.dim, known)) : sizes;
    splitAxis(axis, full).forEach((part, i) => axes.set(group[i] ?? '', part));
  };
  if (shape) {
    if (dots >= 0 && left.length - 1 > shape.head.length) return null;
    const after = left.length - dots - 1;
    left.forEach((group, i) => {
      if (i === dots) return;
      const at = dots < 0 || i < dots ? i : shape.head.length - (left.length - i);
      put(group, shape.head[at] ?? freeAxis(null));
    });
    return { axes, middle: dots < 0 ? [] : shape.head.slice(dots, shape.head.length - after) };
  }
  if (dots < 0) return null;
  left.forEach((group, i) => {
    if (i !== dots) put(group, axisAt(t, i < dots ? i : i - left.length));
  });
  return { axes, middle: null };
}

function rebuild(t: Tensor, pattern: Pattern, size: (name: string) => Dim, place: Place): Shape | null {
  const named = nameAxes(t, pattern, size);
  if (!named) return null;
  const mark = writtenAt(place, 'einops writes the copy', 'layout');
  const elementary = (name: string): Axis => {
    if (name === '1') return freeAxis(ONE);
    const known = named.axes.get(name);
    if (known) return known;
    const extent = /^\d+$/.test(name) ? constant(Number(name)) : size(name);
    if (isOne(extent)) return freeAxis(ONE);
    return { dim: extent, replica: replica(t, { map: ALL, source: ONE, extent, origin: place, written: false }) };
  };
  const made = (group: Group): readonly Axis[] => {
    if (group.length === 1 && group[0] === '...') return named.middle ?? [];
    const parts = group.flatMap((n) => (n === '...' ? (named.middle ?? [freeAxis(null)]) : [elementary(n)]));
    const merged = mergeAxes(parts);
    const big = parts.filter((p) => !isOne(p.dim));
    return [{ ...merged, replica: merged.replica && (big.length > 1 ? mark(merged.replica) : merged.replica) }];
  };
  const dots = dotsIn(pattern.right);
  if (named.middle || dots < 0) return exactShape(pattern.right.flatMap(made));
  // What is known of the axes that the dots stand for.
  const before = dotsIn(pattern.left);
  const after = pattern.left.length - before - 1;
  const { head, tail } = t.shape;
  return {
    exact: false,
    head: [...pattern.right.slice(0, dots).flatMap(made), ...head.slice(before)],
    tail: [...tail.slice(0, Math.max(0, tail.length - after)), ...pattern.right.slice(dots + 1).flatMap(made)],
  };
}

/** Where the dots stand that no other axis is merged with. */
const dotsIn = (side: readonly Group[]): number => side.findIndex((g) => g[0] === '...' && g.length === 1);

/** Axes before the dots, and those behind them, are more or fewer than they were. */
function shiftOf({ left, right }: Pattern): View['shift'] {
  const [from, to] = [dotsIn(left), dotsIn(right)];
  return from < 0 || to < 0 ? undefined : [to - from, right.length - to - (left.length - from)];
}

/** Where an axis of the input goes, when it goes there alone. */
function where(at: number, t: Tensor, pattern: Pattern): number | null {
  const rank = rankOf(t.shape);
  const dots = pattern.left.findIndex((g) => g[0] === '...');
  const among = rank === null || dots < 0 ? -1 : (at < 0 ? at + rank : at) - dots;
  if (rank !== null && among >= 0 && among <= rank - pattern.left.length) {
    const own = dotsIn(pattern.right);
    return own < 0 ? null : own + among;
  }
  const index =
    dots < 0
      ? at < 0
        ? at + pattern.left.length
        : at
      : at < 0
        ? at + pattern.left.length
        : rank !== null && at >= dots
          ? at - rank + pattern.left.length
          : at;
  const group = pattern.left[index];
  const [name] = group ?? [];
  if (!group || group.length !== 1 || name === undefined || name === '...' || name === '1') return null;
  const to = pattern.right.findIndex((g) => g.length === 1 && g[0] === name);
  // Merged with others into rows, its blocks lie among these.
  if (to < 0) return pattern.right[0]?.includes(name) && !pattern.right[0].includes('...') ? 0 : null;
  const rightDots = pattern.right.findIndex((g) => g[0] === '...');
  return rightDots < 0 || to < rightDots ? to : to - pattern.right.length;
}

function viewOf(pattern: Pattern, size: (name: string) => Dim, place: Place): View {
  const shift = shiftOf(pattern);
  return {
    shape: (t) => rebuild(t, pattern, size, place),
    axis: (at, t) => where(at, t, pattern),
    within: (at, t) => (where(at, t, pattern) === 0 && (pattern.right[0]?.length ?? 0) > 1 ? null : ONE),
    ...(shift && { shift }),
  };
}

/** `f'b d -> (b {n}) d'`: the sizes that the text is given stand in it as axes of these sizes, `{n}`. */
export function formatted(args: Args, frame: Frame, run: Run): Args {
  const given = argument(args, 1, 'pattern');
  const node = args.nodes.get(1) ?? args.nodes.get('pattern');
  const [, , text = ''] = (node && asString(given) === null && /^[fF](['"])([^\\\n]*)\1$/.exec(textOf(node))) || [];
  if (!node || !text.includes('->') || !given) return args;
  const keywords = new Map(args.keywords);
  const parts = node.children.filter(({ kind }) => kind === 'interpolation');
  const pattern = parts.reduce((before, part) => {
    const [value, more] = part.children;
    const size = value && !more ? run.evaluate(value, frame) : undefined;
    const axes = size && asString(size);
    const name = axes ?? (asNumber(size) === null ? `{${part.start}}` : String(asNumber(size)));
    if (size && axes === null) keywords.set(name, size);
    return before.replace(textOf(part), name);
  }, text);
  const value: Value = { kind: 'string', value: pattern };
  keywords.delete('pattern');
  return { ...args, positional: [args.positional[0] ?? given, value, ...args.positional.slice(2)], keywords };
}

/** Each axis is on both sides, or has a size: a text that is put together may stand for several axes. */
function isWhole({ left, right }: Pattern, { keywords, open }: Args, isReduced: boolean): boolean {
  const [from, to] = [new Set(left.flat()), new Set(right.flat())];
  const isNumber = (name: string): boolean => /^\d+$/.test(name);
  const isKept = (name: string): boolean => isReduced || to.has(name) || isNumber(name);
  const isMade = (name: string): boolean => open || from.has(name) || keywords.has(name) || isNumber(name);
  return [...from].every(isKept) && [...to].every(isMade);
}

function apply(t: Tensor, args: Args, place: Place, isReduced = false): Tensor {
  const text = asString(argument(args, 1, 'pattern'));
  const pattern = text === null ? null : parse(text);
  if (!pattern || !isWhole(pattern, args, isReduced)) return tensor(UNKNOWN_SHAPE, { place });
  const size = (name: string): Dim => (/^\d+$/.test(name) ? constant(Number(name)) : asDim(args.keywords.get(name)));
  return applyView(t, viewOf(pattern, size, place), place);
}

/** einops.repeat: an expand (a view), written where a new axis is merged with another one. */
export function einopsRepeat(t: Tensor, args: Args, place: Place): Tensor {
  const value = apply(t, args, place);
  return { ...value, form: null };
}

export const einopsRearrange = (t: Tensor, args: Args, place: Place): Tensor => apply(t, args, place);

export function einopsReduce(t: Tensor, args: Args, place: Place): Tensor {
  const value = apply(pointwise([t], place, 'reduce'), args, place, true);
  return { ...value, form: null };
}

/** pack: flattens the starred part of each tensor and concatenates along it. */
export function einopsPack(values: readonly Tensor[], args: Args, place: Place): Tensor {
  const text = asString(argument(args, 1, 'pattern'));
  if (text === null || values.length === 0) return tensor(UNKNOWN_SHAPE, { place });
  const names = text.trim().split(/\s+/);
  const star = names.indexOf('*');
  const after = names.length - star - 1;
  const flat = values.map((t) => {
    const rank = rankOf(t.shape);
    if (rank === null) return t;
    const inner = t.shape.head.slice(star, rank - after);
    const merged = mergeAxes(inner);
    const shape = exactShape([...t.shape.head.slice(0, star), merged, ...t.shape.head.slice(rank - after)]);
    const mark = writtenAt(place, 'pack writes the copy', 'layout');
    const value: Tensor = { ...t, id: tensor(shape).id, shape, form: null, place, label: '' };
    return inner.length > 1 ? mapReplicas(value, mark) : value;
  });
  const [only] = flat;
  return only && flat.length === 1 ? only : concatenate(flat, star, place, 'pack');
}
