/** Applies a row of the operator table to evaluated arguments. Sinks are in `sinks.ts`. */
import { type Dim, ONE, constant, isOne } from '../tensor/dim';
import { concatenate, linear, mapReplicas, multiply, pointwise, worked, writtenAt } from '../tensor/pointwise';
import {
  type Size,
  expand,
  expandLike,
  gatherRows,
  reordered,
  repeat,
  repeatInterleave,
  repeatLeading,
} from '../tensor/replicate';
import { applyReshape } from '../tensor/reshape';
import {
  UNKNOWN_SHAPE,
  axisAt,
  carriesReplica,
  exactShape,
  freeAxis,
  knownAxis,
  mapAxes,
  position,
  rankOf,
  replicasOf,
  tensor,
  withoutReplicas,
} from '../tensor/shape';
import type { Place, Tensor } from '../tensor/value';
import { type View, applyView, flatten, narrow, permute, select, squeeze, transpose, unsqueeze } from '../tensor/views';
import type { Applied } from './applied';
import { argument, argumentNode, asDim, asNumber, asSizes, asTensor, placeOf } from './access';
import { cast, isCast } from './casts';
import { einopsPack, einopsRearrange, einopsReduce, einopsRepeat } from './einops';
import type { Frame, Run } from './run';
import { applySink } from './sinks';
import { type Node, textOf } from './syntax';
import { type Args, type Value, tuple } from './value';

const opaque = (place: Place): Tensor => tensor(UNKNOWN_SHAPE, { place });

export function applyOperator(applied: Applied): Value {
  const { operator, args, node, frame, run } = applied;
  const place = placeOf(node);
  const first = argument(args, 0, operator.params[0] ?? 'input', 'input', 'x');
  const t = first && asTensor(first, run);
  switch (operator.effect) {
    case 'concatenate':
      return concatenateValues(
        first,
        asNumber(argument(args, 1, 'dim', 'axis')) ?? (argument(args, 1, 'dim', 'axis') ? null : 0),
        place,
        run,
        frame,
      );
    case 'concatenate-last':
      return concatenateValues(first, 1, place, run, frame);
    case 'stack':
      return stackValues(first, asNumber(argument(args, 1, 'dim', 'axis')) ?? 0, place, run, frame);
    case 'create':
      return created(operator.name, args, place, run, frame);
    case 'create-random':
      return { ...created('zeros', args, place, run, frame), content: 'random' };
    case 'create-index':
      return tensor(exactShape([freeAxis(args.positional.length === 1 ? asDim(args.positional[0]) : null)]), {
        content: 'index',
        place,
      });
    case 'create-edges':
      return tensor(exactShape([freeAxis(constant(2)), freeAxis(null)]), {
        content: 'index',
        index: { kind: 'edge-index' },
        place,
      });
    case 'einops-pack': {
      const listed = first && run.items(first, frame);
      return tuple([
        einopsPack(listed?.items.flatMap((v) => asTensor(v, run) ?? []) ?? [], args, place),
        { kind: 'unknown', id: -1, label: '', foreign: false },
      ]);
    }
    case 'einops-unpack':
      return t ? tuple([{ ...opaque(place) }], true) : opaque(place);
    case 'einops-repeat':
    case 'einops-rearrange':
    case 'einops-reduce': {
      const value = first && run.items(first, frame) && !t ? stackValues(first, 0, place, run, frame) : t;
      if (!value) return opaque(place);
      const apply =
        operator.effect === 'einops-repeat'
          ? einopsRepeat
          : operator.effect === 'einops-reduce'
            ? einopsReduce
            : einopsRearrange;
      return apply(value, args, place);
    }
    case 'einsum':
    case 'linear':
    case 'matmul':
    case 'matmul-add':
    case 'convolution':
    case 'functional-convolution':
    case 'bilinear':
    case 'recurrent':
    case 'recurrent-cell':
    case 'attention':
    case 'multihead-attention':
    case 'transformer-layer':
    case 'transformer-decoder':
      return applySink(applied);
  }
  if (!t) return opaque(place);
  return onTensor(applied, t, place);
}

/** Operators whose first argument is the tensor. */
function onTensor({ operator, args, frame, run, layer }: Applied, t: Tensor, place: Place): Value {
  const number = (at: number, ...keywords: string[]): number | null => asNumber(argument(args, at, ...keywords));
  const rest = (): readonly Value[] | null => {
    const keyword =
      args.keywords.get('size') ??
      args.keywords.get('shape') ??
      args.keywords.get('repeats') ??
      args.keywords.get('dims');
    return args.open
      ? null
      : asSizes(args.positional.length > 1 ? args.positional.slice(1) : keyword ? [keyword] : [], run, frame);
  };
  const through = (view: View): Tensor => applyView(t, view, place);
  switch (operator.effect) {
    case 'pointwise':
      if (isCast(operator.name)) return cast(operator.name, t, args, place);
      // With a condition alone, `where` is `nonzero`.
      if (operator.name === 'where' && args.positional.length === 1 && args.keywords.size === 0)
        return tuple([uniqueIds(place), uniqueIds(place), uniqueIds(place)], true);
      return pointwise(
        [t, ...others(args, run)],
        place,
        operator.name === 'activation' ? (layer?.name.replace('nn.', '') ?? 'activation') : operator.name,
      );
    case 'add':
    case 'subtract':
      return linear(
        [t, ...others(args, run).slice(0, 1)],
        operator.effect === 'add' ? [1, 1] : [1, -1],
        place,
        operator.name,
      );
    case 'multiply':
      return multiply([t, ...others(args, run).slice(0, 1)], place);
    case 'copy': {
      const mark = writtenAt(place, `${operator.name} writes the copy`);
      return { ...mapReplicas(t, mark), id: tensor(t.shape).id, storage: tensor(t.shape).id, place, label: '' };
    }
    case 'same':
      return operator.name === 'dropout' ? { ...worked(t, place), place } : { ...t, place: t.place ?? place };
    case 'expand': {
      const sizes = rest();
      const [shape] = args.positional.slice(1);
      if (shape?.kind === 'shape' && args.positional.length === 2) return expandLike(t, shape.of, place);
      return sizes && sizes.length > 0 ? expand(t, sizes.map(expandSize), place) : expandLike(t, opaque(place), place);
    }
    case 'expand-as': {
      const like = argument(args, 1, 'other');
      return expandLike(t, (like && asTensor(like, run)) ?? opaque(place), place);
    }
    case 'repeat': {
      const counts = rest() ?? (args.open ? args.positional.slice(1) : null);
      if (args.open && counts && counts.length > 0) return repeatLeading(t, counts.map(repeatSize), place);
      if (counts && counts.length > 0) return repeat(t, counts.map(repeatSize), place);
      return opaque(place);
    }
    case 'repeat-interleave':
      return interleave(t, args, place, run);
    case 'reshape':
    case 'view': {
      const sizes = rest();
      const [only] = args.positional.slice(1);
      if (
        operator.effect === 'view' &&
        args.positional.length === 2 &&
        (only?.kind === 'name' || only?.kind === 'string')
      )
        return { ...t, place };
      if (!sizes || sizes.length === 0) return through({ shape: () => null, axis: () => null });
      const mark = writtenAt(place, 'reshape across the expanded axis writes the copy');
      return applyReshape(
        t,
        sizes.map((s) => (asNumber(s) === -1 ? 'rest' : asDim(s))),
        place,
        mark,
      );
    }
    case 'flatten': {
      const start = layer ? 1 : (number(1, 'start_dim') ?? 0);
      const end = layer ? -1 : (number(2, 'end_dim') ?? -1);
      const flat = through(flatten(start, end));
      const crossed = replicasOf(flat.shape).some((r) => r.map.kind !== 'all');
      return crossed ? mapReplicas(flat, writtenAt(place, 'flatten across the expanded axis writes the copy')) : flat;
    }
    case 'unsqueeze': {
      const at = number(1, 'dim', 'axis');
      return at === null ? opaque(place) : through(unsqueeze(at));
    }
    case 'squeeze': {
      const at = number(1, 'dim', 'axis');
      return at === null ? opaque(place) : through(squeeze(at));
    }
    case 'transpose': {
      const a = number(1, 'dim0');
      const b = number(2, 'dim1');
      return a === null || b === null ? opaque(place) : through(transpose(a, b));
    }
    case 'permute': {
      const order = rest()?.map(asNumber);
      return order && order.every((n): n is number => n !== null) && order.length > 0
        ? through(permute(order))
        : opaque(place);
    }
    case 'movedim': {
      const from = number(1, 'source');
      const to = number(2, 'destination');
      const rank = rankOf(t.shape);
      if (from === null || to === null || rank === null) return opaque(place);
      const order = Array.from({ length: rank }, (_, i) => i);
      const [moved] = order.splice(from < 0 ? from + rank : from, 1);
      order.splice(to < 0 ? to + rank : to, 0, moved ?? 0);
      return through(permute(order));
    }
    case 'narrow':
      return through(narrow(number(1, 'dim') ?? 0, asDim(argument(args, 3, 'length'))));
    case 'unflatten': {
      const at = number(1, 'dim');
      const sizes = argument(args, 2, 'sizes');
      const listed = sizes && run.items(sizes, frame);
      const shape = t.shape.exact ? t.shape : null;
      if (at === null || !listed || listed.open || !shape) return opaque(place);
      const where = position(shape, at) ?? 0;
      const all = shape.head.map((axis): Dim => axis.dim);
      const into: (Dim | 'rest')[] = listed.items.map((s) => (asNumber(s) === -1 ? 'rest' : asDim(s)));
      return applyReshape(t, [...all.slice(0, where), ...into, ...all.slice(where + 1)], place, (r) => r);
    }
    case 'chunk': {
      const dim = number(2, 'dim', 'axis') ?? 0;
      const count = operator.name === 'split' ? null : number(1, 'chunks');
      const part = (): Tensor => through(narrow(dim, null));
      const sections = argument(args, 1, 'split_size_or_sections');
      const listed = sections && sections.kind !== 'int' ? run.items(sections, frame) : null;
      const n = count ?? (listed && !listed.open ? listed.items.length : null);
      return n !== null && n <= 64 ? tuple(Array.from({ length: n }, part)) : tuple([part()], true);
    }
    case 'unbind': {
      const part = through(select(number(1, 'dim', 'axis') ?? 0));
      return tuple([part, part, part], true);
    }
    case 'index-select': {
      const index = argument(args, 2, 'index');
      const dim = number(1, 'dim');
      const indexNode = argumentNode(args, 2, 'index');
      return dim === null || !index
        ? opaque(place)
        : gathered(
            named(t, argumentNode(args, 0, 'input')),
            dim,
            index,
            indexNode ? textOf(indexNode) : '',
            place,
            run,
            frame,
          );
    }
    case 'softmax': {
      const at = number(operator.name === 'normalize' ? 2 : 1, 'dim') ?? (operator.name === 'normalize' ? 1 : -1);
      return rowWise(t, at, place, operator.name);
    }
    case 'layer-norm':
      return rowWise(t, -1, place, layer?.name.replace('nn.', '') ?? 'layer_norm');
    case 'batch-norm':
      return pointwise([t], place, layer?.name.replace('nn.', '') ?? 'batch_norm');
    case 'reduce':
      return reduced(t, args, operator.name, place, run, frame);
    case 'search':
      return tensor(UNKNOWN_SHAPE, {
        content: 'index',
        index: { kind: 'many-to-one', evidence: 'strong', map: 'indexed' },
        place,
      });
    case 'mask': {
      const result = pointwise([t, ...others(args, run)], place, operator.name);
      return operator.name === 'tril' || operator.name === 'triu'
        ? { ...opaque(place), shape: withoutReplicas(t.shape), content: t.content }
        : { ...result, content: 'mask' };
    }
    case 'ids':
      return { ...t, content: operator.name === 'bool' ? 'mask' : 'index', place };
    case 'opaque-index': {
      const ids = uniqueIds(place);
      if (operator.name === 'nonzero' || operator.name === 'argsort') return ids;
      if (operator.name === 'unique')
        return tuple(
          [
            tensor(UNKNOWN_SHAPE, { content: 'index' }),
            { ...ids, index: { kind: 'many-to-one', evidence: 'strong', map: 'indexed' } },
          ],
          true,
        );
      return tuple([opaque(place), ids]);
    }
    case 'embedding': {
      const width = layer ? asDim(argument(layer.args, 1, 'embedding_dim')) : null;
      return tensor(
        t.shape.exact
          ? exactShape([...withoutReplicas(t.shape).head, freeAxis(width)])
          : { ...UNKNOWN_SHAPE, tail: [freeAxis(width)] },
        { place },
      );
    }
    case 'one-hot': {
      const width = asDim(argument(args, 1, 'num_classes'));
      return tensor(
        t.shape.exact ? exactShape([...t.shape.head, freeAxis(width)]) : { ...UNKNOWN_SHAPE, tail: [freeAxis(width)] },
        { place },
      );
    }
    default:
      return opaque(place);
  }
}

const others = (args: Args, run: Run): Tensor[] =>
  [...args.positional.slice(1), ...['other', 'mask', 'weight'].flatMap((k) => args.keywords.get(k) ?? [])].flatMap(
    (v) =>
      v.kind === 'tensor' || v.kind === 'unknown' || v.kind === 'int' || v.kind === 'number'
        ? (asTensor(v, run) ?? [])
        : [],
  );

export const expandSize = (value: Value): Size => (asNumber(value) === -1 ? 'keep' : asDim(value));
export const repeatSize = (value: Value): Size => (isOne(asDim(value)) ? 'keep' : asDim(value));

function concatenateValues(list: Value | undefined, dim: number | null, place: Place, run: Run, frame: Frame): Tensor {
  const listed = list && run.items(list, frame);
  if (!listed || dim === null) return opaque(place);
  const values = listed.items.flatMap((v) => asTensor(v, run) ?? []);
  if (values.length === 0) return opaque(place);
  return concatenate(values, dim, place);
}

function stackValues(list: Value | undefined, dim: number, place: Place, run: Run, frame: Frame): Tensor {
  const listed = list && run.items(list, frame);
  const values = listed?.items.flatMap((v) => asTensor(v, run) ?? []) ?? [];
  const [first] = values;
  if (!listed || !first) return opaque(place);
  const one = applyView(first, unsqueeze(dim), place);
  if (values.length === 1 && listed.open) return { ...one, form: null };
  const same = !listed.open && values.length > 1 && values.every((v) => v.id === first.id);
  // [x] * n or [x, x, x]: the same tensor stacked is a repeat in disguise.
  const count = constant(values.length);
  if (same)
    return repeat(
      one,
      Array.from({ length: Math.max(dim, 0) + 1 }, (_, i): Size => (i === dim ? count : 'keep')),
      place,
    );
  const blocks = values.map((v) => ({ ...applyView(v, unsqueeze(dim), v.place) }));
  return concatenate(blocks, dim, place);
}

function created(kind: string, args: Args, place: Place, run: Run, frame: Frame): Tensor {
  const like = args.positional.find((v) => v.kind === 'tensor');
  // Of numbers, or of something that numpy made: data of its own, that no input decides.
  if (/Tensor$/.test(kind) && !args.positional.every((v) => v.kind === 'int' || (v.kind === 'unknown' && !v.foreign)))
    return tensor(UNKNOWN_SHAPE, { content: 'constant', place });
  if (/_like$/.test(kind) && like?.kind === 'tensor')
    return tensor(withoutReplicas(like.shape), { content: 'constant', place });
  if (kind === 'tensor' || kind === 'as_tensor' || kind === 'from_numpy' || kind === 'eye') return opaque(place);
  const given = kind.startsWith('new_') ? args.positional.slice(1) : args.positional;
  const named = args.keywords.get('size');
  const sizes = args.open
    ? null
    : asSizes(kind.endsWith('full') ? given.slice(0, 1) : named ? [named] : given, run, frame);
  const shape = sizes && sizes.length > 0 ? exactShape(sizes.map((s) => freeAxis(asDim(s)))) : UNKNOWN_SHAPE;
  return tensor(shape, { content: 'constant', place });
}

function interleave(t: Tensor, args: Args, place: Place, run: Run): Value {
  const repeats = argument(args, 1, 'repeats');
  const dim = asNumber(argument(args, 2, 'dim', 'axis'));
  const node = argumentNode(args, 1, 'repeats');
  const text = node ? textOf(node) : '';
  const isCounts = repeats?.kind === 'tensor' || repeats?.kind === 'ref' || repeats?.kind === 'tuple';
  const given = argument(args, 2, 'dim', 'axis');
  if (!repeats && !isCounts) {
    // repeat_interleave(counts): the index itself.
    return tensor(UNKNOWN_SHAPE, {
      content: 'index',
      index: { kind: 'many-to-one', evidence: 'strong', map: 'indexed' },
      place,
    });
  }
  const rank = rankOf(t.shape);
  if (dim === null && given && given.kind !== 'none') return opaque(place);
  const flat = dim === null && rank !== 1 ? { ...t, shape: exactShape([freeAxis(null)]) } : t;
  const result = repeatInterleave(flat, isCounts ? 'counts' : asDim(repeats), dim ?? 0, text, place);
  const known =
    result.content === 'index'
      ? { ...result, index: { kind: 'many-to-one' as const, evidence: 'strong' as const, map: 'blocks' as const } }
      : result;
  void run;
  return known;
}

/** A tensor without a name is called as the expression that it is read from. */
export const named = (t: Tensor, node: Node | null): Tensor =>
  t.label === '' && node !== null && node.end - node.start < 32 ? { ...t, label: textOf(node) } : t;

/** The same function sums rows by this index: then many rows share one of its values. */
const scattered = new WeakMap<Node, Set<string>>();

function scattersBy(index: string, frame: Frame): boolean {
  const node = frame.function?.node;
  if (!node) return false;
  let names = scattered.get(node);
  if (!names) {
    const calls = textOf(node).matchAll(/\b(?:scatter\w*|segment_\w+|index_add_?|global_\w+_pool)\(([^()]*)/g);
    names = new Set([...calls].flatMap((call) => (call[1] ?? '').match(/\w+/g) ?? []));
    scattered.set(node, names);
  }
  return names.has(index);
}

const RELATION = /(^|[._])(edge_types?|etypes?|rel(ation)?s?(_types?|_ids?)?)$/;

/** Positions of a search or a sort: each is there once. */
const uniqueIds = (place: Place): Tensor =>
  tensor(UNKNOWN_SHAPE, { content: 'index', index: { kind: 'one-to-one' }, place });

/** Rows of `t` picked by `index` along one axis: a replica only if the index is known to be many-to-one. */
export function gathered(
  t: Tensor,
  dim: number,
  index: Value,
  indexText: string,
  place: Place,
  run: Run,
  frame: Frame,
): Tensor {
  const by = asTensor(index, run);
  const extent = by ? axisAt(by, 0) : freeAxis(null);
  const free = (): Tensor => {
    const picked = applyView(t, narrow(dim, extent.dim), place);
    const shape = mapAxes(picked.shape, (axis, i) =>
      i === (position(picked.shape, dim) ?? dim) ? freeAxis(extent.dim) : axis,
    );
    const fresh = tensor(shape);
    return { ...picked, id: fresh.id, storage: fresh.id, shape };
  };
  if (!by || by.index.kind === 'one-to-one') return free();
  const parameter = t.content === 'parameter' || /(^|[._])(weight|w)$/i.test(t.label);
  const relation = RELATION.test(by.label) || RELATION.test(indexText);
  if (t.content === 'parameter' || (parameter && relation)) {
    const matrices = (rankOf(t.shape) ?? 3) >= 3;
    return matrices && relation ? gatherRows(t, dim, by, indexText, 'named', false, place) : free();
  }
  const kind =
    by.content === 'index' && carriesReplica(by)
      ? ({ kind: 'many-to-one', evidence: 'strong', edges: false } as const)
      : by.index;
  const copied = axisAt(t, dim).replica;
  // Copies put in another order, by an index that no input decides, are still copies.
  if (copied && by.content === 'constant') return reordered(t, dim, extent.dim, place);
  if (kind.kind !== 'many-to-one') {
    return scattersBy(indexText, frame) ? gatherRows(t, dim, by, indexText, 'named', false, place) : free();
  }
  return gatherRows(t, dim, by, indexText, kind.evidence, ('edges' in kind && kind.edges) ?? false, place);
}

/** Along one axis every position depends on all others: that axis loses its map, the others keep theirs. */
export function rowWise(t: Tensor, axis: number, place: Place, what: string): Tensor {
  const value = pointwise([t], place, what);
  const at = position(value.shape, axis) ?? axis;
  const form = value.form && value.form.axis !== null && value.form.axis !== at ? value.form : null;
  const shape = mapAxes(value.shape, (a, i) => (i === at ? freeAxis(a.dim) : a));
  return { ...value, shape, form };
}

function reduced(t: Tensor, args: Args, what: string, place: Place, run: Run, frame: Frame): Value {
  const dimValue = argument(args, 1, 'dim', 'axis');
  const many = dimValue && dimValue.kind !== 'int' ? run.items(dimValue, frame)?.items.map(asNumber) : null;
  const dims = many ?? (dimValue ? [asNumber(dimValue)] : null);
  const keep = argument(args, 2, 'keepdim', 'keepdims');
  const pair = (value: Tensor): Value =>
    (what === 'max' || what === 'min' || what === 'median') && dimValue && dimValue.kind !== 'tensor'
      ? tuple([value, tensor(value.shape, { content: 'index' })])
      : value;
  if (what === 'cumsum' || what === 'cumprod') return rowWise(t, dims?.[0] ?? -1, place, what);
  if (!dims) return tensor(exactShape([]), { place });
  if (!dims.every((d): d is number => d !== null)) return pair(opaque(place));
  const mark = writtenAt(place, `${what} writes the copy`);
  let value: Tensor = { ...mapReplicas(t, mark), form: null };
  const kept = keep?.kind === 'bool' && keep.value === true;
  const order = [...dims].sort((a, b) => (a < 0 ? (b < 0 ? a - b : 1) : b < 0 ? -1 : b - a));
  for (const dim of order) {
    const at = position(value.shape, dim) ?? dim;
    value = kept
      ? {
          ...value,
          shape: knownAxis(value.shape, at)
            ? mapAxes(value.shape, (axis, i) => (i === at ? freeAxis(ONE) : axis))
            : value.shape,
        }
      : applyView(value, select(dim), place);
  }
  const made = tensor(value.shape);
  return pair({
    ...value,
    id: made.id,
    storage: made.id,
    place,
    label: '',
    content: t.content === 'random' ? 'random' : 'data',
  });
}
