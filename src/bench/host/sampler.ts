/** One turn of an arm in a regime: how it rests, how many calls it makes, which of them count, and what happens between them. */
import type { DeviceInfo, Op, Regime } from '../../protocol/bench';
import { median } from '../stats';
import type { Addon, Device, Operation, RecordedWork, Recording } from './addon';
import type { Call } from './operands';

/** One arm that can be timed. Samples are milliseconds per call. */
export interface Sampler {
  /** What a first turn would pay for: recordings, compiling, the search for the fastest of several forms. */
  prepare(regime: Regime): Promise<void>;
  sample(regime: Regime): Promise<number>;
  close(): void;
}

export interface Turn {
  /** Milliseconds of rest before it: no arm begins on a card that its neighbour in the round has warmed. */
  readonly idle: number;
  readonly calls: number;
  /** The first so many of the calls do not count, and of the others the median does; 0: the mean of all. */
  readonly discarded: number;
  /** Milliseconds for which the calls are repeated; the last replay counts. */
  readonly settle: number;
}

const IDLE_MILLISECONDS = 300;
const BURST_CALLS = 20;
const DISCARDED_CALLS = 20;
/** Calls of the flushing loop that count, on a GPU. Those of attention are the longer ones. */
const COUNTED_CALLS: Readonly<Record<Op, number>> = { 'concat-linear': 100, 'linear-compression': 100, attention: 60 };
/** What one turn of the flushing loop may take: a call of more than 5 ms makes fewer. */
const LOOP_MILLISECONDS = 600;
const LEAST_CALLS = 6;

/**
 * A power-capped card answers three questions. burst: 20 calls on a card that has rested. flush: the loop that most benchmarks
 * are, some 50 ms of {overwrite the cache, call} on a card that has rested, after its first calls. sustained: back to back
 * until the limit of power has set in. A CPU has no such state, and its flushing loop takes longer than most calls.
 * `milliseconds`: of one call.
 */
export function turnOf(regime: Regime, op: Op, milliseconds: number, kind: DeviceInfo['kind']): Turn {
  const fitting = (target: number, least: number, most: number): number =>
    Math.max(least, Math.min(most, Math.round(target / Math.max(milliseconds, 1e-3))));
  const mean = { idle: 0, discarded: 0, settle: 0 };
  if (regime === 'burst') return { ...mean, idle: IDLE_MILLISECONDS, calls: fitting(200, 1, BURST_CALLS) };
  if (regime === 'sustained') return { ...mean, settle: kind === 'cuda' ? 120 : 30, calls: fitting(20, 1, 50) };
  if (kind === 'cpu') return { ...mean, calls: fitting(1, 1, 4) };
  const calls = fitting(LOOP_MILLISECONDS, LEAST_CALLS, DISCARDED_CALLS + COUNTED_CALLS[op]);
  const discarded = Math.min(DISCARDED_CALLS, Math.floor(calls / 3));
  return { idle: IDLE_MILLISECONDS, calls, discarded, settle: 0 };
}

/** Bytes written between calls of the flushing loop: beyond the last-level cache, as far as that is affordable. */
export function flushBytes(kind: DeviceInfo['kind'], cacheBytes: number): number {
  const MiB = 2 ** 20;
  return kind === 'cuda' ? Math.max(4 * cacheBytes, 256 * MiB) : Math.min(Math.max(cacheBytes, 32 * MiB), 128 * MiB);
}

export interface SamplerContext {
  readonly addon: Addon;
  readonly device: Device;
  readonly kind: DeviceInfo['kind'];
  readonly op: Op;
  readonly flushBytes: number;
}

/** `once`: milliseconds of one call. */
export function nativeSampler(context: SamplerContext, operation: Operation, { args }: Call, once: number): Sampler {
  const { addon, device, kind, op } = context;
  const recordings = new Map<Regime, Recording>();
  const turn = (regime: Regime): Turn => turnOf(regime, op, once, kind);
  const recordingFor = (regime: Regime): Recording => {
    const known = recordings.get(regime);
    if (known) return known;
    const bytes = regime === 'flush' ? context.flushBytes : 0;
    const recording = new addon.Recording(device, { operation, args }, turn(regime).calls, bytes);
    recordings.set(regime, recording);
    recording.replay(); // warm-up: first touches, caches of the driver
    return recording;
  };
  return {
    prepare: (regime) => Promise.resolve(void recordingFor(regime)),
    async sample(regime) {
      const { idle, discarded, settle } = turn(regime);
      const recording = recordingFor(regime);
      if (idle > 0) await pause(idle);
      if (discarded > 0) return median([...recording.replayEach().subarray(discarded)]);
      const start = performance.now();
      let last = recording.replay();
      while (performance.now() - start < settle) last = recording.replay();
      return last;
    },
    close() {
      for (const recording of recordings.values()) recording.destroy();
      operation.destroy();
    },
  };
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Best of a few replays, as work per second; null where the device has no kernel for it. */
export function ceilingOf(context: SamplerContext, work: RecordedWork, amount: number): number {
  const recording = new context.addon.Recording(context.device, work, 1, 0);
  try {
    recording.replay();
    let best = Infinity;
    for (let i = 0; i < 5; i++) best = Math.min(best, recording.replay());
    return amount / best / 1e6;
  } finally {
    recording.destroy();
  }
}
