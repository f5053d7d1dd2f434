/** What a request asks for, checked and costed before anything is allocated: arms, the index map, bytes, operations. */
import { AS_WRITTEN, armsFor, type Arm } from './arms';
import { random } from './stats';
import { BYTES_PER_ELEMENT, checkDims, copiedBytes, OPS } from '../protocol/dims';
import {
  REGIMES,
  type BenchRequest,
  type DeviceInfo,
  type Dims,
  type Dtype,
  type Grouping,
  type Op,
} from '../protocol/bench';

export interface Plan {
  readonly request: BenchRequest;
  readonly arms: readonly Arm[];
  /** User of each candidate. Sorted and in equal groups when `repeats` is not null. */
  readonly index: Int32Array;
  /** Candidates per user when all have the same number, in order; else null. */
  readonly repeats: number | null;
  readonly cost: Cost;
}

/** Of the operator itself, for every arm alike: no replica and no padding is counted. */
export interface Cost {
  readonly flops: number;
  /** Inputs at their natural batch, weights, and output, each once. */
  readonly bytes: number;
  /** The most memory that the arms need at the same time: inputs, copies, outputs, work space. */
  readonly memoryBytes: number;
}

/** A request that cannot be run; the message says what is wrong with it and what would do. */
export class PlanError extends Error {
  override readonly name = 'PlanError';
}

const DTYPES: readonly Dtype[] = ['fp32', 'fp16', 'bf16'];
const GROUPINGS: readonly Grouping[] = ['uniform', 'uneven', 'unsorted'];
const REGIME_IDS = REGIMES.map(({ id }) => id);
const LONGEST_SECONDS = 600;

export function plan(request: BenchRequest, device: DeviceInfo, freeBytes: number): Plan {
  check(request);
  const { B = 0, U = 0 } = request.dims;
  const index = groupIndex(request.grouping, B, U, request.seed);
  const cost = costOf(request.op, request.dims, request.dtype);
  if (cost.memoryBytes > freeBytes)
    throw new PlanError(
      `These sizes need ${gigabytes(cost.memoryBytes)} for inputs, copies and outputs, and ${device.name} has ` +
        `${gigabytes(freeBytes)} free. Reduce B, or choose a smaller data type.`,
    );
  const arms = chosen(request, armsFor(request, device.kind));
  return { request, arms, index, repeats: request.grouping === 'uniform' && B % U === 0 ? B / U : null, cost };
}

function check({ op, dims, dtype, grouping, regimes, seconds, seed }: BenchRequest): void {
  if (!Object.hasOwn(OPS, op)) throw new PlanError(`There is no operator ${op}; ${Object.keys(OPS).join(', ')} exist.`);
  for (const [name, problem] of Object.entries(checkDims(op, dims))) throw new PlanError(`${name}: ${problem}`);
  const known = OPS[op].dims.map(({ name }) => name);
  for (const name of Object.keys(dims))
    if (!known.includes(name)) throw new PlanError(`${op} has no size ${name}; it has ${known.join(', ')}.`);
  if (!DTYPES.includes(dtype)) throw new PlanError(`There is no data type ${dtype}; ${DTYPES.join(', ')} exist.`);
  if (!GROUPINGS.includes(grouping))
    throw new PlanError(`There is no grouping ${grouping}; ${GROUPINGS.join(', ')} exist.`);
  if (regimes.length === 0) throw new PlanError(`Choose a regime: ${REGIME_IDS.join(', ')}.`);
  for (const regime of regimes)
    if (!REGIME_IDS.includes(regime))
      throw new PlanError(`There is no regime ${regime}; ${REGIME_IDS.join(', ')} exist.`);
  if (!(seconds > 0 && seconds <= LONGEST_SECONDS))
    throw new PlanError(`Seconds must be above 0 and at most ${LONGEST_SECONDS}.`);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new PlanError('The seed must be a whole number from 0.');
}

function chosen({ arms }: BenchRequest, all: readonly Arm[]): readonly Arm[] {
  if (arms === null) return all;
  const ids = all.map(({ id }) => id);
  for (const id of arms)
    if (!ids.includes(id)) throw new PlanError(`There is no arm ${id} for this request; ${ids.join(', ')} exist.`);
  if (arms.length === 0) throw new PlanError(`Choose at least one arm: ${ids.join(', ')}.`);
  return all.filter(({ id }) => arms.includes(id));
}

/** The arm that the others are compared with. */
export function baseOf(arms: readonly Arm[]): string {
  return arms.find(({ id }) => id === AS_WRITTEN)?.id ?? arms[0]?.id ?? AS_WRITTEN;
}

/**
 * User of each of B candidates. Uniform: equal groups in order (the last ones smaller when U does not divide B).
 * Uneven: each user has one candidate and the rest fall to users by a skewed draw, in order. Unsorted: the uneven groups,
 * shuffled.
 */
export function groupIndex(grouping: Grouping, B: number, U: number, seed: number): Int32Array {
  const index = new Int32Array(B);
  if (grouping === 'uniform') return index.map((_, i) => Math.floor((i * U) / B));
  const next = random(seed);
  for (let i = 0; i < B; i++) index[i] = i < U ? i : Math.floor(U * next() ** 2);
  index.sort();
  if (grouping === 'unsorted')
    for (let i = B - 1; i > 0; i--) {
      const j = Math.floor(next() * (i + 1));
      [index[i], index[j]] = [index[j] ?? 0, index[i] ?? 0];
    }
  return index;
}

export function costOf(op: Op, dims: Dims, dtype: Dtype): Cost {
  const size = BYTES_PER_ELEMENT[dtype];
  const { B = 0, U = 0, Ku = 0, Kc = 0, M = 0, N = 0, Q = 0, S = 0, H = 0, Hkv = 0, D = 0 } = dims;
  const columns = op === 'linear-compression' ? N : 1;
  const attention = op === 'attention';
  const inputs = attention ? B * Q * H * D + 2 * U * S * Hkv * D : (U * Ku + B * Kc) * columns;
  const weights = attention ? 0 : M * (Ku + Kc);
  const output = attention ? B * Q * H * D : B * M * columns;
  const flops = attention ? 4 * B * Q * H * S * D : 2 * M * columns * (U * Ku + B * Kc);
  const bytes = (inputs + weights + output) * size;
  // The code as written makes one set of copies, and the arm on ready copies reads another together with the candidates.
  const copies = 2 * (copiedBytes(op, dims, dtype) + (attention ? 0 : B * Kc * columns * size));
  const partial = attention ? 0 : U * M * columns * 4;
  return { flops, bytes, memoryBytes: bytes + copies + partial + output * size };
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`;
