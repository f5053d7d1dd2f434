import assert from 'node:assert/strict';
import { csvReport } from '../../src/bench/csv';
import { markdownReport } from '../../src/bench/report';
import { parseResult } from '../../src/bench/schema';
import { clockWarning } from '../../src/bench/summary';
import { svgReport } from '../../src/bench/svg';
import { golden } from '../golden';
import { arm, example } from './example';

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
