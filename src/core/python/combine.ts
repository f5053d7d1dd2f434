/** Operators that make one tensor of a list or of sizes: cat, stack, zeros. */
import { type Dim, constant, equal, multiply } from '../tensor/dim';
import { OTHER } from '../tensor/axis-map';
import { concatenate } from '../tensor/concatenate';
import { mapReplicas, writtenAt } from '../tensor/pointwise';
import { type Size, repeat, repeatLeading, repeatTrailing } from '../tensor/replicate';
import {
  UNKNOWN_SHAPE,
  carriesReplica,
  exactShape,
  freeAxis,
  freshId,
  knownAxis,
  mapAxes,
  minRank,
  position,
  rankOf,
  replicasOf,
  tensor,
  withoutReplicas,
} from '../tensor/shape';
import type { Axis, Place, Shape, Tensor } from '../tensor/value';
import { applyView, unsqueeze } from '../tensor/views';
import { asDim, asSizes, asTensor, nodeAt, opaque } from './access';
import { statedSize } from './casts';
import { endOfPairs, isTensorOfPairs } from './pairs';
import { type Node, childOf, enclosing, textOf } from './syntax';

import type { Frame, Run } from './run';
import { type Args, type Value } from './value';

export function concatenateValues(
  list: Value | undefined,
  dim: number | null,
  place: Place,
  by: string,
  run: Run,
  frame: Frame,
): Tensor {
  const listed = list && run.items(list, frame);
  if (!listed || dim === null) return opaque(place);
  // What is no tensor that is known stands there all the same.
  const values = listed.items.map((v) => asTensor(v, run) ?? opaque(place));
  const [first] = values;
  if (!first) return opaque(place);
  const count = namesOthers(place) ? null : copiesIn(listed, values);
  // `cat([x, x], dim=1)` of an unknown rank: twice as many features, for all that is known.
  const mayBeLast = !listed.open && dim > 0 && rankOf(first.shape) === null && minRank(first.shape) <= dim + 1;
  if (count && !mayBeLast) return repeatedAlong(first, dim, count, place);
  const whole = listed.open ? filledUp(values) : null;
  if (whole) return inUnknownOrder(repeatedAlong(whole, dim, null, place), dim);
  if (listed.open && isMadeAlike(values, dim) && first.form?.axis !== dim) return oneOfMany(first, dim, place, by);
  const others = listed.open && isFilledOnBranches(values, place) ? [opaque(place)] : [];
  const joined = concatenate([...values, ...others], dim, place, by);
  return listed.open ? ofUnknownLength(joined, dim) : joined;
}

/** A loop in front of the concatenation puts copies into its list on one branch, and something else on another one. */
function isFilledOnBranches(values: readonly Tensor[], place: Place): boolean {
  if (!values.some(carriesReplica)) return false;
  const call = nodeAt(place);
  const list = call?.kind === 'call' ? childOf(call, 'arguments')?.children[0] : undefined;
  if (!call || list?.kind !== 'identifier') return false;
  return values
    .flatMap(({ shape }) => replicasOf(shape))
    .some((replica) => {
      const origin = nodeAt(replica.origin);
      const [branch, loop] = ['if_statement', 'for_statement'].map((kind) => (origin ? enclosing(origin, kind) : null));
      if (!branch || !loop || branch.start < loop.start || loop.end > call.start || loop.file !== call.file)
        return false;
      return textOf(loop).split(`${textOf(list)}.append(`).length > 2;
    });
}

/** Of a list that may hold more: how many there are is not known. */
const ofUnknownLength = (t: Tensor, dim: number): Tensor => {
  const at = position(t.shape, dim);
  return { ...t, shape: mapAxes(t.shape, (axis, i) => (i === at ? { ...axis, dim: null } : axis)) };
};

/** All by the same expression, in several passes of a loop: concatenations, or copies along the axis that are joined. */
function isMadeAlike([first, ...more]: readonly Tensor[], dim: number): boolean {
  if (first?.form) return more.every((v) => v.form?.place.start === first.form?.place.start);
  const origin = first && knownAxis(first.shape, dim)?.replica?.origin;
  return origin !== undefined && more.every((v) => knownAxis(v.shape, dim)?.replica?.origin.start === origin.start);
}

/** Of a list that a loop fills: one item stands for all, each with copies of its own along the axis. */
function oneOfMany(t: Tensor, dim: number, place: Place, by: string): Tensor {
  const grown = (value: Tensor): Tensor => {
    const at = position(value.shape, dim);
    const several = (axis: Axis): Axis => ({
      dim: null,
      replica: axis.replica && { ...axis.replica, map: OTHER, source: null, extent: null },
    });
    return { ...value, shape: mapAxes(value.shape, (axis, i) => (i === at ? several(axis) : axis)) };
  };
  const made = grown(mapReplicas(t, writtenAt(place, `${by} writes the copy`, 'concatenate')));
  const blocks = (made.form?.blocks ?? []).map((block) => ({
    ...block,
    terms: block.terms.map((term) => ({ ...term, factors: term.factors.map(grown) })),
  }));
  const form = made.form && { ...made.form, blocks, after: [...made.form.after, place] };
  return { ...made, id: freshId(), storage: freshId(), label: '', place, form };
}

interface Listed {
  readonly open: boolean;
  readonly times?: Dim;
}

/** A list whose items are called by several names: that they are the same is so in the first pass of a loop at most. */
function namesOthers(place: Place): boolean {
  const node = nodeAt(place);
  const list = node?.kind === 'call' ? childOf(node, 'arguments')?.children[0] : null;
  const names = list?.kind === 'list' || list?.kind === 'tuple' ? list.children : [];
  return names.length > 1 && names.every(({ kind }) => kind === 'identifier') && new Set(names.map(textOf)).size > 1;
}

/** How often a list holds the one tensor that is in it: `[x, x, x]` or `[x] * n`. */
function copiesIn({ open, times }: Listed, values: readonly Tensor[]): Dim {
  const [first, ...more] = values;
  if (open) return more.length === 0 ? (times ?? null) : null;
  return more.length > 0 && more.every((v) => v.id === first?.id) ? constant(values.length) : null;
}

/** `[x] * n + [x[:m]]`: a tensor several times and a part of it, where nothing in the list is of another one. */
function filledUp(values: readonly Tensor[]): Tensor | null {
  const whole = values.find(({ id, storage }) => id === storage);
  const isOf = (t: Tensor): boolean => t.storage === whole?.storage && !carriesReplica(t);
  return whole && values.length > 1 && values.every(isOf) ? whole : null;
}

/** As often as nobody knows, and not each row as often as the others. */
const inUnknownOrder = (t: Tensor, dim: number): Tensor => ({
  ...t,
  shape: mapAxes(t.shape, (axis, i) =>
    i === position(t.shape, dim) && axis.replica
      ? { dim: null, replica: { ...axis.replica, map: OTHER, source: null, extent: null } }
      : axis,
  ),
});

/** The same tensor joined with itself is a repeat in disguise. */
export function repeatedAlong(t: Tensor, given: number, count: Dim, place: Place): Tensor {
  const rank = rankOf(t.shape);
  const dim = given < 0 && rank !== null ? given + rank : given;
  if (dim < 0) return repeatTrailing(t, dim, count, place);
  const sizes = (length: number): Size[] => Array.from({ length }, (_, i): Size => (i === dim ? count : 'keep'));
  return rank === null ? repeatLeading(t, sizes(dim + 1), place, true) : repeat(t, sizes(rank), place);
}

/** Of a concatenation that is cut into as many parts as it was made of: its blocks, where no width says otherwise. */
export function asJoined(
  { form, shape }: Tensor,
  dim: number,
  sizes: readonly Dim[],
  place: Place,
): readonly Tensor[] | null {
  if (!form || form.axis === null || form.blocks.length !== sizes.length) return null;
  // Blocks that lie among the rows of other axes are no parts.
  if (form.blocks.every(({ width }) => width === null)) return null;
  const [along, cut] = [form.axis, dim].map((axis) => position(shape, axis));
  // Joined along axis 1 and cut along the last one: of two axes, for all that is known.
  if (along !== cut && (shape.exact || form.axis <= 0 || dim !== -1)) return null;
  const parts = form.blocks.flatMap(({ terms: [term, more], width }, i) => {
    const [only, other] = term?.factors ?? [];
    const isPlain = only && !other && !more && term?.coefficient === 1 && equal(width, sizes[i] ?? null) !== false;
    return isPlain ? [{ ...only, id: freshId(), label: '', place }] : [];
  });
  return parts.length === sizes.length ? parts : null;
}

export function stackValues(
  list: Value | undefined,
  dim: number,
  place: Place,
  by: string,
  run: Run,
  frame: Frame,
): Tensor {
  const listed = list && run.items(list, frame);
  const values = listed?.items.map((v) => asTensor(v, run) ?? opaque(place)) ?? [];
  const [first] = values;
  if (!listed || !first) return opaque(place);
  const one = applyView(first, unsqueeze(dim), place);
  const count = copiesIn(listed, values);
  if (count) return repeatedAlong(one, dim, count, place);
  if (listed.open && (values.length === 1 || values.every((v) => isCopiedLike(v, first)))) {
    const id = freshId();
    return ofUnknownLength({ ...one, id, storage: id, form: null }, dim);
  }
  const blocks = values.map((v) => ({ ...applyView(v, unsqueeze(dim), v.place) }));
  const joined = concatenate(blocks, dim, place, by);
  return listed.open ? ofUnknownLength(joined, dim) : joined;
}

/** `vstack` makes a row of each vector, and joins matrices along their first axis. */
export function joinedRows(list: Value | undefined, place: Place, by: string, run: Run, frame: Frame): Tensor {
  const values = (list && run.items(list, frame)?.items) ?? [];
  const areVectors = values.length > 0 && values.every((v) => v.kind === 'tensor' && rankOf(v.shape) === 1);
  return (areVectors ? stackValues : concatenateValues)(list, 0, place, by, run, frame);
}

/** Made by the same expression in another pass of a loop: with the same copies, and no more than these. */
function isCopiedLike(t: Tensor, first: Tensor): boolean {
  const [own, others] = [t, first].map(({ shape }) => replicasOf(shape));
  return (
    t.form === null &&
    first.form === null &&
    own !== undefined &&
    own.length > 0 &&
    own.length === others?.length &&
    own.every(({ origin }, i) => origin.start === others[i]?.origin.start && origin.path === others[i].origin.path)
  );
}

/** As many axes as lists are nested around numbers: `[[i / n for i in range(d)] for n in range(m)]`. */
function shapeOfLists(node: Node | undefined): Shape {
  let rank = 0;
  let at = node;
  for (; at && /^list(_comprehension)?$/.test(at.kind); at = at.children[0]) rank++;
  const isNumber = at !== undefined && /^(integer|float|unary_operator)$/.test(at.kind);
  const isQuotient = at?.kind === 'binary_operator' && !at.children.some((side) => /^list/.test(side.kind));
  return rank > 0 && (isNumber || isQuotient)
    ? exactShape(Array.from({ length: rank }, () => freeAxis(null)))
    : UNKNOWN_SHAPE;
}

/** `concatenate([n * arange(k) + i for i in range(n)])`: each of `n * k` positions once, what a helper `tile` puts its copies in order by. */
function takenInSteps(list: Node | undefined, { state }: Frame): Dim {
  const found = list && IN_STEPS.exec(textOf(list));
  const [n, k] = [found?.[1], found?.[2]].map((name) => asDim(state.names.get(name ?? '')));
  return n && k ? multiply(n, k) : null;
}

const IN_STEPS =
  /^(?:np|numpy)\.concatenate\(\s*\[\s*(\w+) \* (?:np|numpy)\.arange\((\w+)\) \+ (\w+) for \3 in range\(\1\)\s*\]\s*\)$/;

/** `torch.tensor(0.5)`, `torch.tensor([0.1, 0.2])`: numbers of the text, that no input decides. */
function ofNumbers({ positional: [first], nodes }: Args, place: Place): Tensor | null {
  const isNumber = first?.kind === 'int' || first?.kind === 'number' || first?.kind === 'bool';
  const shape = isNumber ? exactShape([]) : shapeOfLists(nodes.get(0));
  return shape.exact ? tensor(shape, { content: 'constant', place }) : null;
}

/** `torch.tensor(list(range(n)))` */
function ofPositions({ positional: [first] }: Args, run: Run, frame: Frame): Tensor | null {
  const items = (first && first.kind !== 'int' && run.items(first, frame)?.items) || [];
  const arePositions = items.length > 0 && items.every((v) => v.kind === 'int' && v.loop);
  return arePositions ? tensor(exactShape([freeAxis(null)]), { content: 'index' }) : null;
}

/** What is made of sizes, numbers or another tensor, with the size of an element where the text states it. */
export function created(kind: string, args: Args, place: Place, run: Run, frame: Frame): Tensor {
  const like = args.positional.find((v) => v.kind === 'tensor');
  const made = createdOf(kind, like, args, place, run, frame);
  const inherited = /^new_|_like$/.test(kind) ? (like?.itemSize ?? null) : made.itemSize;
  const itemSize = statedSize(args, kind === 'FloatTensor' ? 4 : inherited);
  return itemSize === made.itemSize ? made : { ...made, itemSize };
}

function createdOf(kind: string, like: Tensor | undefined, args: Args, place: Place, run: Run, frame: Frame): Tensor {
  const call = /^((as_)?tensor|(Long|Int)Tensor)$/.test(kind) ? nodeAt(place) : null;
  if (call && isTensorOfPairs(call)) return endOfPairs(place);
  const rows = kind === 'LongTensor' ? takenInSteps(args.nodes.get(0), frame) : null;
  if (rows) return tensor(exactShape([freeAxis(rows)]), { content: 'constant', place });
  // Of numbers, or of something that numpy made: data of its own, that no input decides. Outside of a constructor, what one
  // argument of an unknown kind holds is data, too, and no size.
  const isData = (v: Value): boolean =>
    v.kind !== 'int' && (v.kind !== 'unknown' || v.foreign || (!frame.building && args.positional.length === 1));
  if (/Tensor$/.test(kind) && args.positional.some(isData))
    return tensor(shapeOfLists(args.nodes.get(0)), { content: 'constant', place });
  const uniform = /^(new_)?(ones|zeros|full)(_like)?$/.test(kind);
  if (/_like$/.test(kind) && like) return tensor(withoutReplicas(like.shape), { content: 'constant', place, uniform });
  // Of a tensor, it is a copy of that.
  if (/^(as_)?tensor$/.test(kind) && like && like === args.positional[0]) return { ...like, place };
  if (kind === 'eye') return tensor(UNKNOWN_SHAPE, { content: 'identity', place });
  if (/^(as_)?tensor$/.test(kind)) return ofPositions(args, run, frame) ?? ofNumbers(args, place) ?? opaque(place);
  if (kind === 'from_numpy') return opaque(place);
  const given = kind.startsWith('new_') ? args.positional.slice(1) : args.positional;
  const named = args.keywords.get('size');
  const sizes = args.open
    ? null
    : asSizes(kind.endsWith('full') ? given.slice(0, 1) : named ? [named] : given, run, frame);
  const shape = sizes && sizes.length > 0 ? exactShape(sizes.map((s) => freeAxis(asDim(s)))) : UNKNOWN_SHAPE;
  return tensor(shape, { content: 'constant', place, uniform });
}
