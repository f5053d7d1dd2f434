// Times what a user feels: from an edit to fresh diagnostics in a 2,000-line file, in the built server over stdio, and the
// extension's own activation in a real editor where there is one.
//   node scripts/bench-server.mjs [EDITS]
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { register } from 'tsx/cjs/api';

register();
const require = createRequire(import.meta.url);
const { startClient } = require('../test/protocol/client.ts');
const { missingTools, startEditor } = require('../test/e2e/editor.ts');
const { until } = require('../test/e2e/reach.ts');
const root = new URL('..', import.meta.url).pathname;
const edits = Number(process.argv[2] ?? 100);
const LINES = 2000;

/** Rankers of about 25 lines, every second one with a copy before its Linear. */
function source() {
  const parts = ['import torch', 'from torch import nn', '', '# ikbo: B=1024', ''];
  for (let i = 0; parts.length < LINES; i++) {
    const user = i % 2 === 0 ? 'user.repeat(cand.shape[0], 1)' : 'self.user_tower(cand)';
    parts.push(
      '',
      `class Ranker${i}(nn.Module):`,
      '    def __init__(self):',
      '        super().__init__()',
      '        self.user_tower = nn.Sequential(nn.Linear(256, 512), nn.ReLU())',
      '        self.cand_tower = nn.Sequential(nn.Linear(256, 256), nn.ReLU())',
      '        self.fc = nn.Linear(512 + 256, 64)',
      '        self.out = nn.Linear(64, 1)',
      '',
      '    def score(self, x):',
      '        scores = []',
      '        for step in range(3):',
      '            x = x + step',
      '            if x.shape[0] > 4:',
      '                scores.append(x.sum(dim=-1))',
      '        return torch.stack(scores, dim=-1).mean(dim=-1)',
      '',
      '    def forward(self, user, cand):',
      '        # user: [1, 512], cand: [B, 256]',
      `        u = ${user}`,
      '        c = self.cand_tower(cand)',
      '        x = torch.cat([u, c], dim=1)',
      '        h = torch.relu(self.fc(x))',
      '        return self.out(h)',
      '',
    );
  }
  return parts.slice(0, LINES).join('\n');
}

const sorted = (values) => values.toSorted((a, b) => a - b);
const quantile = (values, q) => sorted(values)[Math.floor(q * (values.length - 1))];
const report = (name, values) =>
  console.log(`${name}: median ${quantile(values, 0.5).toFixed(1)} ms, p90 ${quantile(values, 0.9).toFixed(1)} ms`);

const uri = 'untitled:bench.py';
const client = await startClient();
const text = source();
const opened = performance.now();
client.open(uri, text);
const findings = (await client.diagnostics(uri)).length;
console.log(
  `${LINES} lines, ${findings} findings; first diagnostics after ${(performance.now() - opened).toFixed(0)} ms`,
);
const lines = text.split('\n').flatMap((line, index) => (line.includes('u = ') ? [index] : []));
const times = [];
for (let i = 0; i < edits; i++) {
  // A name typed, and taken back by the next edit.
  const line = lines[((i >> 1) * 7919) % lines.length];
  const typed = 'v = ';
  const start = { line, character: 8 };
  const end = i % 2 === 0 ? start : { line, character: 8 + typed.length };
  const began = performance.now();
  client.change(uri, { range: { start, end }, text: i % 2 === 0 ? typed : '' });
  await client.diagnostics(uri);
  times.push(performance.now() - began);
  await new Promise((turn) => setTimeout(turn, 20));
}
await client.stop();
report(`edit to fresh diagnostics (${edits} edits, the wait for quiet included)`, times);

const vsix = join(root, 'build/ikbo-lens.vsix');
const missing = missingTools() ?? (existsSync(vsix) ? null : 'no build/ikbo-lens.vsix: run node scripts/package.mjs');
if (missing) console.log(`activation: not measured, ${missing}`);
else {
  const editor = await startEditor(vsix);
  try {
    await editor.openFile('dlrm_ranker.py');
    const time = () => /activated in ([\d.]+) ms/.exec(editor.log())?.[1];
    await until('the log has the activation time', time);
    console.log(`activation: ${time()} ms of the extension's own work`);
  } finally {
    await editor.close();
  }
}
