/** `x[...]`: tensors, shapes, lists, dicts. A gather by a many-to-one index is a replica; other tensor indices are not. */
import { type Dim, constant, subtract, symbol, valueOf } from '../tensor/dim';
import { partOfJoined, positionOfJoined } from '../tensor/part-of-joined';
import { UNKNOWN_SHAPE, carriesReplica, dimAt, freshId, knownAxis, position, rankOf, tensor } from '../tensor/shape';
import type { Place, Replica, Tensor } from '../tensor/value';
import { applyView, narrow, select, unsqueeze } from '../tensor/views';
import { asDim, asNumber, asString, asTensor, placeOf } from './access';
import { templateOf } from './builtins';
import { ANY_KEY, another, oneOf, oneOfModules, storedElsewhere } from './by-key';
import { MODULES } from './containers';
import { gathered, gatheredAlongEdges, joinsBothEnds, named } from './gather';
import type { Frame, Run } from './run';
import { mayBeZero } from './one-of-numbers';
import { annotated, lift, unknown } from './state';
import { type Node, childrenOf, textOf } from './syntax';
import { type UnionValue, type Value, int, tuple } from './value';

export function subscript(base: Value, node: Node, frame: Frame, run: Run): Value {
  const indices = childrenOf(node, 'subscript');
  const [only] = indices;
  switch (base.kind) {
    case 'tuple':
      return sequence(base.items, base.open, only, frame, run);
    case 'ref': {
      const item = frame.state.heap.get(base.id);
      if (item?.kind === 'object' && item.holds) return subscript(item.holds, node, frame, run);
      if (item?.kind === 'list') return sequence(item.items, item.open, only, frame, run);
      if (item?.kind === 'dict' && only) {
        const at = run.evaluate(only, frame);
        if (at.kind === 'unknown' && at.id === item.last)
          return storedElsewhere(item.entries.get(ANY_KEY) ?? unknown(), only, frame);
        const key = asString(at) ?? (item.tag === MODULES ? templateOf(only) : null);
        const found = key !== null ? item.entries.get(key) : oneOf(item, only);
        const any = key !== null || item.entries.size === 1 ? item.entries.get(ANY_KEY) : undefined;
        return (
          found ??
          (any && another(storedElsewhere(any, only, frame), key)) ??
          oneOfModules(item, only, frame) ??
          unknown()
        );
      }
      return unknown();
    }
    case 'shape':
      return shapeItem(base.of, only, frame, run);
    case 'tensor':
      return tensorItem(base, indices, node, frame, run);
    case 'unknown': {
      if (base.foreign) return unknown('', true);
      if (!only) return unknown();
      return unknownItem(base, indices, node, frame, run);
    }
    default:
      return unknown();
  }
}

/** A list of layers indexed by a loop variable: any of them, taken as the first. */
function sequence(items: readonly Value[], open: boolean, index: Node | undefined, frame: Frame, run: Run): Value {
  if (!index) return unknown();
  if (index.kind === 'slice') {
    if (/^:\s*:\s*-1$/.test(textOf(index))) return tuple([...items].reverse(), open);
    const bounds = sliceBounds(index, frame, run);
    const from = bounds.start === null ? 0 : valueOf(bounds.start);
    const to = bounds.stop === null ? items.length : valueOf(bounds.stop);
    if (from === null || to === null || bounds.step) return tuple(items, true);
    return tuple(items.slice(from, to < 0 || !open ? to : undefined), open);
  }
  const value = run.evaluate(index, frame);
  const at = asNumber(value);
  if (at !== null && (at >= 0 ? at < items.length : !open)) return items.at(at) ?? unknown();
  // The last of a list that grew is of the kind of what was appended last, as are those that are not counted.
  const any = at === null ? items[0] : at === -1 || (at >= 0 && open) ? items.at(-1) : undefined;
  // Which one it is is not known: not the one that `items[0]` is.
  if (any?.kind === 'tensor') return { ...any, id: freshId() };
  return any?.kind === 'unknown' && items.length + Number(open) > 1
    ? unknown(any.label, any.foreign)
    : (any ?? unknown());
}

function shapeItem(t: Tensor, index: Node | undefined, frame: Frame, run: Run): Value {
  if (!index) return unknown();
  if (index.kind === 'slice') {
    const { start, stop } = sliceBounds(index, frame, run);
    const from = start === null ? 0 : valueOf(start);
    const to = stop === null ? rankOf(t.shape) : valueOf(stop);
    if (stop === null && from !== null && from < 0)
      return tuple(Array.from({ length: -from }, (_, i) => int(dimAt(t, from + i))));
    if (from !== null && from >= 0 && stop === null && to === null) return { kind: 'shape', of: withoutFirst(t, from) };
    if (from === null || to === null) return unknown();
    const rank = rankOf(t.shape);
    if (rank === null && (from < 0 || to < 0)) return unknown('shape');
    const last = to < 0 ? (rank ?? 0) + to : to;
    const first = from < 0 ? (rank ?? 0) + from : from;
    return tuple(Array.from({ length: Math.max(0, last - first) }, (_, i) => int(dimAt(t, first + i))));
  }
  const at = asNumber(run.evaluate(index, frame));
  return at === null ? int(null) : int(dimAt(t, at));
}

/** What has the shape `x.shape[n:]`. */
const withoutFirst = (t: Tensor, count: number): Tensor =>
  count === 0 ? t : withoutFirst(applyView(t, select(0), t.place), count - 1);

function sliceBounds(node: Node, frame: Frame, run: Run): { start: Dim; stop: Dim; step: boolean } {
  const text = textOf(node);
  const colon = node.start + text.indexOf(':');
  const parts = node.children.map((child) => ({ child, before: child.end <= colon }));
  const start = parts.find((p) => p.before);
  const after = parts.filter((p) => !p.before);
  const second = text.indexOf(':', text.indexOf(':') + 1);
  const stop = after.find((p) => second < 0 || p.child.end <= node.start + second);
  // A bound that is not known is none that is not there.
  const bound = (child: Node): Dim => {
    const value = run.evaluate(child, frame);
    const name = child.kind === 'identifier' ? textOf(child) : `(${textOf(child)})`;
    return value.kind === 'none' ? null : (asDim(value) ?? symbol(`${name}@${freshId()}`));
  };
  return {
    start: start ? bound(start.child) : null,
    stop: stop ? bound(stop.child) : null,
    step: second >= 0 && after.length > (stop ? 1 : 0),
  };
}

function tensorItem(t: Tensor, indices: readonly Node[], node: Node, frame: Frame, run: Run): Value {
  const flat = indices.length === 1 && indices[0]?.kind === 'tuple' ? indices[0].children : indices;
  const values = flat.map((index) => (index.kind === 'slice' ? null : run.evaluate(index, frame)));
  const several = values.filter((v): v is UnionValue => v?.kind === 'union' && v.options.some(picksRows));
  if (several.length === 0) return itemAt(t, flat, values, node, frame, run);
  return lift(several, frame.state.path, (chosen) => {
    const one = (v: Value | null): Value | null => chosen[several.findIndex((of) => of === v)] ?? v;
    const when = several.flatMap((of, i) => of.options.find(({ value }) => value === chosen[i])?.when ?? []);
    return annotated(itemAt(t, flat, values.map(one), node, frame, run), when);
  });
}

/** An index of many rows of few things, on one branch at least. */
const picksRows = ({ value }: UnionValue['options'][number]): boolean =>
  value.kind === 'tensor' && (value.index.kind === 'many-to-one' || carriesReplica(value));

function itemAt(
  t: Tensor,
  flat: readonly Node[],
  values: readonly (Value | null)[],
  node: Node,
  frame: Frame,
  run: Run,
): Value {
  const place = placeOf(node);
  const isNumber = (v: Value | null): boolean =>
    v?.kind === 'unknown' && isSize(v.label) && !run.manyToOne.has(v.label) && !joinsBothEnds(t.label, v.label, frame);
  const picks = values.filter(
    (v) =>
      v !== null &&
      (v.kind === 'tensor' || v.kind === 'union' || (v.kind === 'unknown' && !isNumber(v)) || v.kind === 'ref'),
  ).length;
  const dots = values.findIndex((v) => v?.kind === 'ellipsis');
  const consumed = values.filter((v) => v?.kind !== 'none' && v?.kind !== 'ellipsis').length;
  let value = t;
  let at = 0;
  let keptIndex = t.index;
  for (const [i, v] of values.entries()) {
    const index = flat[i];
    if (!index) break;
    if (v?.kind === 'ellipsis') {
      const rank = rankOf(t.shape);
      at = rank === null ? -values.slice(i + 1).length : at + rank - consumed;
      continue;
    }
    if (v?.kind === 'none') {
      value = applyView(value, unsqueeze(at), place);
      at++;
      continue;
    }
    if (index.kind === 'slice') {
      value = sliced(value, at, index, place, frame, run);
      at++;
      continue;
    }
    if (v?.kind === 'int' || isNumber(v ?? null)) {
      if (keptIndex.kind === 'edge-index' && i === 0) {
        keptIndex = { kind: 'many-to-one', evidence: 'strong', map: 'indexed', edges: true };
      }
      const part = v?.kind === 'int' && !v.loop ? positionOfJoined(value, at, v.dim, place) : null;
      value = part ?? picked(value, at, v?.kind === 'int' && v.loop, place);
      continue;
    }
    if (v?.kind === 'bool') return { ...tensor(UNKNOWN_SHAPE, { place }) };
    if (v && picks === 1 && dots < 0) {
      const base = node.children.find((c) => c.field === 'value') ?? null;
      value = gathered(named(value, base), at, v, textOf(index), place, run, frame);
      at++;
      continue;
    }
    return tensor(UNKNOWN_SHAPE, { place });
  }
  return { ...value, index: keptIndex, content: keptIndex.kind === 'many-to-one' ? 'index' : value.content, place };
}

/** Names that are plainly numbers. */
const isSize = (label: string): boolean => /^(i|j|k|t|idx_?\d*|n|step|layer_?(idx|id|index)?|level|head)$/.test(label);

function sliced(t: Tensor, at: number, index: Node, place: Place, frame: Frame, run: Run): Tensor {
  if (index.children.length === 0) return t;
  const { start, stop, step } = sliceBounds(index, frame, run);
  if (start !== null && isZero(start) && stop === null && !step) return t;
  // All rows where nothing was kept of those before.
  if (isJoined(t, at) && stop === null && !step && mayBeZero(start)) {
    const [first] = index.children;
    const text = `${first ? textOf(first) : ''} == 0`;
    const whole = annotated(t, [{ key: `${text}@${index.start}`, text, holds: true }]);
    if (whole.kind === 'tensor') return whole;
  }
  const part = step ? null : partOfJoined(t, at, start, stop, place);
  if (part) return part;
  const size = sliceSize(start, stop, step, knownAxis(t.shape, at)?.dim ?? null);
  return applyView(t, narrow(at, size), place);
}

/** Are rows of several tensors joined along this axis? */
const isJoined = ({ shape, form }: Tensor, at: number): boolean =>
  form !== null && form.axis !== null && (position(shape, form.axis) ?? form.axis) === (position(shape, at) ?? at);

const isZero = (dim: Dim): boolean => valueOf(dim) === 0;

function sliceSize(start: Dim, stop: Dim, step: boolean, size: Dim): Dim {
  if (step) return null;
  const from = start ?? constant(0);
  const negative = (d: Dim): boolean => (valueOf(d) ?? 0) < 0;
  if (stop === null) return negative(from) ? subtract(constant(0), from) : subtract(size, from);
  if (negative(stop)) return size && subtract(subtract(size, subtract(constant(0), stop)), from);
  return negative(from) ? null : subtract(stop, from);
}

/** One position of an axis; of one that holds copies, whichever it is holds the same rows. A view has none to pick from. */
function picked(t: Tensor, at: number, loop: boolean, place: Place): Tensor {
  const gone: Replica[] = [];
  const axis = knownAxis(t.shape, at);
  if (loop && axis?.replica?.written) gone.push(axis.replica);
  const value = applyView(t, select(at), place);
  if (!loop) return value;
  const form = value.form &&
    t.form && {
      ...value.form,
      blocks: value.form.blocks.map((block, b) => ({
        ...block,
        terms: block.terms.map((term, k) => ({
          ...term,
          factors: term.factors.map((factor, f) => {
            const before = t.form?.blocks[b]?.terms[k]?.factors[f];
            const replica = before && knownAxis(before.shape, position(before.shape, at) ?? at)?.replica;
            return replica?.written ? { ...factor, picked: [...factor.picked, replica] } : factor;
          }),
        })),
      })),
    };
  return { ...value, form, picked: [...value.picked, ...gone] };
}

/** An unknown thing: a tensor if it is indexed like one, else a container. */
function unknownItem(
  base: Value & { kind: 'unknown' },
  indices: readonly Node[],
  node: Node,
  frame: Frame,
  run: Run,
): Value {
  const flat = indices.length === 1 && indices[0]?.kind === 'tuple' ? indices[0].children : indices;
  const t = asTensor(base, run);
  const [only] = flat;
  const like = (index: Node): boolean => index.kind === 'slice' || index.kind === 'none' || index.kind === 'ellipsis';
  if (t && (flat.length > 1 || (only && like(only)))) return tensorItem(t, indices, node, frame, run);
  if (!only || !t) return unknown();
  const value = run.evaluate(only, frame);
  if (value.kind === 'string') return endOfEdge(base, value.value, node) ?? keyed(base, value.value);
  if (t.index.kind === 'edge-index' && value.kind === 'int') return tensorItem(t, indices, node, frame, run);
  if (value.kind === 'tensor' || value.kind === 'unknown' || value.kind === 'union' || value.kind === 'ref') {
    const made = tensorItem(t, indices, node, frame, run);
    const options = made.kind === 'union' ? made.options.map((option) => option.value) : [made];
    if (options.some((v) => v.kind === 'tensor' && v.shape !== UNKNOWN_SHAPE && hasReplica(v))) return made;
  }
  if (value.kind === 'int' && value.loop) return tensorItem(t, indices, node, frame, run);
  return unknown(textOf(node).length < 40 ? textOf(node) : '');
}

const hasReplica = (t: Tensor): boolean => [...t.shape.head, ...t.shape.tail].some((axis) => axis.replica);

/** `edges.src['h']` of a function that a graph library calls with edges: rows of nodes, gathered for each of them. */
function endOfEdge(base: Value & { kind: 'unknown' }, key: string | null, node: Node): Tensor | null {
  return /(^|\.)edges\.(src|dst)$/.test(base.label) ? gatheredAlongEdges(key ?? '', base.label, placeOf(node)) : null;
}

/** The same key of the same unknown mapping is the same thing. */
const keyedValues = new WeakMap<Value, Map<string, Value>>();
function keyed(base: Value, key: string | null): Value {
  if (key === null) return unknown();
  const known = keyedValues.get(base) ?? new Map<string, Value>();
  keyedValues.set(base, known);
  const value = known.get(key) ?? unknown(key);
  known.set(key, value);
  return value;
}
