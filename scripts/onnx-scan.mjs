// How long it takes to scan an ONNX model, against reading a twentieth of its bytes:
//   node scripts/onnx-scan.mjs [MODEL ...]       without one: 358 MB and 4.5 GB, sparse, made for the occasion
// Each line: the file, the reader alone, the whole check with its findings, the reading of 5 % of the file, and the ratio of
// the reader to that. Medians of seven runs in this process, the file in the system's cache.
import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const require = createRequire(import.meta.url);
require('tsx/cjs');
const { checkModel, readModel } = require('../src/core/onnx/index.ts');
const { openFileBytes } = require('../src/project/byte-source.ts');
const { writeLargeModel } = require('../test/core/onnx/large-file.ts');

const RUNS = 7;

function median(work) {
  const times = Array.from({ length: RUNS }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[RUNS >> 1];
}

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

const folder = mkdtempSync(join(tmpdir(), 'ikbo-scan-'));
try {
  let models = process.argv.slice(2);
  if (models.length === 0) {
    models = [901, 3200].map((side) => join(folder, `${side}.onnx`));
    models.forEach((path, i) => writeLargeModel(path, [901, 3200][i]));
  }
  for (const path of models) {
    const { size } = statSync(path);
    let read = 0;
    const count = (source) => ({
      size: source.size,
      read: (at, length) => ((read += length), source.read(at, length)),
    });
    withBytes(path, (source) => readModel(count(source)));
    const reader = median(() => withBytes(path, readModel));
    const check = median(() => withBytes(path, (source) => checkModel('m', source)));
    const part = median(() => readPart(path, Math.floor(size / 20)));
    const ms = (value) => `${value.toFixed(1)} ms`;
    console.log(
      `${basename(path)}, ${(size / 1e6).toFixed(0)} MB: reader ${ms(reader)} (${(read / 1e6).toFixed(1)} MB read), ` +
        `check ${ms(check)}, 5 % of the file read in ${ms(part)}; reader / 5 % = ${(reader / part).toFixed(2)}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
