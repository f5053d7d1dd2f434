import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(__dirname, '..', '..');
const packages = join(root, 'kernels', 'python');

export function find(): string {
  const local = join(root, '.venv', 'bin', 'python');
  return process.env['IKBO_PYTHON'] ?? (existsSync(local) ? local : 'python3');
}

/** Runs Python on `args` with ikbo_lens importable and returns its stdout; throws with its stderr when it fails. */
export function python(args: readonly string[], input = ''): string {
  const env = { ...process.env, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1', PYTHONWARNINGS: 'ignore' };
  const run = spawnSync(find(), args, { input, env, encoding: 'utf8', maxBuffer: 1 << 28, timeout: 600_000 });
  if (run.status !== 0) throw new Error(`python ${args.join(' ')} failed: ${run.error?.message ?? run.stderr}`);
  return run.stdout;
}

/** The objects of a script that prints one JSON line each. */
export function jsonLines<T>(args: readonly string[], input = ''): T[] {
  const lines = python(args, input).split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T);
}

let torch: boolean | undefined;

function hasTorch(): boolean {
  if (torch === undefined) {
    torch = spawnSync(find(), ['-c', 'import torch'], { stdio: 'ignore' }).status === 0;
    if (!torch) console.log(`torch tests skipped: no torch in ${find()}; pip install torch, or set IKBO_PYTHON`);
  }
  return torch;
}

/**
 * A group of tests that needs torch. Without it the group is skipped with one line that says so, or, when IKBO_REQUIRE
 * names torch, fails. `body` may run Python while the group is being built.
 */
export function describeTorch(title: string, body: () => void): void {
  if (hasTorch()) return void describe(title, body);
  const required = (process.env['IKBO_REQUIRE'] ?? '').split(',').includes('torch');
  if (!required) return void describe.skip(title, () => it('needs torch'));
  describe(title, () =>
    it('needs torch', () => {
      throw new Error(`IKBO_REQUIRE names torch, but ${find()} cannot import it. Install it or set IKBO_PYTHON.`);
    }),
  );
}
