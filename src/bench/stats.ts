/** Statistics of timings: medians with bootstrap intervals, a rank test, and the verdict drawn from both. Pure. */
import type { Comparison, Timing } from '../protocol/bench';

const RESAMPLES = 2000;
/** Smaller differences are called none, whatever the test says: clocks and layout move that much by themselves. */
export const SMALLEST_DIFFERENCE = 0.03;
const SIGNIFICANT = 0.05;

/** Value at fraction `q` of the sorted samples, linear between neighbours (as numpy's default). NaN for no samples. */
export function quantile(sorted: readonly number[], q: number): number {
  if (sorted.length === 0) return NaN;
  const at = q * (sorted.length - 1);
  const below = Math.floor(at);
  const low = sorted[below] ?? NaN;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] ?? NaN;
  return low + (high - low) * (at - below);
}

export function median(values: readonly number[]): number {
  return quantile(ascending(values), 0.5);
}

export function ascending(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

/** A small seeded generator of numbers in [0, 1): mulberry32, public domain. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Median of a sample drawn with replacement from sorted values: draws are counted, so nothing is sorted. */
function resampledMedian(sorted: readonly number[], counts: Uint32Array, next: () => number): number {
  const n = sorted.length;
  counts.fill(0);
  for (let i = 0; i < n; i++) {
    const at = Math.floor(next() * n);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  let below = 0;
  let low = NaN;
  for (let i = 0; i < n; i++) {
    below += counts[i] ?? 0;
    if (Number.isNaN(low) && 2 * below >= n) low = sorted[i] ?? NaN;
    if (2 * below > n) return (low + (sorted[i] ?? NaN)) / 2;
  }
  return low;
}

/** Draws medians of resamples of these values. */
function medians(values: readonly number[], next: () => number): () => number {
  const sorted = ascending(values);
  const counts = new Uint32Array(sorted.length);
  return () => resampledMedian(sorted, counts, next);
}

/** Ends of the middle 95 % of a statistic over resamples. */
function interval(statistic: () => number): { low: number; high: number } {
  const values = ascending(Array.from({ length: RESAMPLES }, statistic));
  return { low: quantile(values, 0.025), high: quantile(values, 0.975) };
}

export function summarize(samples: readonly number[], seed = 1): Timing {
  const sorted = ascending(samples);
  const next = random(seed);
  const { low, high } = interval(medians(sorted, next));
  return { median: quantile(sorted, 0.5), p10: quantile(sorted, 0.1), p90: quantile(sorted, 0.9), low, high, samples };
}

/**
 * Two-sided p value of the Mann-Whitney U test, by the normal approximation with corrections for ties and continuity
 * (Conover, Practical Nonparametric Statistics, 5.1). 1 when either side is empty or all values are equal.
 */
export function mannWhitney(a: readonly number[], b: readonly number[]): number {
  const all = [...a.map((value) => ({ value, own: 1 })), ...b.map((value) => ({ value, own: 0 }))];
  all.sort((x, y) => x.value - y.value);
  const total = all.length;
  let rankSum = 0;
  let ties = 0;
  for (let i = 0; i < total;) {
    let j = i;
    while (j < total && all[j]?.value === all[i]?.value) j++;
    const rank = (i + j + 1) / 2;
    for (let k = i; k < j; k++) rankSum += (all[k]?.own ?? 0) * rank;
    ties += (j - i) ** 3 - (j - i);
    i = j;
  }
  const product = a.length * b.length;
  const variance = (product / 12) * (total + 1 - ties / (total * (total - 1)));
  if (!(variance > 0)) return 1;
  const distance = Math.abs(rankSum - (a.length * (a.length + 1)) / 2 - product / 2);
  return Math.min(1, 2 * normalTail(Math.max(0, distance - 0.5) / Math.sqrt(variance)));
}

/** P(Z > z) for z >= 0: Abramowitz and Stegun 26.2.17, absolute error below 7.5e-8. */
function normalTail(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const polynomial = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * polynomial;
}

/** Is `arm` faster than `base`? The ratio is time(base) / time(arm): above 1 means that the arm is faster. */
export function compare(base: Timing, arm: Timing, seed = 1): Omit<Comparison, 'regime' | 'base' | 'arm'> {
  const next = random(seed);
  const [ofBase, ofArm] = [medians(base.samples, next), medians(arm.samples, next)];
  const { low, high } = interval(() => ofBase() / ofArm());
  const ratio = base.median / arm.median;
  const p = mannWhitney(base.samples, arm.samples);
  return { ratio, low, high, p, verdict: verdictOf(base, arm, ratio, p) };
}

function verdictOf(base: Timing, arm: Timing, ratio: number, p: number): Comparison['verdict'] {
  const overlap = base.low <= arm.high && arm.low <= base.high;
  if (overlap || Math.abs(ratio - 1) < SMALLEST_DIFFERENCE || p > SIGNIFICANT) return 'no difference';
  return ratio > 1 ? 'faster' : 'slower';
}
