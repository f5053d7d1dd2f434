/** The form of a transfer function, and what all of them ask. */
import type { Dim } from '../../tensor/dim';
import type { Operator, Value } from '../graph';
import type { Program } from './program';
import type { State } from './state';

/** States of the inputs (null where free) to the states of the outputs. */
export type Transfer = (op: Operator, states: readonly (State | null)[], program: Program) => readonly (State | null)[];

export const rankOf = (program: Program, value: Value | null | undefined): number | null =>
  value ? (program.shape(value)?.length ?? null) : null;
export const shapeOf = (program: Program, value: Value | null | undefined): readonly Dim[] | null =>
  value ? program.shape(value) : null;
