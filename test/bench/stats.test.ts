import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ascending, compare, mannWhitney, median, quantile, random, summarize } from '../../src/bench/stats';

const close = (actual: number, expected: number, tolerance: number, what = '') =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what} ${actual} is not ${expected} ± ${tolerance}`);

/** Normal samples around a centre, from the seeded generator. */
function samples(seed: number, count: number, centre: number, spread: number): number[] {
  const next = random(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return Array.from({ length: count }, () => centre + spread * normal());
}

describe('bench quantiles', () => {
  // numpy.quantile([1, 2, 3, 4, 10], q)
  const cases: [number, number][] = [
    [0, 1],
    [0.1, 1.4],
    [0.25, 2],
    [0.5, 3],
    [0.9, 7.6],
    [1, 10],
  ];
  for (const [q, expected] of cases)
    it(`${q} of a small sample`, () => close(quantile([1, 2, 3, 4, 10], q), expected, 1e-12));

  it('are NaN for nothing and the value itself for one', () => {
    assert.ok(Number.isNaN(quantile([], 0.5)));
    assert.equal(quantile([7], 0.9), 7);
  });

  it('lie between the ends and grow with q', () => {
    const values = fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(
        values,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (list, a, b) => {
          const sorted = ascending(list);
          const [low, high] = [quantile(sorted, Math.min(a, b)), quantile(sorted, Math.max(a, b))];
          assert.ok(low <= high + 1e-9);
          assert.ok(low >= sorted[0]! - 1e-9 && high <= sorted.at(-1)! + 1e-9);
        },
      ),
    );
  });
});

describe('bench rank test', () => {
  // scipy.stats.mannwhitneyu(a, b, method='asymptotic', use_continuity=True).pvalue
  const cases: { a: number[]; b: number[]; p: number }[] = [
    { a: [1, 2, 3, 4, 5], b: [6, 7, 8, 9, 10], p: 0.01218578 },
    { a: [1, 3, 5, 7, 9], b: [2, 4, 6, 8, 10], p: 0.67610331 },
    { a: [1, 1, 2, 2, 3], b: [2, 3, 3, 4, 4, 5], p: 0.03163342 },
    { a: [19, 22, 16, 29, 24], b: [20, 11, 17, 12], p: 0.11134689 },
  ];
  for (const { a, b, p } of cases) it(`[${a}] against [${b}]`, () => close(mannWhitney(a, b), p, 5e-7));

  it('finds nothing where all values are the same or a side is empty', () => {
    assert.equal(mannWhitney([2, 2, 2], [2, 2]), 1);
    assert.equal(mannWhitney([], [1, 2]), 1);
  });

  it('is symmetric, within 0 and 1, and does not see a monotone change of scale', () => {
    const list = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(list, list, (a, b) => {
        const p = mannWhitney(a, b);
        assert.ok(p >= 0 && p <= 1);
        close(mannWhitney(b, a), p, 1e-12);
        close(mannWhitney(a.map(Math.sqrt), b.map(Math.sqrt)), p, 1e-12);
      }),
    );
  });
});

describe('bench summary', () => {
  it('holds the median within its interval and the interval within the samples', () => {
    const list = fc.array(fc.double({ min: 0.001, max: 1e4, noNaN: true }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(list, (values) => {
        const { median: middle, low, high, p10, p90 } = summarize(values);
        assert.ok(low <= middle && middle <= high);
        assert.ok(Math.min(...values) <= low && high <= Math.max(...values));
        assert.ok(p10 <= middle && middle <= p90);
      }),
      { numRuns: 50 },
    );
  });

  it('covers the true median about as often as it says', () => {
    let covered = 0;
    for (let seed = 1; seed <= 200; seed++) {
      const { low, high } = summarize(samples(seed, 25, 10, 1), seed);
      if (low <= 10 && 10 <= high) covered += 1;
    }
    assert.ok(covered >= 180 && covered <= 200, `${covered} of 200`);
  });

  it('is the same for the same samples', () => {
    const values = samples(3, 30, 5, 1);
    assert.deepEqual(summarize(values), summarize(values));
  });
});

describe('bench verdict', () => {
  const verdict = (a: number[], b: number[]) => compare(summarize(a), summarize(b)).verdict;

  it('faster and slower where the difference is clear', () => {
    const [slow, fast] = [samples(1, 30, 10, 0.2), samples(2, 30, 5, 0.2)];
    assert.equal(verdict(slow, fast), 'faster');
    assert.equal(verdict(fast, slow), 'slower');
    close(compare(summarize(slow), summarize(fast)).ratio, 2, 0.1);
  });

  it('no difference under 3 %, however sure', () => {
    const result = compare(summarize(samples(1, 200, 10.2, 0.01)), summarize(samples(2, 200, 10, 0.01)));
    assert.ok(result.p < 1e-6);
    assert.equal(result.verdict, 'no difference');
  });

  it('no difference where intervals overlap', () => {
    assert.equal(verdict(samples(1, 10, 10, 4), samples(2, 10, 9, 4)), 'no difference');
  });

  it('no difference from too few samples', () => {
    assert.equal(verdict([10, 11], [5, 6]), 'no difference');
  });

  it('hardly ever a difference between equals', () => {
    let wrong = 0;
    for (let seed = 1; seed <= 200; seed++)
      if (verdict(samples(seed, 20, 10, 1), samples(seed + 1000, 20, 10, 1)) !== 'no difference') wrong += 1;
    assert.ok(wrong <= 4, `${wrong} of 200`);
  });

  it('gives ratios whose interval holds the ratio, and that turn over with the sides', () => {
    const list = fc.array(fc.double({ min: 1, max: 100, noNaN: true }), { minLength: 3, maxLength: 20 });
    fc.assert(
      fc.property(list, list, (a, b) => {
        const one = compare(summarize(a), summarize(b));
        const other = compare(summarize(b), summarize(a));
        assert.ok(one.low <= one.ratio && one.ratio <= one.high);
        close(one.ratio * other.ratio, 1, 1e-9);
        close(one.ratio, median(a) / median(b), 1e-9);
        const opposite = { faster: 'slower', slower: 'faster', 'no difference': 'no difference' } as const;
        assert.equal(other.verdict, opposite[one.verdict]);
      }),
      { numRuns: 50 },
    );
  });
});
