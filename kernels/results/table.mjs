// Prints README's table from the recordings beside it: `node kernels/results/table.mjs`. Flushing loop, bf16; the last column is that of
// the sustained one.
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

const NO_FORMS = ['torch-ikbo-lens', 'torch-candidate-alone', 'torch-candidate-fastest'];

/** Medians of one regime, and the fastest form of PyTorch in it. */
function timesOf(arms, wanted) {
  const timed = arms.filter(({ regime, timing }) => regime === wanted && timing);
  const median = (id) => timed.find((arm) => arm.id === id)?.timing.median;
  const forms = timed.filter(({ id }) => id.startsWith('torch-') && !NO_FORMS.includes(id));
  const best = forms.sort((a, b) => a.timing.median - b.timing.median)[0];
  const against = Math.min(best.timing.median, median('upstream-triton') ?? Infinity) / median('ikbo-ws');
  return { median, best, against };
}

function cells([title, name]) {
  const { arms } = JSON.parse(readFileSync(new URL(`h200-${name}.json`, import.meta.url), 'utf8'));
  const { median, best, against } = timesOf(arms, 'flush');
  const milliseconds = (time) => (time === undefined ? '' : time.toFixed(time < 1 ? 3 : 2));
  return [
    title,
    milliseconds(median('torch-as-written')),
    `${milliseconds(best.timing.median)} (${best.id.replace('torch-', '')})`,
    milliseconds(median('upstream-triton')),
    milliseconds(median('ikbo-ws')),
    `${against.toFixed(2)}x`,
    `${timesOf(arms, 'sustained').against.toFixed(2)}x`,
  ];
}

const head = ['', 'PyTorch as written', 'best PyTorch form', 'published Triton kernel', 'IKBO Lens', 'against the faster', 'the same, sustained'];
for (const row of [head, ['---', '--:', '--:', '--:', '--:', '--:', '--:'], ...ROWS.map(cells)])
  console.log(`| ${row.join(' | ')} |`);
