/** The demo as a newcomer runs it: with PyTorch there, every rewrite of the examples must have been run. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describeTorch, find, root } from './python';

describeTorch('the demo', () => {
  it('runs each rewrite of the examples before and after, with equal numbers', function () {
    this.timeout(300_000);
    const run = spawnSync(process.execPath, [join(root, 'scripts/demo.mjs')], {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, IKBO_PYTHON: find() },
      timeout: 290_000,
    });
    const [, rewrites, equal, ran] = /Python: (\d+) rewrites, (\d+) of the (\d+) that ran/.exec(run.stdout) ?? [];
    assert.equal(run.status, 0, run.stdout.slice(-3000) + run.stderr);
    assert.ok(Number(rewrites) > 0);
    assert.deepEqual([equal, ran], [rewrites, rewrites]);
  });
});
