/** The native addon as JavaScript sees it (native/node), and loading it. Sizes are plain numbers, data stays native. */
import type { Dtype, Op } from '../../protocol/bench';

export interface Addon {
  readonly version: string;
  readonly Device: new (ordinal: number) => Device;
  readonly Memory: new (device: Device, bytes: number) => Memory;
  readonly Operation: new (device: Device, shape: Shape) => Operation;
  readonly Recording: new (device: Device, work: RecordedWork, iterations: number, flushBytes: number) => Recording;
  cudaDevices(): { readonly count: number; readonly note: string };
  /** fp64 results of the named output rows, one after another. */
  reference(shape: Shape, args: Args, rows: Float64Array): Float64Array;
  dieWithParent(): void;
  /** Aborts the process, as a fault in a kernel would. */
  crash(): never;
}

export interface Device {
  describe(): {
    readonly name: string;
    readonly detail: string;
    /** The device's place on the bus, by which nvidia-smi knows it; empty for the CPU. */
    readonly busId: string;
    readonly units: number;
    readonly memoryBytes: number;
    readonly cacheBytes: number;
  };
}

export interface Memory {
  free(): void;
  upload(data: Uint8Array, offset: number): void;
  download(offset: number, bytes: number): Buffer;
  fill(byte: number): void;
  /** Fills all of it with normal random numbers times `scale`. */
  normal(dtype: Dtype, seed: number, scale: number): void;
  /** Item `rows[i]` of `from` to place i; all sizes in bytes. */
  replicate(
    from: Memory,
    itemBytes: number,
    fromStride: number,
    toOffset: number,
    toStride: number,
    rows: Int32Array,
  ): void;
  values(dtype: Dtype, first: number, count: number): Float64Array;
  /** Elements whose every byte is `byte`. */
  count(byte: number, elementBytes: number): number;
}

export type MapKind = 'none' | 'repeats' | 'index' | 'all';

/** Fields of the ikbo_*_shape of ikbo.h, by their names there in camel case; `kind` picks the operator. */
export type Shape = { readonly kind: Op; readonly dtype: Dtype; readonly stage: number } & Readonly<
  Record<string, unknown>
>;

export type Args = Readonly<Record<string, Memory | null | readonly (Memory | null)[]>>;

export interface Operation {
  prepare(args: Args): void;
  run(args: Args): void;
  destroy(): void;
  kernel(): string;
  workspaceBytes(): number;
}

/** One operation whose calls go through the sets of arguments in turn, or a copy of memory. */
export type RecordedWork =
  { readonly operation: Operation; readonly args: readonly Args[] } | { readonly from: Memory; readonly to: Memory };

export interface Recording {
  /** Mean milliseconds of one iteration. */
  replay(): number;
  /** Milliseconds of each iteration; where nothing is flushed between them, CUDA gives the mean for each. */
  replayEach(): Float64Array;
  destroy(): void;
}

/** Statuses of ikbo.h that the host tells apart. */
export const STATUS = { unsupported: 3, outOfMemory: 5 } as const;

export function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('status' in error)) return null;
  return typeof error.status === 'number' ? error.status : null;
}

export function loadAddon(path: string): Addon {
  // Not `require`: the bundler must not look for the file when it bundles.
  const module: { exports: unknown } = { exports: {} };
  process.dlopen(module, path);
  return module.exports as Addon;
}
