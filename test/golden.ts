import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Compares with a file below test/; UPDATE_GOLDEN=1 writes it instead. A missing file fails. */
export function golden(path: string, actual: string): void {
  const file = join(__dirname, path);
  if (process.env['UPDATE_GOLDEN']) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, actual);
    return;
  }
  assert.ok(existsSync(file), `no golden file ${path}; write it with UPDATE_GOLDEN=1 and read it`);
  assert.equal(actual, readFileSync(file, 'utf8'));
}
