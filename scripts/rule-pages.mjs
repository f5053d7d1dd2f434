// node scripts/rule-pages.mjs [--check]: writes docs/rules/ and the README's rule table from src/core/rules, or, with
// --check, fails when they differ.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ensurePackages, root } from './packages.mjs';

ensurePackages();
const require = createRequire(import.meta.url);
require('tsx/cjs');
const { RULES: rules } = require('../src/core/rules/index.ts');
const { rulePage } = require('../src/core/rules/page.ts');

const folder = join(root, 'docs/rules');
const table = [
  '| Rule | Name | What it finds |',
  '| --- | --- | --- |',
  ...rules.map((rule) => `| [${rule.code}](docs/rules/${rule.code}.md) | ${rule.name} | ${rule.summary} |`),
].join('\n');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const wanted = new Map(rules.map((rule) => [join(folder, `${rule.code}.md`), rulePage(rule)]));
wanted.set(
  join(root, 'README.md'),
  readme.replace(/(<!-- rules -->\n)[\s\S]*?(\n<!-- \/rules -->)/, (_, open, close) => `${open}${table}${close}`),
);

const stale = [...wanted]
  .filter(([path, text]) => !existsSync(path) || readFileSync(path, 'utf8') !== text)
  .map(([path]) => path);
const gone = existsSync(folder)
  ? readdirSync(folder)
      .map((name) => join(folder, name))
      .filter((path) => !wanted.has(path))
  : [];
if (process.argv.includes('--check')) {
  for (const path of [...stale, ...gone])
    console.error(`${path.slice(root.length)} is not what src/core/rules says; run node scripts/rule-pages.mjs`);
  process.exit(stale.length + gone.length > 0 ? 1 : 0);
}
mkdirSync(folder, { recursive: true });
for (const path of gone) rmSync(path);
for (const path of stale) writeFileSync(path, wanted.get(path));
console.log(`${stale.length} written, ${gone.length} removed`);
