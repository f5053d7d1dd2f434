import assert from 'node:assert/strict';
import fc from 'fast-check';
import { haveStarted, makeShare, pathOn, takeFrom } from '../../src/cli/share';

describe('paths shared out among threads', () => {
  it('each path is taken once, whatever the order of the threads', () => {
    fc.assert(
      fc.property(fc.nat(60), fc.integer({ min: 1, max: 5 }), fc.array(fc.nat(4)), (count, threads, order) => {
        const paths = Array.from({ length: count }, (_, i) => `m${i}.py`);
        const share = makeShare(threads, count);
        const takers = Array.from({ length: threads }, (_, thread) => takeFrom(share, thread, paths));
        const taken: string[] = [];
        for (const thread of order.map((one) => one % threads)) {
          const next = takers[thread]?.next();
          if (!next || next.done) continue;
          taken.push(next.value);
          assert.equal(pathOn(share, thread, paths), next.value);
        }
        for (const taker of takers) taken.push(...taker);
        assert.deepEqual(taken.sort(), [...paths].sort());
      }),
    );
  });
  it('tells where a thread is, and whether all have begun', () => {
    const paths = ['m0.py', 'm1.py'];
    const share = makeShare(2, 2);
    const state = () => [pathOn(share, 0, paths), pathOn(share, 1, paths), haveStarted(share)];
    assert.deepEqual(state(), [null, null, false]);
    const first = takeFrom(share, 0, paths);
    first.next();
    assert.deepEqual(state(), ['m0.py', null, false]);
    takeFrom(share, 1, paths).next();
    assert.deepEqual(state(), ['m0.py', 'm1.py', true]);
  });
  it('a thread begins with a piece of its own', () => {
    const paths = Array.from({ length: 40 }, (_, i) => `m${i}.py`);
    const share = makeShare(2, 40);
    assert.deepEqual(
      [takeFrom(share, 1, paths).next().value, takeFrom(share, 0, paths).next().value],
      ['m20.py', 'm0.py'],
    );
  });
});
