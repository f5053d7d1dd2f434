/** What a product does with the copies that it reads: which of its operations one copy would not need. */
import type { Work } from '../cost/cost';
import type { Operand, SinkEvent, SinkHit } from '../python/run';
import { sameMap } from '../tensor/axis-map';
import { type Dim, isOne } from '../tensor/dim';
import { axisAt, knownAxis, rankOf } from '../tensor/shape';
import type { Tensor } from '../tensor/value';
import type { RuleCode } from './match';

/** Size of the axis that a product sums over, in the operand or a part of it. */
export function contractedSize({ kind, byWeight, contracted }: SinkEvent, { role }: Operand, part: Tensor): Dim {
  const ofRight = kind === 'matmul' && role === 'right' && !byWeight && rankOf(part.shape) !== 1;
  return knownAxis(part.shape, ofRight ? -2 : contracted)?.dim ?? null;
}

const UNKNOWN: Work = { contracted: null, width: null };

/** Null where each copy meets something else. `axes`: all those of the operand that hold these copies. */
export function workOf(
  event: SinkEvent,
  operand: Operand,
  hit: SinkHit,
  axes: readonly number[],
  code: RuleCode,
): Work | null {
  const contracted = contractedSize(event, operand, hit.carrier);
  // A module projects the keys and values that it is given; edges are rows whatever their axis counts as.
  if (
    (hit.axisRole === 'row' && event.kind !== 'attention') ||
    event.kind === 'multihead-attention' ||
    code === 'IKB304'
  )
    return { contracted, width: event.outWidth };
  if (hit.axisRole !== 'batch' && hit.axisRole !== 'head') return null;
  const others = event.operands.filter((o) => o !== operand && (event.kind !== 'attention' || o.role === 'query'));
  if (event.kind === 'einsum') return others.some((o) => o.hits.some(isAlong)) ? UNKNOWN : null;
  const [other] = others;
  if (!other || (event.kind !== 'matmul' && event.kind !== 'attention')) return null;
  const shared = axes.filter((axis) => isSame(hit, axis, other.value));
  if (shared.length === 0) return null;
  if (shared.length < axes.length || event.kind === 'attention') return UNKNOWN;
  const width = operand.role === 'right' ? axisAt(other.value, -2).dim : event.outWidth;
  return { contracted, width };
}

const isAlong = ({ axisRole }: SinkHit): boolean => axisRole === 'batch' || axisRole === 'head';

/** The other operand holds copies along this axis, too, or one matrix for all of them. */
function isSame({ carrier }: SinkHit, axis: number, other: Tensor): boolean {
  const [rank, others] = [rankOf(carrier.shape), rankOf(other.shape)];
  const back = axis < 0 ? axis : rank === null ? null : axis - rank;
  const own = knownAxis(carrier.shape, axis)?.replica;
  if (back === null || !own) return false;
  if (others !== null && -back > others) return true;
  const met = knownAxis(other.shape, back);
  return met !== null && (isOne(met.dim) || (met.replica !== null && sameMap(met.replica.map, own.map)));
}
