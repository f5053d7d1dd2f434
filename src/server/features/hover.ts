/** What the finding under the cursor costs, which way the copy takes, and what can be done. */
import { MarkupKind, type Hover, type Position } from 'vscode-languageserver';
import type { Finding, Rewrite } from '../../core/finding';
import type { LensDocument } from '../documents';
import { uriOf } from '../places';
import { contains, rangeOf } from '../positions';
import { rulePage } from '../rule-pages';
import type { Session } from '../session';
import { describeBindings, formatBytes, formatFlops } from './amounts';

export function hover(session: Session, document: LensDocument, position: Position): Hover | null {
  for (const finding of session.check(document).findings) {
    const sites = [finding.broadcast, finding.written, finding.consumer];
    const site = sites.find((at) => at?.path === document.place.path && contains(rangeOf(at), position));
    if (site) return { contents: { kind: MarkupKind.Markdown, value: text(document, finding) }, range: rangeOf(site) };
  }
  return null;
}

function text(document: LensDocument, finding: Finding): string {
  const page = rulePage(finding.rule);
  const steps = finding.chain.map(({ path, line, what }, index) => {
    const place = path === document.place.path ? `line ${line}` : `${path}:${line}`;
    return `${index + 1}. [${place}](${uriOf(document.place, path, document.uri)}#L${line}) ${what}`;
  });
  const parts = [
    `**${finding.rule}** ${finding.message}`,
    costLines(finding).join('  \n'),
    steps.join('\n'),
    finding.rewrites.map(rewriteLine).join('\n'),
    page ? `[About ${finding.rule}](${page})` : '',
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function costLines({ cost, materialized }: Finding): string[] {
  const bytes = cost.bytesValue === null ? '' : ` = ${formatBytes(cost.bytesValue)}${describeBindings(cost)}`;
  const flops = cost.flopsValue === null ? '' : ` = ${formatFlops(cost.flopsValue)}`;
  return [
    materialized
      ? `Copied per call: \`${cost.bytes}\` bytes${bytes}`
      : 'Nothing is copied: the broadcast stays a view.',
    ...(cost.flops === '0' ? [] : [`Computed again for every copy: \`${cost.flops}\` FLOP${flops}`]),
  ];
}

function rewriteLine({ tier, title, reason }: Rewrite): string {
  if (tier === 'none') return `- not offered: ${title}. ${reason ?? ''}`.trimEnd();
  return `- ${tier}: ${title}${reason ? `, if ${reason.replace(/^if /i, '')}` : ''}`;
}
