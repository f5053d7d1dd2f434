/** From a finding to something that can be measured. */
import type { Finding } from '../core/finding';
import { OPS } from '../protocol/dims';
import type { BenchRequest, Dims } from '../protocol/bench';

export interface FindingRequest {
  readonly request: Pick<BenchRequest, 'op' | 'dims'>;
  /** Sizes that neither the finding nor the bindings know, in the operator's order; the request cannot be run yet. */
  readonly missing: readonly string[];
}

/**
 * Given sizes first, then those of the finding, then the bindings beside the code by name: `# ikbo: B=1024` means the
 * benchmark's B where nothing says otherwise. Null where no operator fits the finding.
 */
export function requestForFinding(
  { bench, cost }: Pick<Finding, 'bench'> & { readonly cost: Pick<Finding['cost'], 'bound'> },
  given: Readonly<Record<string, number>> = {},
): FindingRequest | null {
  if (!bench) return null;
  const dims: Record<string, number> = {};
  const missing: string[] = [];
  for (const { name } of OPS[bench.op].dims) {
    const size = given[name] ?? bench.dims[name] ?? cost.bound?.[name] ?? null;
    if (size === null) missing.push(name);
    else dims[name] = size;
  }
  return { request: { op: bench.op, dims }, missing };
}

/** A request with the usual choices for what the caller leaves open. */
export function completeRequest(
  part: Pick<BenchRequest, 'op'> & { readonly dims: Dims } & Partial<BenchRequest>,
): BenchRequest {
  return {
    dtype: part.device === undefined || part.device === 'cpu' ? 'fp32' : 'bf16',
    grouping: 'uniform',
    device: 'cpu',
    regimes: ['flush'],
    arms: null,
    seconds: 5,
    seed: 1,
    python: null,
    ...part,
  };
}
