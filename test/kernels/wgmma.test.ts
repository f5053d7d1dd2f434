/** The generated instruction wrappers are what their generator writes. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');

describe('wgmma.cuh', () => {
  it('is up to date', () => {
    execFileSync(process.execPath, [join(root, 'kernels/generate-wgmma.mjs'), '--check'], { stdio: 'pipe' });
  });

  it('names each accumulator of a statement once, before its other operands', () => {
    const text = readFileSync(join(root, 'kernels/cuda/wgmma.cuh'), 'utf8');
    const shapes = [...text.matchAll(/struct Wgmma<(\d+)> \{([\s\S]*?)\n\};/g)];
    assert.ok(shapes.length > 5);
    for (const [, columns, body] of shapes) {
      const registers = Number(columns) / 2;
      const statements = (body ?? '').split('asm volatile(').slice(1);
      assert.equal(statements.length, 4, `n${columns}: two forms of two types`);
      for (const statement of statements) {
        const names = [...statement.matchAll(/IKBO_NAMES_(\d+)/g)].map((match) => Number(match[1]));
        const outputs = [...statement.matchAll(/IKBO_REGISTERS\((\d+)\)/g)].map((match) => Number(match[1]));
        assert.deepEqual(
          names,
          Array.from({ length: registers / 4 }, (_, i) => i),
        );
        assert.deepEqual(
          outputs,
          names.map((i) => 4 * i),
        );
        assert.ok(statement.includes(`m64n${columns}k16`), `n${columns}`);
        assert.ok(new RegExp(`"\\{?%${registers}\\b`).test(statement), `n${columns}: A follows the accumulators`);
      }
    }
  });
});
