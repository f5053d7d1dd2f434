// Makes the recordings beside it anew, each by one `ikbo bench`: node kernels/results/record.mjs [--devices 0,1] [--python python3]
// [--out FOLDER] [--cli FILE] [NAME ...]. Several GPUs share the work; what is compared across recordings stays on one.
// The published Triton kernels take part where that Python can import them. Every recording makes the least number of rounds that the benchmark
// makes: an arm's turn of the flushing loop is 0.3 s of rest before its calls, so more would take hours.
import { spawn } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const LINEAR = ['as-written', 'decomposed', 'decomposed-padded', 'ikbo', 'ikbo-ws'];
const FIRST_LAYER = [
  ...LINEAR.filter((id) => id !== 'decomposed-padded'),
  ...['as-written', 'decomposed', 'compile-decomposed', 'candidate-alone', 'candidate-fastest', 'ikbo-lens'].map((id) => `torch-${id}`),
];
const ALONE = ['ikbo-ws', 'torch-candidate-alone', 'torch-candidate-fastest'];
const RIVALS = ['torch-as-written', 'torch-compile-padded', 'upstream-triton'];
const SWEEP = ['decomposed', 'ikbo', 'ikbo-ws', 'torch-decomposed-padded', 'torch-candidate-alone', 'torch-candidate-fastest'];
const ATTENTION = ['ikbo-ws', 'torch-folded-flash', 'torch-folded-cudnn', 'upstream-triton'];
const UNEVEN = ['lookup', 'ikbo-ws', 'torch-as-written', 'torch-varlen', 'upstream-triton'];
const FIRST_LAYERS = ['B=65536,U=960,Ku=512,Kc=512,M=512', 'B=262144,U=3750,Ku=1024,Kc=256,M=512', 'B=65536,U=64,Ku=4096,Kc=256,M=1024'];

const recording = (name, preset, arms, options = [], regime = 'all') => ({
  name,
  args: ['--preset', preset, '--seconds', '1', '--regime', regime, ...(arms ? ['--arms', arms.join(',')] : []), ...options],
});
const attention = (name, preset, arms, options) =>
  ['bf16', 'fp16'].map((type) => recording(`attention-${name}-${type}`, preset, arms, [...options, '--dtype', type]));
const sweep = (kind, values, type) =>
  values.map((value) => {
    const name = `linear-compression-${kind}-${value}${type === 'fp16' ? '-fp16' : ''}`;
    return recording(name, `${kind}-${value}`, type === 'fp16' ? SWEEP.filter((id) => id !== 'ikbo') : SWEEP, ['--dtype', type], 'flush');
  });

/** Recordings of one group are made one after the other on one device; the longest come first. */
const GROUPS = [
  [
    recording('attention-s2048-bf16', 'attention', null),
    ...attention('s2048', 'attention', ATTENTION, []).slice(1),
    ...attention('uneven-unsorted', 'attention-uneven', UNEVEN, ['--grouping', 'unsorted']),
  ],
  ...['bf16', 'fp16'].map((type) =>
    FIRST_LAYERS.map((shape, i) => recording(`concat-linear-${i + 1}-${type}`, 'concat-linear', FIRST_LAYER, ['--shape', shape, '--dtype', type])),
  ),
  [recording('linear-compression-bf16', 'published', null, ['--dtype', 'bf16'])],
  [recording('linear-compression-fp16', 'published', ['broadcast-excluded', 'ikbo', ...ALONE, ...RIVALS], ['--dtype', 'fp16'])],
  ...['bf16', 'fp16'].flatMap((type) => [sweep('batch', [256, 512, 1024, 2048, 3072, 4096], type), sweep('ratio', [2, 10, 100, 1000, 10000], type)]),
  ...[8192, 4096, 1024, 512].map((S) => attention(`s${S}`, 'attention', ATTENTION, ['--shape', `S=${S}`])),
  attention('d64', 'attention', ATTENTION, ['--shape', 'D=64']),
  attention('gqa', 'attention', ATTENTION.slice(0, 3), ['--shape', 'B=512,U=8,H=8,Hkv=2']),
  [recording('linear-compression-uneven-bf16', 'published-uneven', [...LINEAR, 'torch-decomposed-padded', 'torch-candidate-alone', 'torch-candidate-fastest'])],
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    devices: { type: 'string', default: '0' },
    python: { type: 'string', default: 'python3' },
    out: { type: 'string', default: fileURLToPath(new URL('.', import.meta.url)) },
    cli: { type: 'string', default: fileURLToPath(new URL('../../dist/cli.js', import.meta.url)) },
  },
});

const wanted = ({ name }) => positionals.length === 0 || positionals.includes(name);
const waiting = GROUPS.map((group) => group.filter(wanted)).filter((group) => group.length > 0);
const unknown = positionals.filter((name) => !GROUPS.flat().some((each) => each.name === name));
if (unknown.length > 0) throw new Error(`There is no recording ${unknown.join(', ')}; there are ${GROUPS.flat().map(({ name }) => name).join(', ')}.`);
mkdirSync(values.out, { recursive: true });
let failed = 0;

function record({ name, args }, device) {
  const start = Date.now();
  const child = spawn(process.execPath, [values.cli, 'bench', '--json', '--device', `cuda:${device}`, '--python', values.python, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const out = [];
  let last = '';
  child.stdout.on('data', (data) => out.push(data));
  child.stderr.on('data', (data) => (last = String(data).trim().split('\n').at(-1) ?? last));
  return new Promise((resolve) =>
    child.on('close', (code) => {
      const path = `${values.out}/h200-${name}.json`;
      if (code === 0) {
        writeFileSync(`${path}.new`, Buffer.concat(out));
        renameSync(`${path}.new`, path);
      } else failed += 1;
      console.log(`${name} on cuda:${device}: ${code === 0 ? 'recorded' : `failed (${code}): ${last}`}, ${Math.round((Date.now() - start) / 1000)} s`);
      resolve();
    }),
  );
}

async function work(device) {
  for (let group = waiting.shift(); group; group = waiting.shift()) for (const each of group) await record(each, device);
}

await Promise.all(values.devices.split(',').map(work));
process.exitCode = failed > 0 ? 1 : 0;
