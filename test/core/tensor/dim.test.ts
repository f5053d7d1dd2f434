import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  type Dim,
  add,
  constant,
  divide,
  equal,
  evaluate,
  format,
  multiply,
  subtract,
  symbol,
  valueOf,
} from '../../../src/core/tensor/dim';

const NAMES = ['B', 'U', 'H'];
const dims: fc.Arbitrary<Dim> = fc.letrec<{ dim: Dim }>((tie) => ({
  dim: fc.oneof(
    { maxDepth: 3 },
    fc.integer({ min: -4, max: 9 }).map(constant),
    fc.constantFrom(...NAMES).map(symbol),
    fc.tuple(tie('dim'), tie('dim')).map(([a, b]) => add(a, b)),
    fc.tuple(tie('dim'), tie('dim')).map(([a, b]) => subtract(a, b)),
    fc.tuple(tie('dim'), tie('dim')).map(([a, b]) => multiply(a, b)),
  ),
})).dim;
const sizes = fc.record({ B: fc.nat(7), U: fc.nat(7), H: fc.nat(7) });
const at = (dim: Dim, values: Record<string, number>): number => evaluate(dim, (name) => values[name] ?? null)! + 0;

describe('Dim', () => {
  it('computes like integers', () => {
    fc.assert(
      fc.property(dims, dims, sizes, (a, b, values) => {
        const [x, y] = [at(a, values), at(b, values)];
        assert.equal(at(add(a, b), values), x + y);
        assert.equal(at(subtract(a, b), values), x - y);
        assert.equal(at(multiply(a, b), values), x * y + 0);
      }),
    );
  });

  it('divides only exactly', () => {
    fc.assert(
      fc.property(dims, dims, sizes, (a, b, values) => {
        const quotient = divide(a, b);
        if (quotient) assert.equal(at(multiply(quotient, b), values), at(a, values));
      }),
    );
    assert.deepEqual(divide(multiply(symbol('B'), symbol('H')), symbol('B')), symbol('H'));
    assert.equal(divide(symbol('B'), constant(2)), null);
    const [b, more] = [symbol('B'), add(multiply(constant(16), symbol('S')), constant(16))];
    assert.deepEqual(divide(multiply(b, more), more), b);
    assert.equal(divide(add(multiply(b, more), b), more), null);
    assert.equal(divide(symbol('B'), constant(0)), null);
  });

  it('compares with three answers, and never wrongly', () => {
    fc.assert(
      fc.property(dims, dims, sizes, (a, b, values) => {
        const answer = equal(a, b);
        if (answer !== null) assert.equal(at(a, values) === at(b, values), answer);
      }),
    );
    assert.equal(equal(symbol('B'), symbol('B')), true);
    assert.equal(equal(add(symbol('B'), constant(1)), constant(0)), false);
    assert.equal(equal(symbol('B'), multiply(constant(2), symbol('B'))), null);
    assert.equal(equal(symbol('B'), null), null);
  });

  it('is canonical: equal polynomials print alike', () => {
    const sum = add(multiply(constant(4), symbol('H')), constant(1));
    assert.equal(format(sum), '4*H + 1');
    assert.equal(format(add(constant(1), multiply(symbol('H'), constant(4)))), '4*H + 1');
    assert.equal(format(subtract(symbol('U'), symbol('U'))), '0');
    assert.equal(format(null), '?');
    assert.equal(format(symbol('B@17')), 'B');
    assert.equal(valueOf(subtract(add(symbol('B'), constant(3)), symbol('B'))), 3);
  });
});
