/** Reads an operator's attributes with their defaults. */
import { saturate } from './data';
import type { Attribute, Tensor } from './model';
import type { Operator } from './graph';

export const attribute = (op: Operator, name: string): Attribute | undefined =>
  op.attributes.find((a) => a.name === name);

/** Values beyond 2^53 saturate; they only say "to the end". */
export function intOf(op: Operator, name: string, otherwise: number): number {
  const found = attribute(op, name);
  return found ? saturate(found.i) : otherwise;
}

export const intsOf = (op: Operator, name: string): number[] | null => attribute(op, name)?.ints.map(saturate) ?? null;
export const floatOf = (op: Operator, name: string, otherwise: number): number => attribute(op, name)?.f ?? otherwise;
export const stringOf = (op: Operator, name: string, otherwise: string): string => attribute(op, name)?.s ?? otherwise;
export const tensorOf = (op: Operator, name: string): Tensor | null => attribute(op, name)?.t ?? null;
