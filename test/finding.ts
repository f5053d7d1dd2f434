import type { Finding, Rewrite } from '../src/core/finding';

/** A finding for tests that only read findings: `at` gives what matters, the rest is filled in. */
export function finding(at: Partial<Finding> & { readonly line: number }): Finding {
  const site = {
    path: at.path ?? 'a.py',
    line: at.line,
    column: at.column ?? 5,
    endLine: at.endLine ?? at.line,
    endColumn: at.endColumn ?? 9,
  };
  return {
    rule: 'IKB101',
    level: 'warning',
    materialized: true,
    message: 'user is copied per candidate',
    broadcast: site,
    written: site,
    consumer: { ...site, line: at.line + 2, endLine: at.line + 2 },
    chain: [
      { path: site.path, line: at.line, what: 'repeat_interleave writes the copy' },
      { path: site.path, line: at.line + 2, what: 'Linear contracts the last axis' },
    ],
    cost: { bytes: 'B*Ku*2', flops: '2*B*Ku*M', bound: null, bytesValue: null, flopsValue: null },
    rewrites: [],
    bench: null,
    ...at,
    ...site,
  };
}

export const rewrite = (id: string, tier: Rewrite['tier'], edits: Rewrite['edits'] = []): Rewrite => ({
  id,
  title: `do ${id}`,
  tier,
  conditions: tier === 'suggestion' ? [{ kind: 'shape', text: 'if it holds' }] : [],
  reason: tier === 'safe' ? null : 'if it holds',
  edits,
});
