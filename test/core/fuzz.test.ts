/**
 * Real files, cut and mangled, and the same files in other encodings of lines and characters: an answer every time, at places
 * that exist, with edits that apply; and where the code is the same, the same answer.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { applyEdits } from '../../src/core/edits';
import type { Analysis, Engine } from '../../src/core/engine';
import type { Site } from '../../src/core/finding';
import { fixText } from '../../src/core/fix';
import { engineForTests } from './check';

const root = join(__dirname, '../..');

/** The examples and every fixture that has something to find, by path. */
const FILES: ReadonlyMap<string, string> = new Map(
  ['examples', 'test/fixtures/rewrite'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => (folder === 'examples' ? /^\w+\.py$/ : /\bbad\.py$/).test(name))
      .sort()
      .map(
        (name) => [`${folder}/${name}`, readFileSync(join(root, folder, name), 'utf8').replace(/\r\n/g, '\n')] as const,
      ),
  ),
);
const TEXTS = [...FILES.values()];

/** Far more than any of these files takes on a busy machine: what it finds is a hang. */
const PATIENCE = 5_000;
const FIX = { rules: null, unsafe: true, prefer: null };

function checked(engine: Engine, text: string): Analysis {
  const started = performance.now();
  const analysis = engine.check('m.py', text, { hints: true });
  assert.ok(performance.now() - started < PATIENCE, 'too slow');
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  const exists = (site: Site | null) => {
    if (!site) return;
    const [first, last] = [lines[site.line - 1], lines[site.endLine - 1]];
    assert.ok(first !== undefined && last !== undefined && site.line <= site.endLine, 'no such line');
    assert.ok(
      site.column >= 1 && site.column <= first.length + 1 && site.endColumn <= last.length + 1,
      'no such column',
    );
  };
  for (const finding of [...analysis.findings, ...analysis.suppressed]) {
    for (const site of [finding, finding.broadcast, finding.written, finding.consumer]) exists(site);
    for (const { line } of finding.chain) assert.ok(line >= 1 && line <= lines.length);
    for (const { tier, edits } of finding.rewrites) {
      assert.equal(edits.length === 0, tier === 'none');
      applyEdits(text, edits);
    }
  }
  for (const { line } of analysis.notes) assert.ok(line >= 1 && line <= lines.length);
  return analysis;
}

type Mutation = (text: string) => string;

const fraction = fc.double({ min: 0, max: 1, noNaN: true });
const scrap = fc.constantFrom(
  '', '(', ')', '[', ']', '{', ':', ',', '"', "'''", '#', '\\', '\n', '\r', '\t', '    ', '\0', '\uFEFF', '\ud800',
  '\u{1f600}', 'é', 'def f(', 'class ', 'lambda x: ', 'return ', 'if x:\n', 'while True:\n', '*', '@', 'import torch\n',
); // prettier-ignore
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fraction.map((at) => (text: string) => text.slice(0, Math.floor(at * text.length))),
  fraction.map((at) => (text: string) => text.slice(Math.floor(at * text.length))),
  fc.tuple(fraction, scrap).map(([at, piece]) => (text: string) => {
    const offset = Math.floor(at * text.length);
    return text.slice(0, offset) + piece + text.slice(offset);
  }),
  fc.tuple(fraction, fc.nat(40)).map(([at, length]) => (text: string) => {
    const offset = Math.floor(at * text.length);
    return text.slice(0, offset) + text.slice(offset + length);
  }),
  // A line that stands somewhere else, or twice.
  fc.tuple(fraction, fraction, fc.boolean()).map(([from, to, twice]) => (text: string) => {
    const lines = text.split('\n');
    const [moved = ''] = lines.slice(Math.floor(from * lines.length));
    if (!twice) lines.splice(Math.floor(from * lines.length), 1);
    lines.splice(Math.floor(to * lines.length), 0, moved);
    return lines.join('\n');
  }),
);

describe('fuzz', () => {
  let engine: Engine;
  before(async () => (engine = await engineForTests()));

  it('has real files', () => assert.ok(TEXTS.length > 40, `${TEXTS.length} files`));

  it('mangled files get an answer, at places that exist, with edits that apply', function () {
    this.timeout(120_000);
    fc.assert(
      fc.property(fc.constantFrom(...TEXTS), fc.array(mutation, { minLength: 1, maxLength: 6 }), (text, mutations) => {
        const mangled = mutations.reduce((now, mutate) => mutate(now), text);
        const first = checked(engine, mangled);
        assert.deepEqual(checked(engine, mangled), first, 'the same twice');
      }),
      { numRuns: 400 },
    );
  });

  /** Changes of a file that leave its code: what is found and what a fix makes of it change only by the same. */
  const encodings: readonly [string, Mutation][] = [
    ['CRLF', (text) => text.replace(/\n/g, '\r\n')],
    ['lone carriage returns', (text) => text.replace(/\n/g, '\r')],
    ['a byte order mark', (text) => `\uFEFF${text}`],
    ['characters of two code units above', (text) => `# \u{1f680}\u{1d6fc}\n${text}`],
    ['all of it', (text) => `\uFEFF# \u{1f680}\n${text}`.replace(/\n/g, '\r\n')],
    ['tabs', (text) => text.replace(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4))],
  ];
  for (const [name, encode] of encodings) {
    it(`the same code with ${name} has the same findings and fixes`, function () {
      this.timeout(120_000);
      for (const [path, text] of FILES) {
        const [plain, encoded] = [checked(engine, text), checked(engine, encode(text))];
        const shown = (one: Analysis, of: string) =>
          one.findings.map((finding) => {
            const lines = of
              .replace(/^\uFEFF/, '')
              .split(/\r\n|\r|\n/)
              .slice(finding.line - 1, finding.endLine);
            const end = finding.line === finding.endLine ? finding.endColumn - 1 : undefined;
            return [finding.rule, lines[0]?.slice(finding.column - 1, end)];
          });
        assert.deepEqual(shown(encoded, encode(text)), shown(plain, text), path);
        const fixed = fixText(engine, 'm.py', text, FIX).text;
        const got = fixText(engine, 'm.py', encode(text), FIX).text;
        // Whether a statement is broken into lines depends on its width, and so on that of a tab.
        const same = name === 'tabs' ? (one: string) => one.replace(/\s+/g, '') : (one: string) => one;
        assert.equal(same(got), same(encode(fixed)), path);
      }
    });
  }

  it('counts in code units, also behind characters of two on the same line', () => {
    const model = (key: string) => `import torch\nfrom torch import nn\n\n\nclass M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, 8)

    def forward(self, table, user, n):
        return self.fc(torch.cat([table["${key}"], user.repeat_interleave(n, dim=0)], dim=-1))\n`;
    const [plain, wide] = [model('ab'), model('\u{1f680}\u{1d6fc}')];
    const [finding] = checked(engine, wide).findings;
    const line = wide.split('\n')[(finding?.line ?? 0) - 1];
    assert.equal(
      line?.slice((finding?.column ?? 0) - 1, (finding?.endColumn ?? 0) - 1),
      'user.repeat_interleave(n, dim=0)',
    );
    const [one, other] = [plain, wide].map((text) => fixText(engine, 'm.py', text, FIX).text);
    assert.notEqual(one, plain);
    assert.equal(other, one?.replace('"ab"', '"\u{1f680}\u{1d6fc}"'));
  });

  const speechless: readonly [string, string][] = [
    ['one line of 5 MB', `import torch\nx = "${'a'.repeat(5_000_000)}"\n`],
    ['a line of 5 MB of code', `import torch\nx = [${'1, '.repeat(1_700_000)}]\n`],
    ['parentheses too deep', `import torch\nx.expand(${'('.repeat(50_000)}1${')'.repeat(50_000)})\n`],
    ['calls too deep', `import torch\ndef f(x):\n    return x.repeat(2)${'.f('.repeat(20_000)}${')'.repeat(20_000)}\n`],
    ['operators too deep', `import torch\ndef f(x):\n    return x.repeat(2)${' + x'.repeat(40_000)}\n`],
    ['a function too long', `import torch\ndef f(x):\n${'    y = x.repeat(2, 1) + 1\n'.repeat(12_000)}    return y\n`],
  ];
  for (const [name, text] of speechless)
    it(`what cannot be followed is said: ${name}`, function () {
      this.timeout(60_000);
      const { notes, broken, findings } = checked(engine, text);
      assert.deepEqual(findings, []);
      assert.ok(notes.length > 0 || broken !== undefined, 'silence');
    });
});
