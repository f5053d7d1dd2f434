import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { bodiesOf } from '../../../src/core/python/bodies';
import { type PythonParser, createParser } from '../../../src/core/python/parser';
import type { Node } from '../../../src/core/python/syntax';
import { engineForTests } from '../check';

const grammars = {
  runtime: readFileSync(require.resolve('web-tree-sitter/tree-sitter.wasm')),
  python: readFileSync(require.resolve('tree-sitter-python/tree-sitter-python.wasm')),
};

const LONG = Array.from({ length: 12 }, (_, i) => `x${i} = torch.cat([x, y], dim=${i})`);
const block = (indent: string, lines: readonly string[]): string => lines.map((line) => `${indent}${line}\n`).join('');
const method = (name: string, indent: string, ...first: readonly string[]): string =>
  `${indent}def ${name}(self, x, y=[1, 2]):\n${block(`${indent}    `, [...first, ...LONG, 'return x'])}`;

/** Texts, and the names of the functions whose bodies are left out. */
const TEXTS: Readonly<Record<string, readonly [text: string, names: readonly string[]]>> = {
  functions: [`import torch\n${method('f', '')}\n\n${method('g', '')}`, ['f', 'g']],
  'methods, decorated, with documentation': [
    `class A(B):\n    """Text."""\n\n    n = 1\n\n    @staticmethod\n${method('f', '    ', '"""Of f.', '', 'def no(): """')}\n    y = 2\n${method('g', '    ')}z = 3\n`,
    ['f', 'g'],
  ],
  'a function inside of another': [`def f(x):\n    y = 1\n${method('g', '    ')}    return g\n`, ['f']],
  'a class inside of a function': [
    `def f(x):\n    y = 1\n    class C:\n${method('g', '        ')}    return C\n`,
    ['f'],
  ],
  'a first statement that holds others': [`${method('f', '', 'if x:', '    y = 2')}${method('g', '')}`, ['g']],
  'short functions': [`def f(x):\n    y = 1\n    return y\n\n${method('g', '')}`, ['g']],
  'one line': [`def f(x): return x\nclass C: pass\n${method('g', '')}`, ['g']],
  'under a condition': [`if a:\n${method('f', '    ')}else:\n${method('f', '    ')}`, ['f', 'f']],
  'comments between': [`${method('f', '')}# one\n\n  # two\n`, []],
  'comments at the margin': [`${method('f', '')}# one\n\n# two\n${method('g', '')}`, ['f', 'g']],
  'a comment behind the last statement': [`${method('f', '').trimEnd()}  # why\n${method('g', '')}`, ['g']],
  'a comment of the class behind its last method': [`class C:\n${method('f', '    ')}    # end\n`, []],
  'a comment of a branch behind its last function': [`if a:\n${method('f', '    ')}    # end\nx = 1\n`, []],
  'carriage returns': [`import torch\n${method('f', '')}z = 1\n`.replaceAll('\n', '\r\n'), ['f']],
  'lone carriage returns': [`import torch\n${method('f', '')}z = 1\r${method('g', '')}`, []],
  tabs: [`class A:\n\tdef f(self):\n${block('\t\t', LONG)}\tdef g(self):\n${block('\t\t', LONG)}`, ['f', 'g']],
  'a header over lines': [
    `async def f(\n    x,\n    y={"a": 1},\n) -> (\n    int\n):\n${block('    ', LONG)}x = 1\n`,
    ['f'],
  ],
  'lines that go on': [
    `def f(x):\n    y = \\\n  1\n${block('    ', LONG)}    z = """\nno\n"""\n    return (\nz)\nx = 1\n`,
    ['f'],
  ],
  'surrogate pairs and a byte order mark': [`\ufeffx = "\u{1f600}"\n${method('f', '', 's = "\u{1f600}"')}`, ['f']],
  'no line break at the end': [method('f', '').trimEnd(), ['f']],
  'brackets that do not close': [`${method('f', '')}x = (1\n`, []],
  'a line less indented than its block, and more than what is around it': [
    `${method('f', '')}  y = 1\n    z = 2\n${method('g', '')}`,
    [],
  ],
  'a line more indented than its block': [`class A:\n    x = 1\n${method('f', '      ')}${method('g', '    ')}`, []],
  'a header without a block': [`def f(x):\n${method('g', '')}`, []],
  'an error outside': [`${method('f', '')}x = = 1\n`, ['f']],
  'an error inside': [`${method('f', '', 'x = 1', 'y = = 2')}z = 1\n`, ['f']],
  empty: ['', []],
};

interface Flat {
  readonly kind: string;
  readonly field: string | null;
  readonly start: number;
  readonly end: number;
  readonly broken: boolean;
}

function flatten(node: Node, out: Flat[] = []): Flat[] {
  for (const child of node.children) {
    const { kind, field, start, end } = child;
    const inner = flatten(child);
    out.push({ kind, field, start, end, broken: child.broken }, ...inner);
  }
  return out;
}

function check(parser: PythonParser, text: string): void {
  const whole = parser.parseWhole('a.py', text);
  const parts = parser.parse('a.py', text);
  assert.deepEqual(flatten(parts.root), flatten(whole.root));
  assert.equal(parts.root.broken, whole.root.broken);
  parts.close();
  // As it goes where there is no room for its tree any more: once what stands around the functions has been looked at, and before.
  for (const isLookedAt of [true, false]) {
    const closed = parser.parse('a.py', text);
    if (isLookedAt) assert.ok(closed.root.children.length >= 0);
    closed.close();
    assert.deepEqual(flatten(closed.root), flatten(whole.root));
    closed.close();
  }
  whole.close();
}

describe('bodies of functions', () => {
  let parser: PythonParser;
  before(async () => {
    parser = await createParser(grammars);
  });

  for (const [name, [text, names]] of Object.entries(TEXTS))
    it(name, () => {
      const found = bodiesOf(text) ?? [];
      assert.deepEqual(
        found.map(({ start }) => /def (\w+)/.exec(text.slice(start))?.[1]),
        names,
      );
      check(parser, text);
    });

  it('are parsed to what a parse of all gives, whatever stands together', () => {
    const piece = fc.constantFrom(
      ...Object.values(TEXTS).map(([text]) => text).filter((text) => !/= =|\(1\n|\r(?!\n)|\ufeff/.test(text)),
      '# note\n', '\n', 'x = 1  # one\n', '    # deep\n', 'if x:\n    y = 1\n', '@wraps(f)\ndef k(x):\n    return x\n',
    ); // prettier-ignore
    const text = fc
      .array(piece, { maxLength: 6 })
      .map((pieces) => pieces.map((p) => p.replace(/[^\n]$/, '$&\n')).join(''));
    fc.assert(
      fc.property(text, (one) => check(parser, one)),
      { numRuns: 100 },
    );
  });
});

const isBalanced = (text: string): boolean => bodiesOf(text) !== null;

const BALANCED = [
  '',
  'f(a, [1, {2: (3,)}])',
  'x = "(" + \'[\'',
  '# (',
  'x = """(\n"[" \\""" """',
  "x = r'\\''",
  'x = "a\\\n(" ',
  'f\'{x["a"]}\'',
  'x = "it\'s"',
];
const BROKEN = ['f(', 'f)', 'f(]', 'x = "a', 'x = """a', 'def f(:\n    return [1, 2', "x = '\ny = 1'"];

describe('brackets and strings', () => {
  for (const text of BALANCED) it(`close: ${JSON.stringify(text)}`, () => assert.ok(isBalanced(text)));
  for (const text of BROKEN) it(`do not close: ${JSON.stringify(text)}`, () => assert.ok(!isBalanced(text)));

  it('close in whatever they enclose, and do not with one bracket more', () => {
    const code = fc.letrec((tie) => {
      const items = fc.array(tie('text'), { maxLength: 3 }).map((list) => list.join(', '));
      return {
        text: fc.oneof(
          fc.constantFrom('a', '1', '"("', "'''[\n'''"),
          items.map((list) => `[${list}]`),
          items.map((list) => `f(${list})  # )\n`),
        ),
      };
    }).text;
    fc.assert(fc.property(code, (text) => isBalanced(String(text)) && !isBalanced(`${String(text)} (`)));
  });

  it('make a long file that could hold no copy worth a parse, to say where it is broken', async () => {
    const engine = await engineForTests();
    const padding = '# padding\n'.repeat(300);
    assert.equal(engine.check('m.py', `import torch\n${padding}x = [1, 2]\n`).parsed, false);
    assert.ok(engine.check('m.py', `import torch\n${padding}x = [1, 2\n\ndef f(:\n    pass\n`).broken);
  });
});

const FLAGGED = `class Rank(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(64, 32)

    def forward(self, user, cand):
        n = cand.shape[0]
        rows = user.expand(n, -1)
        both = torch.cat([rows, cand], dim=-1)
        return self.lin(both)
`;
const ERRORS = [
  'y = = 2',
  'else:\n        y = 2',
  'self.x    pass',
  'if x:',
  '  while x:',
  'f(',
  '"""',
  'x = 1 \\ 2',
  'class :',
  ')',
];

describe('a text that is broken where nobody looks', () => {
  for (const error of ['x = 1', ...ERRORS])
    it(`has the findings of an open document: ${error}`, async () => {
      const engine = await engineForTests();
      const text = `import torch\nfrom torch import nn\n\n\n${method('g', '', ...LONG, error)}\n\n${FLAGGED}`;
      const document = engine.open('m.py', text);
      const expected = document.check();
      document.close();
      assert.deepEqual(engine.check('m.py', text), expected);
      if (error === 'x = 1') assert.equal(expected.findings.length, 1);
    });

  it('has no findings of text that nobody writes, as long as it is, open or not', async () => {
    const engine = await engineForTests();
    const text = `import torch\nfrom torch import nn\nx = "${'a'.repeat(300_000)}"\n${FLAGGED}`;
    const document = engine.open('m.py', text);
    assert.deepEqual(document.check(), engine.check('m.py', text));
    document.close();
    assert.equal(engine.check('m.py', text).notes.length, 1);
  });
});
