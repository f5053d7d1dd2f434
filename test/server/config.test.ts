import assert from 'node:assert/strict';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { completions, configDiagnostics } from '../../src/server/features/config';

/** The text with the cursor at `|`, completed with the item of that label. */
function complete(path: string, marked: string, label: string): string {
  const text = marked.replace('|', '');
  const document = TextDocument.create('file:///p', 'toml', 1, text);
  const items = completions(path, document, document.positionAt(marked.indexOf('|')));
  const item = items.find((one) => one.label === label);
  if (!item?.textEdit || !('range' in item.textEdit)) return `none of ${items.map((one) => one.label).join(' ')}`;
  return TextDocument.applyEdits(document, [item.textEdit]);
}

const labels = (path: string, marked: string): string[] => {
  const document = TextDocument.create('file:///p', 'toml', 1, marked.replace('|', ''));
  return completions(path, document, document.positionAt(marked.indexOf('|'))).map(({ label }) => label);
};

describe('completion of the configuration', () => {
  const cases: readonly [string, string, string, string][] = [
    ['ikbo.toml', '|', 'select', 'select = '],
    ['ikbo.toml', 'ign|', 'ignore', 'ignore = '],
    ['ikbo.toml', 'select = [|', 'IKB101', 'select = ["IKB101"'],
    ['ikbo.toml', 'select = ["IKB1|"]', 'IKB101', 'select = ["IKB101"]'],
    ['ikbo.toml', 'select = [\n  "IKB101",\n  |\n]', 'IKB202', 'select = [\n  "IKB101",\n  "IKB202"\n]'],
    ['ikbo.toml', 'hints = t|', 'true', 'hints = true'],
    ['ikbo.toml', '[se|', '[severity]', '[severity]'],
    ['ikbo.toml', '[severity]\n|', 'IKB101', '[severity]\nIKB101 = '],
    ['ikbo.toml', '[severity]\nIKB101 = |', 'error', '[severity]\nIKB101 = "error"'],
    ['ikbo.toml', '[severity]\nIKB101 = "|"', 'warning', '[severity]\nIKB101 = "warning"'],
    ['ikbo.toml', '[per-file-ignores]\n"tests/**" = ["|"]', 'IKB304', '[per-file-ignores]\n"tests/**" = ["IKB304"]'],
    ['a/pyproject.toml', '[tool.ikbo]\nbase|', 'baseline', '[tool.ikbo]\nbaseline = '],
    [
      'pyproject.toml',
      '[tool.ikbo]\nhints = false\n[tool.ik|',
      '[tool.ikbo.shapes]',
      '[tool.ikbo]\nhints = false\n[tool.ikbo.shapes]',
    ],
    ['pyproject.toml', '[tool.ikbo.severity]\nIKB202 = |', 'hint', '[tool.ikbo.severity]\nIKB202 = "hint"'],
  ];
  for (const [path, marked, label, expected] of cases)
    it(`${path}: ${JSON.stringify(marked)}`, () => assert.equal(complete(path, marked, label), expected));

  const silent: readonly [string, string][] = [
    ['pyproject.toml', '[project]\n|'],
    ['pyproject.toml', '|'],
    ['pyproject.toml', '[tool.ruff]\nselect = ["|"]'],
    ['ikbo.toml', '# sel|'],
    ['ikbo.toml', '[shapes]\n|'],
    ['ikbo.toml', 'baseline = "|"'],
  ];
  for (const [path, marked] of silent)
    it(`nothing in ${path}: ${JSON.stringify(marked)}`, () => assert.deepEqual(labels(path, marked), []));
  it('offers a key once, and never a table as a key', () => {
    const found = labels('ikbo.toml', 'select = ["IKB1"]\n|');
    assert.ok(found.includes('ignore') && !found.includes('select') && !found.includes('severity'));
  });
});

describe('mistakes of the configuration', () => {
  const mistake = (path: string, text: string) => {
    const document = TextDocument.create('file:///p', 'toml', 1, text);
    return configDiagnostics(path, document).map(({ range, message }) => [document.getText(range).trim(), message]);
  };
  it('stand at the key that they are about', () => {
    assert.deepEqual(mistake('ikbo.toml', 'hints = true\nignore = 3\n'), [
      ['ignore', 'ignore must be a list of rule codes or prefixes, e.g. ["IKB202"]'],
    ]);
    assert.deepEqual(mistake('ikbo.toml', '[shapes]\nB = -1\n')[0]?.[0], 'shapes');
    assert.match(
      mistake('pyproject.toml', '[tool.ikbo]\nsevrity = 3\n')[0]?.[1] ?? '',
      /^unknown key sevrity; there are/,
    );
    assert.equal(mistake('pyproject.toml', '[tool.ikbo]\nsevrity = 3\n')[0]?.[0], 'sevrity');
    assert.match(mistake('ikbo.toml', 'a = = 3\n')[0]?.[1] ?? '', /^line 1, column \d+: not valid TOML$/);
  });
  it("are none in a right file, and none of ours in another tool's", () => {
    assert.deepEqual(mistake('ikbo.toml', 'select = ["IKB1"]\n'), []);
    assert.deepEqual(mistake('pyproject.toml', '[tool.ruff]\nselect = 3 = \n'), []);
  });
});
