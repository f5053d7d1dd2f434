export interface Median {
  readonly median: number;
  /** The 95 % interval of the median by order statistics: no assumption about the distribution. */
  readonly low: number;
  readonly high: number;
}

export function medianOf(samples: readonly number[]): Median {
  const sorted = [...samples].sort((a, b) => a - b);
  const n = sorted.length;
  const reach = 0.98 * Math.sqrt(n);
  const pick = (at: number): number => sorted[Math.min(n - 1, Math.max(0, at))] ?? 0;
  return {
    median: pick(Math.floor(n / 2)),
    low: pick(Math.floor(n / 2 - reach)),
    high: pick(Math.ceil(n / 2 + reach)),
  };
}
