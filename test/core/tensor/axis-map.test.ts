import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ALL, type AxisMap, type MappedAxis, compose, merge, rowOf, split } from '../../../src/core/tensor/axis-map';
import { type Dim, ONE, constant, valueOf } from '../../../src/core/tensor/dim';

const number = (dim: Dim): number => valueOf(dim)!;
const mapped = (map: AxisMap, source: number, extent: number): MappedAxis => ({
  map,
  source: constant(source),
  extent: constant(extent),
});

/** Replicated axes of small sizes. */
const axes: fc.Arbitrary<MappedAxis> = fc.oneof(
  fc.integer({ min: 1, max: 6 }).map((n) => ({ map: ALL, source: ONE, extent: constant(n) })),
  fc
    .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }))
    .map(([s, r]) => mapped({ kind: 'blocks', ratio: constant(r) }, s, s * r)),
  fc
    .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }))
    .map(([s, k]) => mapped({ kind: 'cycle', source: constant(s) }, s, s * k)),
);

const row = (axis: MappedAxis, i: number): number | null => rowOf(axis.map, i, number);
const positions = (axis: MappedAxis): number[] => Array.from({ length: number(axis.extent) }, (_, i) => i);

describe('AxisMap', () => {
  it('composes as functions do', () => {
    fc.assert(
      fc.property(axes, axes, (inner, outer) => {
        fc.pre(number(outer.source) === number(inner.extent));
        const both = compose(outer, inner);
        for (const i of positions(outer)) {
          const found = row(both, i);
          if (found !== null) assert.equal(found, row(inner, row(outer, i)!));
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('composes the named maps that have a name', () => {
    const index: MappedAxis = { map: { kind: 'indexed', index: 'c2s' }, source: null, extent: null };
    const inner: MappedAxis = { map: { kind: 'indexed', index: 's2u' }, source: null, extent: null };
    assert.deepEqual(compose(index, inner).map, { kind: 'indexed', index: 's2u[c2s]' });
    const twice = compose(
      mapped({ kind: 'blocks', ratio: constant(2) }, 6, 12),
      mapped({ kind: 'blocks', ratio: constant(3) }, 2, 6),
    );
    assert.deepEqual(twice.map, { kind: 'blocks', ratio: constant(6) });
  });

  it('merges two axes as a reshape does', () => {
    const optional = fc.option(axes, { nil: null });
    fc.assert(
      fc.property(optional, optional, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }), (a, b, n, m) => {
        const before = { extent: a?.extent ?? constant(n), mapped: a };
        const after = { extent: b?.extent ?? constant(m), mapped: b };
        const made = merge(before, after);
        assert.equal(made === null, a === null && b === null);
        if (!made || made.map.kind === 'other') return;
        const inner = number(after.extent);
        // Two positions that the merged map sends to one row must hold the same source rows of both axes.
        const source = (i: number): string => {
          const [x, y] = [Math.floor(i / inner), i % inner];
          return `${a ? row(a, x) : x},${b ? row(b, y) : y}`;
        };
        const seen = new Map<number, string>();
        for (const i of positions(made)) {
          const key: number = row(made, i)!;
          assert.ok(key < number(made.source), 'a row beyond the source');
          assert.equal(seen.get(key) ?? source(i), source(i));
          seen.set(key, source(i));
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('splits an axis as a view does', () => {
    fc.assert(
      fc.property(axes, fc.integer({ min: 1, max: 6 }), (axis, m) => {
        const extent = number(axis.extent);
        fc.pre(extent % m === 0);
        const parts = split(axis, constant(extent / m), constant(m));
        const value = (i: number): number => row(axis, i)!;
        for (let x = 0; x < extent / m; x++) {
          for (let y = 0; y < m; y++) {
            if (parts.before?.map.kind === 'all') assert.equal(value(x * m + y), value(y));
            if (parts.after?.map.kind === 'all') assert.equal(value(x * m + y), value(x * m));
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('undoes a merge', () => {
    const free = { extent: constant(3), mapped: null };
    const expanded = { extent: constant(4), mapped: { map: ALL, source: ONE, extent: constant(4) } };
    const blocks = merge(free, expanded)!;
    assert.deepEqual(blocks.map, { kind: 'blocks', ratio: constant(4) });
    assert.equal(split(blocks, constant(3), constant(4)).before, null);
    assert.deepEqual(split(blocks, constant(3), constant(4)).after?.map, ALL);
    const cycle = merge(expanded, free)!;
    assert.deepEqual(cycle.map, { kind: 'cycle', source: constant(3) });
    assert.deepEqual(split(cycle, constant(4), constant(3)).before?.map, ALL);
  });
});
