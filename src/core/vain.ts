/**
 * A view in the place of a copy helps only if nothing on its way writes it out after all. That is another file's matter, or
 * another function's: the rewritten text is checked again, and the rewrite refused where the finding is still there.
 */
import { applyEdits } from './edits';
import type { Analysis } from './engine';
import { type Finding, type Rewrite, refused } from './finding';

const REASON = 'A view would be written out all the same on its way to the product.';

/** `check` gives the findings of a text in the place of this one. */
export function withoutVain(
  analysis: Analysis,
  path: string,
  text: string,
  check: (text: string) => Analysis,
): Analysis {
  const judged = (finding: Finding, rewrite: Rewrite): Rewrite => {
    const own = rewrite.edits.length > 0 && rewrite.edits.every((edit) => edit.path === path);
    if (rewrite.id !== 'expand' || !own) return rewrite;
    const { findings } = check(applyEdits(text, rewrite.edits));
    // With hints the view itself is found, too, which nothing writes out.
    const left = findings.some(
      ({ rule, line, materialized }) => materialized && rule === finding.rule && line === finding.line,
    );
    return left ? refused(rewrite, REASON) : rewrite;
  };
  if (!analysis.findings.some(({ rewrites }) => rewrites.some(({ id, edits }) => id === 'expand' && edits.length > 0)))
    return analysis;
  return {
    ...analysis,
    findings: analysis.findings.map((finding) => ({
      ...finding,
      rewrites: finding.rewrites.map((rewrite) => judged(finding, rewrite)),
    })),
  };
}
