/** What the machine can do at best, measured in the same run: a large product and a large copy. */
import { STAGE } from '../arms';
import { BYTES_PER_ELEMENT } from '../../protocol/dims';
import type { Dtype } from '../../protocol/bench';
import { statusOf, STATUS } from './addon';
import { ceilingOf, type SamplerContext } from './sampler';

export const GEMM_SIZE = { cpu: 1024, cuda: 8192 } as const;
export const COPY_BYTES = { cpu: 64 * 2 ** 20, cuda: 2 ** 30 } as const;

export interface Ceilings {
  readonly gflops: number;
  readonly gbytes: number;
}

/** Null where the device lacks a kernel for a plain product. */
export function measureCeilings(context: SamplerContext, dtype: Dtype): Ceilings | null {
  try {
    return { gflops: product(context, dtype), gbytes: copy(context) };
  } catch (error) {
    const status = statusOf(error);
    if (status === STATUS.unsupported || status === STATUS.outOfMemory) return null;
    throw error;
  }
}

function product(context: SamplerContext, dtype: Dtype): number {
  const { addon, device, kind } = context;
  const n = GEMM_SIZE[kind];
  const memory = (): InstanceType<typeof addon.Memory> => new addon.Memory(device, n * n * BYTES_PER_ELEMENT[dtype]);
  const [x, weight, out] = [memory(), memory(), memory()];
  try {
    x.normal(dtype, 1, 1);
    weight.normal(dtype, 2, 1 / Math.sqrt(n));
    let best = 0;
    for (const stage of kind === 'cuda' ? [STAGE.warpSpecialized, STAGE.fused] : [STAGE.fused]) {
      const blocks = [{ rows: n, width: n }];
      const args = { x: [x], index: [null], weight, out };
      try {
        const operation = new addon.Operation(device, {
          kind: 'concat-linear',
          dtype,
          stage,
          rows: n,
          outputs: n,
          blocks,
        });
        operation.prepare(args);
        best = Math.max(best, ceilingOf(context, { operation, args: [args] }, 2 * n ** 3));
        operation.destroy();
      } catch (error) {
        if (statusOf(error) !== STATUS.unsupported || stage === STAGE.fused) throw error;
      }
    }
    return best;
  } finally {
    for (const each of [x, weight, out]) each.free();
  }
}

/** Bytes read and bytes written both count. */
function copy(context: SamplerContext): number {
  const { addon, device, kind } = context;
  const bytes = COPY_BYTES[kind];
  const [from, to] = [new addon.Memory(device, bytes), new addon.Memory(device, bytes)];
  try {
    from.fill(1);
    to.fill(2);
    return ceilingOf(context, { from, to }, 2 * bytes);
  } finally {
    from.free();
    to.free();
  }
}
