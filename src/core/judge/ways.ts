/** The conditions of every way from where a copy is made to a product. */
import type { SinkEvent, SinkHit } from '../python/run';

/** More ways than this make no condition that is worth a word. */
const MAX_WAYS = 16;

interface Way {
  readonly event: SinkEvent;
  readonly hit: SinkHit;
  readonly materialized: boolean;
  /** What must hold for the copy to be there and to reach this product. */
  readonly when: readonly string[];
  /** And what other functions on the way there ask. */
  readonly inner: readonly string[];
}

export interface Ways {
  add(origin: string, way: Way): void;
  /**
   * Those that count for what is said of one of them: of a copy as a part of something else, or among other rows, it is said under the
   * conditions of those ways alone, and of the ways to the same product, alone or among other rows.
   */
  of(origin: string, way: Way): readonly (readonly string[])[];
}

export function createWays(): Ways {
  const ways = new Map<string, readonly (readonly string[])[]>();
  return {
    add(origin, way) {
      const all = [...way.when, ...way.inner];
      for (const key of keysOf(origin, way)) {
        const known = ways.get(key) ?? [];
        if (known.length < MAX_WAYS && !known.some((one) => isSame(one, all))) ways.set(key, [...known, all]);
      }
    },
    of: (origin, way) => keysOf(origin, way).flatMap((key) => ways.get(key) ?? []),
  };
}

const keysOf = (origin: string, { hit: { via }, materialized, event: { node } }: Way): readonly string[] => [
  `${origin}:${materialized}:${via}`,
  `${origin}:${materialized}:${via === 'block'}@${node.file.path}:${node.start}`,
];

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, i) => text === b[i]);
