/** Matrix products, attention and recurrent operators: shapes only. */
import { add, constant, divide, multiply, valueOf, type Dim } from '../../tensor/dim';
import { intOf, stringOf } from '../attributes';
import { axisOf, bestDim, broadcastShapes, integers, MAX_DATA, tensor, type Info } from './info';
import type { Rule } from './rule';

type Shape = readonly Dim[] | null;

/** NumPy's matmul: 1-D operands lose their axis, leading axes broadcast. */
export function matmulShape(a: Shape, b: Shape): Shape {
  if (!a || !b || a.length === 0 || b.length === 0) return null;
  const rows = a.length > 1 ? [a[a.length - 2] ?? null] : [];
  const columns = b.length > 1 ? [b[b.length - 1] ?? null] : [];
  const batch = broadcastShapes([a.slice(0, -2), b.slice(0, -2)]);
  return batch && [...batch, ...rows, ...columns];
}

export const matmul: Rule = (_op, [a, b]) => [tensor(a?.element ?? 0, matmulShape(a?.shape ?? null, b?.shape ?? null))];

const INT32 = 6;
export const matmulInteger: Rule = (_op, [a, b]) => [tensor(INT32, matmulShape(a?.shape ?? null, b?.shape ?? null))];
/** QLinearMatMul: a, a_scale, a_zero, b, ... */
export const qlinearMatmul: Rule = (_op, [a, , , b]) => [
  tensor(a?.element ?? 0, matmulShape(a?.shape ?? null, b?.shape ?? null)),
];

const swapLast = (shape: Shape): Shape => {
  if (!shape || shape.length < 2) return shape;
  return [...shape.slice(0, -2), shape.at(-1) ?? null, shape.at(-2) ?? null];
};

/** com.microsoft FusedMatMul; with transBatch the axes would move, which is left unknown. */
export const fusedMatmul: Rule = (op, [a, b]) => {
  if (intOf(op, 'transBatchA', 0) || intOf(op, 'transBatchB', 0)) return [tensor(a?.element ?? 0, null)];
  const left = intOf(op, 'transA', 0) ? swapLast(a?.shape ?? null) : (a?.shape ?? null);
  const right = intOf(op, 'transB', 0) ? swapLast(b?.shape ?? null) : (b?.shape ?? null);
  return [tensor(a?.element ?? 0, matmulShape(left, right))];
};

export const gemm: Rule = (op, [a, b]) => {
  const rows = a?.shape?.[intOf(op, 'transA', 0) ? 1 : 0] ?? null;
  const columns = b?.shape?.[intOf(op, 'transB', 0) ? 0 : 1] ?? null;
  return [tensor(a?.element ?? 0, [rows, columns])];
};

export interface Equation {
  readonly operands: readonly string[];
  readonly output: string;
}

/** Null for equations with an ellipsis, repeated letters in one operand, or a form that is not ONNX's. */
export function parseEquation(equation: string): Equation | null {
  const text = equation.replace(/\s/g, '');
  const [left, right] = text.split('->');
  if (left === undefined || !/^[A-Za-z,]+$/.test(left)) return null;
  const operands = left.split(',');
  if (operands.some((letters) => new Set(letters).size !== letters.length)) return null;
  const letters = [...left.replace(/,/g, '')];
  const implicit = [...new Set(letters)].filter((letter) => letters.filter((other) => other === letter).length === 1);
  const output = right ?? implicit.sort().join('');
  return /^[A-Za-z]*$/.test(output) ? { operands, output } : null;
}

export const einsum: Rule = (op, inputs) => {
  const element = inputs[0]?.element ?? 0;
  const equation = parseEquation(stringOf(op, 'equation', ''));
  if (!equation) return [tensor(element, null)];
  const sizes = new Map<string, Dim>();
  equation.operands.forEach((letters, i) => {
    [...letters].forEach((letter, j) =>
      sizes.set(letter, bestDim(sizes.get(letter) ?? null, inputs[i]?.shape?.[j] ?? null)),
    );
  });
  return [
    tensor(
      element,
      [...equation.output].map((letter) => sizes.get(letter) ?? null),
    ),
  ];
};

/** ONNX Attention (opset 23): 4-D heads first, or 3-D with the heads in the last axis. */
export const attention: Rule = (op, [q, k, v]) => {
  const element = q?.element ?? 0;
  if (q?.shape?.length === 4) return [tensor(element, [...q.shape.slice(0, 3), v?.shape?.[3] ?? null])];
  const heads = constant(intOf(op, 'q_num_heads', 1));
  const kvHeads = constant(intOf(op, 'kv_num_heads', 1));
  const width = multiply(divide(v?.shape?.[2] ?? null, kvHeads), heads);
  return [tensor(element, q?.shape ? [...q.shape.slice(0, 2), width ?? k?.shape?.[2] ?? null] : null)];
};

/** com.microsoft Attention: input, packed weights [in, q+k+v], bias. */
export const packedAttention: Rule = (_op, [input, weights]) => {
  const width = divide(weights?.shape?.[1] ?? null, constant(3));
  return [tensor(input?.element ?? 0, input?.shape ? [...input.shape.slice(0, 2), width] : null)];
};

/** com.microsoft MultiHeadAttention and GroupQueryAttention: the output looks like the query. */
export const queryLike: Rule = (_op, [q]) => [tensor(q?.element ?? 0, q?.shape?.length === 3 ? q.shape : null)];

/** RNN, GRU, LSTM: Y [seq, directions, batch, hidden] (layout 0), final states [directions, batch, hidden]. */
export const recurrent: Rule = (op, [x]) => {
  const element = x?.element ?? 0;
  const directions = constant(stringOf(op, 'direction', 'forward') === 'bidirectional' ? 2 : 1);
  const hidden = intOf(op, 'hidden_size', 0);
  const width = hidden ? constant(hidden) : null;
  const [first, second] = [x?.shape?.[0] ?? null, x?.shape?.[1] ?? null];
  if (intOf(op, 'layout', 0) === 1) {
    const state = tensor(element, [first, directions, width]);
    return [tensor(element, [first, second, directions, width]), state, state];
  }
  const state = tensor(element, [directions, second, width]);
  return [tensor(element, [first, directions, second, width]), state, state];
};

/** EmbedLayerNormalization: ids [batch, seq] and a word table give [batch, seq, hidden], mask index, embedding sum. */
export const embedding: Rule = (_op, [ids, , table]) => {
  const shape = ids?.shape?.length === 2 ? [...ids.shape, table?.shape?.[1] ?? null] : null;
  const embedded: Info = tensor(table?.element ?? 0, shape);
  return [embedded, tensor(INT32, ids?.shape?.length === 2 ? [ids.shape[0] ?? null] : null), embedded];
};

/** OneHot: a new axis of the given depth. One index is how an exporter writes a shape with one size that is not 1. */
export const oneHot: Rule = (op, [indices, depth, values]) => {
  if (!indices?.shape) return [tensor(values?.element ?? 0, null)];
  const rank = indices.shape.length + 1;
  const axis = intOf(op, 'axis', -1);
  const at = axis < 0 ? axis + rank : axis;
  const shape = [...indices.shape.slice(0, at), depth?.data?.[0] ?? null, ...indices.shape.slice(at)];
  const count = valueOf(depth?.data?.[0] ?? null);
  const [index] = integers(indices) ?? [];
  const [off, on] = values?.data ?? [];
  const known = indices.data?.length === 1 && index !== undefined && count !== null && count <= MAX_DATA;
  const hot = known ? (axisOf(index, count) ?? -1) : -1;
  const data = known ? Array.from({ length: count }, (_, i) => (i === hot ? on : off) ?? null) : null;
  return [tensor(values?.element ?? 0, shape, data)];
};

export const topK: Rule = (op, [data, k]) => {
  if (!data?.shape) return [tensor(data?.element ?? 0, null), tensor(7, null)];
  const axis = intOf(op, 'axis', -1);
  const at = axis < 0 ? axis + data.shape.length : axis;
  const count = op.opset < 10 ? constant(intOf(op, 'k', 0)) : (k?.data?.[0] ?? null);
  const shape = data.shape.map((dim, i) => (i === at ? count : dim));
  return [tensor(data.element, shape), tensor(7, shape)];
};

/** NonZero: [rank, how many]; the number depends on the data. */
export const nonZero: Rule = (_op, [data]) => [tensor(7, [data?.shape ? constant(data.shape.length) : null, null])];

/** A convolution's spatial size: floor((x + pads - dilation * (kernel - 1) - 1) / stride) + 1. */
export function slidingSize(x: Dim, pads: number, kernel: number, dilation: number, stride: number): Dim {
  const span = add(x, constant(pads - dilation * (kernel - 1) - 1));
  const size = valueOf(span);
  if (size !== null) return constant(Math.floor(size / stride) + 1);
  return stride === 1 ? add(span, constant(1)) : null;
}

/** ai.ikbo BroadcastLinear: candidate [B, Kc] and candidate_weight [Kc, M] say the shape. */
export const broadcastLinear: Rule = (_op, [user, candidate, , , weight]) => [
  tensor(user?.element ?? 0, matmulShape(candidate?.shape ?? null, weight?.shape ?? null)),
];

/** ai.ikbo BroadcastCompression: candidate [B, Kc, N] under candidate_weight [M, Kc]. */
export const broadcastCompression: Rule = (_op, [user, candidate, , , weight]) => [
  tensor(user?.element ?? 0, matmulShape(weight?.shape ?? null, candidate?.shape ?? null)),
];
