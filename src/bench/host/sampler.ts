/** Timing one arm in one regime: how many calls make a sample, and what happens between them. */
import type { DeviceInfo, Regime } from '../../protocol/bench';
import type { Addon, Device, Operation, RecordedWork, Recording } from './addon';
import type { Call } from './operands';

/** One arm that can be timed. Samples are milliseconds per call. */
export interface Sampler {
  sample(regime: Regime): Promise<number>;
  close(): void;
}

export const IDLE_MILLISECONDS = 300;
export const BURST_CALLS = 20;
/**
 * Milliseconds of repeating after which a sample counts. A card at its power limit reaches its clock only then, and one arm's pause
 * would cool it for the next; the flushing loop of a CPU has no such state.
 */
export function settleMilliseconds(regime: Regime, kind: DeviceInfo['kind']): number {
  if (regime === 'burst') return 0;
  return kind === 'cuda' ? 120 : regime === 'sustained' ? 30 : 0;
}

/** Calls in one sample, from the time of one. */
export function callsPerSample(regime: Regime, milliseconds: number, kind: DeviceInfo['kind']): number {
  const fitting = (target: number, most: number): number =>
    Math.max(1, Math.min(most, Math.round(target / Math.max(milliseconds, 1e-3))));
  if (regime === 'burst') return fitting(200, BURST_CALLS);
  // Each call of the flushing loop is preceded by a write of the cache's size, which costs more than most calls.
  if (regime === 'flush') return fitting(kind === 'cpu' ? 1 : 10, kind === 'cpu' ? 4 : 20);
  return fitting(20, 50);
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
  readonly flushBytes: number;
}

export function nativeSampler(context: SamplerContext, operation: Operation, { args }: Call, once: number): Sampler {
  return sampler(context, { operation, args }, once, () => operation.destroy());
}

/** Also for copies: `once` is the time of one call. */
function sampler(context: SamplerContext, work: RecordedWork, once: number, destroy: () => void): Sampler {
  const { addon, device, kind } = context;
  const recordings = new Map<Regime, Recording>();
  const recordingFor = (regime: Regime): Recording => {
    const known = recordings.get(regime);
    if (known) return known;
    const bytes = regime === 'flush' ? context.flushBytes : 0;
    const recording = new addon.Recording(device, work, callsPerSample(regime, once, kind), bytes);
    recordings.set(regime, recording);
    recording.replay(); // warm-up: first touches, caches of the driver
    return recording;
  };
  return {
    async sample(regime) {
      const recording = recordingFor(regime);
      if (regime === 'burst') await pause(IDLE_MILLISECONDS);
      const start = performance.now();
      let last = recording.replay();
      while (performance.now() - start < settleMilliseconds(regime, kind)) last = recording.replay();
      return last;
    },
    close() {
      for (const recording of recordings.values()) recording.destroy();
      destroy();
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
