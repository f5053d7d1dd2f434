// What the kernels must reach, checked on the recordings beside it: node kernels/results/gates.mjs [FOLDER]. Prints every gate with
// its value in each regime; the flushing loop decides. Exit code 1 when one is missed. Ratios are within one recording, but for
// uneven groups against equal ones, which are two recordings of one card. Goals beyond the gates follow, each with the value beyond it that
// would be better still; missing one is no failure.
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
/** The candidates' product as PyTorch runs it, and by the fastest algorithm of cuBLAS: what ours is held against is the faster of both. */
const ALONE = ['torch-candidate-alone', 'torch-candidate-fastest'];
const overAlone = (name) => {
  const ratios = (regime) => ALONE.map((id) => timeOf(name, OURS, regime) / timeOf(name, id, regime));
  const both = (regime) => {
    const [taken, fastest] = ratios(regime);
    return `by ${fastest >= taken ? "cuBLAS's fastest algorithm" : 'the algorithm that PyTorch takes'} (fastest ${fastest.toFixed(3)}, PyTorch's ${taken.toFixed(3)})`;
  };
  return Object.assign((regime) => Math.max(...ratios(regime)), { both });
};
/** The fastest arm of PyTorch that a program could run. */
function bestOfTorch(name) {
  const rivals = (regime) => armsOf(name, regime).filter(({ id }) => id.startsWith('torch-') && ![...ALONE, 'torch-ikbo-lens'].includes(id));
  return (regime) => Math.min(...rivals(regime).map(({ timing }) => timing.median)) / timeOf(name, OURS, regime);
}

const [gates, targets] = [[], []];
let list = gates;
const goal = (sign, limits, what, value, regime) => {
  const [limit, beyond = null] = [limits].flat();
  const meets = (x, y) => (sign === '<=' ? x <= y : x >= y);
  list.push({ what, sign, limit, beyond, value, regime, met: (x) => meets(x, limit), metBeyond: (x) => beyond !== null && meets(x, beyond) });
};
/** `limits`: what must be reached, or [that, what lies beyond it]. */
const atMost = (limits, what, value, regime = 'flush') => goal('<=', limits, what, value, regime);
const atLeast = (limits, what, value, regime = 'flush') => goal('>=', limits, what, value, regime);

for (const type of ['bf16', 'fp16']) {
  const lce = `linear-compression-${type}`;
  atMost(1.05, `${lce}: time over the candidates' product alone (cuBLAS)`, overAlone(lce));
  atLeast(1, `${lce}: torch.compile decomposed, K padded, over it`, times(lce, 'torch-compile-padded', OURS));
  atLeast(1, `${lce}: published Triton kernel over it`, times(lce, 'upstream-triton', OURS));
  atLeast(1, `${lce}: product on ready copies over it`, times(lce, 'broadcast-excluded', OURS));
  atLeast(1, `${lce}: PyTorch as written over it`, times(lce, 'torch-as-written', OURS));
  atLeast(250, `${lce}: portable product (sm_80), TFLOP/s`, (regime) => teraflops(lce, 'ikbo', regime));
  for (const shape of [1, 2, 3]) {
    const name = `concat-linear-${shape}-${type}`;
    atMost(1.25, `${name}: time over the candidates' product alone (cuBLAS)`, overAlone(name));
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

const SWEEPS = { batch: [256, 512, 1024, 2048, 3072, 4096], ratio: [2, 10, 100, 1000, 10000] };
for (const [kind, points] of Object.entries(SWEEPS))
  for (const suffix of ['', '-fp16']) {
    const names = points.map((point) => `linear-compression-${kind}-${point}${suffix}`);
    for (const name of names) {
      atLeast(1, `${name}: decomposed (stage 1) over it`, times(name, 'decomposed', OURS));
      // No cliff: nowhere less than four fifths of the best rate of its sweep.
      const best = (regime) => Math.max(...names.map((each) => teraflops(each, OURS, regime)).filter(Number.isFinite));
      atLeast(0.8, `${name}: TFLOP/s over the best of its sweep`, (regime) => teraflops(name, OURS, regime) / best(regime));
    }
  }

list = targets;
for (const type of ['bf16', 'fp16']) {
  const lce = `linear-compression-${type}`;
  atMost([0.98, 0.94], `${lce}: time over the candidates' product alone (cuBLAS)`, overAlone(lce));
  atMost([1.03, 1], `${lce}: the same, sustained`, overAlone(lce), 'sustained');
  atLeast([1.4, 1.5], `${lce}: torch.compile decomposed, K padded, over it`, times(lce, 'torch-compile-padded', OURS));
  atLeast([1.8, 2], `${lce}: published Triton kernel over it`, times(lce, 'upstream-triton', OURS));
  atLeast([8.5, 9], `${lce}: PyTorch as written over it`, times(lce, 'torch-as-written', OURS));
  for (const shape of [1, 2, 3]) {
    const name = `concat-linear-${shape}-${type}`;
    atMost([1.1, 1.04], `${name}: time over the candidates' product alone (cuBLAS)`, overAlone(name));
  }
  for (const [keys, ...rates] of [[512, 600, 640], [1024, 650, 690], [2048, 680, 715], [4096, 690, 725], [8192, 660, 700]]) {
    const name = `attention-s${keys}-${type}`;
    atLeast(rates, `${name}: TFLOP/s`, (regime) => teraflops(name, OURS, regime));
    atLeast([1.1, 1.17], `${name}: folded cuDNN over it`, times(name, 'torch-folded-cudnn', OURS));
    if (keys >= 4096) atLeast(650, `${name}: TFLOP/s, sustained`, (regime) => teraflops(name, OURS, regime), 'sustained');
  }
  const [uneven, even] = [`attention-uneven-unsorted-${type}`, `attention-s2048-${type}`];
  atLeast([0.95, 0.98], `${uneven}: TFLOP/s over those of equal groups`, (regime) => teraflops(uneven, OURS, regime) / teraflops(even, OURS, regime));
  const rivals = ['torch-varlen', 'upstream-triton'];
  atLeast(1.5, `${uneven}: the best of varlen_attn and Triton over it`, (regime) => Math.min(...rivals.map((id) => timeOf(uneven, id, regime))) / timeOf(uneven, OURS, regime));
  for (const name of [`attention-d64-${type}`, `attention-gqa-${type}`]) {
    const folded = (regime) => Math.min(timeOf(name, 'torch-folded-flash', regime) ?? Infinity, timeOf(name, 'torch-folded-cudnn', regime) ?? Infinity);
    atLeast([1, 1.1], `${name}: folded SDPA, the faster of both, over it`, (regime) => folded(regime) / timeOf(name, OURS, regime));
  }
}

const shown = (x) => (Number.isFinite(x) ? (x < 100 ? x.toFixed(3) : x.toFixed(1)) : '-').padStart(9);

/** Prints a list and returns how many are missed, and how many reach what lies beyond. */
function print(title, entries) {
  let [missed, beyonds] = [0, 0];
  console.log(`${title.padEnd(76)} ${'limit'.padStart(8)} ${REGIMES.map((regime) => regime.padStart(10)).join('')}`);
  for (const { what, sign, limit, beyond, value, regime, met, metBeyond } of entries) {
    const measured = REGIMES.map(value);
    const decisive = measured[REGIMES.indexOf(regime)];
    const word = met(decisive) ? 'ok' : Number.isFinite(decisive) ? 'MISSED' : 'NOT RECORDED';
    if (word !== 'ok') missed += 1;
    if (metBeyond(decisive)) beyonds += 1;
    const notes = [word, beyond !== null && word === 'ok' ? `${beyond}: ${metBeyond(decisive) ? 'ok' : 'no'}` : '', value.both && Number.isFinite(decisive) ? value.both(regime) : ''];
    console.log(`${what.padEnd(76)} ${`${sign} ${limit}`.padStart(8)} ${measured.map((x) => ` ${shown(x)}`).join('')}  ${notes.filter(Boolean).join(', ')}`);
  }
  return { missed, beyonds };
}

const { missed } = print('gate', gates);
console.log('');
const goals = print('goal', targets);
const runs = [...recordings.values()].filter(Boolean).map(({ environment }) => environment);
const cards = new Set(runs.map(({ device, date }) => `${device.name}, ${date.slice(0, 10)}`));
const further = targets.filter(({ beyond }) => beyond !== null).length;
console.log(
  `\n${gates.length} gates, ${missed} missed; ${targets.length} goals, ${goals.missed} missed; of ${further} values beyond goals ${goals.beyonds} reached. ${[...cards].join('; ')}.`,
);
process.exitCode = missed > 0 ? 1 : 0;
