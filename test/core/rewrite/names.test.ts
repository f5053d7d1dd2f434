import assert from 'node:assert/strict';
import { requireUndisturbed } from '../../../src/core/rewrite/disturbance';
import { definitionOf, readersOf } from '../../../src/core/rewrite/names';
import { Refusal } from '../../../src/core/rewrite/refusal';
import { lineOf, statementOf, textOf } from '../../../src/core/python/syntax';
import { nodeAt, parse } from './parse';

const body = (...lines: string[]): string => ['def f(self, x, xs, n):', ...lines.map((l) => `    ${l}`), ''].join('\n');

describe('names: the definition that a use reads', () => {
  /** `use` is the nth occurrence of `name`; `value` is what it stands for, null for "not certain". */
  function check(title: string, text: string, name: string, nth: number, value: string | null): void {
    it(title, async () => {
      const definition = definitionOf(nodeAt(await parse(text), name, nth));
      assert.equal(definition && textOf(definition.value), value);
    });
  }

  check('one assignment', body('y = g(x)', 'return h(y)'), 'y', 1, 'g(x)');
  check('the last of two', body('y = g(x)', 'y = k(y)', 'return h(y)'), 'y', 3, 'k(y)');
  check('its own right side reads the one before', body('y = g(x)', 'y = k(y)', 'return y'), 'y', 2, 'g(x)');
  check('not an argument', body('return h(x)'), 'x', 1, null);
  check('not across a branch', body('y = g(x)', 'if n:', '    y = k(x)', 'return h(y)'), 'y', 2, null);
  check('into a branch', body('y = g(x)', 'if n:', '    return h(y)', 'return x'), 'y', 1, 'g(x)');
  check('not when a loop binds it later', body('y = g(x)', 'for i in xs:', '    h(y)', '    y = k(i)'), 'y', 1, null);
  check('into a loop that does not', body('y = g(x)', 'for i in xs:', '    h(y)', 'return x'), 'y', 1, 'g(x)');
  check('not of an unpacking', body('y, z = g(x)', 'return h(y)'), 'y', 1, null);
  check('not of an augmented assignment', body('y = g(x)', 'y += 1', 'return h(y)'), 'y', 2, null);
  check('not after del', body('y = g(x)', 'del y', 'return h(y)'), 'y', 2, null);
  check('not inside a comprehension', body('y = g(x)', 'return [h(y) for i in xs]'), 'y', 1, null);
  check('not past a walrus', body('y = g(x)', 'if (y := k(x)):', '    pass', 'return h(y)'), 'y', 2, null);
  check('not past a with target', body('y = g(x)', 'with k(x) as y:', '    pass', 'return h(y)'), 'y', 2, null);
  check('not past an import', body('y = g(x)', 'import y', 'return h(y)'), 'y', 2, null);
  check('not a chained assignment', body('y = z = g(x)', 'return h(z)'), 'z', 1, null);
});

describe('names: who else reads a value', () => {
  /** Lines, in the file, of the reads of the first definition of `y`. */
  function check(title: string, text: string, lines: number[]): void {
    it(title, async () => {
      const root = await parse(text);
      const statement = statementOf(nodeAt(root, 'y', 0));
      const found = readersOf({ statement, value: statement }, 'y').map(lineOf);
      assert.deepEqual(found, lines);
    });
  }

  check('every later read', body('y = g(x)', 'a = h(y)', 'return y'), [3, 4]);
  check('up to the next assignment, its right side included', body('y = g(x)', 'y = h(y)', 'return y'), [3]);
  check(
    'a nested function may read at any time',
    body('y = g(x)', 'def k():', '    return y', 'y = 1', 'return k'),
    [4],
  );
  check('an assignment in a branch ends nothing', body('y = g(x)', 'if n:', '    y = 2', 'return y'), [5]);
  check('a loop reads it again', body('for i in xs:', '    y = g(y)', 'return x'), [3]);
  check('not an attribute or a keyword of that name', body('y = g(x)', 'a = self.y', 'return h(y=a)'), []);
});

describe('names: whether an expression still has its value', () => {
  /** Moves `expression` from the statement that holds `from` to the one that holds `to`. */
  function check(
    title: string,
    text: string,
    expression: string,
    from: string,
    to: string,
    refusal: RegExp | null,
  ): void {
    it(title, async () => {
      const root = await parse(text);
      const move = (): void => {
        requireUndisturbed(nodeAt(root, expression), statementOf(nodeAt(root, from)), statementOf(nodeAt(root, to)));
      };
      if (!refusal) return move();
      assert.throws(move, (error) => error instanceof Refusal && refusal.test(error.reason));
    });
  }
  const moved = (...between: string[]): string => body('r = x.repeat(n, 1)', ...between, 'end = h(r)');

  const attribute = (between: string): string => body('r = self.p.repeat(n, 1)', between, 'end = h(r)');
  check('nothing in between', moved(), 'x.repeat(n, 1)', 'r', 'end', null);
  check('something else is bound', moved('z = 1'), 'x.repeat(n, 1)', 'r', 'end', null);
  check('bound again', moved('x = g(x)'), 'x.repeat(n, 1)', 'r', 'end', /`x` is bound again at line 3/);
  check('the count is bound again', moved('n = 2'), 'x.repeat(n, 1)', 'r', 'end', /`n` is bound again/);
  check('unpacked over', moved('x, z = g(x)'), 'x.repeat(n, 1)', 'r', 'end', /bound again/);
  check('written by index', moved('x[0] = 0'), 'x.repeat(n, 1)', 'r', 'end', /`x` may be written into at line 3/);
  check('written in place', moved('x.add_(1)'), 'x.repeat(n, 1)', 'r', 'end', /written into/);
  check('written by a function', moved('torch.relu_(x)'), 'x.repeat(n, 1)', 'r', 'end', /written into/);
  check('written as out', moved('torch.add(z, z, out=x)'), 'x.repeat(n, 1)', 'r', 'end', /written into/);
  check('written with inplace=True', moved('F.relu(x, inplace=True)'), 'x.repeat(n, 1)', 'r', 'end', /written into/);
  check('written with a positional inplace', moved('F.relu(x, True)'), 'x.repeat(n, 1)', 'r', 'end', /written into/);
  check('dropped out in place', moved('F.dropout(x, 0.1, True, True)'), 'x.repeat(n, 1)', 'r', 'end', /written into/);
  check('dropped out', moved('F.dropout(x, 0.1, True)'), 'x.repeat(n, 1)', 'r', 'end', null);
  check('its attribute is deleted', attribute('del self.p'), 'self.p.repeat(n, 1)', 'r', 'end', /`self.p`/);
  check('augmented', moved('x += 1'), 'x.repeat(n, 1)', 'r', 'end', /x/);
  check('another attribute is set', attribute('self.q = 1'), 'self.p.repeat(n, 1)', 'r', 'end', null);
  check('this attribute is set', attribute('self.p = 1'), 'self.p.repeat(n, 1)', 'r', 'end', /`self.p`/);
  check(
    'bound by the sink itself, afterwards',
    body('r = x.repeat(n, 1)', 'x = h(r)'),
    'x.repeat(n, 1)',
    'r',
    'x = h(r)',
    null,
  );
});
