// How long it takes to scan an ONNX model, against reading a twentieth of its bytes:
//   node scripts/onnx-scan.mjs [MODEL ...]       without one: 358 MB and 4.5 GB of weights, made for the occasion
// The file is in the system's cache (warm), then out of it (cold, with dd of coreutils: Linux). Scans and readings take turns;
// medians of fifteen rounds with the smallest and largest; on a busy machine the smallest say more. The first scan of a process, which still compiles the reader, is
// named apart, and so is the whole check. Reading is sequential, a megabyte at a time.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const require = createRequire(import.meta.url);
require('tsx/cjs');
const { checkModel, readModel } = require('../src/core/onnx/index.ts');
const { openFileBytes } = require('../src/project/byte-source.ts');
const { writeLargeModel } = require('../test/core/onnx/large-file.ts');

const ROUNDS = 15;
/** Scans after which the reader is compiled, as in an editor that stays open. */
const WARM_UP = 30;

function timed(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}

const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];
const ms = (times) =>
  `${median(times).toFixed(1)} ms (${Math.min(...times).toFixed(1)} to ${Math.max(...times).toFixed(1)})`;

function withBytes(path, work) {
  const source = openFileBytes(path);
  try {
    return work(source);
  } finally {
    source.close();
  }
}

function readPart(path, count) {
  const file = openSync(path, 'r');
  const buffer = Buffer.allocUnsafe(1 << 20);
  for (let at = 0; at < count; at += buffer.length) readSync(file, buffer, 0, Math.min(buffer.length, count - at), at);
  closeSync(file);
}

/** False where the file cannot be put out of the system's cache. */
function drop(path) {
  try {
    execFileSync('dd', [`of=${path}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Turn by turn, so that a busy moment hits both. */
function compare(name, path, before) {
  const [scans, parts] = [[], []];
  const count = Math.floor(statSync(path).size / 20);
  for (let round = 0; round < ROUNDS; round++) {
    if (!before()) return console.log(`  ${name}: not measured, the file cannot be put out of the cache here`);
    scans.push(timed(() => withBytes(path, readModel)));
    before();
    parts.push(timed(() => readPart(path, count)));
  }
  const ratio = (of) => (of(scans) / of(parts)).toFixed(2);
  const ratios = `scan / 5 % = ${ratio(median)}, of the smallest ${ratio((times) => Math.min(...times))}`;
  console.log(`  ${name}: scan ${ms(scans)}, 5 % of the file read in ${ms(parts)}; ${ratios}`);
}

const folder = mkdtempSync(join(tmpdir(), 'ikbo-scan-'));
try {
  let models = process.argv.slice(2);
  if (models.length === 0) {
    models = [901, 3200].map((side) => join(folder, `${side}.onnx`));
    // Real bytes, so that reading them when cold means reading them from the disk.
    models.forEach((path, i) => writeLargeModel(path, [901, 3200][i], true));
  }
  for (const path of models) {
    let read = 0;
    const count = (source) => ({ ...source, read: (at, length) => ((read += length), source.read(at, length)) });
    const first = timed(() => withBytes(path, (source) => readModel(count(source))));
    const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
    console.log(`${basename(path)}, ${megabytes(statSync(path).size)} MB, of which a scan reads ${megabytes(read)}`);
    console.log(`  first scan of this process: ${first.toFixed(1)} ms`);
    for (let i = 0; i < WARM_UP; i++) withBytes(path, readModel);
    compare('warm', path, () => true);
    compare('cold', path, () => drop(path));
    const checks = Array.from({ length: ROUNDS }, () =>
      timed(() => withBytes(path, (source) => checkModel('m', source))),
    );
    console.log(`  whole check, warm: ${ms(checks)}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
