/** Every wrapper of an instruction has a kernel of its own that tests it (native/test/wrappers_test.cc runs them on a GPU). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (path: string): string => readFileSync(join(__dirname, '../..', path), 'utf8');

describe('instruction wrappers', () => {
  it('are all called by their tests', () => {
    const wrappers = ['ptx', 'hopper', 'wgmma'].flatMap((name) =>
      [...read(`kernels/cuda/${name}.cuh`).matchAll(/^IKBO_DEVICE [\w:<> ]*?\b(\w+)\(/gm)].map((match) => match[1] ?? ''),
    );
    assert.ok(wrappers.length > 40, `${wrappers.length} wrappers found`);
    const tests = read('native/test/wrappers.cu');
    const untested = wrappers.filter((name) => !new RegExp(`\\b${name}\\b`).test(tests));
    assert.deepEqual(untested, []);
  });

  it('run in kernels that the tests launch', () => {
    const launched = read('native/test/wrappers_test.cc');
    const kernels = [...read('native/test/wrappers.cu').matchAll(/^extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(/gm)];
    assert.ok(kernels.length > 10);
    const idle = kernels.map((match) => match[1] ?? '').filter((name) => !launched.includes(`"${name}"`));
    assert.deepEqual(idle, []);
  });
});
