/** A made-up result, the same in every test. */
import { armResult, comparisonsOf } from '../../src/bench/summary';
import type { ArmResult, BenchResult } from '../../src/protocol/bench';

const cost = { flops: 2e9, bytes: 3e8, memoryBytes: 1e9 };
const check = { ok: true, error: 2.5e-7, limit: 9.5e-7, unwritten: 0 };
export const around = (centre: number) => Array.from({ length: 9 }, (_, i) => centre * (0.98 + 0.005 * i));

export function arm(id: string, title: string, samples: readonly number[], problem: string | null = null): ArmResult {
  const measured = { id, title, regime: 'flush', samples, check, problem, peakBytes: 1.5e7 } as const;
  return armResult(measured, cost);
}

export function example(): BenchResult {
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
