import assert from 'node:assert/strict';
import { applyEdits } from '../../../src/core/edits';
import { statementOf } from '../../../src/core/python/syntax';
import { closeGaps, flat, inOrder, insertBefore, removeStatement } from '../../../src/core/rewrite/edit';
import { importFunctional, importIkbo } from '../../../src/core/rewrite/imports';
import { Refusal } from '../../../src/core/rewrite/refusal';
import { nodeAt, parse } from './parse';

describe('edits of statements', () => {
  function removed(title: string, text: string, node: string, after: string | RegExp): void {
    it(title, async () => {
      const statement = statementOf(nodeAt(await parse(text), node));
      if (after instanceof RegExp) {
        assert.throws(
          () => removeStatement(statement),
          (e) => e instanceof Refusal && after.test(e.reason),
        );
      } else assert.equal(applyEdits(text, [removeStatement(statement)]), after);
    });
  }
  removed('a line', 'def f():\n    a = 1\n    b = 2\n', 'a = 1', 'def f():\n    b = 2\n');
  removed('with its comment', 'def f():\n    a = 1  # one\n    b = 2\n', 'a = 1', 'def f():\n    b = 2\n');
  removed('with CRLF and tabs', 'def f():\r\n\ta = 1\r\n\tb = 2\r\n', 'a = 1', 'def f():\r\n\tb = 2\r\n');
  removed('over several lines', 'def f():\n    a = g(\n        1,\n    )\n    b = 2\n', 'a', 'def f():\n    b = 2\n');
  removed('at the end of the file', 'b = 2\na = 1', 'a = 1', 'b = 2\n');
  removed('not beside another one', 'def f():\n    a = 1; b = 2\n', 'a = 1', /line 2 holds another statement too/);
  removed('not behind another one', 'def f():\n    b = 2; a = 1\n', 'a = 1', /line 2 holds another statement too/);
  removed('not in a one-line block', 'if x: a = 1\n', 'a', /line 1 holds another/);

  function closed(title: string, text: string, names: readonly string[], after: string): void {
    it(`closes gaps: ${title}`, async () => {
      const file = await parse(text);
      const edits = names.map((name) => removeStatement(statementOf(nodeAt(file, name))));
      assert.equal(applyEdits(text, closeGaps(text, edits)), after);
    });
  }
  closed('one line between blank ones', 'z = 0\n\na = 1\n\nb = 2\n', ['a = 1'], 'z = 0\n\nb = 2\n');
  closed('each of two', 'z = 0\r\n\r\na = 1\r\n\r\nb = 2\r\n\r\nc = 3', ['a = 1', 'b = 2'], 'z = 0\r\n\r\nc = 3');
  closed('two together', 'z = 0\n\na = 1\nb = 2\n \nc = 3\n', ['a = 1', 'b = 2'], 'z = 0\n\nc = 3\n');
  closed('the first of a block', 'def f():\n    a = 1\n\n    b = 2\n', ['a = 1'], 'def f():\n    b = 2\n');
  closed('none before a line', 'z = 0\na = 1\n\nb = 2\n', ['a = 1'], 'z = 0\n\nb = 2\n');
  closed('none behind a line', 'z = 0\n\na = 1\nb = 2\n', ['a = 1'], 'z = 0\n\nb = 2\n');

  it('inserts with the indentation and the line end of the file', async () => {
    const text = 'def f():\r\n\treturn g(x)\r\n';
    const edit = insertBefore(statementOf(nodeAt(await parse(text), 'g(x)')), ['a = 1', 'b = 2']);
    assert.equal(applyEdits(text, [edit]), 'def f():\r\n\ta = 1\r\n\tb = 2\r\n\treturn g(x)\r\n');
  });

  it('refuses edits that overlap', () => {
    const edit = { start: 1, end: 5, text: '' };
    assert.throws(() => inOrder([edit, { start: 4, end: 6, text: 'x' }]), Refusal);
  });
});

describe('an expression on one line', () => {
  function check(text: string, after: string | RegExp): void {
    it(JSON.stringify(text), async () => {
      const root = await parse(`a = ${text}\n`);
      const node = root.children[0]?.children[0]?.children.at(-1);
      assert.ok(node);
      if (after instanceof RegExp)
        assert.throws(
          () => flat(node),
          (e) => e instanceof Refusal && after.test(e.reason),
        );
      else assert.equal(flat(node), after);
    });
  }
  check('f(a,\n    b)', 'f(a, b)');
  check('f(\n    a,\n    b,\n)', 'f(a, b)');
  check('(x\n    .view(1)\n    .relu())', '(x.view(1).relu())');
  check('f(a,  # why\n  b)', /comment/);
  check('a + \\\n    b', 'a + b');
});

describe('imports', () => {
  function check(title: string, which: 'F' | 'ikbo', text: string, name: string, after: string): void {
    it(title, async () => {
      const { name: got, edit } = (which === 'F' ? importFunctional : importIkbo)(await parse(text));
      assert.equal(got, name);
      assert.equal(edit ? applyEdits(text, [edit]) : text, after);
    });
  }
  const there = 'import torch.nn.functional as F\n';
  check('F is there', 'F', there, 'F', there);
  const from = 'from torch.nn import functional as fn, Module\n';
  check('under another name', 'F', from, 'fn', from);
  check(
    'F behind the imports of torch',
    'F',
    'import torch\nimport torch.nn as nn\nimport zlib\n\nx = 1\n',
    'F',
    'import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nimport zlib\n\nx = 1\n',
  );
  check('F means something else', 'F', 'import torch\nF = 3\n', 'torch.nn.functional', 'import torch\nF = 3\n');
  check('ikbo_lens is there', 'ikbo', 'import ikbo_lens as ik\n', 'ik', 'import ikbo_lens as ik\n');
  check(
    'behind docstring and __future__',
    'ikbo',
    '"""Doc."""\n\nfrom __future__ import annotations\n\nx = 1\n',
    'ikbo_lens',
    '"""Doc."""\n\nfrom __future__ import annotations\nimport ikbo_lens\n\nx = 1\n',
  );
  check(
    'behind a docstring alone',
    'ikbo',
    '"""Doc."""\nx = 1\n',
    'ikbo_lens',
    '"""Doc."""\n\nimport ikbo_lens\nx = 1\n',
  );
  check('at the top', 'ikbo', '# a comment\nx = 1\n', 'ikbo_lens', '# a comment\nimport ikbo_lens\nx = 1\n');
  check('with CRLF', 'ikbo', 'import torch\r\nx = 1\r\n', 'ikbo_lens', 'import torch\r\nimport ikbo_lens\r\nx = 1\r\n');
  check(
    'past a try around an import',
    'ikbo',
    'import torch\ntry:\n    import a\nexcept ImportError:\n    a = None\nimport b\n\n\nclass C:\n    pass\n',
    'ikbo_lens',
    'import torch\nimport ikbo_lens\ntry:\n    import a\nexcept ImportError:\n    a = None\nimport b\n\n\nclass C:\n    pass\n',
  );
});
