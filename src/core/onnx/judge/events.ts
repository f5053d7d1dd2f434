/** A replica that reaches a matrix product or an attention: what the rules are about. */
import type { Operator, Value } from '../graph';
import type { Block, Replica, State } from './state';

export type Code = 'IKB101' | 'IKB102' | 'IKB103' | 'IKB104' | 'IKB201' | 'IKB202' | 'IKB301';

export interface Event {
  readonly code: Code;
  readonly sink: Operator;
  /** The operand that carries the replica. */
  readonly operand: Value;
  readonly operandIndex: number;
  /** The axis of the operand that is contracted. */
  readonly contracted: number;
  /** The replicated axis of the operand, and its replica; more than one where blocks are replicated differently. */
  readonly axis: number;
  readonly replicas: readonly Replica[];
  readonly form: State;
  /** Which blocks of the form are replicas along the axis as a whole. */
  readonly shared: readonly Block[];
  /** The softmax of the attention that the product belongs to. */
  readonly attention: Operator | null;
}
