import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isBalanced } from '../../../src/core/python/balance';
import { engineForTests } from '../check';

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
