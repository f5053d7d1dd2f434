import assert from 'node:assert/strict';
import { ONE, symbol } from '../../../src/core/tensor/dim';
import { concatenate } from '../../../src/core/tensor/concatenate';
import { pointwise } from '../../../src/core/tensor/pointwise';
import { expand, repeatInterleave } from '../../../src/core/tensor/replicate';
import { exactShape, freeAxis, knownAxis, tensor } from '../../../src/core/tensor/shape';
import type { Dim } from '../../../src/core/tensor/dim';
import type { Tensor } from '../../../src/core/tensor/value';

const AT = { path: 'a.py', start: 0, end: 1, line: 1 };
const [b, n, d] = ['b', 'n', 'd'].map((name) => symbol(name)) as [Dim, Dim, Dim];
const of = (...dims: readonly Dim[]): Tensor => tensor(exactShape(dims.map((dim) => freeAxis(dim))));

describe('pointwise', () => {
  it('a single row that meets copies along its axis holds no copies', () => {
    const rows = concatenate([of(b, ONE, d), repeatInterleave(of(b, n, d), symbol('k'), 0, 'k', AT)], 1, AT, 'cat');
    const copies = expand(of(b, ONE, d), ['keep', null, 'keep'], AT);
    const sum = pointwise([rows, copies], AT, 'addition');
    const [first, second] = (sum.form?.blocks ?? []).map(({ terms: [term] }) => term?.factors[0]);
    assert.ok(first && second);
    assert.equal(knownAxis(first.shape, 1)?.replica ?? null, null);
  });
});
