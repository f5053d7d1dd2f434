import assert from 'node:assert/strict';
import { csvReport } from '../../src/bench/csv';
import { markdownReport } from '../../src/bench/report';
import { parseResult } from '../../src/bench/schema';
import { armResult, clockWarning, comparisonsOf } from '../../src/bench/summary';
import { svgReport } from '../../src/bench/svg';
import type { ArmResult, BenchResult } from '../../src/protocol/bench';
import { golden } from '../golden';

const cost = { flops: 2e9, bytes: 3e8, memoryBytes: 1e9 };
const check = { ok: true, error: 2.5e-7, limit: 9.5e-7, unwritten: 0 };
const around = (centre: number) => Array.from({ length: 9 }, (_, i) => centre * (0.98 + 0.005 * i));

function arm(id: string, title: string, samples: readonly number[], problem: string | null = null): ArmResult {
  const measured = { id, title, regime: 'flush', samples, check, problem, peakBytes: 1.5e7 } as const;
  return armResult(measured, cost);
}

function example(): BenchResult {
  const arms = [
    arm('as-written', 'As written: copy, then compute', around(4)),
    arm('broadcast-excluded', 'Broadcast excluded: on ready copies', around(3)),
    arm('decomposed', 'Decomposed: two products | gather, add', around(1.2)),
    arm('ikbo', 'IKBO, fused', around(1)),
    arm('torch-as-written', 'PyTorch "as written"', [], 'wrong result: error 1.00e+0, accepted 9.54e-7'),
  ];
  return {
    schema: 'ikbo-bench/1',
    request: {
      op: 'concat-linear',
      dims: { B: 2048, U: 32, Ku: 512, Kc: 128, M: 256 },
      dtype: 'fp32',
      grouping: 'uniform',
      device: 'cpu',
      regimes: ['flush'],
      arms: null,
      seconds: 5,
      seed: 1,
      python: 'python3',
    },
    environment: {
      device: { id: 'cpu', name: 'A CPU <2 cores>', kind: 'cpu', detail: '2 threads, avx2', memoryBytes: 1e10 },
      date: '2026-01-02T03:04:05.000Z',
      version: '0.1.0',
      clocksBefore: { mhz: 2600 },
      clocksAfter: { mhz: 2600 },
      ceilings: { gflops: 150, gbytes: 12.5 },
    },
    arms,
    comparisons: comparisonsOf(arms, 'as-written'),
    warnings: ['parts of the cache may stay warm'],
  };
}

describe('bench reports', () => {
  it('Markdown', () => golden('bench/golden/report.md', markdownReport(example())));
  it('CSV', () => golden('bench/golden/report.csv', csvReport(example())));
  it('SVG', () => golden('bench/golden/report.svg', svgReport(example(), 'flush')));

  it('SVG bars are as long as their times', () => {
    const widths = [...svgReport(example(), 'flush').matchAll(/<rect[^>]* width="([\d.]+)"/g)].map((m) => Number(m[1]));
    assert.equal(widths.length, 4);
    assert.ok(Math.abs(widths[0]! / widths[3]! - 4) < 0.01);
  });
});

describe('bench summary of arms', () => {
  it('gives rates on the true operations, and none to an arm that failed', () => {
    const fine = arm('ikbo', '', [2, 2, 2]);
    assert.equal(fine.gflops, 1000);
    assert.equal(fine.gbytes, 150);
    const failed = arm('ikbo', '', [2, 2, 2], 'wrong result');
    assert.deepEqual([failed.timing, failed.gflops, failed.gbytes], [null, null, null]);
  });

  it('compares all with the code as written, and the best IKBO arm with every opponent', () => {
    const pairs = example().comparisons.map(({ base, arm: other }) => `${base} ${other}`);
    assert.deepEqual(pairs, [
      'as-written broadcast-excluded',
      'as-written decomposed',
      'as-written ikbo',
      'decomposed ikbo',
    ]);
  });

  it('warns of a clock that moved by more than 2 %', () => {
    assert.equal(clockWarning({ smMhz: 1980 }, { smMhz: 1960 }), null);
    assert.match(clockWarning({ smMhz: 1980 }, { smMhz: 1500 }) ?? '', /1980 MHz before the run and 1500/);
    assert.equal(clockWarning(null, { mhz: 1 }), null);
  });
});

describe('bench result files', () => {
  it('come back as they were written', () => {
    const result = example();
    assert.deepEqual(parseResult(JSON.stringify(result)), result);
  });

  /** A result with the value at a path replaced; undefined removes it. */
  function changed(path: readonly (string | number)[], value: unknown): string {
    const result: unknown = JSON.parse(JSON.stringify(example()));
    let at = result as Record<string | number, unknown>;
    for (const key of path.slice(0, -1)) at = at[key] as typeof at;
    at[path.at(-1)!] = value;
    return JSON.stringify(result);
  }
  const broken: [string, readonly (string | number)[], unknown, RegExp][] = [
    ['another schema', ['schema'], 'ikbo-bench/2', /result\.schema must be one of ikbo-bench\/1/],
    ['a missing field', ['environment', 'date'], undefined, /result\.environment\.date must be text/],
    ['text for a number', ['arms', 0, 'gflops'], 'fast', /result\.arms\[0\]\.gflops must be a number/],
    ['an object for a list', ['comparisons'], {}, /result\.comparisons must be a list/],
    ['a list for an object', ['request', 'dims'], [], /result\.request\.dims must be an object/],
    ['a wrong sample', ['arms', 0, 'timing', 'samples', 1], null, /timing\.samples\[1\] must be a number/],
  ];
  for (const [what, path, value, message] of broken)
    it(`are refused with ${what}`, () => assert.throws(() => parseResult(changed(path, value)), message));

  it('are refused when they are no JSON', () => assert.throws(() => parseResult('{'), /not JSON/));
  it('may have fields of a later version', () => {
    assert.doesNotThrow(() => parseResult(JSON.stringify({ ...example(), extra: 1 })));
  });
});
