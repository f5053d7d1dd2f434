/** Applies a row of the operator table to evaluated arguments. Sinks are in `sinks.ts`. */
import { type Dim, constant, isOne } from '../tensor/dim';
import { linear, mapReplicas, multiply, pointwise, writtenAt } from '../tensor/pointwise';
import { expand, expandLeading, expandLike, repeat, repeatLeading } from '../tensor/replicate';
import { reshapeLeading } from '../tensor/leading';
import { applyReshape } from '../tensor/reshape';
import {
  UNKNOWN_SHAPE,
  axesBefore,
  exactShape,
  freeAxis,
  position,
  rankOf,
  replicasOf,
  tensor,
  withoutReplicas,
} from '../tensor/shape';
import type { Place, Tensor } from '../tensor/value';
import { type View, applyView, flatten, narrow, permute, select, squeeze, transpose, unsqueeze } from '../tensor/views';
import type { Applied } from './applied';
import {
  argument,
  leadingSizes,
  opaque,
  argumentNode,
  asDim,
  asNumber,
  asQuotient,
  asSizes,
  asTensor,
  expandSize,
  placeOf,
  repeatSize,
  uniqueIds,
} from './access';
import { cast, isCast } from './casts';
import { isOfAdjacency } from './index-names';
import { interleave } from './interleave';
import { einopsPack, einopsRearrange, einopsReduce, einopsRepeat, formatted } from './einops';
import type { Run } from './run';
import { applySink } from './sinks';
import { unknown } from './state';
import { textOf } from './syntax';
import { type Args, type Value, tuple } from './value';
import { clearedRows } from './disguised';
import { dropped, filled, isFilling } from './no-copies';
import { gathered, named } from './gather';
import { asJoined, concatenateValues, joinedRows, stackValues, created } from './combine';
import { pooled, reduced, resized, rowWise } from './reduce';

/** The first axis unless one is named; null where it is not known, and where a misspelt keyword makes the call fail. */
function dimOfConcatenation(args: Args): number | null {
  const given = argument(args, 1, 'dim', 'axis');
  if (given) return asNumber(given);
  return [...args.keywords.keys()].every((key) => /^(tensors|input|out)$/.test(key)) ? 0 : null;
}

export function applyOperator(applied: Applied): Value {
  const { operator, args, node, frame, run } = applied;
  const place = placeOf(node);
  const first = argument(args, 0, operator.params[0] ?? 'input', 'input', 'x');
  const t = first && asTensor(first, run);
  switch (operator.effect) {
    case 'concatenate':
      return concatenateValues(first, dimOfConcatenation(args), place, operator.name, run, frame);
    case 'concatenate-last':
      return concatenateValues(first, 1, place, operator.name, run, frame);
    case 'concatenate-rows':
      return joinedRows(first, place, operator.name, run, frame);
    case 'stack':
      return stackValues(first, asNumber(argument(args, 1, 'dim', 'axis')) ?? 0, place, 'stack', run, frame);
    case 'create':
      if (/^as_?(tensor|array)$/.test(operator.name) && first?.kind === 'tensor') return first;
      return created(operator.name, args, place, run, frame);
    case 'create-random':
      return {
        ...created('zeros', args, place, run, frame),
        content: 'random',
        uniform: false,
        // A permutation has each position once, and so has a part of it.
        ...(operator.name === 'randperm' && { index: { kind: 'one-to-one' } as const }),
      };
    case 'create-index':
      return tensor(exactShape([freeAxis(args.positional.length === 1 ? asDim(args.positional[0]) : null)]), {
        content: 'index',
        place,
      });
    case 'create-edges':
      if (/^_?indices$/.test(operator.name) && !isOfAdjacency(node)) return opaque(place);
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
      const value =
        first && run.items(first, frame) && !t ? stackValues(first, 0, place, operator.name, run, frame) : t;
      if (!value) return opaque(place);
      const apply =
        operator.effect === 'einops-repeat'
          ? einopsRepeat
          : operator.effect === 'einops-reduce'
            ? einopsReduce
            : einopsRearrange;
      return apply(value, formatted(args, frame, run), place);
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
    case 'packed-attention':
    case 'multihead-attention':
    case 'transformer-layer':
    case 'transformer-decoder':
      return applySink(applied);
  }
  if (!t) return opaque(place);
  const value = onTensor(applied, t, place);
  return t.uniform && COPIES.has(operator.effect) && isFilling(t) ? filled(value) : value;
}

const COPIES: ReadonlySet<string> = new Set(['expand', 'expand-as', 'repeat', 'repeat-interleave']);

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
      if (operator.name === 'masked_fill') {
        const cleared = clearedRows(t, args, place, run);
        if (cleared) return cleared;
      }
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
      const mark = writtenAt(place, `${operator.name} writes the copy`, 'layout');
      return { ...mapReplicas(t, mark), id: tensor(t.shape).id, storage: tensor(t.shape).id, place, label: '' };
    }
    case 'same':
      return operator.name === 'dropout' ? dropped(t, layer, args, place) : { ...t, place: t.place ?? place };
    case 'expand': {
      const leading = leadingSizes(args);
      const before = leading && axesBefore(t, leading.rest);
      const led = leading && before !== null && expandLeading(t, before, leading.sizes.map(expandSize), place);
      if (led) return led;
      const sizes = rest();
      const [shape] = args.positional.slice(1);
      if (shape?.kind === 'shape' && args.positional.length === 2) return expandLike(t, shape.of, place);
      // `expand(*before, 1, *after)`: what stands there by itself says what the new axis becomes.
      const plain = args.open ? args.positional.slice(1).map(asDim) : [];
      if (plain.length > 0 && plain.every(isOne)) return opaque(place);
      return sizes && sizes.length > 0 ? expand(t, sizes.map(expandSize), place) : expandLike(t, opaque(place), place);
    }
    case 'expand-as': {
      const like = argument(args, 1, 'other');
      return expandLike(t, (like && asTensor(like, run)) ?? opaque(place), place);
    }
    case 'repeat': {
      const counts = rest() ?? (args.open ? args.positional.slice(1) : null);
      // The second argument of numpy's repeat is an axis.
      if (counts?.some((count) => asNumber(count) === 0)) return unknown('', true);
      if (args.open && counts && counts.length > 0) return repeatLeading(t, counts.map(repeatSize), place);
      if (counts && counts.length > 0) return repeat(t, counts.map(repeatSize), place);
      return opaque(place);
    }
    case 'repeat-interleave':
      return interleave(t, args, place);
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
      const mark = writtenAt(place, 'reshape across the expanded axis writes the copy', 'layout');
      const like = /_as$/.test(operator.name) ? argument(args, 1, 'other') : undefined;
      const shape = like && asTensor(like, run)?.shape;
      if (shape)
        return shape.exact
          ? applyReshape(
              t,
              shape.head.map((axis) => axis.dim),
              place,
              mark,
            )
          : opaque(place);
      const wanted = (s: Value): Dim | 'rest' => (asNumber(s) === -1 ? 'rest' : (asDim(s) ?? asQuotient(s)));
      const leading = sizes ? null : leadingSizes(args);
      const before = leading && axesBefore(t, leading.rest);
      const led = leading && before !== null ? reshapeLeading(t, before, leading.sizes.map(wanted), place, mark) : null;
      if (!led && (!sizes || sizes.length === 0)) return through({ shape: () => null, axis: () => null });
      const reshaped = led ?? applyReshape(t, (sizes ?? []).map(wanted), place, mark);
      // A view that would have to write fails, unless there is one copy only.
      const fails = operator.effect === 'view' && replicasOf(reshaped.shape).some((r) => r.written === place);
      return fails ? opaque(place) : reshaped;
    }
    case 'flatten': {
      const start = layer ? 1 : (number(1, 'start_dim') ?? 0);
      const end = layer ? -1 : (number(2, 'end_dim') ?? -1);
      const flat = through(flatten(start, end));
      const crossed = replicasOf(flat.shape).some((r) => r.map.kind !== 'all');
      return crossed
        ? mapReplicas(flat, writtenAt(place, 'flatten across the expanded axis writes the copy', 'layout'))
        : flat;
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
      const joined = listed && !listed.open ? asJoined(t, dim, listed.items.map(asDim), place) : null;
      if (joined) return tuple(joined);
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
    case 'adaptive-pool': {
      const size = layer ? argument(layer.args, 0, 'output_size') : argument(args, 1, 'output_size');
      const sizes = size ? (asSizes([size], run, frame) ?? []) : [];
      return pooled(t, Number(operator.name.at(-2)), sizes.map(asDim), place);
    }
    case 'resize': {
      const size = layer ? argument(layer.args, 0, 'size') : argument(args, 1, 'size');
      return resized(t, (size && asSizes([size], run, frame)?.map(asDim)) ?? [], argumentNode(args, 0, 'input'), place);
    }
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
            tensor(UNKNOWN_SHAPE, { content: t.content }),
            { ...ids, index: { kind: 'many-to-one', evidence: 'strong', map: 'indexed' } },
          ],
          true,
        );
      return tuple([opaque(place), ids]);
    }
    case 'embedding':
    case 'one-hot': {
      const given =
        operator.effect === 'one-hot'
          ? argument(args, 1, 'num_classes')
          : layer && argument(layer.args, 1, 'embedding_dim');
      const width = freeAxis(given ? asDim(given) : null);
      return tensor(
        t.shape.exact ? exactShape([...withoutReplicas(t.shape).head, width]) : { ...UNKNOWN_SHAPE, tail: [width] },
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
