// node scripts/bench-check.mjs TREE [ROUNDS]
// Prints, for the Python files below TREE that mention torch, the time of the bare parse and of the full check, taken in
// turn in one process, and their ratio. Medians over ROUNDS (default 5) after one round that is not counted.
import { createRequire } from 'node:module';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePackages, root } from './packages.mjs';

ensurePackages();
const require = createRequire(import.meta.url);
require('tsx/cjs');
const { createEngine } = require('../src/core/create-engine.ts');
const { fileSource } = require('../src/project/file-source.ts');
const { readGrammars } = require('../src/project/grammars.ts');

const [tree, rounds = '5'] = process.argv.slice(2);
if (!tree) {
  console.error('usage: node scripts/bench-check.mjs TREE [ROUNDS]');
  process.exit(2);
}
const files = readdirSync(tree, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.py'))
  .map((entry) => ({
    path: join(entry.parentPath, entry.name).slice(tree.length).replace(/^\//, ''),
    text: readFileSync(join(entry.parentPath, entry.name), 'utf8'),
  }))
  .filter(({ text }) => text.includes('torch'));
const bytes = files.reduce((sum, { text }) => sum + text.length, 0);
const engine = await createEngine(readGrammars(join(root, 'dist')));

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const time = (work) => {
  const started = performance.now();
  work();
  return performance.now() - started;
};
const parse = [];
const check = [];
const together = [];
let findings = 0;
for (let round = 0; round <= Number(rounds); round += 1) {
  const a = time(() => files.forEach(({ text }) => engine.parse(text)));
  findings = 0;
  const b = time(() => files.forEach(({ path, text }) => (findings += engine.check(path, text).findings.length)));
  const source = fileSource(tree);
  const c = time(() => files.forEach(({ path, text }) => engine.check(path, text, { files: source })));
  if (round === 0) continue;
  parse.push(a);
  check.push(b);
  together.push(c);
}
const [p, c, t] = [parse, check, together].map(median);
console.log(`${files.length} files, ${(bytes / 1e6).toFixed(2)} MB, ${findings} findings`);
console.log(`bare parse             ${p.toFixed(0)} ms  ${(bytes / 1e3 / p).toFixed(2)} MB/s`);
console.log(`check, file by file    ${c.toFixed(0)} ms  ${(c / p).toFixed(2)} times the parse`);
console.log(`check, across files    ${t.toFixed(0)} ms  ${(t / p).toFixed(2)} times the parse`);
