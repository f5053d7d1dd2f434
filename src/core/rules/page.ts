import type { Rule } from './rule';

/** The rule's page in Markdown, the same text for docs/rules, `ikbo explain`, hovers and SARIF's help. */
export function rulePage(rule: Rule): string {
  const { docs } = rule;
  const sections: readonly (readonly [string, string])[] = [
    ['What it does', docs.what],
    ['Why it is bad', docs.why],
    ['Example', python(docs.example)],
    ['Use instead', python(docs.useInstead)],
    ['Rewrites', rule.rewrites.map((rewrite) => `- \`${rewrite.id}\`: ${rewrite.title}`).join('\n')],
    ['Fix safety', docs.fixSafety],
    ['Limits', docs.limits],
    ['References', docs.references.map((reference) => `- ${reference}`).join('\n')],
  ];
  const body = sections
    .filter(([, text]) => text.trim() !== '')
    .map(([title, text]) => `## ${title}\n\n${text.trim()}\n`);
  return [`# ${rule.code}: ${rule.name}\n`, `${rule.summary}. Level: ${rule.level}.\n`, ...body].join('\n');
}

/** Examples are code; one that brings its own fences keeps them. */
function python(text: string): string {
  return text.includes('```') ? text : `\`\`\`python\n${text.trim()}\n\`\`\``;
}
