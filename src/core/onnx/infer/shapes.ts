/** Operators that move, copy or cut data: where shapes are computed with and where replicas are made. */
import { add, constant, divide, equal, isOne, multiply, product, subtract, valueOf, type Dim } from '../../tensor/dim';
import { intOf, intsOf, tensorOf } from '../attributes';
import { readValues, saturate } from '../data';
import { attribute } from '../attributes';
import type { Operator } from '../graph';
import {
  axisOf,
  bestDim,
  broadcastShapes,
  countOf,
  filled,
  integers,
  opaque,
  quotient,
  sizeOfShape,
  tensor,
  UNKNOWN,
  type Info,
} from './info';
import type { Rule } from './rule';

const INT64 = 7;

export const reshape: Rule = (op, [data, target]) => {
  if (!data) return [UNKNOWN];
  const wanted = op.opset < 5 && !target ? (intsOf(op, 'shape')?.map(constant) ?? null) : targetOf(target);
  if (!wanted) return [{ ...tensor(data.element, null), fill: data.fill }];
  const keepZero = intOf(op, 'allowzero', 0) === 1;
  const shape = wanted.map((dim, i): Dim => (valueOf(dim) === 0 && !keepZero ? (data.shape?.[i] ?? null) : dim));
  const hole = shape.findIndex((dim) => valueOf(dim) === -1);
  if (hole >= 0) {
    const rest = product(shape.filter((_, i) => i !== hole));
    const total = data.shape && sizeOfShape(data.shape);
    shape[hole] = total && rest ? quotientOfShapes(data.shape ?? [], shape, hole, total, rest) : null;
  }
  return [{ ...tensor(data.element, shape, data.data), fill: data.fill }];
};

/** Sizes cancel one by one before polynomials are divided: unknown sizes on both sides cancel too. */
function quotientOfShapes(from: readonly Dim[], to: readonly Dim[], hole: number, total: Dim, rest: Dim): Dim {
  const left = [...from];
  for (const [i, dim] of to.entries()) {
    if (i === hole) continue;
    const at = left.findIndex((other) => equal(other, dim) === true);
    if (at < 0) return divide(total, rest) ?? quotient(total, rest);
    left.splice(at, 1);
  }
  return product(left);
}

/** The elements of a shape input; where only their number is known, as many unknown sizes. */
function targetOf(info: Info | null | undefined): readonly Dim[] | null {
  if (!info) return null;
  if (info.data) return info.data;
  const count = info.shape && countOf(info.shape);
  return count !== null && count <= 64 ? Array<Dim>(count).fill(info.fill) : null;
}

export const flatten: Rule = (op, [data]) => {
  if (!data?.shape) return [tensor(data?.element ?? 0, [null, null])];
  const axis = intOf(op, 'axis', 1);
  const at = axis < 0 ? axis + data.shape.length : axis;
  return [tensor(data.element, [product(data.shape.slice(0, at)), product(data.shape.slice(at))])];
};

export const transpose: Rule = (op, [data]) => {
  if (!data?.shape) return [tensor(data?.element ?? 0, null)];
  const shape = data.shape;
  const order = intsOf(op, 'perm') ?? shape.map((_, i) => shape.length - 1 - i);
  return [
    {
      ...tensor(
        data.element,
        order.map((i) => shape[i] ?? null),
      ),
      fill: data.fill,
    },
  ];
};

/** The axes of Squeeze, Unsqueeze and the reductions: an attribute before opset 13 (18 for reductions), then an input. */
export function axesOf(op: Operator, input: Info | null | undefined): number[] | null {
  return intsOf(op, 'axes') ?? integers(input);
}

export const unsqueeze: Rule = (op, [data, axesInput]) => {
  const axes = axesOf(op, axesInput);
  if (!data?.shape || !axes) return [tensor(data?.element ?? 0, null)];
  const rank = data.shape.length + axes.length;
  const at = new Set(axes.map((axis) => axisOf(axis, rank)));
  const rest = [...data.shape];
  const shape = Array.from({ length: rank }, (_, i): Dim => (at.has(i) ? constant(1) : (rest.shift() ?? null)));
  return [{ ...tensor(data.element, shape, data.data), fill: data.fill }];
};

export const squeeze: Rule = (op, [data, axesInput]) => {
  if (!data?.shape) return [tensor(data?.element ?? 0, null)];
  const rank = data.shape.length;
  const axes = op.node.inputs[1] || intsOf(op, 'axes') ? axesOf(op, axesInput) : null;
  if (!axes && (op.node.inputs[1] || data.shape.some((dim) => valueOf(dim) === null)))
    return [tensor(data.element, null)];
  const gone = new Set(
    axes ? axes.map((axis) => axisOf(axis, rank)) : data.shape.flatMap((dim, i) => (isOne(dim) ? [i] : [])),
  );
  return [
    {
      ...tensor(
        data.element,
        data.shape.filter((_, i) => !gone.has(i)),
        data.data,
      ),
      fill: data.fill,
    },
  ];
};

export const shape: Rule = (op, [data]) => {
  if (!data?.shape) return [tensor(INT64, [null])];
  const rank = data.shape.length;
  const clamp = (at: number): number => Math.min(Math.max(at < 0 ? at + rank : at, 0), rank);
  const dims = data.shape.slice(clamp(intOf(op, 'start', 0)), clamp(intOf(op, 'end', rank)));
  return [tensor(INT64, [constant(dims.length)], dims)];
};

export const size: Rule = (_op, [data]) => [tensor(INT64, [], data?.shape ? [sizeOfShape(data.shape)] : null)];

export const expand: Rule = (_op, [data, target]) => {
  if (!data) return [UNKNOWN];
  const wanted = targetOf(target);
  const result = broadcastShapes([data.shape, wanted]);
  // An unknown target size may be 1: then the size is that of the data, unless that is 1 too.
  const shape = result?.map((dim, i): Dim => {
    const own = data.shape?.[i - (result.length - data.shape.length)];
    return dim ?? (own && !isOne(own) ? own : null);
  });
  return [data.fill ? filled(data.element, shape ?? null, data.fill) : tensor(data.element, shape ?? null)];
};

export const tile: Rule = (op, [data, repeats, axis]) => {
  if (!data?.shape) return [tensor(data?.element ?? 0, null)];
  const shape = data.shape;
  if (op.opset < 6) {
    const at = integers(axis)?.[0];
    return [
      tensor(
        data.element,
        shape.map((dim, i) => (i === at ? multiply(dim, repeats?.data?.[0] ?? null) : dim)),
      ),
    ];
  }
  const times = targetOf(repeats);
  return [
    {
      ...tensor(
        data.element,
        shape.map((dim, i) => multiply(dim, times?.[i] ?? null)),
      ),
      fill: data.fill,
    },
  ];
};

export const concat: Rule = (op, inputs) => {
  const present = inputs.filter((info) => info !== null);
  const shapes = present.map((info) => info.shape);
  const known = shapes.find((dims) => dims !== null);
  const element = present[0]?.element ?? 0;
  if (!known) return [tensor(element, null)];
  const axis = axisOf(intOf(op, 'axis', op.opset < 4 ? 1 : 0), known.length);
  if (axis === null) return [tensor(element, null)];
  const dims = known.map((_, i): Dim => {
    const sizes = shapes.map((dims) => dims?.[i] ?? null);
    return i === axis ? sizes.reduce<Dim>(add, constant(0)) : sizes.reduce<Dim>(bestDim, null);
  });
  const lists = present.map(
    (info) =>
      info.data ??
      (info.shape && (countOf(info.shape) ?? MANY) <= 64 ? Array<Dim>(countOf(info.shape) ?? 0).fill(null) : null),
  );
  const data = known.length === 1 && lists.every((list) => list !== null) ? lists.flat() : null;
  return [tensor(element, dims, data)];
};

const MANY = Number.MAX_SAFE_INTEGER;

export const slice: Rule = (op, [data, starts, ends, axes, steps]) => {
  if (!data?.shape) return [tensor(data?.element ?? 0, null)];
  const rank = data.shape.length;
  const old = op.opset < 10;
  const from = old ? (intsOf(op, 'starts')?.map(constant) ?? null) : targetOf(starts);
  const to = old ? (intsOf(op, 'ends')?.map(constant) ?? null) : targetOf(ends);
  const which = old ? intsOf(op, 'axes') : axes ? integers(axes) : null;
  const step = steps ? integers(steps) : null;
  const count = from?.length ?? 0;
  if (!from || !to || (axes && !which) || (steps && !step))
    return [
      tensor(
        data.element,
        data.shape.map(() => null),
      ),
    ];
  const shape = [...data.shape];
  let list = data.data;
  for (let i = 0; i < count; i++) {
    const at = axisOf(which?.[i] ?? i, rank);
    if (at === null) return [tensor(data.element, null)];
    const by = step?.[i] ?? 1;
    const [begin, end] = [from[i] ?? null, to[i] ?? null];
    const [b, e] = [valueOf(begin), valueOf(end)];
    const length = valueOf(shape[at] ?? null);
    if (rank === 1 && list && b !== null && e !== null) list = cut(list, b, e, by);
    else list = null;
    shape[at] =
      length !== null && b !== null && e !== null
        ? constant(sliceCount(length, b, e, by))
        : symbolicCount(shape[at] ?? null, begin, end, by);
  }
  return [{ ...tensor(data.element, shape, list), fill: data.fill }];
};

/** First and last (exclusive) position of a slice, as ONNX clamps them. */
function sliceBounds(length: number, start: number, end: number, step: number): [number, number] {
  const clamp = (at: number, low: number, high: number): number =>
    Math.min(Math.max(at < 0 ? at + length : at, low), high);
  return step > 0
    ? [clamp(start, 0, length), clamp(end, 0, length)]
    : [clamp(start, 0, length - 1), clamp(end, -1, length - 1)];
}

function sliceCount(length: number, start: number, end: number, step: number): number {
  if (step === 0) return 0;
  const [first, last] = sliceBounds(length, start, end, step);
  return Math.max(0, Math.ceil((last - first) / step));
}

function cut(list: readonly Dim[], start: number, end: number, step: number): Dim[] {
  const [first] = sliceBounds(list.length, start, end, step);
  const count = sliceCount(list.length, start, end, step);
  return Array.from({ length: count }, (_, i) => list[first + i * step] ?? null);
}

/** The size of a slice with step 1 whose bounds lie inside for every size. */
function symbolicCount(length: Dim, start: Dim, end: Dim, step: number): Dim {
  if (step !== 1 || !length) return null;
  const [b, e] = [valueOf(start), valueOf(end)];
  const first = b === null ? start : b >= 0 ? start : add(length, start);
  const toEnd = (e !== null && e >= 2 ** 31 - 1) || (end !== null && equal(end, length) === true);
  if (toEnd) return b !== null && b > 0 ? opaque('rest', length, start) : subtract(length, first);
  const last = e === null ? end : e >= 0 ? end : add(length, end);
  // 0:n of an axis that may be shorter than n is not n.
  if (b === 0 && e !== null && e >= 0) return opaque('min', length, end);
  return b === 0 && e === null ? last : subtract(last, first);
}

export const split: Rule = (op, [data, sizes]) => {
  const count = op.outputs.length;
  if (!data?.shape) return Array<Info>(count).fill(tensor(data?.element ?? 0, null));
  const dims = data.shape;
  const axis = axisOf(intOf(op, 'axis', 0), dims.length);
  if (axis === null) return [];
  const given = intsOf(op, 'split')?.map(constant) ?? (sizes ? targetOf(sizes) : null);
  const even = given ? null : quotient(add(dims[axis] ?? null, constant(count - 1)), constant(count));
  const total = valueOf(dims[axis] ?? null);
  let offset = 0;
  return op.outputs.map((_, i) => {
    let part = given ? (given[i] ?? null) : even;
    // Without sizes the last part is the smaller one.
    if (!given && total !== null && even)
      part = constant(Math.max(0, Math.min(valueOf(even) ?? 0, total - i * (valueOf(even) ?? 0))));
    if (!given && total === null) part = divide(dims[axis] ?? null, constant(count));
    const length = valueOf(part);
    const list = dims.length === 1 && data.data && length !== null ? data.data.slice(offset, offset + length) : null;
    offset += length ?? 0;
    return {
      ...tensor(
        data.element,
        dims.map((dim, j) => (j === axis ? part : dim)),
        list,
      ),
      fill: data.fill,
    };
  });
};

export const gather: Rule = (op, [data, indices]) => {
  if (!data?.shape || !indices?.shape) return [tensor(data?.element ?? 0, null)];
  const axis = axisOf(intOf(op, 'axis', 0), data.shape.length);
  if (axis === null) return [tensor(data.element, null)];
  const dims = [...data.shape.slice(0, axis), ...indices.shape, ...data.shape.slice(axis + 1)];
  const at = integers(indices);
  const list = data.data;
  const picked =
    list && at && data.shape.length === 1 ? at.map((i) => list[i < 0 ? i + list.length : i] ?? null) : null;
  return [
    { ...tensor(data.element, dims, picked), fill: picked ? (tensor(0, dims, picked).fill ?? data.fill) : data.fill },
  ];
};

export const gatherNd: Rule = (op, [data, indices]) => {
  const batch = intOf(op, 'batch_dims', 0);
  const last = valueOf(indices?.shape?.at(-1) ?? null);
  if (!data?.shape || !indices?.shape || last === null) return [tensor(data?.element ?? 0, null)];
  return [tensor(data.element, [...indices.shape.slice(0, -1), ...data.shape.slice(batch + last)])];
};

export const gatherElements: Rule = (_op, [data, indices]) => [tensor(data?.element ?? 0, indices?.shape ?? null)];

export const constantOfShape: Rule = (op, [target], { source }) => {
  const value = tensorOf(op, 'value');
  const fill = value ? (readValues(source, value, 1)?.[0] ?? null) : 0;
  const dims = targetOf(target);
  return [filled(value?.element ?? 1, dims, fill === null ? null : constant(fill))];
};

export const constantNode: Rule = (op, _inputs, { source }) => {
  const value = tensorOf(op, 'value');
  if (value) return [constantInfo(source, value)];
  const int = attribute(op, 'value_int');
  if (int) return [tensor(INT64, [], [constant(saturate(int.i))])];
  const ints = intsOf(op, 'value_ints');
  if (ints) return [tensor(INT64, [constant(ints.length)], ints.map(constant))];
  const float = attribute(op, 'value_float');
  if (float) return [tensor(1, [], [constant(float.f)])];
  const floats = attribute(op, 'value_floats');
  if (floats) return [tensor(1, [constant(floats.floats.length)], floats.floats.map(constant))];
  return [UNKNOWN];
};

export function constantInfo(source: Parameters<typeof readValues>[0], value: Parameters<typeof readValues>[1]): Info {
  const values = readValues(source, value, 64);
  const exact = values?.every((item) => Number.isFinite(item)) ? values : null;
  return tensor(value.element, value.dims.map(constant), exact ? exact.map(constant) : null);
}

export const range: Rule = (_op, [start, limit, delta]) => {
  const [from, to, by] = [start, limit, delta].map((info) => info?.data?.[0] ?? null);
  const span = subtract(to ?? null, from ?? null);
  const [b, s, e] = [valueOf(by ?? null), valueOf(from ?? null), valueOf(to ?? null)];
  const count = b === 1 ? span : quotient(span, by ?? null);
  if (s !== null && e !== null && b !== null && b !== 0) {
    const length = Math.max(0, Math.ceil((e - s) / b));
    const list = length <= 256 ? Array.from({ length }, (_, i) => constant(s + i * b)) : null;
    return [tensor(start?.element ?? INT64, [constant(length)], list)];
  }
  return [tensor(start?.element ?? INT64, [b === 1 ? count : null])];
};

export const pad: Rule = (op, [data, pads, , axesInput]) => {
  if (!data?.shape) return [tensor(data?.element ?? 0, null)];
  const amounts = intsOf(op, 'pads') ?? intsOf(op, 'paddings') ?? null;
  const given = amounts ? amounts.map(constant) : targetOf(pads);
  const rank = data.shape.length;
  const axes = axesInput ? integers(axesInput) : data.shape.map((_, i) => i);
  if (!given || !axes)
    return [
      tensor(
        data.element,
        data.shape.map(() => null),
      ),
    ];
  const shape = [...data.shape];
  axes.forEach((axis, i) => {
    const at = axisOf(axis, rank);
    if (at !== null) shape[at] = add(add(shape[at] ?? null, given[i] ?? null), given[i + axes.length] ?? null);
  });
  return [tensor(data.element, shape)];
};
