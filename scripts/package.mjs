// Packages the extension into build/ikbo-lens.vsix. With the native addon where scripts/native.mjs has built it; without
// it the extension analyses and rewrites, and its benchmark panel says how to build the addon.
//   node scripts/package.mjs [--no-build]
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const root = new URL('..', import.meta.url).pathname;
const run = (command, ...args) => {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};
mkdirSync(join(root, 'build'), { recursive: true });
if (!process.argv.includes('--no-build')) run(process.execPath, 'scripts/build.mjs', '--minify');
// A package with native code is for this platform alone.
const target = existsSync(join(root, 'dist/ikbo.node')) ? ['--target', `${process.platform}-${process.arch}`] : [];
const options = ['--no-dependencies', '--allow-missing-repository', '--skip-license', '--no-rewrite-relative-links'];
const vsce = 'node_modules/@vscode/vsce/vsce';
run(process.execPath, vsce, 'package', ...target, ...options, '--out', 'build/ikbo-lens.vsix');
