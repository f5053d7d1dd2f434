/** Where the ONNX tests find their models, and how they compare with an independent decoder. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const FIXTURES = join(__dirname, '../../fixtures/onnx');
/** Debian's package libonnx-testdata; IKBO_ONNX_TESTDATA names another copy. */
export const TESTDATA = process.env['IKBO_ONNX_TESTDATA'] ?? '/usr/share/libonnx-testdata/data';

export const required = (what: string): boolean => (process.env['IKBO_REQUIRE'] ?? '').split(',').includes(what);

/** Skips the test, with the reason, when the models are not installed; fails instead where IKBO_REQUIRE names onnx. */
export function needTestdata(context: Mocha.Context): void {
  if (existsSync(TESTDATA)) return;
  if (required('onnx')) throw new Error(`no ONNX test data at ${TESTDATA}; install the package libonnx-testdata`);
  console.log('      skipped: install the package libonnx-testdata to run this');
  context.skip();
}

export function modelsUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.onnx'))
    .sort()
    .map((path) => join(folder, path));
}

/** The 24 patterns, each with dynamic and with static shapes. */
export const patterns = (): string[] => modelsUnder(FIXTURES).filter((path) => /op17_(dyn|static)/.test(path));

export const shortName = (path: string): string => relative(FIXTURES, path);
export const bytesOfFile = (path: string): Uint8Array => new Uint8Array(readFileSync(path));

/** The child that runs models, from source, as the bundle would run it. */
export const CHILD = [
  process.execPath,
  '--require',
  'tsx/cjs',
  join(__dirname, '../../../src/project/onnx/child.ts'),
] as const;
