/** What a product makes of the batch axes of an operand that is a view. */
import { isOne } from '../tensor/dim';
import type { Match } from './match';

/** Of four axes or more, `matmul` writes a view out itself where only some of the batch axes are copies. */
export function writesViews({ sink, product }: Match): boolean {
  const operand = sink.kind === 'matmul' ? product?.operands[product.replicated] : undefined;
  const batch = operand?.dims?.slice(0, -2) ?? [];
  const isCopied = (axis: number): boolean => operand?.replicas.some((replica) => replica.axis === axis) ?? false;
  return batch.length > 1 && !batch.every((dim, axis) => isCopied(axis) || isOne(dim));
}
