import assert from 'node:assert/strict';
import fc from 'fast-check';
import { armsFor, folds } from '../../src/bench/arms';
import { baseOf, costOf, groupIndex, plan, PlanError } from '../../src/bench/plan';
import { presets } from '../../src/bench/presets';
import { completeRequest, requestForFinding } from '../../src/bench/request';
import { checkDims } from '../../src/protocol/dims';
import type { BenchRequest, DeviceInfo } from '../../src/protocol/bench';

const cpu: DeviceInfo = { id: 'cpu', name: 'a CPU', kind: 'cpu', detail: '', memoryBytes: 8e9 };
const LINEAR = { B: 64, U: 4, Ku: 32, Kc: 16, M: 8 };
const request = (part: Partial<BenchRequest> = {}): BenchRequest =>
  completeRequest({ op: 'concat-linear', dims: LINEAR, ...part });
const ids = (part: Partial<BenchRequest>, kind: DeviceInfo['kind'] = 'cpu') =>
  armsFor(request(part), kind).map(({ id }) => id);
const attention = { B: 8, U: 2, Q: 4, S: 16, H: 2, Hkv: 1, D: 8 };

describe('bench plan', () => {
  const refusals: [string, Partial<BenchRequest>, RegExp][] = [
    ['an unknown operator', { op: 'conv' as never }, /no operator conv; concat-linear/],
    ['a missing size', { dims: { ...LINEAR, M: undefined as never } }, /^M: /],
    ['a size of another operator', { dims: { ...LINEAR, S: 3 } }, /has no size S; it has B, U, Ku, Kc, M/],
    ['zero', { dims: { ...LINEAR, Ku: 0 } }, /^Ku: /],
    ['a fraction', { dims: { ...LINEAR, B: 1.5 } }, /^B: /],
    ['more users than candidates', { dims: { ...LINEAR, U: 65 } }, /every user needs a candidate/],
    ['heads that do not divide', { op: 'attention', dims: { ...attention, H: 3, Hkv: 2 } }, /^Hkv: /],
    ['an unknown data type', { dtype: 'int8' as never }, /no data type int8/],
    ['an unknown grouping', { grouping: 'odd' as never }, /no grouping odd/],
    ['no regime', { regimes: [] }, /Choose a regime/],
    ['an unknown regime', { regimes: ['warm' as never] }, /no regime warm/],
    ['an unknown arm', { arms: ['ikbo', 'magic'] }, /no arm magic for this request; as-written/],
    ['no arm', { arms: [] }, /at least one arm/],
    ['no time', { seconds: 0 }, /Seconds/],
    ['endless time', { seconds: 1e6 }, /at most 600/],
    ['a negative seed', { seed: -1 }, /seed/],
  ];
  for (const [what, part, message] of refusals)
    it(`refuses ${what} in words`, () => {
      assert.throws(
        () => plan(request(part), cpu, 8e9),
        (error) => error instanceof PlanError && message.test(error.message),
      );
    });

  it('refuses what does not fit in memory, and says how much it would take', () => {
    const big = request({ dims: { ...LINEAR, B: 1e6, Ku: 4096 } });
    assert.throws(() => plan(big, cpu, 1e9), /need 3\d GB .* a CPU has 1\.0 GB free. Reduce B/);
  });

  it('keeps the order of the story when arms are chosen', () => {
    const { arms } = plan(request({ arms: ['ikbo', 'as-written'] }), cpu, 8e9);
    assert.deepEqual(
      arms.map(({ id }) => id),
      ['as-written', 'ikbo'],
    );
    assert.equal(baseOf(arms), 'as-written');
    assert.equal(baseOf(plan(request({ arms: ['ikbo'] }), cpu, 8e9).arms), 'ikbo');
  });
});

describe('bench arms', () => {
  it('on a CPU: no arm that only a GPU has, no PyTorch without an interpreter', () => {
    assert.deepEqual(ids({}), ['as-written', 'broadcast-excluded', 'decomposed', 'ikbo']);
  });
  it('with an interpreter: PyTorch as written and decomposed', () => {
    assert.deepEqual(ids({ python: 'python3' }).slice(4), [
      'torch-as-written',
      'torch-decomposed',
      'torch-candidate-alone',
    ]);
  });
  it('on CUDA: padded and warp-specialized ones, and torch.compile', () => {
    const all = ids({ python: 'python3' }, 'cuda');
    for (const id of ['padded', 'decomposed-padded', 'ikbo-ws', 'torch-compile']) assert.ok(all.includes(id), id);
  });
  it('have ids of their own, for every request', () => {
    for (const op of ['concat-linear', 'linear-compression', 'attention'] as const)
      for (const kind of ['cpu', 'cuda'] as const)
        for (const grouping of ['uniform', 'uneven'] as const) {
          const dims = op === 'attention' ? attention : { ...LINEAR, Kc: 9, N: 4 };
          const all = ids({ op, dims, grouping, python: 'python3' }, kind);
          assert.equal(new Set(all).size, all.length, all.join());
          assert.equal(all.filter((id) => id.startsWith('ikbo')).length, kind === 'cuda' ? 2 : 1);
        }
  });
  it('pads for PyTorch only where K needs it', () => {
    const padded = (Kc: number) =>
      ids({ dims: { ...LINEAR, Kc }, python: 'python3' }, 'cuda').includes('torch-compile-padded');
    assert.deepEqual([padded(16), padded(9)], [false, true]);
  });
  it('folds candidates only where groups are equal and in order', () => {
    assert.ok(folds({ op: 'attention', dims: attention, grouping: 'uniform' }));
    assert.ok(!folds({ op: 'attention', dims: attention, grouping: 'uneven' }));
    assert.ok(!folds({ op: 'attention', dims: { ...attention, B: 9 }, grouping: 'uniform' }));
    assert.ok(!folds({ op: 'concat-linear', dims: LINEAR, grouping: 'uniform' }));
  });
});

describe('bench groups', () => {
  const sizes = fc.tuple(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 200 }), fc.nat());
  it('give every candidate a user and every user a candidate, whatever the grouping', () => {
    fc.assert(
      fc.property(sizes, fc.constantFrom('uniform', 'uneven', 'unsorted'), ([a, b, seed], grouping) => {
        const [B, U] = [Math.max(a, b), Math.min(a, b)];
        const index = [...groupIndex(grouping as 'uniform', B, U, seed)];
        assert.equal(index.length, B);
        assert.ok(index.every((user) => user >= 0 && user < U));
        assert.equal(new Set(index).size, U);
        if (grouping !== 'unsorted')
          assert.deepEqual(
            index,
            [...index].sort((x, y) => x - y),
          );
      }),
    );
  });
  it('are uneven and out of order where they are called so', () => {
    const counts = new Map<number, number>();
    for (const user of groupIndex('uneven', 1000, 10, 1)) counts.set(user, (counts.get(user) ?? 0) + 1);
    const all = [...counts.values()];
    assert.ok(Math.max(...all) > 4 * Math.min(...all), all.join());
    const unsorted = [...groupIndex('unsorted', 1000, 10, 1)];
    assert.ok(unsorted.some((user, i) => i > 0 && user < unsorted[i - 1]!));
  });
});

describe('bench cost', () => {
  it('counts a user once, and no copy', () => {
    const { flops, bytes } = costOf('concat-linear', LINEAR, 'fp32');
    assert.equal(flops, 2 * 8 * (4 * 32 + 64 * 16));
    assert.equal(bytes, 4 * (4 * 32 + 64 * 16 + 8 * 48 + 64 * 8));
  });
  it('linear compression has columns', () => {
    const { flops } = costOf('linear-compression', { ...LINEAR, N: 3 }, 'bf16');
    assert.equal(flops, 3 * costOf('concat-linear', LINEAR, 'bf16').flops);
  });
  it('attention reads keys of users, not of candidates', () => {
    const { flops, bytes } = costOf('attention', attention, 'bf16');
    assert.equal(flops, 4 * 8 * 4 * 2 * 16 * 8);
    assert.equal(bytes, 2 * (2 * 8 * 4 * 2 * 8 + 2 * 2 * 16 * 1 * 8));
  });
});

describe('bench presets', () => {
  for (const { name, request: part } of presets)
    it(`${name} has sizes that make sense`, () => assert.deepEqual(checkDims(part.op, part.dims), {}));
  it('have names of their own', () => assert.equal(new Set(presets.map(({ name }) => name)).size, presets.length));
});

describe('bench request for a finding', () => {
  const bench = { op: 'concat-linear', dims: { B: 64, U: null, Ku: 32, Kc: 16, M: null } } as const;
  it('takes given sizes first, then those of the finding, then the bindings, and names what is missing', () => {
    assert.deepEqual(requestForFinding({ bench, cost: { bound: { U: 4, Ku: 99 } } }, { B: 128 }), {
      request: { op: 'concat-linear', dims: { B: 128, U: 4, Ku: 32, Kc: 16 } },
      missing: ['M'],
    });
  });
  it('is null where nothing fits', () => assert.equal(requestForFinding({ bench: null, cost: { bound: null } }), null));
});
