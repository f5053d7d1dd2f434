/** Assignment targets: names, attributes, items, and several at once. */
import {
  UNKNOWN_SHAPE,
  carriesReplica,
  freeAxis,
  mapAxes,
  rankOf,
  tensor,
  unknownDim,
  withRank,
  withoutReplicas,
} from '../tensor/shape';
import type { Shape, Tensor } from '../tensor/value';
import { applyView, select } from '../tensor/views';
import { asNumber, asString, asTensor, nameSymbol, placeOf } from './access';
import { statedTensor } from './arguments';
import { kept } from './builtins';
import { ANY_KEY, alike } from './by-key';
import { carries } from './held';
import { leaf, overwrite } from './in-place';
import type { Frame, Run } from './run';
import { writtenSlices } from './slice-writes';
import { either, possible, unknown } from './state';
import { type Node, childOf, childrenOf, textOf } from './syntax';
import { writtenByTest } from './tested-writes';
import { type TupleValue, type Value, int, tuple } from './value';

/** Binds a target: a name, an attribute, an item, or several at once. */
export function assign(target: Node, value: Value, frame: Frame, run: Run): void {
  switch (target.kind) {
    case 'identifier':
      frame.state.names.set(textOf(target), labelled(stated(textOf(target), value, frame, run), textOf(target)));
      if (value.kind === 'int') nameSymbol(value.dim, textOf(target), target, run);
      return;
    case 'pattern_list':
    case 'tuple_pattern':
    case 'list_pattern':
    case 'tuple':
    case 'list':
      unpack(target.children, value, target, frame, run);
      return;
    case 'attribute':
      setAttribute(target, value, frame, run);
      return;
    case 'subscript':
      setItem(target, value, frame, run);
      return;
    case 'parenthesized_expression':
    case 'type': {
      const [inner] = target.children;
      if (inner) assign(inner, value, frame, run);
      return;
    }
  }
}

/** What a comment states of a variable counts where nothing else is known of its value. */
function stated(name: string, value: Value, frame: Frame, run: Run): Value {
  const dims = value.kind === 'unknown' ? run.stated.get(name) : undefined;
  return dims ? statedTensor(name, dims, run, frame) : value;
}

/** `mask`, `pad_mask`, `mask_bw`, and nothing that is masked or made for masks. */
const IS_MASK = /(^|_)masks?(_[a-z]{1,2}|_\d[dD])?$/;

const labelled = (value: Value, label: string): Value => {
  if (value.kind === 'tensor' && value.label === '')
    return value.content === 'data' && IS_MASK.test(label) ? { ...value, label, content: 'mask' } : { ...value, label };
  if (value.kind === 'unknown' && value.label === '' && value.id >= 0) return { ...value, label };
  return value;
};

function unpack(targets: readonly Node[], value: Value, node: Node, frame: Frame, run: Run): void {
  const star = targets.findIndex((t) => t.kind === 'list_splat_pattern' || t.kind === 'list_splat');
  if (value.kind === 'union') {
    const [first] = possible(value, frame.state.path);
    const same = value.options.filter((o) => o.value.kind === 'tuple');
    if (same.length > 1 && star < 0) {
      unpackUnion(targets, value, frame, run);
      return;
    }
    unpack(targets, same[0]?.value ?? first?.value ?? unknown(), node, frame, run);
    return;
  }
  if (value.kind === 'shape' && star < 0 && leavesOpen(value.of.shape, targets.length)) {
    unpackShape(targets, value.of, frame, run);
    return;
  }
  const sizes = value.kind === 'tuple' && star < 0 ? sizesIn(value) : null;
  const rank = targets.length - (sizes?.others.length ?? 0);
  if (sizes && rank > 0 && leavesOpen(sizes.of.shape, rank)) {
    const end = sizes.at + rank;
    unpackShape(targets.slice(sizes.at, end), sizes.of, frame, run);
    sizes.others.forEach((other, i) => {
      const target = targets[i < sizes.at ? i : end + i - sizes.at];
      if (target) assign(target, other, frame, run);
    });
    return;
  }
  const listed = run.items(value, frame);
  if (!listed) {
    const t = asTensor(value, run);
    const rows = t && (t.index.kind === 'edge-index' || t.shape.exact || value.kind === 'tensor');
    for (const target of targets) {
      assign(target, rows && t ? row(t, node) : unknown(), frame, run);
    }
    return;
  }
  const { items, open } = listed;
  targets.forEach((target, i) => {
    if (i === star) {
      const count = Math.max(0, items.length - targets.length + 1);
      const [inner] = target.children;
      if (inner) assign(inner, tuple(items.slice(i, i + count), open), frame, run);
      return;
    }
    const at = star >= 0 && i > star ? items.length - (targets.length - i) : i;
    const item = items[at] ?? (open ? items[items.length - 1] : undefined);
    assign(target, item ?? unknown(), frame, run);
  });
}

/** The tensor of `*x.shape` and where its sizes stand among the others: `*x.shape, self.patch`. */
const sizesIn = ({ items, rest, inner }: TupleValue): { of: Tensor; at: number; others: readonly Value[] } | null => {
  const sizes = rest ? { of: rest, at: items.length } : inner;
  return sizes ? { ...sizes, others: items } : null;
};

/** One row of a tensor that is unpacked: of an edge index, node ids of many edges. */
function row(t: Tensor, node: Node): Tensor {
  const value = applyView(t, select(0), placeOf(node));
  if (t.index.kind !== 'edge-index') return value;
  return {
    ...value,
    content: 'index',
    index: { kind: 'many-to-one', evidence: 'strong', map: 'indexed', edges: true },
  };
}

function unpackUnion(targets: readonly Node[], value: Value & { kind: 'union' }, frame: Frame, run: Run): void {
  targets.forEach((target, i) => {
    const options = value.options.flatMap((o) => {
      const listed = run.items(o.value, frame);
      const item = listed?.items[i];
      return item ? [{ value: item, when: o.when }] : [];
    });
    const [first] = options;
    const single = first && options.every((o) => o.value === first.value) ? first.value : null;
    const joined =
      single ??
      options.slice(1).reduce<Value | null>((sum, o) => {
        const [when] = o.when;
        return sum && when ? either(o.value, sum, when, { ...when, holds: !when.holds }) : sum;
      }, first?.value ?? null);
    assign(target, joined ?? unknown(), frame, run);
  });
}

const leavesOpen = ({ exact, head }: Shape, rank: number): boolean =>
  !exact || (head.length === rank && head.some((axis) => axis.dim === null));

/** `b, t, d = x.shape` fixes the rank of x and names its sizes. */
function unpackShape(targets: readonly Node[], of: Tensor, frame: Frame, run: Run): void {
  const ranked = withRank(of, targets.length);
  const shape = ranked && mapAxes(ranked, (axis, i) => (axis.dim || axis.replica ? axis : freeAxis(unknownDim(of, i))));
  targets.forEach((target, i) => assign(target, int(shape?.head[i]?.dim ?? unknownDim(of, i)), frame, run));
  if (!shape) return;
  const refined: Tensor = { ...of, shape };
  for (const [key, old] of frame.state.names.all()) {
    if ((old.kind === 'tensor' && old.id === of.id) || (old.kind === 'unknown' && old.id === of.id)) {
      frame.state.names.set(key, { ...refined, label: of.label || key });
    }
  }
}

function setAttribute(target: Node, value: Value, frame: Frame, run: Run): void {
  const object = childOf(target, 'object');
  const name = childOf(target, 'attribute');
  if (!object || !name) return;
  const owner = run.evaluate(object, frame);
  if (value.kind === 'int') nameSymbol(value.dim, textOf(name), target, run);
  const item = owner.kind === 'ref' ? frame.state.heap.get(owner.id) : null;
  if (owner.kind === 'ref' && item?.kind === 'object') {
    // All of them are copied.
    if (!run.step(item.attributes.size >> 7)) return;
    const isCopy = frame.building && carries(value, frame, run);
    const stays = isCopy ? kept(value) : value;
    const listed = isCopy && value.kind === 'ref' ? frame.state.heap.get(value.id) : undefined;
    if (value.kind === 'ref' && listed?.kind === 'list')
      frame.state.heap.set(value.id, { ...listed, items: listed.items.map(kept) });
    const attributes = new Map(item.attributes).set(textOf(name), labelled(stays, textOf(target)));
    frame.state.heap.set(owner.id, { ...item, attributes });
  } else if (owner.kind === 'tensor' && textOf(name) === 'data') {
    overwrite(owner, tensor(withoutReplicas(owner.shape)), frame);
  } else if (owner.kind === 'tensor' && textOf(name) === 'requires_grad' && carriesReplica(owner))
    leaf(owner, [value], frame);
}

function setItem(target: Node, value: Value, frame: Frame, run: Run): void {
  const container = childOf(target, 'value');
  const [index] = childrenOf(target, 'subscript');
  if (!container || !index) return;
  const owner = run.evaluate(container, frame);
  if (writtenByTest(container, index, owner, value, frame)) return;
  const item = owner.kind === 'ref' ? frame.state.heap.get(owner.id) : null;
  if (owner.kind === 'ref' && item) {
    const at = index.kind === 'slice' ? null : run.evaluate(index, frame);
    const key = asString(at ?? undefined);
    if (item.kind === 'dict') {
      const entries = new Map(item.entries);
      if (key !== null) entries.set(key, value);
      const isFirst = !item.open && item.entries.size === 0;
      // Whatever key it is: the same one as before, or the first of all that a loop stores under.
      const last = key === null && at?.kind === 'unknown' && (isFirst || item.last === at.id) ? at.id : undefined;
      if (key === null && last === undefined) {
        if (!alike([entries.get(ANY_KEY) ?? value, value], frame)) entries.delete(ANY_KEY);
        else if (!item.open) entries.set(ANY_KEY, value);
      } else if (last !== undefined) entries.set(ANY_KEY, value);
      const open = item.open || key === null;
      const made = { kind: 'dict' as const, entries, open, tag: item.tag };
      frame.state.heap.set(owner.id, last === undefined ? made : { ...made, last });
    } else if (item.kind === 'list') {
      const n = index.kind === 'slice' ? null : asNumber(run.evaluate(index, frame));
      const isOne = n !== null && n >= 0 && n < item.items.length;
      const items = item.items.map((old, i) =>
        isOne ? (i === n ? value : old) : old.kind === 'ref' || old.kind === 'layer' ? old : unknown(),
      );
      frame.state.heap.set(owner.id, { kind: 'list', items, open: item.open || !isOne, tag: item.tag });
    } else if (item.kind === 'object' && key !== null) {
      frame.state.heap.set(owner.id, { ...item, attributes: new Map(item.attributes).set(key, value) });
    }
    return;
  }
  if (owner.kind === 'unknown') {
    const key = index.kind === 'slice' ? null : run.evaluate(index, frame);
    if (key?.kind === 'string' && container.kind === 'identifier') {
      // A mapping of unknown class: what is stored under a key is what it now hands to whoever gets it.
      const entries = new Map<string, Value>(key.value === null ? [] : [[key.value, value]]);
      const id = tensor(UNKNOWN_SHAPE).id;
      frame.state.heap.set(id, { kind: 'dict', entries, open: true, tag: 'dict' });
      frame.state.names.set(textOf(container), { kind: 'ref', id });
      return;
    }
  }
  if (owner.kind === 'union') {
    for (const option of owner.options) if (option.value.kind === 'tensor') written(option.value, frame);
    return;
  }
  const t = asTensor(owner, run);
  if (!t || rankOf(t.shape) === 0) return;
  const result = value.kind === 'tensor' ? writtenSlices(t, target, value) : null;
  if (result) overwrite(t, result, frame);
  else written(t, frame);
}

/** Copies of which some are overwritten are there to be made different, whichever branch does so. */
const written = (t: Tensor, frame: Frame): void =>
  overwrite(
    t,
    tensor(withoutReplicas(t.shape), {
      label: t.label,
      storage: t.storage,
      noised: t.noised || carriesReplica(t),
    }),
    frame,
  );
