import assert from 'node:assert/strict';
import { describeTorch, jsonLines } from './python';

interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  readonly skipped: boolean;
  readonly detail: string;
}

describeTorch('ikbo_lens, the Python package', () => {
  const outcomes = jsonLines<Outcome>(['kernels/python/tests/run.py']);

  const needsNative = (process.env['IKBO_REQUIRE'] ?? '').split(',').includes('native');

  it('has tests', () => assert.ok(outcomes.length > 40, `only ${outcomes.length}`));
  for (const { name, ok, skipped, detail } of outcomes) {
    if (skipped && !needsNative) it.skip(`${name}: ${detail}`);
    else it(name, () => assert.ok(ok && !skipped, detail));
  }
});
