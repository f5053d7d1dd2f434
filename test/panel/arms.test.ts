import assert from 'node:assert/strict';
import type { ArmResult, BenchResult, Comparison } from '../../src/protocol/bench';
import { modelRowsOf, rowsOf } from '../../src/panel/arms';
import { bytes, milliseconds, millisecondRange, times } from '../../src/panel/format';
import { headline, modelHeadline } from '../../src/panel/headline';

function arm(id: string, median: number | null): ArmResult {
  const timing =
    median === null
      ? null
      : { median, p10: median, p90: median, low: median * 0.99, high: median * 1.01, samples: [median] };
  const rest = { regime: 'flush', check: null, problem: null, gflops: null, gbytes: null, peakBytes: null } as const;
  return { id, title: `arm ${id}`, timing, ...rest };
}

function compared(id: string, ratio: number, verdict: Comparison['verdict']): Comparison {
  return { regime: 'flush', base: 'as-written', arm: id, ratio, low: ratio * 0.9, high: ratio * 1.1, p: 0, verdict };
}

const say = (arms: readonly ArmResult[], comparisons: readonly Comparison[]) =>
  headline(rowsOf({ arms, comparisons } as unknown as BenchResult, 'flush'));

describe('panel headline', () => {
  it('names the fastest form, its speed-up and the interval', () => {
    const arms = [arm('as-written', 4), arm('decomposed', 2), arm('fused', 1)];
    const text = say(arms, [compared('decomposed', 2, 'faster'), compared('fused', 4, 'faster')]);
    assert.equal(text, 'arm fused: 4.00× as fast as the code as written (95 % interval 3.60× to 4.40×).');
  });

  for (const bound of ['broadcast-excluded', 'torch-candidate-alone', 'torch-candidate-fastest'])
    it(`never takes ${bound}, which no program can run, for a gain`, () => {
      const arms = [arm('as-written', 4), arm(bound, 1), arm('decomposed', 2)];
      const text = say(arms, [compared(bound, 4, 'faster'), compared('decomposed', 2, 'faster')]);
      assert.match(text, /^arm decomposed/);
    });

  it('says when the PyTorch of the user is faster than everything else', () => {
    const arms = [arm('as-written', 4), arm('ikbo', 2), arm('torch-as-written', 1)];
    const comparisons = [compared('ikbo', 2, 'faster'), compared('torch-as-written', 4, 'faster')];
    assert.match(say(arms, comparisons), /^arm ikbo: 2\.00×.* arm torch-as-written is faster still: 1\.00 ms\.$/);
  });

  it('claims nothing where the difference is none or a loss', () => {
    const arms = [arm('as-written', 4), arm('decomposed', 4.01)];
    assert.match(say(arms, [compared('decomposed', 0.997, 'no difference')]), /^No difference/);
    assert.match(say(arms, [compared('decomposed', 0.8, 'slower')]), /^Nothing here beats the code as written/);
  });

  it('says when there is nothing to compare', () => {
    assert.match(say([arm('as-written', null), arm('decomposed', 1)], []), /could not be measured/);
    assert.match(say([arm('as-written', 1), arm('decomposed', null)], []), /No other form/);
  });
});

describe('a whole model in the panel', () => {
  const whole = { ...compared('model-rewritten', 2, 'faster' as const), base: 'model-as-written' };
  const arms = [arm('as-written', 4), arm('ikbo', 2), arm('model-as-written', 1), arm('model-rewritten', 0.5)];
  const result = { arms, comparisons: [compared('ikbo', 2, 'faster'), whole] } as unknown as BenchResult;

  it('is no arm of the operator: the headline is about that alone', () => {
    assert.deepEqual(rowsOf(result, 'flush').map((row) => row.arm.id), ['as-written', 'ikbo']); // prettier-ignore
    assert.match(headline(rowsOf(result, 'flush')), /^arm ikbo: 2/);
  });

  it('is compared with itself', () => {
    const rows = modelRowsOf(result, 'flush');
    assert.deepEqual(rows.map(({ role, speedup }) => [role, speedup?.ratio]), [['model', undefined], ['other', 2]]); // prettier-ignore
    assert.equal(
      modelHeadline(rows),
      'The whole model, rewritten: 2.00× as fast as it is (95 % interval 1.80× to 2.20×).',
    );
    assert.match(modelHeadline(rows.slice(0, 1)), /not measured rewritten/);
  });
});

describe('panel numbers', () => {
  it('prints three digits and a unit', () => {
    assert.equal(milliseconds(0.0123), '12.3 µs');
    assert.equal(milliseconds(4.104), '4.10 ms');
    assert.equal(milliseconds(2345), '2.35 s');
    assert.equal(millisecondRange(0.9, 1.1), '0.90–1.10 ms');
    assert.equal(times(12.345), '12.3×');
    assert.equal(bytes(999), '999 B');
    assert.equal(bytes(999_999), '1.00 MB');
    assert.equal(bytes(2_147_483_648), '2.15 GB');
  });
});
