/**
 * A row of the operator table: one operator under all its names, and what it does to axes. Adding an operator is adding
 * a row; what the effects mean is in `transfer.ts`.
 */
export interface Operator {
  readonly name: string;
  /**
   * Names in PyTorch: `torch.cat`, `Tensor.repeat` (a method), `F.linear` (torch.nn.functional), `nn.Linear` (a module
   * that is called), `einops.repeat`, `operator.matmul`.
   */
  readonly torch: readonly string[];
  /** Parameter names in order, as the function takes them (a method's first one is the tensor itself); `*x`: the rest. */
  readonly params: readonly string[];
  readonly effect: Effect;
}

/** Sinks: what multiplies. */
export const PRODUCTS = [
  'linear',
  'matmul',
  'matmul-add',
  'einsum',
  'convolution',
  'functional-convolution',
  'bilinear',
  'recurrent',
  'recurrent-cell',
  'attention',
  // Of queries, keys and values in one tensor.
  'packed-attention',
  'multihead-attention',
  'transformer-layer',
  'transformer-decoder',
] as const;

export type Effect =
  /** Element by element; with several tensors they broadcast. Keeps maps and writes the result. */
  | 'pointwise'
  /** Sum, difference, product: pointwise, and linear in each operand, so that they build forms. */
  | 'add'
  | 'subtract'
  | 'multiply'
  /** The same values in new memory (writes an expanded view), or in the same. Dropout counts as it does in inference. */
  | 'copy'
  | 'same'
  /** Replicating operators. */
  | 'expand'
  | 'expand-as'
  | 'repeat'
  | 'repeat-interleave'
  /** Shape operators. */
  | 'reshape'
  | 'view'
  | 'flatten'
  | 'unflatten'
  | 'unsqueeze'
  | 'squeeze'
  | 'transpose'
  | 'permute'
  | 'movedim'
  | 'narrow'
  | 'chunk'
  | 'unbind'
  | 'einops-repeat'
  | 'einops-rearrange'
  | 'einops-reduce'
  | 'einops-pack'
  | 'einops-unpack'
  /** Cat and stack write all operands. */
  | 'concatenate'
  | 'concatenate-last'
  | 'concatenate-rows'
  | 'stack'
  /** Rows picked by an index tensor; `gather` picks elements and is never a replica. */
  | 'index-select'
  | 'gather'
  /** Row-wise: a row is the named axis, or the last one. */
  | 'softmax'
  | 'layer-norm'
  /** Statistics over the batch, or constants in inference: element by element along other axes. */
  | 'batch-norm'
  /** Removes axes. */
  | 'reduce'
  | 'adaptive-pool'
  /** Other sizes for the axes behind the channels: where those had one place, a broadcast. */
  | 'resize'
  | (typeof PRODUCTS)[number]
  /** New tensors. */
  | 'create'
  | 'create-random'
  | 'create-index'
  /** Index pairs, many positions to one row. */
  | 'create-edges'
  | 'search'
  /** Truth values, ids, orders: never replicas that cost anything. */
  | 'mask'
  | 'ids'
  | 'opaque-index'
  | 'embedding'
  | 'one-hot';
