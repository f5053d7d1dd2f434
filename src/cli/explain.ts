import { RULES } from '../core/rules';
import { rulePage } from '../core/rules/page';
import type { Context } from './context';
import { EXIT, UsageError, type ExitCode } from './output';

/** `ikbo explain [RULE]`: the rule's page, or the list of rules. */
export function explain(context: Context, code: string | undefined): ExitCode {
  if (code === undefined) {
    const width = Math.max(...RULES.map((rule) => rule.name.length));
    for (const rule of RULES) context.output.out(`${rule.code}  ${rule.name.padEnd(width)}  ${rule.summary}\n`);
    return EXIT.clean;
  }
  const wanted = code.toLowerCase();
  const rule = RULES.find((one) => one.code.toLowerCase() === wanted || one.name === wanted);
  if (!rule) throw new UsageError(`no rule ${code}; \`ikbo explain\` lists them`);
  context.output.out(rulePage(rule));
  return EXIT.clean;
}
