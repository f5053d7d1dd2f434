// Builds and tests the native library and its Node addon.
//   node scripts/native.mjs build      build/native, then dist/ikbo.node and dist/libikbo.so
//   node scripts/native.mjs test       build, googletest with each instruction set of this machine and on its GPU, then sanitize
//   node scripts/native.mjs sanitize   the tests under the address and undefined-behaviour sanitizers
// IKBO_CUDA=0 leaves the CUDA kernels out even where nvcc is. IKBO_JOBS limits the parallel compilers.
// Last line of a test: `N passed, N failed, N skipped`. Exit code 1 on failure, 2 when tools are missing.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './packages.mjs';
import { missing } from './tools.mjs';

const require = createRequire(import.meta.url);
const jobs = process.env.IKBO_JOBS ?? String(Math.min(availableParallelism(), 16));

function run(command, args, options = {}) {
  const { status, error, signal } = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (error) throw new Error(`${command}: ${error.message}`);
  if (signal) throw new Error(`${command} was ended by ${signal}`);
  return status === 0;
}

/** Folders of node_api.h and napi.h, both from npm: nothing is downloaded to build. */
function nodeHeaders() {
  const packages = ['node-api-headers/package.json', 'node-addon-api/package.json'].map((name) =>
    require.resolve(name),
  );
  return [join(dirname(packages[0]), 'include'), dirname(packages[1])].join(';');
}

function compile(name, options, targets = []) {
  const folder = join(root, 'build', name);
  const configure = ['-S', 'native', '-B', folder, '-G', 'Ninja', ...options];
  const quiet = existsSync(join(folder, 'build.ninja')) ? ['--log-level=WARNING'] : ['--log-level=STATUS'];
  if (!run('cmake', [...quiet, ...configure])) throw new Error(`cmake could not configure ${folder}`);
  if (!run('cmake', ['--build', folder, '-j', jobs, ...targets.flatMap((target) => ['--target', target])]))
    throw new Error('the native build failed; its output is above');
  return folder;
}

/** Into dist/; with the tests too if `all`. */
function build(all = false) {
  const cuda = process.env.IKBO_CUDA === '0' ? 'OFF' : 'ON';
  const folder = compile(
    'native',
    [`-DIKBO_NODE_INCLUDE=${nodeHeaders()}`, `-DIKBO_CUDA=${cuda}`],
    all ? [] : ['ikbo', 'ikbo_node'],
  );
  mkdirSync(join(root, 'dist'), { recursive: true });
  // Moved into place: a process that has the old one loaded keeps it whole.
  for (const file of ['ikbo.node', 'libikbo.so']) {
    const target = join(root, 'dist', file);
    copyFileSync(join(folder, file), `${target}.new`);
    renameSync(`${target}.new`, target);
  }
  return folder;
}

const totals = { passed: 0, failed: 0, skipped: 0 };

/** Runs googletest once and adds its counts; a crash counts as one failure. */
function googletest(folder, what, env) {
  const program = join(folder, 'test/ikbo_test');
  if (!existsSync(program)) {
    console.log('googletest is missing: the native tests were not built (Debian: apt-get install libgtest-dev)');
    totals.skipped += 1;
    return;
  }
  const { stdout, stderr, status, signal } = spawnSync(program, ['--gtest_brief=1'], {
    cwd: root,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  const number = (pattern) => Number(pattern.exec(stdout)?.[1] ?? 0);
  const counts = {
    passed: number(/\[ {2}PASSED {2}\] (\d+) test/),
    failed: number(/(\d+) FAILED TEST/),
    skipped: number(/\[ {2}SKIPPED \] (\d+) test/),
  };
  if (status !== 0 && counts.failed === 0) counts.failed = 1;
  if (status !== 0) console.log(stdout, stderr, signal ? `ended by ${signal}` : '');
  console.log(`native ${what}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  for (const key of Object.keys(totals)) totals[key] += counts[key];
}

function sanitize() {
  const options = ['-DIKBO_SANITIZE=address,undefined', '-DIKBO_CUDA=OFF', '-DCMAKE_BUILD_TYPE=RelWithDebInfo'];
  const folder = compile('native-sanitize', options);
  googletest(folder, 'with sanitizers', {
    ASAN_OPTIONS: 'detect_stack_use_after_return=1',
    UBSAN_OPTIONS: 'print_stacktrace=1',
  });
}

/** Instruction sets of the library, best first; a processor that has one has those after it. */
const SETS = ['amx', 'avx512', 'avx2', 'portable'];

/** Those that this processor has: the library itself says which it picks. */
function instructionSets(folder) {
  const script = `console.log(new (require(${JSON.stringify(join(folder, 'ikbo.node'))}).Device)(-1).describe().detail)`;
  const { stdout } = spawnSync(process.execPath, ['-e', script], {
    encoding: 'utf8',
    env: { ...process.env, IKBO_SIMD: '' },
  });
  return SETS.slice(
    Math.max(
      0,
      SETS.findIndex((set) => stdout.includes(set)),
    ),
  );
}

function hasGpu(folder) {
  const script = `process.exit(require(${JSON.stringify(join(folder, 'ikbo.node'))}).cudaDevices().count > 0 ? 0 : 1)`;
  return spawnSync(process.execPath, ['-e', script]).status === 0;
}

function test() {
  const folder = build(true);
  for (const set of instructionSets(folder)) googletest(folder, set, { IKBO_SIMD: set, IKBO_THREADS: '3' });
  if (hasGpu(folder)) googletest(folder, 'cuda:0', { IKBO_TEST_DEVICE: '0' });
  sanitize();
}

const commands = { build, test, sanitize };
const command = commands[process.argv[2] ?? 'build'];
const lacking = missing.native();
if (!command) {
  console.error(`no such command: ${process.argv[2]}; there are ${Object.keys(commands).join(', ')}`);
  process.exitCode = 2;
} else if (lacking) {
  console.error(lacking);
  process.exitCode = 2;
} else {
  try {
    command();
  } catch (error) {
    console.error(error.message);
    totals.failed += 1;
  }
  if (command !== build) console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
  process.exitCode = totals.failed > 0 ? 1 : 0;
}
