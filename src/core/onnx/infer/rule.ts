/** The form of an inference rule: what an operator's outputs look like, given its inputs. */
import type { ByteSource } from '../source';
import type { Operator } from '../graph';
import type { Info } from './info';

export interface Context {
  readonly source: ByteSource;
}

/** Inputs are null where left out. A rule may return fewer infos than there are outputs: the rest is unknown. */
export type Rule = (op: Operator, inputs: readonly (Info | null)[], context: Context) => readonly Info[];
