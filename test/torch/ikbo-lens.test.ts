import assert from 'node:assert/strict';
import { describeTorch, jsonLines } from './python';

interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

describeTorch('ikbo_lens, the Python package', () => {
  const outcomes = jsonLines<Outcome>(['kernels/python/tests/run.py']);

  it('has tests', () => assert.ok(outcomes.length > 15, `only ${outcomes.length}`));
  for (const { name, ok, detail } of outcomes) it(name, () => assert.ok(ok, detail));
});
