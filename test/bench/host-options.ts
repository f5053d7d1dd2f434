/** The real host from source, with the addon that scripts/native.mjs built. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { HostOptions } from '../../src/bench/client';

const root = join(__dirname, '../..');
const addonPath = join(root, 'dist/ikbo.node');

export const hostOptions: HostOptions = {
  hostPath: join(root, 'src/bench/host/main.ts'),
  addonPath,
  execArgv: ['--require', require.resolve('tsx/cjs')],
};

/** Describes tests that need the addon; without it they are skipped with one line that says how to get it. */
export function describeHost(title: string, body: (this: Mocha.Suite) => void): void {
  if (existsSync(addonPath)) describe(title, body);
  else describe.skip(`${title} (skipped: no native addon; node scripts/native.mjs build)`, body);
}
