/** Whether two values hold the same copies: then whatever is done to both meets the same products with them. */
import { isOne } from './dim';
import { sameReplica } from './pointwise';
import type { Axis, Replica, Tensor } from './value';

/** Sizes aside, which name what a finding costs and decide nothing, unless one is 1 and may grow. */
export function sameCopies(a: Tensor, b: Tensor): boolean {
  return (
    a.form === null &&
    b.form === null &&
    a.shape.exact === b.shape.exact &&
    a.content === b.content &&
    a.noised === b.noised &&
    a.uniform === b.uniform &&
    a.index.kind === b.index.kind &&
    a.picked.length === 0 &&
    b.picked.length === 0 &&
    sameAxes(a.shape.head, b.shape.head) &&
    sameAxes(a.shape.tail, b.shape.tail)
  );
}

const sameAxes = (a: readonly Axis[], b: readonly Axis[]): boolean =>
  a.length === b.length && a.every((axis, at) => sameAxis(axis, b[at]));

const sameAxis = (a: Axis, b: Axis | undefined): boolean =>
  b !== undefined &&
  isOne(a.dim) === isOne(b.dim) &&
  (a.replica === null || b.replica === null ? a.replica === b.replica : sameStage(a.replica, b.replica));

/** On their way from the same place, both written or not, and as much changed. */
const sameStage = (a: Replica, b: Replica): boolean =>
  sameReplica(a, b) &&
  (a.written === null) === (b.written === null) &&
  (a.scaled === null) === (b.scaled === null) &&
  a.added === b.added &&
  a.when.length === b.when.length &&
  a.also.length === b.also.length &&
  a.assumptions.length === b.assumptions.length;
