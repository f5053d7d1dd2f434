import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseResult } from '../../src/bench/schema';

const root = join(__dirname, '../..');
const folder = join(root, 'kernels/results');
const names = readdirSync(folder).filter((name) => name.endsWith('.json'));

describe('recorded runs', () => {
  it('there are some of each operator', () => {
    const ops = new Set(names.map((name) => parseResult(readFileSync(join(folder, name), 'utf8')).request.op));
    assert.deepEqual([...ops].sort(), ['attention', 'concat-linear', 'linear-compression']);
  });

  for (const name of names)
    it(`${name} is a result whose timed arms were all right`, () => {
      const { arms, environment } = parseResult(readFileSync(join(folder, name), 'utf8'));
      assert.equal(environment.device.kind, 'cuda');
      const timed = arms.filter(({ timing }) => timing);
      assert.ok(timed.some(({ id }) => id === 'ikbo-ws'));
      for (const { id, check } of timed) assert.equal(check?.ok, true, id);
      for (const { id, timing, problem } of arms) assert.ok(timing ?? problem, `${id}: neither a time nor a reason`);
    });

  it('the plot of the sweeps is the one that the recordings give', () => {
    execFileSync(process.execPath, [join(folder, 'plot.mjs'), '--check'], { stdio: 'pipe' });
  });

  it("README's table is the one that the recordings give", () => {
    const table = execFileSync(process.execPath, [join(folder, 'table.mjs')], { encoding: 'utf8' });
    assert.ok(
      readFileSync(join(root, 'README.md'), 'utf8').includes(table.trim()),
      'run node kernels/results/table.mjs',
    );
  });
});
