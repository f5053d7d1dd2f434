/** PyTorch as an opponent in the benchmark: its arms get the same data, pass the same check and are timed. */
import assert from 'node:assert/strict';
import { runBench } from '../../src/bench/client';
import { completeRequest } from '../../src/bench/request';
import type { BenchRequest } from '../../src/protocol/bench';
import { describeHost, hostOptions } from '../bench/host-options';
import { describeTorch, find as interpreter } from './python';

describeTorch('bench with PyTorch', () =>
  describeHost('arms of PyTorch', function () {
    this.timeout(120_000);
    const cases: (Pick<BenchRequest, 'op' | 'dims' | 'dtype' | 'grouping'> & { readonly arms: readonly string[] })[] = [
      {
        op: 'concat-linear',
        dims: { B: 96, U: 6, Ku: 40, Kc: 24, M: 33 },
        dtype: 'fp32',
        grouping: 'uniform',
        arms: ['torch-as-written', 'torch-decomposed', 'torch-candidate-alone'],
      },
      {
        op: 'linear-compression',
        dims: { B: 12, U: 3, Ku: 20, Kc: 14, M: 17, N: 24 },
        dtype: 'bf16',
        grouping: 'unsorted',
        arms: ['torch-as-written', 'torch-decomposed', 'torch-candidate-alone'],
      },
      {
        op: 'attention',
        dims: { B: 12, U: 3, Q: 5, S: 70, H: 4, Hkv: 2, D: 16 },
        dtype: 'fp32',
        grouping: 'uniform',
        arms: ['torch-as-written', 'torch-folded'],
      },
    ];
    for (const { arms, ...part } of cases)
      it(`${part.op}, ${part.dtype}, ${part.grouping}: right, and timed in the same rounds`, async () => {
        const request = completeRequest({
          ...part,
          python: interpreter(),
          seconds: 0.05,
          arms: ['as-written', 'ikbo', ...arms],
        });
        const result = await runBench(request, hostOptions);
        assert.deepEqual(
          result.arms.map(({ id }) => id),
          ['as-written', 'ikbo', ...arms],
        );
        const rounds = new Set(result.arms.map(({ timing }) => timing?.samples.length));
        for (const { id, check, problem } of result.arms) assert.equal(problem ?? check?.ok, true, id);
        assert.equal(rounds.size, 1, 'every arm has a sample of every round');
        assert.match(result.warnings.join(), /PyTorch arms ran in PyTorch \d/);
        for (const arm of arms)
          assert.ok(
            result.comparisons.some(({ base, arm: other }) => base === arm && other === 'ikbo'),
            arm,
          );
      });
  }),
);
