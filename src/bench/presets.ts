/** Shapes worth measuring without a finding: sizes that finish in seconds on a CPU, the published shape, two sweeps. */
import type { BenchRequest, Dims, Dtype, Grouping, Op } from '../protocol/bench';

export interface Preset {
  /** As on the command line: `--preset cpu-concat-linear`. */
  readonly name: string;
  readonly title: string;
  readonly detail: string;
  readonly request: Pick<BenchRequest, 'op' | 'dims' | 'dtype' | 'grouping'>;
}

function preset(
  name: string,
  title: string,
  detail: string,
  op: Op,
  dims: Dims,
  dtype: Dtype = 'bf16',
  grouping: Grouping = 'uniform',
): Preset {
  return { name, title, detail, request: { op, dims, dtype, grouping } };
}

/** The shape of the published linear compression numbers: 70 candidates per user, K not a multiple of 8. */
const PUBLISHED: Dims = { B: 1024, U: 15, Ku: 1178, Kc: 866, M: 433, N: 256 };

const usersAt = (batch: number, ratio: number): number => Math.max(1, Math.ceil(batch / ratio));

export const presets: readonly Preset[] = [
  preset(
    'cpu-concat-linear',
    'Ranker, first layer (CPU size)',
    '2,048 candidates of 32 users; seconds on a CPU',
    'concat-linear',
    { B: 2048, U: 32, Ku: 512, Kc: 128, M: 256 },
    'fp32',
  ),
  preset(
    'cpu-linear-compression',
    'Linear compression (CPU size)',
    '64 candidates of 4 users; seconds on a CPU',
    'linear-compression',
    { B: 64, U: 4, Ku: 160, Kc: 96, M: 64, N: 64 },
    'fp32',
  ),
  preset(
    'cpu-attention',
    'Target attention (CPU size)',
    '64 candidates of 4 users over 256 events; seconds on a CPU',
    'attention',
    { B: 64, U: 4, Q: 8, S: 256, H: 2, Hkv: 2, D: 64 },
    'fp32',
  ),
  preset(
    'published',
    'Linear compression, published shape',
    'B 1024, 70 candidates per user, M 433, N 256, Ku 1178, Kc 866',
    'linear-compression',
    PUBLISHED,
  ),
  preset(
    'published-uneven',
    'Linear compression, uneven groups',
    'the published shape with 1 to many candidates per user in random order',
    'linear-compression',
    PUBLISHED,
    'bf16',
    'unsorted',
  ),
  preset('concat-linear', 'Ranker, first layer', '65,536 candidates of 960 users', 'concat-linear', {
    B: 65536,
    U: 960,
    Ku: 512,
    Kc: 512,
    M: 512,
  }),
  preset('attention', 'Target attention', '2,048 candidates of 32 users, 64 seeds, 2,048 events', 'attention', {
    B: 2048,
    U: 32,
    Q: 64,
    S: 2048,
    H: 2,
    Hkv: 2,
    D: 128,
  }),
  preset(
    'attention-uneven',
    'Target attention, uneven groups',
    '2,048 candidates of 36 users, 64 seeds, 2,048 events',
    'attention',
    { B: 2048, U: 36, Q: 64, S: 2048, H: 2, Hkv: 2, D: 128 },
    'bf16',
    'uneven',
  ),
  ...[256, 512, 1024, 2048, 3072, 4096].map((B) =>
    preset(`batch-${B}`, `Batch sweep: ${B}`, 'the published shape at another batch', 'linear-compression', {
      ...PUBLISHED,
      B,
      U: usersAt(B, 70),
    }),
  ),
  ...[2, 10, 100, 1000, 10000].map((ratio) =>
    preset(
      `ratio-${ratio}`,
      `Ratio sweep: ${ratio}`,
      `the published shape with ${ratio} candidates per user`,
      'linear-compression',
      { ...PUBLISHED, U: usersAt(1024, ratio) },
    ),
  ),
];
