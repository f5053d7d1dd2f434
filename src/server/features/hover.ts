/** What the finding under the cursor costs, which way the copy takes, and what can be done. */
import { MarkupKind, type Hover, type Position } from 'vscode-languageserver';
import type { Finding, Rewrite } from '../../core/finding';
import { RULES } from '../../core/rules';
import type { LensDocument } from '../documents';
import { uriOf } from '../places';
import { contains, rangeOf } from '../positions';
import { rulePageUri } from '../rule-pages';
import type { Session } from '../session';
import { describeRewrite } from './wording';
import { describeBindings, formatBytes, formatFlops } from './amounts';

export function hover(session: Session, document: LensDocument, position: Position): Hover | null {
  for (const finding of session.check(document).findings) {
    const sites = [finding.broadcast, finding.written, finding.consumer];
    const site = sites.find((at) => at?.path === document.place.path && contains(rangeOf(at), position));
    if (!site) continue;
    const value = text(document, finding, site === finding.broadcast);
    return { contents: { kind: MarkupKind.Markdown, value }, range: rangeOf(site) };
  }
  return null;
}

/** On the broadcast itself, where the diagnostic shows message and chain, they are not said again. */
function text(document: LensDocument, finding: Finding, diagnosed: boolean): string {
  const { rule, message, rewrites } = finding;
  const page = rulePageUri(rule);
  const about = RULES.find(({ code }) => code === rule);
  const parts = [
    about ? `**${rule}: ${about.name}.** ${about.summary}.` : `**${rule}**`,
    diagnosed ? '' : message,
    costLines(finding).join('  \n'),
    diagnosed ? '' : chainLines(document, finding).join('\n'),
    rewrites.map(rewriteLine).join('\n'),
    page ? `[About ${rule}](${page})` : '',
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function chainLines(document: LensDocument, { chain }: Finding): string[] {
  return chain.map(({ path, line, what }, index) => {
    const place = path === document.place.path ? `line ${line}` : `${path}:${line}`;
    return `${index + 1}. [${place}](${uriOf(document.place, path, document.uri)}#L${line}) ${what}`;
  });
}

function costLines({ cost, materialized }: Finding): string[] {
  const bytes = cost.bytesValue === null ? '' : ` = ${formatBytes(cost.bytesValue)}${describeBindings(cost)}`;
  const formula = cost.bytes.includes('?') ? 'not known from the source' : `\`${cost.bytes}\` bytes`;
  const flops = cost.flopsValue === null ? '' : ` = ${formatFlops(cost.flopsValue)}`;
  return [
    materialized ? `Copied per call: ${formula}${bytes}` : 'Nothing is copied: the broadcast stays a view.',
    /^0$|\?/.test(cost.flops) ? '' : `Computed again for every copy: \`${cost.flops}\` FLOP${flops}`,
  ].filter((line) => line !== '');
}

function rewriteLine(rewrite: Rewrite): string {
  const { tier, reason } = rewrite;
  return tier === 'none'
    ? `- not offered: ${rewrite.title}. ${reason ?? ''}`
    : `- ${tier}: ${describeRewrite(rewrite)}`;
}
