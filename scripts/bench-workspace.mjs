// node scripts/bench-workspace.mjs TREE [--files N]
// What a user feels while the server gets to know a large project: the N largest of its files that mention torch (50) are opened
// one after another, half a second apart as a user who leafs through them does, each of which makes the server look into what
// that file imports. Meanwhile a hover is asked for every 25 ms in a small file that was open before. Printed are the times to
// the answers, the times to first diagnostics, and the most memory that the server took (Linux only).
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { register } from 'tsx/cjs/api';

register();
const require = createRequire(import.meta.url);
const { startClient } = require('../test/protocol/client.ts');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { files: { type: 'string', default: '50' } },
});
const [given] = positionals;
if (given === undefined || !existsSync(given)) {
  console.error('usage: node scripts/bench-workspace.mjs TREE [--files N]');
  process.exit(2);
}
const tree = resolve(given);
const EVERY = 25;
const PAUSE = 500;
const SMALL = `import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, user, cand, n):
        u = user.repeat_interleave(n, dim=0)
        return self.fc(torch.cat([u, cand], dim=-1))
`;

const wait = (ms) => new Promise((turn) => setTimeout(turn, ms));
const quantile = (list, q) => list.toSorted((a, b) => a - b)[Math.floor(q * (list.length - 1))] ?? NaN;
const times = (list) =>
  [0.5, 0.95, 1].map((q) => `${q === 1 ? 'most' : `p${q * 100}`} ${quantile(list, q).toFixed(0)} ms`).join(', ');

const all = readdirSync(tree, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.py'))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
const opened = all
  .filter(({ text }) => text.includes('torch'))
  .toSorted((a, b) => b.text.length - a.text.length)
  .slice(0, Number(values.files));

const client = await startClient({ root: tree });
const small = pathToFileURL(join(tree, 'ikbo_bench_workspace.py')).href;
client.open(small, SMALL);
await client.diagnostics(small);

const answers = [];
let over = false;
const asking = (async () => {
  while (!over) {
    const began = performance.now();
    await client.hover(small, { line: 10, character: 12 });
    const took = performance.now() - began;
    answers.push(took);
    await wait(Math.max(0, EVERY - took));
  }
})();
const diagnostics = [];
for (const { path, text } of opened) {
  const uri = pathToFileURL(path).href;
  const began = performance.now();
  client.open(uri, text);
  await client.diagnostics(uri);
  diagnostics.push(performance.now() - began);
  await wait(PAUSE);
}
over = true;
await asking;
const status = `/proc/${client.process.pid}/status`;
const peak = existsSync(status) ? /VmHWM:\s*(\d+) kB/.exec(readFileSync(status, 'utf8'))?.[1] : undefined;
await client.stop();

const lines = all.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0);
console.log(`${all.length} files, ${lines} lines; the ${opened.length} largest that mention torch opened, ${answers.length} hovers meanwhile`); // prettier-ignore
console.log(`hover: ${times(answers)}`);
console.log(`open to first diagnostics: ${times(diagnostics)}`);
if (peak) console.log(`memory of the server at most: ${(Number(peak) / 1024).toFixed(0)} MiB`);
