/**
 * Loads a bundle with the code that V8 compiled of it in an earlier run, which the user's cache folder keeps: compiling takes a
 * check more time than reading its files. Functions are compiled when they are first called, so the code is taken at the end of a
 * run. Node's own compile cache, which 20 lacks, takes it before the first call, and would leave most of it out.
 */
import { hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';
import { writeWhole } from '../project/cache-folder';

export interface Loaded {
  readonly exports: unknown;
  /**
   * Keeps what is compiled by now, of a run that did so much work; for that of a run with half of it, or less, which has compiled
   * less. Call it at the end: what has not run for a while is thrown away. Does nothing where that cannot be written.
   */
  keep(work: number): void;
}

/** By then all has run that ever will. */
const ENOUGH = 256;

const FORMAT = 'ikbo-code/1';

interface Kept {
  readonly code: Uint8Array;
  readonly work: number;
}

/**
 * Runs a CommonJS bundle, with the `require` of a file beside it. A broken, foreign or missing file in `folder`, or one of another
 * version, costs the time to compile and no more. Null for a folder keeps nothing.
 */
export function loadKept(path: string, require: NodeJS.Require, folder: string | null): Loaded {
  // Node reads source maps only of what it loads itself.
  if (folder === null || process.sourceMapsEnabled) return { exports: require(path), keep: () => undefined };
  const source = readFileSync(path);
  // V8 compares no more of a source than its length. The tag is of its own version, flags and processor.
  const key = [hash('sha1', source), cachedDataVersionTag(), process.version, process.platform, process.arch].join(' ');
  const file = join(folder, `${hash('sha1', `${path}\0${key}`)}.code`);
  const kept = read(file, key);
  // As Node wraps it, on the first line: lines and columns are those of the file.
  const head = '(function (exports, require, module, __filename, __dirname) { ';
  const script = new Script(`${head}${source.toString()}\n})`, {
    filename: path,
    columnOffset: -head.length,
    ...(kept && { cachedData: kept.code }),
  });
  const module = { exports: {} };
  const run = script.runInThisContext() as (...given: readonly unknown[]) => void;
  run.call(module.exports, module.exports, require, module, path, dirname(path));
  const known = kept && script.cachedDataRejected !== true ? kept.work : 0;
  return {
    exports: module.exports,
    keep(work) {
      if (Math.min(work, ENOUGH) <= 2 * known) return;
      try {
        const code = script.createCachedData();
        writeWhole(file, Buffer.concat([Buffer.from(header(key, code, work)), code]), 0o600);
      } catch {
        return; // A run that keeps nothing is only slower.
      }
    },
  };
}

const header = (key: string, code: Uint8Array, work: number): string =>
  `${FORMAT} ${key} ${hash('sha1', code)} ${work}\n`;

/** V8 trusts what it is given: nothing but a whole file that nobody else can have written gets there. */
function read(file: string, key: string): Kept | null {
  let at: number | undefined;
  try {
    at = openSync(file, 'r');
    const { uid, mode } = fstatSync(at);
    if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) return null;
    const all = readFileSync(at);
    const end = all.indexOf(10);
    const code = all.subarray(end + 1);
    const first = all.toString('latin1', 0, end + 1);
    const work = Number(first.slice(first.lastIndexOf(' ')));
    return first === header(key, code, work) ? { code, work } : null;
  } catch {
    return null; // Not there yet, or not readable.
  } finally {
    if (at !== undefined) closeSync(at);
  }
}
