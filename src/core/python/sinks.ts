/** Matrix products and attention: which replicas each operand brings, whether the sink copies them, and the result. */
import { type Hit, hitsOf, rowHitsOf } from '../tensor/contract';
import { ALL } from '../tensor/axis-map';
import { type Dim, ONE, isOne } from '../tensor/dim';
import { replica } from '../tensor/replicate';
import { mapReplicas } from '../tensor/pointwise';
import {
  UNKNOWN_SHAPE,
  axisAt,
  exactShape,
  freeAxis,
  knownAxis,
  mapAxes,
  position,
  rankOf,
  tensor,
  withRank,
  withoutReplicas,
} from '../tensor/shape';
import type { Axis, Place, Shape, Tensor } from '../tensor/value';
import { argument, argumentNode, asDim, asNumber, asTensor, placeOf } from './access';
import { gqaAdvice, widthAdvice } from './advice';
import { einsum } from './einsum';
import { type Applied, asHits, emit } from './applied';
import { recurrentResult } from './recurrent';
import type { Operand, SinkHit } from './run';
import { type Value, tuple } from './value';

export function applySink(applied: Applied): Value {
  const { operator, args, run } = applied;
  const tensorAt = (at: number, ...names: string[]): Tensor | null => {
    const value = argument(args, at, ...names);
    return value ? asTensor(value, run) : null;
  };
  switch (operator.effect) {
    case 'linear':
      return linearSink(applied, tensorAt(0, 'input', 'x'));
    case 'matmul':
      return matmulSink(applied, tensorAt(0, 'input'), tensorAt(1, 'other', 'mat2', 'tensor2', 'vec2'), 0);
    case 'matmul-add':
      return matmulSink(applied, tensorAt(1, 'mat1', 'batch1'), tensorAt(2, 'mat2', 'batch2'), 1);
    case 'einsum':
      return einsum(applied);
    case 'convolution':
    case 'functional-convolution':
      return convolutionSink(applied, tensorAt(0, 'input', 'x'));
    case 'bilinear': {
      const operands = [0, 1].map((i) => rowOperand(applied, tensorAt(i, `input${i + 1}`), i));
      emit(applied, 'bilinear', operands, {});
      return tensor(UNKNOWN_SHAPE, { place: placeOf(applied.node) });
    }
    case 'recurrent':
    case 'recurrent-cell': {
      const x = tensorAt(0, 'input');
      emit(applied, 'recurrent', [rowOperand(applied, x, 0)], {});
      return recurrentResult(applied, x);
    }
    case 'attention':
      return attentionSink(applied);
    case 'packed-attention':
      return packedAttention(applied, tensorAt(0, 'qkv'));
    case 'multihead-attention':
    case 'transformer-decoder':
      return moduleAttention(applied);
    default:
      return transformerLayer(applied, tensorAt(0, 'src', 'input'));
  }
}

/** An operand whose last axis is contracted with a weight: every other axis is a row. */
function rowOperand({ args }: Applied, t: Tensor | null, at: number, contracted = -1): Operand {
  const hits = t
    ? asHits(
        rowHitsOf(t, contracted),
        () => 'row',
        () => true,
      )
    : [];
  return {
    role: 'input',
    value: t ?? tensor(UNKNOWN_SHAPE),
    node: argumentNode(args, at, 'input', 'src', 'query'),
    hits,
  };
}

/** After a sink the rows are products: what was a replica has been paid for, and is not reported again. */
export const spent = (t: Tensor): Tensor => ({ ...mapReplicas(t, () => null), form: null });

function linearSink(applied: Applied, input: Tensor | null): Value {
  const { layer, node, args } = applied;
  const place = placeOf(node);
  if (!input) return tensor(UNKNOWN_SHAPE, { place });
  const t = flatConcatenation(input);
  const weight = layer ? null : argument(args, 1, 'weight');
  const width: Dim = layer
    ? asDim(argument(layer.args, 1, 'out_features'))
    : weight?.kind === 'tensor'
      ? (knownAxis(weight.shape, 0)?.dim ?? null)
      : null;
  emit(applied, 'linear', [rowOperand(applied, t, 0)], { outWidth: width, advice: widthAdvice(t, layer, weight, 1) });
  return projected(t, -1, width, place);
}

/** A cat on axis 1 of rows picked by an index, rank unknown: features of rows are what such rows are joined with. */
function flatConcatenation(t: Tensor): Tensor {
  if (rankOf(t.shape) !== null || t.form?.axis !== 1) return t;
  const gathers = t.form.blocks.some((b) =>
    b.terms.some((term) => term.factors.some((f) => f.shape.head[0]?.replica?.map.kind === 'indexed')),
  );
  return gathers ? { ...t, shape: withRank(t, 2) ?? t.shape } : t;
}

/** The result of contracting one axis with a weight: same axes, another width. */
function projected(t: Tensor, axis: number, width: Dim, place: ReturnType<typeof placeOf>): Tensor {
  const shape = withoutReplicas(t.shape);
  const at = position(shape, axis) ?? axis;
  const known = knownAxis(shape, at) !== null;
  const result: Shape = known
    ? mapAxes(shape, (a, i) => (i === at ? freeAxis(width) : a))
    : shape.exact || axis !== -1
      ? shape
      : { ...shape, tail: [freeAxis(width)] };
  return tensor(result, { place, content: t.content === 'random' ? 'random' : 'data' });
}

/** Channels are axis 1. Only a kernel of 1 without stride and padding is a matrix product. */
function convolutionSink(applied: Applied, t: Tensor | null): Value {
  const { layer, node, args, run, frame } = applied;
  const place = placeOf(node);
  if (!t) return tensor(UNKNOWN_SHAPE, { place });
  const digits = /(\d)d/.exec(layer?.name ?? applied.operator.name)?.[1];
  const rank = digits ? Number(digits) + 2 : null;
  const ranked = rank === null ? t : { ...t, shape: withRank(t, rank) ?? t.shape };
  const width = layer ? asDim(argument(layer.args, 1, 'out_channels')) : null;
  const kernel = layer ? argument(layer.args, 2, 'kernel_size') : undefined;
  const listed = kernel && kernel.kind !== 'int' ? run.items(kernel, frame)?.items : kernel ? [kernel] : undefined;
  const one = listed !== undefined && listed.length > 0 && listed.every((k) => asNumber(k) === 1);
  const weight = layer ? undefined : argument(args, 1, 'weight');
  const weightOne =
    weight?.kind === 'tensor' &&
    weight.shape.exact &&
    weight.shape.head.slice(2).every((a) => isOne(a.dim)) &&
    weight.shape.head.length > 2;
  const groups = layer ? asNumber(layer.args.keywords.get('groups')) : null;
  if ((one || weightOne) && (groups === null || groups === 1)) {
    const operand = { ...rowOperand(applied, ranked, 0, 1), value: ranked };
    emit(applied, 'convolution', [operand], { contracted: 1, outWidth: width });
    return projected(ranked, 1, width, place);
  }
  const axes: Axis[] | null =
    rank === null
      ? null
      : Array.from({ length: rank }, (_, i) => freeAxis(i === 0 ? axisAt(ranked, 0).dim : i === 1 ? width : null));
  return tensor(axes ? exactShape(axes) : UNKNOWN_SHAPE, { place });
}

const isWeight = (t: Tensor): boolean => t.content === 'parameter' || rankOf(t.shape) === 2;

function matmulSink(applied: Applied, left: Tensor | null, right: Tensor | null, from: number): Value {
  const { node, args } = applied;
  const place = placeOf(node);
  if (!left || !right) return tensor(UNKNOWN_SHAPE, { place });
  const binary = node.kind === 'binary_operator' || node.kind === 'augmented_assignment';
  const nodeOf = (i: number) =>
    binary
      ? (node.children.find((c) => c.field === (i === 0 ? 'left' : 'right')) ?? null)
      : argumentNode(args, i + from, i === 0 ? 'input' : 'other');
  const strict = applied.operator.name === 'bmm' || applied.operator.name === 'baddbmm';
  const [a, given] = strict
    ? [left, right].map((t) => ({ ...t, shape: withRank(t, 3) ?? t.shape }))
    : applied.operator.name === 'mm' || applied.operator.name === 'addmm'
      ? [left, right].map((t) => ({ ...t, shape: withRank(t, 2) ?? t.shape }))
      : [left, right];
  if (!a || !given) return tensor(UNKNOWN_SHAPE, { place });
  // W @ cat([..], dim=1) of unknown rank: on two axes the copied rows would be the contracted ones.
  const b =
    rankOf(a.shape) === 2 && given.form?.axis === 1 ? { ...given, shape: withRank(given, 3) ?? given.shape } : given;
  const contractedRight = rankOf(b.shape) === 1 ? -1 : -2;
  const byRightWeight = isWeight(b) && rankOf(b.shape) === 2;
  const byLeftWeight = isWeight(a) && rankOf(a.shape) === 2;
  const operand = (t: Tensor, other: Tensor, contracted: number, role: 'left' | 'right', weight: boolean): Operand => {
    const rows = role === 'left' ? -2 : -1;
    const isKey = ({ carrier, replica: { of } }: Hit): boolean =>
      role === 'right' && (carrier.content === 'parameter' || of.label === 'bias_k');
    const hits = weight ? rowHitsOf(t, contracted) : hitsOf(t, contracted).filter((h) => h.via !== 'rows' || isKey(h));
    const roleOf = (h: Hit): SinkHit['axisRole'] => {
      if (h.via === 'product') return 'contracted';
      if (weight) return 'row';
      const rank = rankOf(t.shape);
      const back = h.axis < 0 ? h.axis : rank !== null ? h.axis - rank : null;
      return back === rows || h.via === 'picked' ? 'row' : headAxis(t, h) ? 'head' : 'batch';
    };
    const inside = (h: Hit): boolean => weight || roleOf(h) === 'row' || copiesBatch(t, other);
    const kept = hits.filter((h) => !(h.replica.scaled && roleOf(h) === 'batch'));
    return { role, value: t, node: nodeOf(role === 'left' ? 0 : 1), hits: asHits(kept, roleOf, inside) };
  };
  // An outer product: nothing is summed, so it is a multiplication by another name.
  const outer = [axisAt(a, -1), axisAt(b, contractedRight)].some((axis) => isOne(axis.dim));
  if (outer) return tensor(UNKNOWN_SHAPE, { place });
  const operands = [operand(a, b, -1, 'left', byRightWeight), operand(b, a, contractedRight, 'right', byLeftWeight)];
  const implicit = operands.every((o) => o.hits.length === 0) ? implicitCopy(a, b, placeOf(node)) : null;
  if (implicit) operands[implicit.at] = { ...(operands[implicit.at] as Operand), hits: [implicit.hit] };
  emit(applied, 'matmul', operands, {
    contracted: operands[0] && operands[0].hits.length > 0 ? -1 : contractedRight,
    byWeight: byRightWeight || byLeftWeight,
    advice: byRightWeight ? widthAdvice(a, null, b, 0) : null,
    outWidth: byLeftWeight ? (knownAxis(a.shape, 0)?.dim ?? null) : (knownAxis(b.shape, -1)?.dim ?? null),
  });
  return productOf(a, b, place);
}

/**
 * What matmul copies by its own broadcasting, see `batchToCopy`: it expands the batch axes and reshapes to three
 * dimensions, and where the expanded axes do not collapse to one stride that reshape writes every copy.
 */
function implicitCopy(a: Tensor, b: Tensor, place: Place): { at: 0 | 1; hit: SinkHit } | null {
  for (const at of [0, 1] as const) {
    const [t, other] = at === 0 ? [a, b] : [b, a];
    const { content, itemSize, shape } = t;
    const extent = content === 'mask' || content === 'index' ? null : batchToCopy(t, other);
    if (!extent) continue;
    const [own, others] = at === 0 ? [knownAxis(a.shape, -2), axisAt(b, -1)] : [knownAxis(b.shape, -1), axisAt(a, -2)];
    const single = isOne(others.dim);
    // Copies of a vector are as nothing beside the matrices that they meet.
    if (isOne(own?.dim ?? null) && !single) continue;
    const made = replica(t, { map: ALL, source: ONE, extent, origin: place, written: true, argument: at });
    const rest = shape.head.filter((axis) => !isOne(axis.dim));
    const carrier = tensor(exactShape([{ dim: extent, replica: made }, ...rest]), { content, itemSize });
    const implicit = single ? 'vector' : 'matrix';
    const way = { axis: 0, via: 'whole', axisRole: 'batch', copiedInside: true } as const;
    return { at, hit: { ...way, replica: made, carrier, implicit } };
  }
  return null;
}

/**
 * The axis of `other` over which `t` is copied: a parameter of three axes against four-dimensional activations, or four
 * axes of which just one of the two batch axes has size 1 while the other operand's has not.
 */
function batchToCopy(t: Tensor, other: Tensor): Dim {
  if (rankOf(other.shape) !== 4) return null;
  const [first, second] = other.shape.head;
  const [own, ownSecond] = t.shape.head;
  if (!first?.dim || !second?.dim || !own) return null;
  if (rankOf(t.shape) === 3)
    return t.content === 'parameter' && !isOne(own.dim) && !isOne(first.dim) ? first.dim : null;
  if (rankOf(t.shape) !== 4 || !own.dim || !ownSecond?.dim) return null;
  if (isOne(own.dim) && !isOne(ownSecond.dim) && !isOne(first.dim)) return first.dim;
  return isOne(ownSecond.dim) && !isOne(own.dim) && !isOne(second.dim) ? second.dim : null;
}

/** Axis 1 of four, replicated in blocks or in turn: attention heads that share keys and values. */
const headAxis = (t: Tensor, h: Hit): boolean =>
  (rankOf(t.shape) === 4 || rankOf(t.shape) === null) &&
  (h.axis === 1 || h.axis === -3) &&
  ['blocks', 'cycle', 'other'].includes(h.replica.map.kind);

/**
 * matmul copies an expanded batch axis of a 4-D operand when only some of its batch axes are expanded: the batch axes
 * then do not collapse to one view.
 */
function copiesBatch(t: Tensor, other: Tensor): boolean {
  const rank = rankOf(t.shape);
  if (rank === null || rank < 4 || (rankOf(other.shape) ?? rank) < 4) return false;
  const batch = t.shape.head.slice(0, rank - 2);
  return !batch.every((axis) => axis.replica !== null || isOne(axis.dim));
}

function productOf(a: Tensor, b: Tensor, place: ReturnType<typeof placeOf>): Tensor {
  const ra = rankOf(a.shape);
  const rb = rankOf(b.shape);
  const wide = rb === 2 || (ra !== null && rb !== null && ra >= rb) ? a : rb !== null && rb > 2 ? b : null;
  if (!wide || rb === 1 || ra === 1) return tensor(UNKNOWN_SHAPE, { place });
  const shape = withoutReplicas(wide.shape);
  const rows = knownAxis(a.shape, -2)?.dim ?? null;
  const columns = knownAxis(b.shape, -1)?.dim ?? null;
  if (!shape.exact) return tensor({ exact: false, head: [], tail: [freeAxis(columns)] }, { place });
  const n = shape.head.length;
  return tensor(
    exactShape(shape.head.map((axis, i) => (i === n - 1 ? freeAxis(columns) : i === n - 2 ? freeAxis(rows) : axis))),
    { place },
  );
}

const APART = [
  ['query', 'q'],
  ['key', 'k', 'k_cache'],
  ['value', 'v', 'v_cache'],
] as const;
const PACKED = [
  ['query', 'q'],
  ['key', 'kv'],
] as const;

function attentionSink(applied: Applied): Value {
  const { args, run, operator, node } = applied;
  // Keys and values in one tensor lie along an axis of their own, in front of the heads.
  const packed = operator.name.includes('kvpacked');
  const names = packed ? PACKED : APART;
  const layout = operator.name === 'sageattn' ? argument(args, 3, 'tensor_layout') : undefined;
  const bhsd =
    /^(scaled_dot_product_attention|flex_attention|sageattn)$/.test(operator.name) &&
    !(layout?.kind === 'string' && layout.value === 'NHD');
  const usual = operator.name.includes('_varlen_') ? 3 : 4;
  // Of three axes, heads of xformers are among the batch; those of `flash_attn_varlen_func` are the second.
  const hitsIn = (t: Tensor): readonly SinkHit[] =>
    operator.name === 'memory_efficient_attention' && rankOf(t.shape) === 3
      ? headHits(t, -2, null)
      : headHits(t, bhsd ? -2 : packed ? -4 : -3, bhsd ? -3 : -2);
  const operands = names.map(([role, ...others], i): Operand => {
    const value = argument(args, i, role, ...others);
    const t = value ? asTensor(value, run) : null;
    const rank = packed && role === 'key' ? usual + 1 : usual;
    const ranked = t ? { ...t, shape: withRank(t, rankOf(t.shape) ?? rank) ?? t.shape } : tensor(UNKNOWN_SHAPE);
    return {
      role,
      value: ranked,
      node: argumentNode(args, i, role, ...others),
      hits: role === 'query' || !t ? [] : hitsIn(ranked),
      assumedRank: !t || rankOf(t.shape) === null,
    };
  });
  emit(applied, 'attention', operands, { advice: gqaAdvice(applied, operands) });
  const query = operands[0]?.value;
  return tensor(query ? withoutReplicas(query.shape) : UNKNOWN_SHAPE, { place: placeOf(node) });
}

/** Queries, keys and values stacked on the third axis from the back, in front of the heads. */
function packedAttention(applied: Applied, qkv: Tensor | null): Value {
  const place = placeOf(applied.node);
  if (!qkv) return tensor(UNKNOWN_SHAPE, { place });
  const stacked = position(qkv.shape, -3) ?? -3;
  const heads = position(qkv.shape, -2) ?? -2;
  const hits =
    qkv.form?.axis === stacked ? hitsOf(qkv, -1).filter(({ axis, via }) => via === 'rows' && axis === heads) : [];
  const found = asHits(
    hits.map((hit) => ({ ...hit, via: 'whole' as const })),
    () => 'head',
    () => false,
  );
  const node = argumentNode(applied.args, 0, 'qkv');
  emit(applied, 'attention', [{ role: 'key', value: qkv, node, hits: found }], {});
  return tensor(UNKNOWN_SHAPE, { place });
}

/**
 * Keys and values: replicated over the batch or over heads. Axes from the back; no heads where they are among the batch. Copies
 * that are views cost these kernels nothing.
 */
function headHits(t: Tensor, sequence: number, heads: number | null): readonly SinkHit[] {
  const rank = rankOf(t.shape) ?? 0;
  const isJoined = t.form?.axis === rank + sequence;
  const hits = hitsOf(t, rank - 1).filter(
    ({ axis, via }) => axis !== rank + sequence && (via === 'whole' || via === 'block' || (via === 'rows' && isJoined)),
  );
  return asHits(
    hits,
    (h) => (heads !== null && h.axis === rank + heads ? 'head' : 'batch'),
    () => false,
  );
}

/** nn.MultiheadAttention and decoder layers project their inputs first, and that projection clones expanded views. */
function moduleAttention(applied: Applied): Value {
  const { args, run, operator, node } = applied;
  const roles =
    operator.effect === 'multihead-attention' ? (['query', 'key', 'value'] as const) : (['query', 'key'] as const);
  const keywords = operator.effect === 'multihead-attention' ? ['query', 'key', 'value'] : ['tgt', 'memory'];
  const operands = roles.map((role, i): Operand => {
    const value = argument(args, i, keywords[i] ?? role);
    const t = value ? asTensor(value, run) : null;
    return {
      role,
      value: t ?? tensor(UNKNOWN_SHAPE),
      node: argumentNode(args, i, keywords[i] ?? role),
      hits: t
        ? asHits(
            role === 'query' ? rowHitsOf(t, -1) : hitsOf(t, -1),
            () => (role === 'query' ? 'row' : 'batch'),
            () => true,
          )
        : [],
    };
  });
  emit(applied, 'multihead-attention', operands, {});
  const result = tensor(operands[0] ? withoutReplicas(operands[0].value.shape) : UNKNOWN_SHAPE, {
    place: placeOf(node),
  });
  return operator.effect === 'multihead-attention' ? tuple([result, tensor(UNKNOWN_SHAPE)]) : result;
}

function transformerLayer(applied: Applied, t: Tensor | null): Value {
  const operand: Operand = { ...rowOperand(applied, t, 0), node: argumentNode(applied.args, 0, 'src') };
  emit(applied, 'multihead-attention', [operand], {});
  return tensor(t ? withoutReplicas(t.shape) : UNKNOWN_SHAPE, { place: placeOf(applied.node) });
}
