/** Trees of many files do not stay in memory, and their nodes can be asked all the same. */
import assert from 'node:assert/strict';
import { createParser } from '../../../src/core/python/parser';
import type { Node } from '../../../src/core/python/syntax';
import { grammarsForTests } from '../check';

const text = (n: number) => `def f${n}(x):\n    return [x, '${'-'.repeat(150_000)}']\n`;

function shape(node: Node): string {
  return node.children.length === 0
    ? node.kind
    : `${node.kind}(${node.children.length})${shape(node.children[0] ?? node)}`;
}

describe('syntax trees', () => {
  it('are parsed again where they had to go', async () => {
    const parser = await createParser(grammarsForTests());
    const files = Array.from({ length: 40 }, (_, n) => parser.parse(`${n}.py`, text(n)));
    // 6 million characters, of which a part can stay; asked in an order that lets each go before it comes up.
    const shapes = files.map((file) => shape(file.root));
    assert.equal(new Set(shapes).size, 1);
    assert.match(shapes[0] ?? '', /^module\(1\)function_definition\(3\)/);
  });
  it('take no longer for thousands of comment lines than for code', async () => {
    const parser = await createParser(grammarsForTests());
    const comments = '    # nothing\n'.repeat(20_000);
    const file = parser.parse('a.py', `def f(x):\n${comments}    return x\n\n\ndef g(x):\n    return x  # ikbo: B=1\n`);
    const starts = file.root.children.map(({ start }) => file.text.slice(start, start + 5));
    assert.deepEqual(starts, ['def f', 'def g']);
    assert.deepEqual(file.commentsWith('ikbo:'), [{ line: 20_006, text: '# ikbo: B=1' }]);
    const edited = file.edited([{ start: 0, end: 0, text: 'y = 2\n' }]);
    assert.equal(edited.root.children.length, 3);
    edited.close();
  });
  it('keep the end of a string that looks like a comment', async () => {
    const parser = await createParser(grammarsForTests());
    const text = `s = """\n${'# text\n'.repeat(1_000)}# end """\n\n\ndef f(x):\n    return x\n`;
    const { root } = parser.parse('a.py', text);
    assert.equal(root.broken, false);
    assert.deepEqual(root.children.map(({ kind }) => kind), ['expression_statement', 'function_definition']); // prettier-ignore
  });
  it('give the same nodes after they were let go', async () => {
    const parser = await createParser(grammarsForTests());
    const file = parser.parse('a.py', 'def f(x):\n    return x + 1\n');
    const before = shape(file.root);
    file.close();
    file.forgetNodes();
    assert.equal(shape(file.root), before);
    const edited = file.edited([{ start: 0, end: 0, text: 'y = 2\n' }]);
    assert.equal(edited.root.children.length, 2);
    edited.close();
  });
});
