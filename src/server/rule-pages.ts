/** The pages of the rules, packaged as docs/rules/IKBnnn.md beside dist/. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const known = new Map<string, string | undefined>();

/** A file URI that every editor can open; undefined where the page is not installed. */
export function rulePageUri(rule: string): string | undefined {
  if (!known.has(rule)) {
    const path = join(__dirname, '..', 'docs', 'rules', `${rule}.md`);
    known.set(rule, existsSync(path) ? pathToFileURL(path).href : undefined);
  }
  return known.get(rule);
}
