import assert from 'node:assert/strict';
import { textOf } from '../../../src/core/python/syntax';
import { type Index, indexOf } from '../../../src/core/rewrite/file-index';
import { namer } from '../../../src/core/rewrite/names';
import { parse } from './parse';

const SOURCE = `
class A(B):  # class Gone, def gone(): self.gone = 1
    'def gone(): self.gone = lambda x: x'

    def run(self): return self.read
    @property
    def size(self): return 1
    @functools.cached_property
    def größe(self): return 2
    @size.setter
    def size(self, n): self.n: int = n

    def __init__(self):
        self.a = self.b = one(1)
        self.a = two(2)
        self.sub.c = 3
        other.d = 4
        self.e += 5
        self.f == 6
        self . g = 7
        self.h, self.i = 8, 9
        def inner(): self.a = three(3)

if flag:
    def run(): return 0
    twice = lambda x: x + x
    twice.attribute = lambda x: x
    thrice: Callable = lambda x: 3 * x
`;

describe('what a file defines, by name', () => {
  function check(kind: keyof Index, expected: Readonly<Record<string, readonly string[]>>): void {
    for (const [name, texts] of Object.entries(expected))
      it(`${kind}: ${name}`, async () => {
        const found = indexOf((await parse(SOURCE)).file)[kind];
        assert.deepEqual((found.get(name) ?? []).map(textOf), texts);
        assert.equal(found.has(name), texts.length > 0);
      });
  }
  const size = 'def size(self): return 1';
  const other = 'def größe(self): return 2';
  check('functions', {
    run: ['def run(self): return self.read', 'def run(): return 0'],
    size: [size, 'def size(self, n): self.n: int = n'],
    inner: ['def inner(): self.a = three(3)'],
    größe: [other],
    ...{ gone: [], gr: [], read: [], '': [] },
  });
  check('classes', { Gone: [], B: [], run: [] });
  check('properties', { size: [size], größe: [other], run: [] });
  check('attributes', {
    ...{ a: ['self.b = one(1)', 'two(2)', 'three(3)'], b: ['one(1)'], n: ['n'], g: ['7'] },
    ...{ gone: [], c: [], d: [], e: [], f: [], h: [], i: [], sub: [], read: [] },
  });
  check('lambdas', { twice: ['lambda x: x + x'], thrice: ['lambda x: 3 * x'], attribute: [], gone: [] });

  it('classes: A', async () => {
    const found = indexOf((await parse(SOURCE)).file).classes.get('A') ?? [];
    assert.deepEqual(found.map((one) => textOf(one).split(':')[0]), ['class A(B)']); // prettier-ignore
  });

  it('gives names that the file does not use as variables', async () => {
    const fresh = namer(await parse('a = b.c  # d\ne_2 = f(g=1)\n'));
    const asked = ['a', 'a', 'c', 'd', 'g', '_e', 'e', 'e', 'b_2', 'b'];
    assert.deepEqual(asked.map(fresh), ['a_2', 'a_3', 'c', 'd', 'g', 'e', 'e_3', 'e_4', 'b_2', 'b_3']);
  });
});
