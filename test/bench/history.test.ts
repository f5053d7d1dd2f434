import assert from 'node:assert/strict';
import { changes, changesReport, incomparable } from '../../src/bench/history';
import type { BenchResult } from '../../src/protocol/bench';
import { arm, around, example } from './example';

const later = (part: Partial<BenchResult> = {}): BenchResult => ({ ...example(), ...part });
const { request, environment } = example();

describe('bench history', () => {
  it('says per arm what became faster, slower or stayed', () => {
    const arms = [
      arm('as-written', 'As written', around(4.01)),
      arm('decomposed', 'Decomposed', around(2.4)),
      arm('ikbo', 'IKBO, fused', around(0.5)),
      arm('torch-as-written', 'PyTorch', around(9)),
    ];
    const found = changes(example(), later({ arms }));
    assert.deepEqual(
      found.map(({ id, change }) => `${id}: ${change.verdict}`),
      ['as-written: no difference', 'decomposed: slower', 'ikbo: faster'],
    );
    assert.ok(Math.abs(found[2]!.change.ratio - 2) < 0.05);
  });

  const others: [string, BenchResult, RegExp][] = [
    ['another operator', later({ request: { ...request, op: 'attention' } }), /operator was concat-linear/],
    ['another size', later({ request: { ...request, dims: { ...request.dims, B: 1 } } }), /B was 2048 and is 1/],
    ['another data type', later({ request: { ...request, dtype: 'bf16' } }), /dtype was fp32/],
    ['another grouping', later({ request: { ...request, grouping: 'uneven' } }), /grouping was uniform/],
    [
      'another machine',
      later({ environment: { ...environment, device: { ...environment.device, name: 'B' } } }),
      /device was A CPU <2 cores> and is B/,
    ],
  ];
  for (const [what, other, message] of others)
    it(`compares nothing with ${what}`, () => {
      assert.match(incomparable(example(), other) ?? '', message);
      assert.deepEqual(changes(example(), other), []);
      assert.match(changesReport(example(), other), /Not comparable: the|Not comparable: B/);
    });

  it('writes a table', () => {
    const report = changesReport(example(), later({ arms: [arm('ikbo', 'IKBO, fused', around(0.5))] }));
    assert.match(report, /\| IKBO, fused \| flush \| 1\.00 ms \| 500 µs \| 2\.00× faster \|/);
    assert.match(changesReport(example(), later({ arms: [] })), /No arm was timed in both/);
  });
});
