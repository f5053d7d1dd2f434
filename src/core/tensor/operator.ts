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
  readonly onnx: readonly string[];
  /** Parameter names in order, as the function takes them (a method's first one is the tensor itself); `*x`: the rest. */
  readonly params: readonly string[];
  readonly effect: Effect;
}

export type Effect =
  /** Element by element; with several tensors they broadcast. Keeps maps and writes the result. */
  | 'pointwise'
  /** Sum, difference or scalar multiple: pointwise, and linear, so that it builds forms. */
  | 'add'
  | 'subtract'
  | 'multiply'
  /** The same value: contiguous (writes an expanded view), detach, identity, dropout in inference. */
  | 'copy'
  | 'same'
  /** Shape operators. */
  | 'expand'
  | 'expand-as'
  | 'repeat'
  | 'repeat-interleave'
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
  | 'einops-pack'
  /** Cat and stack write all operands. */
  | 'concatenate'
  | 'stack'
  /** Rows picked by an index tensor. */
  | 'index-select'
  | 'gather'
  /** Row-wise over the last axis or the named ones: softmax, layer_norm. */
  | 'row-wise'
  /** Removes axes: sum, mean, max. */
  | 'reduce'
  /** Sinks. */
  | 'linear'
  | 'matmul'
  | 'einsum'
  | 'convolution'
  | 'bilinear'
  | 'recurrent'
  | 'attention'
  | 'multihead-attention'
  | 'transformer-layer'
  /** Makes a new tensor that nothing is known of. */
  | 'create'
  | 'create-random'
  | 'create-index'
  | 'mask'
  | 'embedding'
  | 'opaque';
