/** Above each finding: what the copy costs, and the way to the benchmark. */
import type { CodeLens } from 'vscode-languageserver';
import { requestForFinding } from '../../bench/request';
import type { Finding } from '../../core/finding';
import type { BenchTarget } from '../../protocol/editor';
import type { LensDocument } from '../documents';
import { rangeOf } from '../positions';
import type { Session } from '../session';
import { describeCopy } from './amounts';
import { EXPLAIN } from './commands';

/** `benchCommand` is the client's own command where it has a panel. */
export function codeLenses(session: Session, document: LensDocument, benchCommand: string): CodeLens[] {
  return session.find(document).findings.map((finding) => {
    const amount = finding.materialized ? describeCopy(finding.cost) : 'lazy, nothing copied';
    const target = benchTarget(document, finding);
    const command = target
      ? { title: `Benchmark (${amount})`, command: benchCommand, arguments: [target] }
      : { title: amount, command: EXPLAIN, arguments: [finding.rule, [finding.message]] };
    return { range: rangeOf(finding), command };
  });
}

export function benchTargets(session: Session, document: LensDocument): BenchTarget[] {
  return session.find(document).findings.flatMap((finding) => benchTarget(document, finding) ?? []);
}

function benchTarget({ uri, place }: LensDocument, finding: Finding): BenchTarget | undefined {
  const { line, rule, message } = finding;
  const found = requestForFinding(finding);
  if (!found) return undefined;
  const { op, dims } = found.request;
  const missing = Object.fromEntries(found.missing.map((name) => [name, null]));
  return { uri, path: place.path, line, rule, message, bench: { op, dims: { ...dims, ...missing } } };
}
