/** Element-by-element operators: which maps survive, and the linear forms that sums build. */
import { isMisstated } from './misstated';
import { divide, equal, isOne } from './dim';
import {
  NO_INDEX,
  UNKNOWN_SHAPE,
  carriesReplica,
  exactShape,
  freeAxis,
  knownAxis,
  mapAxes,
  minRank,
  position,
  rankOf,
  replicasOf,
  tensor,
} from './shape';
import type { Axis, Block, Content, Form, Place, Replica, Shape, StepKind, Tensor, Term, Trail } from './value';

export const writtenAt =
  (place: Place, what: string, kind: StepKind = 'work') =>
  (replica: Replica): Replica => {
    const mark = (r: Replica): Replica =>
      r.written || r.added ? r : { ...r, written: place, trail: step(r.trail, place, what, kind) };
    return replica.also.length === 0 ? mark(replica) : { ...mark(replica), also: replica.also.map(mark) };
  };

export const step = (before: Trail | null, place: Place, what: string, kind: StepKind): Trail => ({
  place,
  what,
  kind,
  before,
});

/** What a dropout does to copies; in evaluation they stay equal. */
export const drawnAt =
  (place: Place) =>
  (replica: Replica): Replica => {
    for (let at = replica.trail; at; at = at.before) if (at.kind === 'draw') return replica;
    return { ...replica, trail: step(replica.trail, place, 'dropout draws for every copy in training', 'draw') };
  };

/** The same value with every replica of it, also those inside its form, changed. */
export function mapReplicas(t: Tensor, alter: (replica: Replica) => Replica | null): Tensor {
  if (!carriesReplica(t)) return t;
  const change = (replica: Replica): Replica | null => {
    const changed = alter(replica);
    return changed && replica.also.length > 0
      ? { ...changed, also: replica.also.flatMap((other) => alter(other) ?? []) }
      : changed;
  };
  const shape = mapAxes(t.shape, (axis) => (axis.replica ? { ...axis, replica: change(axis.replica) } : axis));
  const picked = t.picked.flatMap((replica) => change(replica) ?? []);
  return { ...mapForm(t, change), shape, picked };
}

/** A value that something was applied to as a whole: its form says so. */
export const worked = (t: Tensor, place: Place): Tensor =>
  t.form ? { ...t, form: { ...t.form, after: [...t.form.after, place] } } : t;

/** The same for the atoms of its form alone. */
export function mapForm(t: Tensor, change: (replica: Replica) => Replica | null): Tensor {
  if (!t.form) return t;
  const blocks = t.form.blocks.map((block) => ({
    ...block,
    terms: block.terms.map((term) => ({ ...term, factors: term.factors.map((f) => mapReplicas(f, change)) })),
  }));
  return { ...t, form: { ...t.form, blocks } };
}

/** Is the value the same for all positions along an axis (counted from the back) of a result of that rank? */
function constantAlong(t: Tensor, fromBack: number): boolean {
  const rank = rankOf(t.shape);
  if (rank !== null && rank < -fromBack) return true;
  const axis = knownAxis(t.shape, fromBack);
  return axis !== null && (isOne(axis.dim) || axis.replica?.map.kind === 'all');
}

export const sameReplica = (a: Replica, b: Replica): boolean => sameOrigin(a, b) && a.map.kind === b.map.kind;

const sameOrigin = (a: Replica, b: Replica): boolean =>
  a.origin.start === b.origin.start && a.origin.path === b.origin.path;

/** Copies of two tensors as often and in the same order: position by position, what is computed of both is copied so, too. */
export function sameMap(a: Replica, b: Replica): boolean {
  const [one, other] = [a.map, b.map];
  if (one.kind === 'blocks') return other.kind === 'blocks' && equal(one.ratio, other.ratio) === true;
  const counts = [divide(a.extent, a.source), divide(b.extent, b.source)] as const;
  return one.kind === 'cycle' && other.kind === 'cycle' && equal(...counts) === true;
}

/** The replica of a value that was computed from several of one map. */
export function joined(first: Replica, more: readonly Replica[]): Replica {
  const others = more.flatMap((r) => [r, ...r.also]).filter((r) => !sameOrigin(r, first));
  const fresh = others.filter((r, i) => others.findIndex((other) => sameOrigin(r, other)) === i);
  const also = [...first.also, ...fresh.filter((r) => !first.also.some((known) => sameOrigin(r, known)))];
  return also.length === first.also.length ? first : { ...first, also };
}

/** Is what `r` copies among the copies that were kept? */
const covers = (kept: Replica, r: Replica): boolean =>
  sameReplica(kept, r) || (kept.map.kind !== 'all' && kept.also.some((other) => sameOrigin(other, r)));

export const mergeContent = (values: readonly Tensor[]): Content => {
  const has = (content: Content): boolean => values.some((v) => v.content === content);
  if (has('random')) return 'random';
  if (values.every((v) => v.content === values[0]?.content)) return values[0]?.content ?? 'data';
  return values.every((v) => v.content === 'mask' || v.content === 'index' || v.content === 'constant')
    ? 'index'
    : 'data';
};

/** Result axes of broadcasting, aligned from the back. An axis stays a replica when no operand varies along it. */
function broadcastShape(values: readonly Tensor[], scalingOnly: (t: Tensor, fromBack: number) => Place | null): Shape {
  const ranks = values.map((v) => rankOf(v.shape));
  const known = ranks.every((r): r is number => r !== null);
  if (known && values.length === 2 && ranks[0] !== ranks[1] && isMisstated(values)) return UNKNOWN_SHAPE;
  const rank = known ? Math.max(0, ...(ranks as number[])) : Math.max(...values.map((v) => minRank(v.shape)));
  const axisFromBack = (fromBack: number): Axis => {
    const axes = values.map((v) => knownAxis(v.shape, fromBack));
    const dims = axes.flatMap((axis) => (axis && axis.dim && !isOne(axis.dim) ? [axis.dim] : []));
    // Of size 1 only if every operand is; an axis that is not recorded, or whose size is not known, may be larger.
    const open = axes.some((axis, i) => (axis ? axis.dim === null : ranks[i] === null));
    const dim = dims[0] ?? (open ? null : (axes.find((axis) => axis)?.dim ?? null));
    const carriers = axes.flatMap((axis, i) => (axis?.replica ? [{ replica: axis.replica, t: values[i] }] : []));
    // Of what a mask scales the copies count, not those of the mask.
    const data = carriers.filter(({ t }) => t?.content !== 'mask');
    const [first, ...others] = data.length > 0 ? data : carriers;
    if (!first) return freeAxis(dim);
    let scaled = first.replica.scaled;
    const more = others.map(({ replica }) => replica);
    for (const [i, v] of values.entries()) {
      const axis = axes[i];
      if (axis?.replica && (sameReplica(axis.replica, first.replica) || sameMap(axis.replica, first.replica))) continue;
      if (constantAlong(v, fromBack)) continue;
      const by = scalingOnly(v, fromBack);
      if (!by) return freeAxis(dim);
      scaled ??= by;
    }
    return { dim, replica: { ...joined(first.replica, more), scaled } };
  };
  const tail = Array.from({ length: rank }, (_, i) => axisFromBack(i - rank));
  if (known) return exactShape(tail);
  // With an unknown rank, axes recorded from the front hold only if the others surely do not vary along them.
  const widest = values.find((v) => v.shape.head.length > 0 && !v.shape.exact);
  const others = values.filter((v) => v !== widest);
  if (!widest)
    return { exact: false, head: [], tail: tail.slice(-Math.max(...values.map((v) => v.shape.tail.length), 0)) };
  const harmless = others.every((v) => {
    const r = rankOf(v.shape);
    return r !== null && (r === 0 || (r === 1 && minRank(widest.shape) >= 1));
  });
  const tailLength = widest.shape.tail.length;
  const head = widest.shape.head.map((axis, i): Axis => {
    if (harmless) return axis;
    // What another operand has there is not known: it may be larger than 1.
    if (!axis.replica) return isOne(axis.dim) ? freeAxis(null) : axis;
    const same = others.every((v) => {
      const other = v.shape.head[i];
      if (rankOf(v.shape) !== null && !other) return false;
      return (
        other !== undefined &&
        (isOne(other.dim) ||
          (other.replica !== null && axis.replica !== null && sameReplica(other.replica, axis.replica)))
      );
    });
    return same ? axis : freeAxis(axis.dim);
  });
  return { exact: false, head, tail: tailLength > 0 ? tail.slice(-tailLength) : [] };
}

const never = (): null => null;

/** Bytes per element of what several tensors become together, as far as one of them tells; a single number widens no tensor. */
export function widest(values: readonly Tensor[]): number | null {
  const full = values.filter((v) => rankOf(v.shape) !== 0);
  const sizes = (full.length > 0 ? full : values).map((v) => v.itemSize);
  const most = Math.max(...sizes.map((size) => size ?? 0));
  // What is not known may be wider than half precision, and is hardly wider than single.
  return most >= 4 || (most > 0 && !sizes.includes(null)) ? most : null;
}

/** What becomes a tensor of other elements: the copies in it that are written have been written as it was. */
export const resized = (t: Tensor, itemSize: number | null): Tensor =>
  t.itemSize === itemSize
    ? t
    : mapReplicas(t, (r) => (r.written === null || r.itemSize !== undefined ? r : { ...r, itemSize: t.itemSize }));

/** What makes codes of positions, which are no ids any more. */
const WAVES: ReadonlySet<string> = new Set(['sin', 'cos']);

/** A pointwise operator that is not linear. A new value is written; maps survive where nothing varies along the axis. */
export function pointwise(values: readonly Tensor[], place: Place, what: string): Tensor {
  const [first] = values;
  if (!first) return tensor(UNKNOWN_SHAPE, { place });
  const mark = writtenAt(place, `${what} writes the copy`);
  const itemSize = widest(values);
  const shape = broadcastShape(itemSize === null ? values : values.map((v) => resized(v, itemSize)), never);
  const marked = mapAxes(shape, (axis) => ({ ...axis, replica: axis.replica && mark(axis.replica) }));
  const merged = mergeContent(values);
  const content = merged === 'index' && WAVES.has(what) ? 'data' : merged;
  const form = content === 'random' ? null : pointwiseForm(values, place, what);
  const noised = content === 'random' && values.some((v) => v.noised || carriesReplica(v));
  const result = tensor(content === 'random' ? withoutMaps(marked) : marked, {
    place,
    content,
    form,
    noised,
    itemSize,
  });
  const full = values.filter((v) => rankOf(v.shape) !== 0);
  const picked = full.length === 1 ? (full[0]?.picked.map(mark) ?? []) : [];
  if (values.length > 1) return { ...result, picked };
  // Of one tensor alone: as many axes as that has, and as long, also where they are not known.
  const base = first.shape.exact ? null : (first.base ?? { id: first.id, label: first.label, front: 0, back: 0 });
  return { ...result, index: content === merged ? first.index : NO_INDEX, picked, base };
}

const withoutMaps = (shape: Shape): Shape => mapAxes(shape, (axis) => freeAxis(axis.dim));

/**
 * Block by block: each block becomes one atom. Only the one operand with a form may vary along the form's axis, and what was
 * computed of that operand (its mean, its norm), which is cut into the same blocks.
 */
function pointwiseForm(values: readonly Tensor[], place: Place, what: string): Form | null {
  const [holder, ...more] = values.filter((v) => v.form && v.form.axis !== null && carriesReplica(v));
  const form = holder?.form;
  if (!holder || !form || form.axis === null || !more.every((v) => v.form && isCutLike(v.form, form))) return null;
  const { axis: along } = form;
  const others = values.filter((v) => v !== holder && !more.includes(v));
  const blocks: Block[] = form.blocks.map((block, b) => {
    const atom = atomOf(block, holder);
    const beside = more.flatMap((v) => v.form?.blocks[b] ?? []).map((part, i) => atomOf(part, more[i] ?? holder));
    // Another operand is cut like the concatenation: whether it varies along other axes is what counts.
    const value = pointwise(
      [atom, ...beside, ...others].map((v) => (v === atom || beside.includes(v) ? { ...v, form: null } : v)),
      place,
      what,
    );
    const at = position(value.shape, along);
    const shape = value.shape.exact
      ? // A single row holds no copies along its own axis.
        mapAxes(value.shape, (a, i) =>
          i !== at ? a : isOne(block.width) ? freeAxis(block.width) : { ...a, dim: block.width },
        )
      : value.shape;
    return { ...block, terms: [{ coefficient: 1, factors: [{ ...value, shape, place: atom.place }] }] };
  });
  return { ...form, blocks, after: [...form.after, place] };
}

/** Of the same concatenation, or of two whose blocks are as wide: one width follows from the others, since the whole is one size. */
function isCutLike(a: Form, b: Form): boolean {
  if (a.axis !== b.axis || a.blocks.length !== b.blocks.length) return false;
  if (a.place === b.place) return true;
  const sure = a.blocks.filter(({ width }, i) => equal(width, b.blocks[i]?.width ?? null) === true);
  return a.blocks.length > 1 && sure.length >= a.blocks.length - 1;
}

/** A block as one value: its single factor, or a value that is a replica where all of its terms are. */
export function atomOf(block: Block, whole: Tensor): Tensor {
  const factors = block.terms.flatMap((term) => term.factors);
  const [only] = factors;
  if (only && factors.length === 1) return only;
  const { itemSize } = whole;
  if (!only) return tensor(whole.shape, { place: block.place, itemSize });
  return { ...tensor(broadcastShape(factors, never), { place: block.place, itemSize }), form: null };
}

/** a + b, a - b, or a scalar multiple. Builds a form when some operand is a replica that the result is not. */
export function linear(values: readonly Tensor[], signs: readonly number[], place: Place, what: string): Tensor {
  const plain = pointwise(values, place, what);
  if (plain.content === 'random' || plain.content === 'mask' || plain.content === 'index') return plain;
  if (plain.form || !values.some(carriesReplica)) return plain;
  const terms: Term[] = [];
  for (const [i, value] of values.entries()) {
    const sign = signs[i] ?? 1;
    if (value.form && value.form.axis === null && value.form.blocks.length === 1) {
      terms.push(...(value.form.blocks[0]?.terms ?? []).map((t) => ({ ...t, coefficient: t.coefficient * sign })));
    } else terms.push({ coefficient: sign, factors: [value] });
  }
  const covered = (r: Replica): boolean => replicasOf(plain.shape).some((kept) => covers(kept, r));
  // Rows that a gate or a mask mixes with others are no copies: `x * (1 - w) + token * w`.
  const isLost = (r: Replica): boolean => !covered(r) && r.scaled === null;
  const lostOne = terms.some((t) => t.factors.some((f) => replicasOf(f.shape).some(isLost)));
  if (!lostOne || terms.some((t) => isGate(t, terms))) return plain;
  const aligned = terms.map((t) => ({ ...t, factors: t.factors.map((f) => addedTo(alignTo(f, plain), isLost)) }));
  const blocks: Block[] = [{ width: null, terms: aligned, place }];
  return { ...plain, form: { axis: null, blocks, place, after: [] } };
}

/** A term of a sum whose rows differ where those of the term do not. */
const addedTo = (t: Tensor, isLost: (r: Replica) => boolean): Tensor =>
  mapReplicas(t, (r) => (r.written === null && isLost(r) ? { ...r, added: true } : r));

/** `u - u * y` is `u * (1 - y)`: rows that are each multiplied by values of their own. */
const isGate = ({ factors }: Term, terms: readonly Term[]): boolean =>
  factors.length > 1 && terms.some(({ factors: [only, more] }) => !more && factors.some(({ id }) => id === only?.id));

/** An operand with its axes counted as the result's are. */
function alignTo(t: Tensor, result: Tensor): Tensor {
  const rank = rankOf(result.shape);
  const own = rankOf(t.shape);
  if (rank === null || own === null) return t;
  if (own > rank) return t;
  const missing = result.shape.head.slice(0, rank - own).map((axis) => freeAxis(axis.dim));
  return { ...t, shape: exactShape([...missing, ...t.shape.head]) };
}

/** a * b: a scalar factor keeps a form, a factor per row scales it, a full factor makes a product. */
export function multiply(values: readonly Tensor[], place: Place): Tensor {
  const scalar = values.filter((v) => rankOf(v.shape) === 0);
  const full = values.filter((v) => rankOf(v.shape) !== 0);
  const [first, second] = full;
  if (first && !second && scalar.length > 0) return scaledForm(first, place);
  if (!first || !second || full.length > 2) return pointwise(values, place, 'multiplication');
  const plain = pointwise(values, place, 'multiplication');
  if (plain.content === 'random' || plain.content === 'mask') return plain;
  for (const [value, by] of [
    [first, second],
    [second, first],
  ] as const) {
    if (carriesReplica(value) && (scalesRows(by) || scalesBlocks(value, by)) && !carriesReplica(by))
      return scaleRows(value, by, place);
  }
  if (!carriesReplica(first) && !carriesReplica(second)) return plain;
  if (first.form || second.form) return plain;
  const lost = [first, second].some((v) => replicasOf(v.shape).length > replicasOf(plain.shape).length);
  if (!lost || isOfPairs(first, second)) return plain;
  const factors = [alignTo(first, plain), alignTo(second, plain)];
  const blocks: Block[] = [{ width: null, terms: [{ coefficient: 1, factors }], place }];
  return { ...plain, form: { axis: null, blocks, place, after: [] } };
}

/** Rows by one index times rows by another one are of pairs, each of which is there once. */
function isOfPairs(a: Tensor, b: Tensor): boolean {
  const indices = [a, b].map((t) =>
    replicasOf(t.shape).flatMap(({ map }) => (map.kind === 'indexed' ? [map.index] : [])),
  );
  const [one = [], other = []] = indices;
  return one.length > 0 && other.length > 0 && !one.some((index) => other.includes(index));
}

/** One number per row: the last axis has size 1 (the contracted one, for whatever follows). */
const scalesRows = (t: Tensor): boolean => isOne(knownAxis(t.shape, -1)?.dim ?? null);

/** One number for all blocks of a concatenation: a mask over positions, beside channels that were joined. */
const scalesBlocks = ({ form, shape }: Tensor, by: Tensor): boolean =>
  form !== null &&
  form.axis !== null &&
  (shape.exact ? by.shape.exact || form.axis === 1 : !by.shape.exact) &&
  isOne(knownAxis(by.shape, form.axis)?.dim ?? null);

function scaleRows(t: Tensor, by: Tensor, place: Place): Tensor {
  const mark = writtenAt(place, 'multiplication writes the copy');
  const value = mapReplicas(t, (replica) => ({ ...mark(replica), scaled: replica.scaled ?? by.place ?? place }));
  const fresh = tensor(value.shape, { place });
  return { ...worked(value, place), id: fresh.id, storage: fresh.id, place, label: '', itemSize: widest([t, by]) };
}

function scaledForm(t: Tensor, place: Place): Tensor {
  const mark = writtenAt(place, 'multiplication writes the copy');
  // A form's plain blocks are written already or will be by the sum itself: only whole replicas are copied here.
  const shape = mapAxes(t.shape, (axis) => ({ ...axis, replica: axis.replica && mark(axis.replica) }));
  const fresh = tensor(shape);
  return { ...worked(t, place), id: fresh.id, storage: fresh.id, shape, place, label: '' };
}
