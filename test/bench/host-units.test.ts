/** The host's arithmetic that needs no addon: turns, flushed bytes, limits, notes, judging an output. */
import assert from 'node:assert/strict';
import { errorOf, judge, limitOf, problemOf } from '../../src/bench/host/check';
import type { OpenDevice } from '../../src/bench/host/environment';
import { cacheNotes } from '../../src/bench/host/notes';
import { flushBytes, turnOf } from '../../src/bench/host/sampler';
import { completeRequest } from '../../src/bench/request';
import type { Op, Regime } from '../../src/protocol/bench';

const MiB = 2 ** 20;

describe('bench turns', () => {
  const lengths = [0, 1e-3, 0.1, 1, 10, 1e4];
  const turns = (regime: Regime, kind: 'cpu' | 'cuda', op: Op = 'linear-compression') =>
    lengths.map((milliseconds) => turnOf(regime, op, milliseconds, kind));
  it('have many short calls and few long ones, never none', () => {
    for (const regime of ['burst', 'flush', 'sustained'] as const)
      for (const kind of ['cpu', 'cuda'] as const) {
        const counts = turns(regime, kind).map(({ calls }) => calls);
        assert.deepEqual(
          counts,
          [...counts].sort((a, b) => b - a),
        );
        assert.equal(counts.at(-1), regime === 'flush' && kind === 'cuda' ? 6 : 1);
        assert.ok(counts[0]! > 1 && counts[0]! <= 120);
      }
  });
  it('of the flushing loop on a GPU are 0.3 s of rest, 20 calls that do not count and 100 that do, of attention 60', () => {
    assert.deepEqual(turnOf('flush', 'concat-linear', 0.05, 'cuda'), {
      idle: 300,
      calls: 120,
      discarded: 20,
      settle: 0,
    });
    assert.deepEqual(turnOf('flush', 'linear-compression', 3, 'cuda'), {
      idle: 300,
      calls: 120,
      discarded: 20,
      settle: 0,
    });
    assert.deepEqual(turnOf('flush', 'attention', 2, 'cuda'), { idle: 300, calls: 80, discarded: 20, settle: 0 });
  });
  it('always count more calls than they leave out', () => {
    for (const { calls, discarded } of turns('flush', 'cuda')) assert.ok(discarded > 0 && calls >= 2 * discarded);
  });
  it('rest where the regime is that of a card that has rested', () => {
    const idle = (regime: Regime, kind: 'cpu' | 'cuda') => turnOf(regime, 'attention', 1, kind).idle;
    assert.deepEqual(
      [idle('burst', 'cuda'), idle('burst', 'cpu'), idle('flush', 'cpu'), idle('sustained', 'cuda')],
      [300, 300, 0, 0],
    );
  });
});

describe('bench flush', () => {
  it('goes well beyond the L2 of a GPU', () => assert.equal(flushBytes('cuda', 100 * MiB), 400 * MiB));
  it('covers the cache of a CPU as far as that is affordable', () => {
    assert.equal(flushBytes('cpu', 8 * MiB), 32 * MiB);
    assert.equal(flushBytes('cpu', 96 * MiB), 96 * MiB);
    assert.equal(flushBytes('cpu', 480 * MiB), 128 * MiB);
  });
  it('that does not cover it is noted, and so is a warm rotation', () => {
    const device = { cacheBytes: 480 * MiB } as OpenDevice;
    const notes = (regime: 'flush' | 'burst', flushed: number, rotated: number) =>
      cacheNotes(completeRequest({ op: 'attention', dims: {}, regimes: [regime] }), device, flushed, rotated);
    assert.match(notes('flush', 128 * MiB, 0).join(), /flush writes 128 MiB between calls, less than the 480 MiB/);
    assert.deepEqual(notes('flush', 480 * MiB, 0), []);
    assert.match(notes('burst', 0, 12 * MiB).join(), /12 MiB of operands in rotation against 480 MiB/);
    assert.deepEqual(notes('burst', 0, 1920 * MiB), []);
  });
});

describe('bench check', () => {
  const values = (...all: number[]) => Float64Array.from(all);
  const reference = { rows: [0], values: values(3, 4) };

  it('measures the error in the norm of the reference', () => {
    assert.equal(errorOf(values(3, 4), values(3, 4)), 0);
    assert.equal(errorOf(values(3, 4.5), values(3, 4)), 0.1);
    assert.equal(errorOf(values(3, NaN), values(3, 4)), Infinity);
    assert.equal(errorOf(values(3), values(3, 4)), Infinity, 'a missing element is an error');
    assert.equal(errorOf(values(0.5), values(0)), 0.5);
  });

  it('accepts what is as exact as the decomposed form, and nothing that was not written', () => {
    const close = judge(values(3, 4.01), reference, 0.003, 0);
    assert.deepEqual([close.ok, problemOf(close)], [true, null]);
    assert.match(problemOf(judge(values(3, 4.1), reference, 0.003, 0)) ?? '', /error 2\.00e-2, accepted 3\.00e-3/);
    assert.match(problemOf(judge(values(3, 4), reference, 1, 7)) ?? '', /7 elements were never written/);
  });

  it('limits 16-bit types by the decomposed form, fp32 with room for another order of sums', () => {
    assert.equal(limitOf('bf16', 2e-3, 1e6), 1.2 * 2e-3);
    assert.equal(limitOf('fp32', 1e-8, 1e6), 2 ** -20);
    assert.equal(limitOf('fp32', 1e-5, 1e6), 1.5 * 1e-5);
    assert.equal(limitOf('bf16', 0, 10), 2 ** -7);
    assert.equal(limitOf('bf16', 0, 1e6), 0);
  });
});
