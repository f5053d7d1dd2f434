/** The sizes of each operator: what they mean, which values make sense together, and what the code as written copies. */
import type { Dims, Dtype, Op } from './bench';

export interface DimSpec {
  readonly name: string;
  /** The smallest size; 1 if not given. */
  readonly least?: number;
  /** What it counts, in the field's words. */
  readonly what: string;
}

export interface OpSpec {
  readonly title: string;
  /** The operator as one line of mathematics, for people. */
  readonly formula: string;
  readonly dims: readonly DimSpec[];
}

const ROWS: readonly DimSpec[] = [
  { name: 'B', what: 'candidates' },
  { name: 'U', what: 'users' },
];

export const OPS: Readonly<Record<Op, OpSpec>> = {
  'concat-linear': {
    title: 'Linear over a concatenation',
    formula: 'y[b] = W · [ user[map[b]] | candidate[b] ]',
    dims: [
      ...ROWS,
      { name: 'Ku', what: 'user width' },
      { name: 'Kc', what: 'candidate width', least: 0 },
      { name: 'M', what: 'outputs' },
    ],
  },
  'linear-compression': {
    title: 'Linear compression of embeddings',
    formula: 'y[b] = W · [ user[map[b]] ; candidate[b] ]   (M × K by K × N)',
    dims: [
      ...ROWS,
      { name: 'Ku', what: 'user embeddings' },
      { name: 'Kc', what: 'candidate embeddings' },
      { name: 'M', what: 'compressed embeddings' },
      { name: 'N', what: 'embedding width' },
    ],
  },
  attention: {
    title: 'Attention over a shared history',
    formula: 'y[b] = softmax( q[b] · k[map[b]]ᵀ / √D ) · v[map[b]]',
    dims: [
      ...ROWS,
      { name: 'Q', what: 'queries per candidate' },
      { name: 'S', what: 'history length' },
      { name: 'H', what: 'query heads' },
      { name: 'Hkv', what: 'key heads' },
      { name: 'D', what: 'head width' },
    ],
  },
};

export const BYTES_PER_ELEMENT: Readonly<Record<Dtype, number>> = { fp32: 4, fp16: 2, bf16: 2 };

/** The largest size of one dimension: kernels count rows in 32 bits. */
export const LARGEST_DIM = 2 ** 31 - 1;

/** One message per dimension that is wrong, by its name; empty when the sizes make sense together. */
export function checkDims(op: Op, dims: Readonly<Record<string, number | null>>): Readonly<Record<string, string>> {
  const problems: Record<string, string> = {};
  for (const { name, least = 1 } of OPS[op].dims) {
    const size = dims[name] ?? null;
    if (size === null) problems[name] = 'Enter a size.';
    else if (!Number.isInteger(size) || size < least) problems[name] = `Must be a whole number from ${least}.`;
    else if (size > LARGEST_DIM) problems[name] = `Must be at most ${LARGEST_DIM}.`;
  }
  const { B, U, H, Hkv } = dims;
  if (B && U && U > B) problems.U ??= `At most B = ${B}: every user needs a candidate.`;
  if (H && Hkv && H % Hkv !== 0) problems.Hkv ??= `Must divide H = ${H}.`;
  return problems;
}

/** Bytes of the replica that the code as written makes in one call. Zero for sizes that are missing. */
export function copiedBytes(op: Op, dims: Dims, dtype: Dtype): number {
  const size = (name: string) => dims[name] ?? 0;
  const perRow =
    op === 'concat-linear'
      ? size('Ku')
      : op === 'linear-compression'
        ? size('Ku') * size('N')
        : 2 * size('S') * size('Hkv') * size('D');
  return size('B') * perRow * BYTES_PER_ELEMENT[dtype];
}
