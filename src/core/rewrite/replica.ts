/** An expression that copies rows, taken apart. */
import type { ReplicaFact } from '../judge/match';
import type { Node } from '../python/syntax';

export interface Replicate {
  /** The expression that makes the copies. */
  readonly node: Node;
  /** The small tensor: same rank as the copy, with fewer rows (or one) on the mapped axes. */
  readonly source: Node;
  /** What to append to the source so that it has that rank: `.unsqueeze(1)`, mostly nothing. */
  readonly suffix: string;
  readonly kind: 'blocks' | 'repeat' | 'index' | 'expand';
  /** Rank that the copy must have for this reading of it; absent when any will do. */
  readonly rank?: number;
  /** Arguments whose value the rewrite reads again later. */
  readonly arguments: readonly Node[];
  /** The same copy of another tensor of the same rank whose last axis may be of another width. Null if it cannot be said. */
  readonly apply: ((x: string) => string) | null;
  /**
   * The axis along which rows are repeated or looked up, as it is written; null where the sizes say it (`expand`, `repeat`)
   * or several axes are indexed.
   */
  readonly axis: number | null;
  /** How rows become copies, given which axes replicate; null where several do. */
  readonly map: (replicas: readonly ReplicaFact[]) => RowMap | null;
}

/** One row to its copies along an axis: `count` copies each, or those whose rows `count` numbers. */
export interface RowMap {
  readonly kind: 'repeats' | 'index' | 'expand' | 'tile';
  readonly count: string;
  readonly axis: number;
}

/** `repeats(n)`, `index(idx, dim=1)`: the map as ikbo_lens writes it. */
export const mapText = ({ kind, count, axis }: RowMap): string =>
  `${kind}(${count}${axis === 0 ? '' : `, dim=${axis}`})`;
