/** Convolutions, pooling, reductions, resizing. */
import { add, constant, multiply, scale, valueOf, type Dim } from '../../tensor/dim';
import { intOf, intsOf, stringOf } from '../attributes';
import type { Operator } from '../graph';
import { slidingSize } from './contractions';
import { axisOf, quotient, tensor, type Info } from './info';
import type { Rule } from './rule';
import { axesOf } from './shapes';

/** The spatial sizes after sliding a window with the operator's strides, pads and dilations. */
function slide(op: Operator, sizes: readonly Dim[], kernel: readonly (number | null)[]): Dim[] {
  const strides = intsOf(op, 'strides');
  const dilations = intsOf(op, 'dilations');
  const pads = intsOf(op, 'pads');
  const auto = stringOf(op, 'auto_pad', 'NOTSET');
  return sizes.map((size, i) => {
    const stride = strides?.[i] ?? 1;
    const width = kernel[i] ?? null;
    if (auto.startsWith('SAME'))
      return stride === 1 ? size : quotient(add(size, constant(stride - 1)), constant(stride));
    if (width === null) return null;
    const padding = auto === 'VALID' ? 0 : (pads?.[i] ?? 0) + (pads?.[i + sizes.length] ?? 0);
    const ceil = intOf(op, 'ceil_mode', 0) === 1 ? stride - 1 : 0;
    return slidingSize(size, padding + ceil, width, dilations?.[i] ?? 1, stride);
  });
}

export const conv: Rule = (op, [x, w]) => {
  if (!x?.shape || !w?.shape) return [tensor(x?.element ?? 0, null)];
  const kernel = intsOf(op, 'kernel_shape') ?? w.shape.slice(2).map(valueOf);
  return [tensor(x.element, [x.shape[0] ?? null, w.shape[0] ?? null, ...slide(op, x.shape.slice(2), kernel)])];
};

export const convTranspose: Rule = (op, [x, w]) => {
  if (!x?.shape || !w?.shape) return [tensor(x?.element ?? 0, null)];
  const channels = multiply(w.shape[1] ?? null, constant(intOf(op, 'group', 1)));
  const given = intsOf(op, 'output_shape');
  const kernel = intsOf(op, 'kernel_shape') ?? w.shape.slice(2).map(valueOf);
  const pads = intsOf(op, 'pads');
  const auto = stringOf(op, 'auto_pad', 'NOTSET') !== 'NOTSET';
  const spatial = x.shape.slice(2).map((size, i): Dim => {
    const width = kernel[i] ?? null;
    if (given) return constant(given[i] ?? 0);
    if (width === null || auto) return null;
    const stride = intsOf(op, 'strides')?.[i] ?? 1;
    const reach = (intsOf(op, 'dilations')?.[i] ?? 1) * (width - 1) + 1;
    const padding = (pads?.[i] ?? 0) + (pads?.[i + (x.shape?.length ?? 0) - 2] ?? 0);
    const extra = intsOf(op, 'output_padding')?.[i] ?? 0;
    return add(scale(add(size, constant(-1)), stride), constant(extra + reach - padding));
  });
  return [tensor(x.element, [x.shape[0] ?? null, channels, ...spatial])];
};

export const pool: Rule = (op, [x]) => {
  if (!x?.shape) return [tensor(x?.element ?? 0, null)];
  const shape = [...x.shape.slice(0, 2), ...slide(op, x.shape.slice(2), intsOf(op, 'kernel_shape') ?? [])];
  return [tensor(x.element, shape), tensor(7, shape)];
};

export const globalPool: Rule = (_op, [x]) => [
  tensor(x?.element ?? 0, x?.shape?.map((dim, i) => (i < 2 ? dim : constant(1))) ?? null),
];

/** ReduceX: the axes by attribute or input; all when there are none (unless noop_with_empty_axes). */
export const reduce: Rule = (op, [data, axesInput]) => {
  const element = data?.element ?? 0;
  if (!data?.shape) return [tensor(element, null)];
  const rank = data.shape.length;
  const named = op.node.inputs[1] ? axesOf(op, axesInput) : intsOf(op, 'axes');
  if (op.node.inputs[1] && !named)
    return [tensor(element, intOf(op, 'keepdims', 1) ? data.shape.map(() => null) : null)];
  if (!named?.length && intOf(op, 'noop_with_empty_axes', 0)) return [data];
  const axes = new Set(named?.length ? named.map((axis) => axisOf(axis, rank)) : data.shape.map((_, i) => i));
  const result = reduced(data.shape, axes, intOf(op, 'keepdims', 1) === 1);
  const product =
    op.node.op === 'ReduceProd' && rank <= 1 && data.data ? data.data.reduce<Dim>(multiply, constant(1)) : null;
  const total = op.node.op === 'ReduceSum' && rank <= 1 && data.data ? data.data.reduce<Dim>(add, constant(0)) : null;
  const only = product ?? total;
  return [tensor(element, result, only ? [only] : null)];
};

function reduced(shape: readonly Dim[], axes: ReadonlySet<number | null>, keep: boolean): Dim[] {
  return shape.flatMap((dim, i) => (axes.has(i) ? (keep ? [constant(1)] : []) : [dim]));
}

export const argReduce: Rule = (op, [data]) => {
  if (!data?.shape) return [tensor(7, null)];
  const axis = axisOf(intOf(op, 'axis', 0), data.shape.length);
  return [tensor(7, reduced(data.shape, new Set([axis]), intOf(op, 'keepdims', 1) === 1))];
};

/** Resize and Upsample: sizes when given, else scales times sizes, rounded down. */
export const resize: Rule = (op, inputs) => {
  const [data] = inputs;
  if (!data?.shape) return [tensor(data?.element ?? 0, null)];
  const shape = data.shape;
  if (op.node.attributes.some(({ name }) => name === 'axes'))
    return [
      tensor(
        data.element,
        shape.map(() => null),
      ),
    ];
  const sizes = inputs[3]?.data;
  if (sizes?.length === shape.length) return [tensor(data.element, sizes)];
  const scales = inputs[op.node.op === 'Upsample' || op.opset < 11 ? 1 : 2]?.data;
  const scaled = shape.map((dim, i): Dim => {
    const by = valueOf(scales?.[i] ?? null);
    const size = valueOf(dim);
    if (by === null) return null;
    return size === null ? (Number.isInteger(by) ? scale(dim, by) : null) : constant(Math.floor(size * by));
  });
  return [tensor(data.element, scaled)];
};

/** LayerNormalization and its kin: the first output looks like the input, the statistics are not followed. */
export const normalization: Rule = (op, [data]) => {
  const first: Info = tensor(data?.element ?? 0, data?.shape ?? null);
  // SkipLayerNormalization's fourth output is the sum of its inputs.
  return op.node.op.startsWith('Skip') ? [first, tensor(1, null), tensor(1, null), first] : [first];
};
