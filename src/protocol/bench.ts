/**
 * The benchmark's vocabulary and its wire: JSON lines on the host's stdin and stdout. Shared by the command line, the
 * panel, the extension and the host. Unknown fields are ignored; `protocol` is checked at hello.
 */
export const BENCH_PROTOCOL = 1;

export type Op = 'concat-linear' | 'linear-compression' | 'attention';
export type Dtype = 'fp32' | 'fp16' | 'bf16';
export type Regime = 'burst' | 'flush' | 'sustained';

export interface RegimeText {
  readonly id: Regime;
  readonly title: string;
  /** A few words. */
  readonly what: string;
  /** A sentence, as it is measured on a GPU; a CPU is never at a limit of power. */
  readonly how: string;
}

/** A GPU at its limit of power answers each differently, by up to 20 %. */
export const REGIMES: readonly RegimeText[] = [
  {
    id: 'flush',
    title: 'Flush',
    what: 'the cache overwritten between calls: usual benchmark loops',
    how:
      'The cache is overwritten before every call. On a GPU each arm first rests for 0.3 s, makes 20 calls that do not count and ' +
      '100 that do (attention: 60): tens of milliseconds, as in usual benchmark loops.',
  },
  {
    id: 'burst',
    title: 'Burst',
    what: '20 calls after a rest: the highest clocks',
    how: 'Up to 20 calls back to back after a rest of 0.3 s: the clock is still at its highest.',
  },
  {
    id: 'sustained',
    title: 'Sustained',
    what: 'back to back: what the power limit allows',
    how:
      'Back to back without a rest; on a GPU the arms keep it at its limit of power, so what takes more energy is slower here than ' +
      'in the other regimes, by up to 20 %.',
  },
];

export const regimeText = (regime: Regime): RegimeText | undefined => REGIMES.find(({ id }) => id === regime);

/** How candidates map to users: equal groups, groups drawn unevenly, or a random unsorted index. */
export type Grouping = 'uniform' | 'uneven' | 'unsorted';

/**
 * Sizes by name. concat-linear: B rows, U users, Ku, Kc widths, M outputs. linear-compression: B, U, Ku, Kc, M, N.
 * attention: B candidates, U users, Q queries per candidate, S history length, H heads, Hkv key heads, D head width.
 */
export type Dims = Readonly<Record<string, number>>;

export interface BenchRequest {
  readonly op: Op;
  readonly dims: Dims;
  readonly dtype: Dtype;
  readonly grouping: Grouping;
  /** `cpu` or `cuda:N`. */
  readonly device: string;
  readonly regimes: readonly Regime[];
  /** Subset of arm ids, or null for all that the device has. */
  readonly arms: readonly string[] | null;
  /** Wall-clock budget of the measuring rounds, in seconds. */
  readonly seconds: number;
  readonly seed: number;
  /** The user's Python for torch arms, or null for none. */
  readonly python: string | null;
  /** Where the finding is one of an ONNX model: the whole model through onnxruntime, in the same rounds. */
  readonly model?: ModelRun | null;
}

/** A model as it is against itself with one finding rewritten. onnxruntime runs both on the CPU, whatever `device` is. */
export interface ModelRun {
  /** The model file. */
  readonly path: string;
  /** `IKB101:27`. */
  readonly finding: string;
  /** Sizes by the model's own symbols. */
  readonly sizes: Readonly<Record<string, number>>;
  /** Where onnxruntime-node is; null where it is not installed. */
  readonly runtime: string | null;
}

export const MODEL_AS_WRITTEN = 'model-as-written';
export const MODEL_REWRITTEN = 'model-rewritten';

/** Arms that run a whole model: their times are compared with each other alone. */
export const isModelArm = (id: string): boolean => id === MODEL_AS_WRITTEN || id === MODEL_REWRITTEN;

/** To the child that runs models, one line each; it answers each with one line, `{ error }` when it cannot. */
export type ModelQuestion =
  | { readonly type: 'load'; readonly model: ModelRun; readonly threads: number }
  | {
      readonly type: 'sample';
      readonly which: 'original' | 'rewritten';
      readonly calls: number;
      /** Bytes written before each call, so that it finds the caches empty; 0 for none. */
      readonly flushBytes: number;
      /** Milliseconds for which the sample is repeated; the last one counts. */
      readonly settle: number;
    };

export interface ModelLoaded {
  /** Of onnxruntime. */
  readonly version: string;
  /** All free sizes of the model's inputs. */
  readonly sizes: Readonly<Record<string, number>>;
  /** Why there is no rewritten model; null when there is one. */
  readonly refused: string | null;
  /** Of the rewritten model: the largest difference over all outputs, relative to the largest value of that output. */
  readonly error: number;
  readonly limit: number;
}

export interface DeviceInfo {
  /** `cpu` or `cuda:N`. */
  readonly id: string;
  readonly name: string;
  readonly kind: 'cpu' | 'cuda';
  /** CPU: threads and instruction set; CUDA: compute capability, driver, memory. For people. */
  readonly detail: string;
  readonly memoryBytes: number;
}

/** Time of one arm in milliseconds per call. */
export interface Timing {
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
  /** 95 % bootstrap interval of the median. */
  readonly low: number;
  readonly high: number;
  readonly samples: readonly number[];
}

export interface Check {
  readonly ok: boolean;
  /** ‖out - ref‖ / ‖ref‖ on sampled rows against an fp64 reference. */
  readonly error: number;
  /** The most that is accepted: 1.2 times the eager decomposed form's own error. */
  readonly limit: number;
  /** Elements that were never written (still poisoned). */
  readonly unwritten: number;
}

export interface ArmResult {
  readonly id: string;
  readonly title: string;
  readonly regime: Regime;
  /** Null when the check failed or the arm could not run; `problem` says which. */
  readonly timing: Timing | null;
  readonly check: Check | null;
  readonly problem: string | null;
  /** On the operator's true operations and compulsory bytes. */
  readonly gflops: number | null;
  readonly gbytes: number | null;
  readonly peakBytes: number | null;
}

/** Two arms of one run: is the first faster? Ratios are time(base) / time(arm). */
export interface Comparison {
  readonly regime: Regime;
  readonly base: string;
  readonly arm: string;
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  /** Two-sided Mann-Whitney p value. */
  readonly p: number;
  readonly verdict: 'faster' | 'slower' | 'no difference';
}

export interface Environment {
  readonly device: DeviceInfo;
  /** ISO date and time of the run, from the host. */
  readonly date: string;
  readonly version: string;
  readonly clocksBefore: Readonly<Record<string, number>> | null;
  readonly clocksAfter: Readonly<Record<string, number>> | null;
  /** Measured in the same run: a large GEMM and a large copy. */
  readonly ceilings: { readonly gflops: number; readonly gbytes: number } | null;
}

export interface BenchResult {
  readonly schema: 'ikbo-bench/1';
  readonly request: BenchRequest;
  readonly environment: Environment;
  readonly arms: readonly ArmResult[];
  readonly comparisons: readonly Comparison[];
  readonly warnings: readonly string[];
}

/** To the host. `id` is chosen by the caller and comes back with every answer. */
export type HostRequest =
  | { readonly id: number; readonly type: 'hello'; readonly protocol: number }
  | { readonly id: number; readonly type: 'devices' }
  | { readonly id: number; readonly type: 'run'; readonly request: BenchRequest }
  | { readonly id: number; readonly type: 'cancel'; readonly run: number };

/** From the host. A run ends with exactly one `result` or `error`. */
export type HostResponse =
  | { readonly id: number; readonly type: 'hello'; readonly protocol: number; readonly version: string }
  | {
      readonly id: number;
      readonly type: 'devices';
      readonly devices: readonly DeviceInfo[];
      readonly notes: readonly string[];
    }
  | {
      readonly id: number;
      readonly type: 'progress';
      readonly stage: string;
      readonly done: number;
      readonly total: number;
    }
  | {
      readonly id: number;
      readonly type: 'sample';
      readonly arm: string;
      readonly regime: Regime;
      readonly milliseconds: number;
    }
  | { readonly id: number; readonly type: 'result'; readonly result: BenchResult }
  | { readonly id: number; readonly type: 'error'; readonly message: string; readonly cancelled: boolean };
