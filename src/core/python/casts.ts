/** Dtype and device changes. PyTorch returns the very same tensor when there is nothing to change. */
import { pointwise, resized } from '../tensor/pointwise';
import type { Place, Tensor } from '../tensor/value';
import type { Args } from './value';
import { textOf } from './syntax';

/** Bytes per element that the name alone tells. half and bfloat16 are both 2: one may still be cast to the other. */
const SIZES: Readonly<Record<string, number>> = { float: 4, double: 8, half: 2, bfloat16: 2 };
const NAMED = /\b(float32|float|FloatTensor|float64|double|DoubleTensor)\b/;
/** No part of another word: `points.device` is no type. */
const DTYPE = /dtype|\b(half|b?float|bf16|fp16|double|u?int\d*|long)(?!\p{Ll})/u;

/** True for operators that this file decides. */
export const isCast = (name: string): boolean =>
  name in SIZES || name === 'to' || name === 'type' || name === 'type_as' || /^(cpu|cuda|npu|xpu)$/.test(name);

export function cast(name: string, t: Tensor, args: Args, place: Place): Tensor {
  const given = [...args.nodes]
    .filter(([at]) => at !== 0)
    .map(([at, node]) => (at === 'dtype' ? 'dtype ' : '') + textOf(node));
  const dtype = given.find((text) => DTYPE.test(text));
  // Moving to a device that the tensor is on already copies nothing, and models run on one device.
  if (!(name in SIZES) && name !== 'type_as' && dtype === undefined) return { ...t, place };
  const size = SIZES[name] ?? sizeOf(dtype ?? '');
  if (size !== null && size > 2 && size === t.itemSize) return { ...t, place };
  return { ...pointwise([resized(t, size)], place, name), itemSize: size, uniform: t.uniform };
}

/** Of a dtype as it stands in the text: 4 or 8 where it is a floating-point type of more than two bytes. */
function sizeOf(text: string): number | null {
  const named = NAMED.exec(text)?.[1];
  // The type of Python's own numbers.
  if (text === 'float') return 8;
  return named === undefined ? null : /64|^[dD]ouble/.test(named) ? 8 : 4;
}

/** The size that `dtype=torch.float32` states where a tensor is made; `otherwise` where nothing is stated. */
export function statedSize({ nodes }: Args, otherwise: number | null): number | null {
  const stated = nodes.get('dtype');
  return stated ? sizeOf(textOf(stated)) : otherwise;
}
