/** From a finding to something that can be measured. */
import type { BenchHint } from '../core/finding';
import { OPS } from '../protocol/dims';
import type { BenchRequest, Dims } from '../protocol/bench';

export interface FindingRequest {
  readonly request: Pick<BenchRequest, 'op' | 'dims'>;
  /** Sizes that neither the finding nor the bindings know, in the operator's order; the request cannot be run yet. */
  readonly missing: readonly string[];
}

/** Sizes of the finding where it knows them, else the bindings by name; null where nothing fits the finding. */
export function requestForFinding(
  finding: { readonly bench: BenchHint | null },
  bindings: Readonly<Record<string, number>> = {},
): FindingRequest | null {
  const hint = finding.bench;
  if (!hint) return null;
  const dims: Record<string, number> = {};
  const missing: string[] = [];
  for (const { name } of OPS[hint.op].dims) {
    const size = bindings[name] ?? hint.dims[name] ?? null;
    if (size === null) missing.push(name);
    else dims[name] = size;
  }
  return { request: { op: hint.op, dims }, missing };
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
