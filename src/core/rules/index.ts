/** The rule table. */
import type { RuleCode } from '../judge/match';
import { ikb101 } from './ikb101';
import { ikb102 } from './ikb102';
import { ikb103 } from './ikb103';
import { ikb104 } from './ikb104';
import { ikb201 } from './ikb201';
import { ikb202 } from './ikb202';
import { ikb203 } from './ikb203';
import { ikb301 } from './ikb301';
import { ikb302 } from './ikb302';
import { ikb303 } from './ikb303';
import { ikb304 } from './ikb304';
import { ikb401 } from './ikb401';
import { ikb501 } from './ikb501';
import type { Rule } from './rule';

export const RULES: readonly Rule[] = [
  ikb101,
  ikb102,
  ikb103,
  ikb104,
  ikb201,
  ikb202,
  ikb203,
  ikb301,
  ikb302,
  ikb303,
  ikb304,
  ikb401,
  ikb501,
];

const byCode = new Map<RuleCode, Rule>(RULES.map((rule) => [rule.code, rule]));

export function ruleFor(code: RuleCode): Rule {
  const rule = byCode.get(code);
  if (!rule) throw new Error(`no rule ${code}`);
  return rule;
}
