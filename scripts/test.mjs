// npm test: installs, builds and runs every group of tests, or those named: node scripts/test.mjs [GROUP ...]
//   static    types, lint, format          unit      mocha without a subprocess of another tool
//   protocol  the language server over stdio   native    googletest, also under sanitizers; kernels with nvcc
//   torch     numeric proofs                editor    inside a real VS Code
// A group whose tools are missing is skipped with one line, unless IKBO_REQUIRE names the tool. Exit code 1 on failure.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePackages, root } from './packages.mjs';
import { missing, python, editor, required } from './tools.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'ikbo-test-'));
// Results that the command line keeps are not the user's.
const cache = { XDG_CACHE_HOME: join(scratch, 'cache') };
const env = { ...process.env, ...cache, IKBO_PYTHON: python(), IKBO_EDITOR: editor() };
const totals = { passed: 0, failed: 0, skipped: 0 };
const failures = [];

function count(group, { passed = 0, failed = 0, skipped = 0, lines = [] }) {
  totals.passed += passed;
  totals.failed += failed;
  totals.skipped += skipped;
  if (failed > 0) failures.push(group, ...lines.map((line) => `  ${line.slice(0, 1000)}`));
  console.log(`${group}: ${passed} passed, ${failed} failed, ${skipped} skipped\n`);
}

const run = (command, args, extra = {}) =>
  spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: { ...env, ...extra } }).status ===
  0;

function mocha(group, pattern) {
  const file = join(scratch, `${group}.json`);
  const args = [
    'node_modules/mocha/bin/mocha.js',
    '--no-config',
    '--require',
    'tsx/cjs',
    '--reporter',
    'test/reporter.cjs',
  ];
  const ok = run('node', [...args, '--timeout', '120000', ...pattern], { IKBO_TOTALS: file });
  if (!existsSync(file)) return { failed: 1 }; // The run ended before its report: a crash or a file that does not load.
  const { passes, failures, pending, failed } = JSON.parse(readFileSync(file, 'utf8'));
  if (!ok && failures === 0) return { passed: passes, failed: 1, skipped: pending };
  return { passed: passes, failed: failures, skipped: pending, lines: failed };
}

function steps(...commands) {
  const results = commands.map(([command, ...args]) => run(command, args));
  return { passed: results.filter(Boolean).length, failed: results.filter((ok) => !ok).length };
}

/** Runs a script whose last line of the form `N passed, N failed[, N skipped]` is its result. */
async function counted(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'], env });
  let last = null;
  let rest = '';
  child.stdout.on('data', (chunk) => {
    process.stdout.write(chunk);
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) last = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line.trim()) ?? last;
  });
  const code = await new Promise((done) => child.on('close', done));
  if (!last) return { failed: 1 };
  const [, passed, failed, skipped = '0'] = last;
  return { passed: Number(passed), failed: Number(failed) || (code === 0 ? 0 : 1), skipped: Number(skipped) };
}

const groups = {
  static: {
    tools: [],
    run: () =>
      steps(
        ['npx', 'tsc', '--noEmit'],
        ['npx', 'tsc', '--noEmit', '-p', 'src/panel'],
        ['npx', 'eslint', '.'],
        ['npx', 'prettier', '--check', '--log-level', 'warn', '.'],
      ),
  },
  unit: { tools: [], run: () => mocha('unit', ['--ignore', 'test/{protocol,torch,e2e}/**', 'test/**/*.test.ts']) },
  protocol: { tools: [], run: () => mocha('protocol', ['test/protocol/**/*.test.ts']) },
  native: { tools: ['native'], run: () => counted('node', ['scripts/native.mjs', 'test']) },
  torch: { tools: ['torch'], run: () => mocha('torch', ['test/torch/**/*.test.ts']) },
  editor: { tools: ['editor'], run: () => mocha('editor', ['test/e2e/**/*.test.ts']) },
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in groups));
if (unknown.length > 0) {
  console.error(`no such group: ${unknown.join(', ')}; there are ${Object.keys(groups).join(', ')}`);
  process.exit(2);
}

try {
  ensurePackages();
  if (!run('node', ['scripts/build.mjs'])) throw new Error('the build failed; its output is above');
  // The addon is part of the product: bench and editor tests run it where a toolchain is.
  if (missing.native() === null && !run('node', ['scripts/native.mjs', 'build']))
    throw new Error('the native build failed');
  for (const tool of required) {
    const line = missing[tool]?.() ?? null;
    if (line) count(`required ${tool} (${line})`, { failed: 1 });
  }
  for (const [name, group] of Object.entries(groups)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const lines = group.tools.map((tool) => missing[tool]()).filter(Boolean);
    console.log(`== ${name}`);
    if (lines.length > 0) count(`${name} (skipped: ${lines.join('; ')})`, { skipped: 1 });
    else count(name, await group.run());
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  totals.failed += 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
// Once more at the end, where they are seen.
if (failures.length > 0) console.log(`failed:\n${failures.join('\n')}`);
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = totals.failed > 0 ? 1 : 0;
