import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Language, Parser, type TreeCursor } from 'web-tree-sitter';
import { createParser } from '../../../src/core/python/parser';
import { type Node, positionOf, textOf } from '../../../src/core/python/syntax';

const runtime = readFileSync(require.resolve('web-tree-sitter/tree-sitter.wasm'));
const grammar = readFileSync(require.resolve('tree-sitter-python/tree-sitter-python.wasm'));

const SOURCES: Readonly<Record<string, string>> = {
  plain: 'def f(x):\n    return x.repeat(1, n)[..., None] + (a if b else -c)\n',
  'carriage returns': 'import torch\r\nclass A(B):\r\n    def f(self, *a, k=1):\r\n        self.x = [y for y in a]\r\n',
  'byte order mark': '\ufeffimport torch\nx = torch.ones(2)\n',
  'surrogate pairs': 'x = "\u{1f600}\u{1f600}"; y = x.repeat(2)\n',
  'syntax errors': 'def f(x:\n    y = x.repeat(1,\n    return y\nz = (1 +\n',
  comments: '# one\nx = f(  # two\n    1,\n    # three\n    b=2)\n',
  match: 'match x:\n    case [a, b]:\n        y = 1\n    case _:\n        y = 2\n',
  tabs: 'if x:\n\ty = 1\n\tif z:\n\t\ty = 2\n',
  strings: 'x = f"a{b}c" r"d" """e\nf"""\n',
  empty: '',
};

interface Flat {
  readonly kind: string;
  readonly field: string | null;
  readonly start: number;
  readonly end: number;
}

/** What our tree holds, from web-tree-sitter's own cursor: named nodes, fields and missing tokens, without comments. */
function reference(cursor: TreeCursor, out: Flat[]): void {
  if (!cursor.gotoFirstChild()) return;
  do {
    const kind = cursor.nodeType;
    if (kind === 'comment' || kind === 'line_continuation') continue;
    const field = cursor.currentFieldName;
    if (field === null && !cursor.nodeIsNamed && !cursor.nodeIsMissing) continue;
    out.push({ kind, field, start: cursor.startIndex, end: cursor.endIndex });
    reference(cursor, out);
  } while (cursor.gotoNextSibling());
  cursor.gotoParent();
}

function flatten(node: Node, out: Flat[]): void {
  for (const child of node.children) {
    out.push({ kind: child.kind, field: child.field, start: child.start, end: child.end });
    flatten(child, out);
  }
}

describe('parser', () => {
  for (const [name, source] of Object.entries(SOURCES)) {
    it(`walks like TreeCursor: ${name}`, async () => {
      const ours = await createParser({ runtime, python: grammar });
      const file = ours.parse('a.py', source);
      const found: Flat[] = [];
      flatten(file.root, found);
      file.close();

      await Parser.init();
      const parser = new Parser();
      parser.setLanguage(await Language.load(grammar));
      const tree = parser.parse(source)!;
      const expected: Flat[] = [];
      reference(tree.walk(), expected);
      tree.delete();
      assert.deepEqual(found, expected);
    });
  }

  it('counts lines and columns as editors do', async () => {
    const parser = await createParser({ runtime, python: grammar });
    const find = (node: Node, text: string): Node | null =>
      textOf(node) === text ? node : node.children.reduce<Node | null>((at, c) => at ?? find(c, text), null);
    for (const [source, line, column] of [
      ['\ufeffy.repeat(2)\n', 1, 1],
      ['x = 1\r\ny.repeat(2)\r\n', 2, 1],
      ['x = "\u{1f600}"; y.repeat(2)\n', 1, 11],
      ['x = 1\ry.repeat(2)\n', 2, 1],
    ] as const) {
      const file = parser.parse('a.py', source);
      const node = find(file.root, 'y.repeat(2)')!;
      assert.deepEqual(positionOf(file, node.start), { line, column }, JSON.stringify(source));
      assert.equal(source.slice(node.start, node.end), 'y.repeat(2)');
      file.close();
    }
  });

  it('re-parses after edits as it parses anew', async () => {
    const parser = await createParser({ runtime, python: grammar });
    const before = 'def f(x):\n    y = x.repeat(1, 2)\n    return g(y)\n';
    const changes = [
      { start: 18, end: 19, text: 'user' },
      { start: 0, end: 0, text: '# \u{1f600}\n' },
    ];
    const edited = parser.parse('a.py', before).edited(changes);
    const anew = parser.parse('a.py', edited.text);
    assert.ok(edited.text.startsWith('# \u{1f600}\ndef f'));
    const [a, b]: [Flat[], Flat[]] = [[], []];
    flatten(edited.root, a);
    flatten(anew.root, b);
    assert.deepEqual(a, b);
    edited.close();
    anew.close();
  });

  it('marks what a syntax error touches', async () => {
    const parser = await createParser({ runtime, python: grammar });
    const file = parser.parse('a.py', 'x = 1\ny = f(1,\n');
    assert.ok(file.root.broken);
    assert.equal(file.root.children[0]?.broken, false);
    file.close();
  });
});
