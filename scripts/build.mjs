// Bundles every entry point into dist/ and copies what the bundles load at run time.
//   node scripts/build.mjs [--watch] [--minify]
import { copyFileSync, cpSync, existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { context, build } from 'esbuild';

const root = new URL('..', import.meta.url).pathname;
const require = createRequire(import.meta.url);
const dist = join(root, 'dist');
mkdirSync(dist, { recursive: true });

const node = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  outdir: 'dist',
  sourcemap: true,
  minify: process.argv.includes('--minify'),
  external: ['vscode', 'onnxruntime-node'],
  // The CommonJS build: the ES module one resolves its wasm through import.meta.url, which a cjs bundle lacks.
  alias: { 'web-tree-sitter': require.resolve('web-tree-sitter') },
  logLevel: 'warning',
};
const entries = {
  cli: 'src/cli/launch.ts',
  command: 'src/cli/command.ts',
  server: 'src/server/main.ts',
  extension: 'src/extension/main.ts',
  host: 'src/bench/host/main.ts',
  'onnx-child': 'src/project/onnx/child.ts',
  'onnx-bench': 'src/project/onnx/bench-child.ts',
};
const present = Object.fromEntries(Object.entries(entries).filter(([, path]) => existsSync(join(root, path))));
const targets = [{ ...node, entryPoints: present }];
if (existsSync(join(root, 'src/panel/main.ts'))) {
  targets.push({
    ...node,
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
    external: [],
    alias: {},
    entryPoints: { panel: 'src/panel/main.ts' },
  });
}
copyFileSync(require.resolve('web-tree-sitter/tree-sitter.wasm'), join(dist, 'tree-sitter.wasm'));
copyFileSync(require.resolve('tree-sitter-python/tree-sitter-python.wasm'), join(dist, 'tree-sitter-python.wasm'));
for (const [from, to] of [
  ['src/bench/torch', 'torch'],
  ['src/verify/ikbo_verify', 'verify/ikbo_verify'],
]) {
  cpSync(join(root, from), join(dist, to), { recursive: true, filter: (path) => !/__pycache__/.test(path) });
}

if (process.argv.includes('--watch')) for (const target of targets) await (await context(target)).watch();
else await Promise.all(targets.map((target) => build(target)));
