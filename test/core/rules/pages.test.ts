import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

describe('rule pages', () => {
  it('docs/rules and the README say what the rule files say (else run node scripts/rule-pages.mjs)', () => {
    const root = join(__dirname, '../../..');
    execFileSync('node', ['scripts/rule-pages.mjs', '--check'], { cwd: root, stdio: 'pipe' });
  });
});
