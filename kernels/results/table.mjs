// Prints README's table from the recordings beside it: `node kernels/results/table.mjs`. Flushing loop, bf16.
import { readFileSync } from 'node:fs';

const ROWS = [
  ['Linear compression, 1,024 candidates, 70 a user', 'linear-compression-bf16'],
  ['First layer, 65,536 candidates of 960 users', 'concat-linear-1-bf16'],
  ['First layer, 262,144 of 3,750 users', 'concat-linear-2-bf16'],
  ['First layer, 65,536 of 64 users', 'concat-linear-3-bf16'],
  ['Attention, 2,048 candidates over 2,048 events', 'attention-s2048-bf16'],
  ['Attention, over 8,192 events', 'attention-s8192-bf16'],
  ['Attention, 2,048 events, uneven and unsorted', 'attention-uneven-unsorted-bf16'],
];

function cells([title, name]) {
  const { arms } = JSON.parse(readFileSync(new URL(`h200-${name}.json`, import.meta.url), 'utf8'));
  const timed = arms.filter(({ regime, timing }) => regime === 'flush' && timing);
  const median = (id) => timed.find((arm) => arm.id === id)?.timing.median;
  const milliseconds = (time) => (time === undefined ? '' : time.toFixed(time < 1 ? 3 : 2));
  const best = timed.filter(({ id }) => id.startsWith('torch-') && !['torch-ikbo-lens', 'torch-candidate-alone', 'torch-candidate-fastest'].includes(id)).sort((a, b) => a.timing.median - b.timing.median)[0];
  const ours = median('ikbo-ws');
  const rivals = [best.timing.median, median('upstream-triton') ?? Infinity];
  return [
    title,
    milliseconds(median('torch-as-written')),
    `${milliseconds(best.timing.median)} (${best.id.replace('torch-', '')})`,
    milliseconds(median('upstream-triton')),
    milliseconds(ours),
    `${(Math.min(...rivals) / ours).toFixed(2)}x`,
  ];
}

const head = ['', 'PyTorch as written', 'best PyTorch form', 'published Triton kernel', 'IKBO Lens', 'against the faster'];
for (const row of [head, ['---', '--:', '--:', '--:', '--:', '--:'], ...ROWS.map(cells)])
  console.log(`| ${row.join(' | ')} |`);
