// node scripts/bench-check.mjs TREE [--rounds N] [--torchfix COMMAND]
// Ratios of one run, since times alone mean little on a busy machine. Everything is taken in turn.
//   in one process   per file that mentions torch: the bare parse, the check of the file alone, the check across files, cold in each
//                    round; summed over files are the least and the median of the rounds
//   the command      without kept results on one core, on one thread and on two, and with them (needs dist/: node
//                    scripts/build.mjs). One thread takes more than one core: the machine collects garbage and compiles beside it.
//                    All as from the second run on, when the command has its own compiled code; and on one core as the first run of all,
//                    which has none and keeps it
//   TorchFix         the PyTorch linter, where its command is named; else its recorded run on FuxiCTR, if TREE is that
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ensurePackages, root } from './packages.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' }, torchfix: { type: 'string' } },
});
if (positionals.length !== 1) {
  console.error('usage: node scripts/bench-check.mjs TREE [--rounds N] [--torchfix COMMAND]');
  process.exit(2);
}
const tree = resolve(positionals[0]);
if (!existsSync(tree)) {
  console.error(`${tree}: no such folder`);
  process.exit(2);
}
const rounds = Number(values.rounds);

ensurePackages();
const require = createRequire(import.meta.url);
require('tsx/cjs');
const { createEngine } = require('../src/core/create-engine.ts');
const { fileSource } = require('../src/project/file-source.ts');
const { readGrammars } = require('../src/project/grammars.ts');

const all = readdirSync(tree, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.py'))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((path) => ({ path: path.slice(tree.length + 1), text: readFileSync(path, 'utf8') }));
const files = all.filter(({ text }) => text.includes('torch'));
const lines = all.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0);
const bytes = files.reduce((sum, { text }) => sum + text.length, 0);

const least = (list) => Math.min(...list);
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const time = (work) => {
  const started = performance.now();
  work();
  return performance.now() - started;
};
const series = new Map();
const add = (name, value) => series.set(name, [...(series.get(name) ?? []), value]);
/** Runs of the command differ by what else the machine does: the least is nearest to what it takes. */
const of = (name) => least(series.get(name) ?? [NaN]);
/** Times per file, by name and index. */
const perFile = new Map();
const addTo = (name, at, value) => {
  const lists = perFile.get(name) ?? files.map(() => []);
  lists[at].push(value);
  perFile.set(name, lists);
};
const sumOf = (name, pick) => perFile.get(name).reduce((sum, list) => sum + pick(list), 0);

const isOnOneCore = (name) => name === 'core' || name === 'first';
/** The first processor that this process may use; Linux alone tells. */
const ON_ONE_CORE = ['taskset', '-c', /(?<=Cpus_allowed_list:\s*)\d+/.exec(existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '')?.[0] ?? '']; // prettier-ignore
const TIMED = 'TIMEFORMAT="%U %S"; time node "$@"';
/** Where the command keeps its compiled code, for nobody but this script. */
const codeFolder = mkdtempSync(join(tmpdir(), 'ikbo-bench-code-'));
const CODE = Object.fromEntries(['HOME', 'XDG_CACHE_HOME', 'LOCALAPPDATA'].map((name) => [name, codeFolder]));
const withoutCode = () => rmSync(codeFolder, { recursive: true, force: true });
/** One run of the command: its wall time, its processor time, and what it says its check took, in milliseconds. */
function command(name, ...args) {
  const started = performance.now();
  const [program, ...words] = [...(isOnOneCore(name) ? ON_ONE_CORE : []), 'bash', '-c', TIMED, 'bash', join(root, 'dist/cli.js')]; // prettier-ignore
  const run = spawnSync(program, [...words, 'check', '--format', 'json', ...args], {
    cwd: tree,
    env: { ...process.env, ...CODE },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  add(`${name} wall`, performance.now() - started);
  if (run.status === 2 || !run.stdout) throw new Error(`ikbo check failed: ${run.stderr}`);
  add(`${name} check`, JSON.parse(run.stdout).stats.milliseconds);
  add(`${name} processor`, 1000 * run.stderr.trim().split('\n').pop().split(' ').reduce((sum, part) => sum + Number(part), 0)); // prettier-ignore
}

const grammars = readGrammars(join(root, 'dist'));
const cache = mkdtempSync(join(tmpdir(), 'ikbo-bench-'));
let findings = 0;
try {
  for (let round = 0; round <= rounds; round += 1) {
    // A new one each time: an engine keeps what it has parsed of imported files.
    const engine = await createEngine(grammars);
    const source = fileSource(tree);
    findings = 0;
    files.forEach(({ path, text }, at) => {
      addTo('parse', at, time(() => engine.parse(text))); // prettier-ignore
      addTo('alone', at, time(() => engine.check(path, text))); // prettier-ignore
      addTo('across', at, time(() => (findings += engine.check(path, text, { files: source }).findings.length))); // prettier-ignore
    });
    if (ON_ONE_CORE.at(-1) !== '') {
      withoutCode();
      command('first', '--no-cache', '--jobs', '1');
      command('core', '--no-cache', '--jobs', '1');
    }
    command('one', '--no-cache', '--jobs', '1');
    command('two', '--no-cache', '--jobs', '2');
    command('warm', '--cache-dir', cache, '--jobs', '1');
    // The first round warms this process and fills the cache.
    if (round === 0) [series, perFile].forEach((map) => map.clear());
  }
} finally {
  rmSync(cache, { recursive: true, force: true });
  withoutCode();
}

const ms = (value) => `${value.toFixed(0).padStart(6)} ms`;
const ratio = (value, what) => `${value.toFixed(2)} ${what}`;
const row = (name, value, ...notes) => console.log(`  ${name.padEnd(28)}${ms(value)}  ${notes.join(', ')}`);

console.log(`${all.length} files, ${lines} lines; ${files.length} mention torch, ${(bytes / 1e6).toFixed(2)} MB; ${findings} findings`); // prettier-ignore
for (const [title, pick] of [
  ['least', least],
  ['median', median],
]) {
  // prettier-ignore
  const [parse, alone, across] = ['parse', 'alone', 'across'].map((name) => sumOf(name, pick));
  console.log(`in one process, on one thread (${title} of ${rounds} per file)`);
  row('bare parse', parse, `${(bytes / 1e3 / parse).toFixed(2)} MB/s`);
  row('check, file by file', alone, ratio(alone / parse, 'times the parse'));
  row('check, across files', across, ratio(across / parse, 'times the parse'), ratio(across / alone, 'times file by file')); // prettier-ignore
}
console.log(`the command, its check alone (and with starting Node; least of ${rounds}); its own compiled code is kept from an earlier run, but for the first`); // prettier-ignore
const wall = (name) =>
  `${of(`${name} wall`).toFixed(0)} ms with starting, ${of(`${name} processor`).toFixed(0)} ms of processor time`;
row('one core, first run of all', of('first check'), wall('first'));
row('one core', of('core check'), wall('core'));
row('one thread', of('one check'), wall('one'));
row(
  'two threads',
  of('two check'),
  wall('two'),
  ratio(of('core check') / of('two check'), 'times faster than one core'),
  ratio(of('one check') / of('two check'), 'than one thread'),
);
row('kept results', of('warm check'), wall('warm'), ratio(of('one check') / of('warm check'), 'times faster than one thread'), ratio(of('one wall') / of('warm wall'), 'with starting')); // prettier-ignore

const faster = (seconds) =>
  `${((seconds * 1000) / of('two wall')).toFixed(0)} times what the command takes on two threads`;
if (values.torchfix) {
  const seconds = time(() => spawnSync(values.torchfix, [tree], { stdio: 'ignore' })) / 1000;
  console.log(`TorchFix, run here once: ${seconds.toFixed(1)} s, ${faster(seconds)}`);
} else if (all.length === 340 && lines === 27_256) {
  console.log(`TorchFix, not run here (name it with --torchfix); recorded for this tree on two cores: 26.9 s, ${faster(26.9)}; 51 s of processor time, ${(51_000 / of('two processor')).toFixed(0)} times the command's`); // prettier-ignore
} else console.log('TorchFix: not run (name it with --torchfix)');
