// What the kernels must reach, checked on the recordings beside it: node kernels/results/gates.mjs [FOLDER]. Prints every gate with
// its value in each regime; the flushing loop decides. Exit code 1 when one is missed. Ratios are within one recording, but for
// uneven groups against equal ones, which are two recordings of one card.
import { existsSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL('.', import.meta.url);
const REGIMES = ['flush', 'burst', 'sustained'];
const OURS = 'ikbo-ws';
const recordings = new Map();

function recorded(name) {
  const file = new URL(`h200-${name}.json`, folder);
  if (!recordings.has(name)) recordings.set(name, existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null);
  return recordings.get(name);
}

const armsOf = (name, regime) => (recorded(name)?.arms ?? []).filter((arm) => arm.regime === regime && arm.timing);
const timeOf = (name, id, regime) => armsOf(name, regime).find((arm) => arm.id === id)?.timing.median;
const teraflops = (name, id, regime) => (armsOf(name, regime).find((arm) => arm.id === id)?.gflops ?? NaN) / 1000;

/** Times of `of` over those of `id`. */
const times = (name, of, id) => (regime) => timeOf(name, of, regime) / timeOf(name, id, regime);
/** The fastest arm of PyTorch that a program could run. */
function bestOfTorch(name) {
  const rivals = (regime) => armsOf(name, regime).filter(({ id }) => id.startsWith('torch-') && !['torch-candidate-alone', 'torch-ikbo-lens'].includes(id));
  return (regime) => Math.min(...rivals(regime).map(({ timing }) => timing.median)) / timeOf(name, OURS, regime);
}

const gates = [];
const atMost = (limit, what, value) => gates.push({ what, limit: `<= ${limit}`, value, met: (x) => x <= limit });
const atLeast = (limit, what, value) => gates.push({ what, limit: `>= ${limit}`, value, met: (x) => x >= limit });

for (const type of ['bf16', 'fp16']) {
  const lce = `linear-compression-${type}`;
  atMost(1.05, `${lce}: time over the candidates' product alone (cuBLAS)`, times(lce, OURS, 'torch-candidate-alone'));
  atLeast(1, `${lce}: torch.compile decomposed, K padded, over it`, times(lce, 'torch-compile-padded', OURS));
  atLeast(1, `${lce}: published Triton kernel over it`, times(lce, 'upstream-triton', OURS));
  atLeast(1, `${lce}: product on ready copies over it`, times(lce, 'broadcast-excluded', OURS));
  atLeast(1, `${lce}: PyTorch as written over it`, times(lce, 'torch-as-written', OURS));
  atLeast(250, `${lce}: portable product (sm_80), TFLOP/s`, (regime) => teraflops(lce, 'ikbo', regime));
  for (const shape of [1, 2, 3]) {
    const name = `concat-linear-${shape}-${type}`;
    atMost(1.25, `${name}: time over the candidates' product alone (cuBLAS)`, times(name, OURS, 'torch-candidate-alone'));
    atLeast(1, `${name}: PyTorch as written over it`, times(name, 'torch-as-written', OURS));
    atLeast(1, `${name}: best PyTorch form over it`, bestOfTorch(name));
  }
  for (const keys of [1024, 2048, 4096, 8192]) {
    const name = `attention-s${keys}-${type}`;
    atLeast(600, `${name}: TFLOP/s`, (regime) => teraflops(name, OURS, regime));
    atLeast(1, `${name}: folded cuDNN over it`, times(name, 'torch-folded-cudnn', OURS));
    atLeast(1.3, `${name}: published Triton kernel over it`, times(name, 'upstream-triton', OURS));
  }
  const [uneven, even] = [`attention-uneven-unsorted-${type}`, `attention-s2048-${type}`];
  atLeast(0.9, `${uneven}: TFLOP/s over those of equal groups`, (regime) => teraflops(uneven, OURS, regime) / teraflops(even, OURS, regime));
  atLeast(1, `${uneven}: varlen_attn over it`, times(uneven, 'torch-varlen', OURS));
  atLeast(1, `${uneven}: published Triton kernel over it`, times(uneven, 'upstream-triton', OURS));
}

const sweeps = [256, 512, 1024, 2048, 3072, 4096].map((batch) => `batch-${batch}`).concat([2, 10, 100, 1000, 10000].map((ratio) => `ratio-${ratio}`));
for (const name of sweeps.map((each) => `linear-compression-${each}`)) {
  atLeast(1, `${name}: decomposed (stage 1) over it`, times(name, 'decomposed', OURS));
  // No cliff: nowhere less than four fifths of the best rate of the sweep.
  const best = (regime) => Math.max(...sweeps.map((each) => teraflops(`linear-compression-${each}`, OURS, regime)));
  atLeast(0.8, `${name}: TFLOP/s over the best of the sweeps`, (regime) => teraflops(name, OURS, regime) / best(regime));
}

let missed = 0;
const shown = (x) => (Number.isFinite(x) ? (x < 100 ? x.toFixed(3) : x.toFixed(0)) : '-').padStart(8);
console.log(`${'gate'.padEnd(86)} ${'limit'.padStart(8)} ${REGIMES.map((regime) => regime.padStart(9)).join('')}`);
for (const { what, limit, value, met } of gates) {
  const measured = REGIMES.map(value);
  const ok = met(measured[0]);
  if (!ok) missed += 1;
  console.log(`${what.padEnd(86)} ${limit.padStart(8)} ${measured.map((x) => ` ${shown(x)}`).join('')}  ${ok ? 'ok' : Number.isFinite(measured[0]) ? 'MISSED' : 'NOT RECORDED'}`);
}
const runs = [...recordings.values()].filter(Boolean).map(({ environment }) => environment);
const cards = new Set(runs.map(({ device, date }) => `${device.name}, ${date.slice(0, 10)}`));
console.log(`${gates.length} gates, ${missed} missed. ${[...cards].join('; ')}.`);
process.exitCode = missed > 0 ? 1 : 0;
