/** Is an arm's output right? Every element written, and sampled rows close to an fp64 reference. */
import { random } from '../stats';
import { BYTES_PER_ELEMENT } from '../../protocol/dims';
import type { Check, Dims, Dtype, Op } from '../../protocol/bench';
import type { Addon, Args, Memory } from './addon';
import type { Problem } from './problem';

export const POISON = 0xff;

/** Multiplications that the reference may take: about a second on two cores. */
const REFERENCE_OPERATIONS = 2e8;
const MOST_ROWS = 512;

export interface Reference {
  readonly rows: readonly number[];
  readonly values: Float64Array;
}

/** Of the operator; or of its candidates alone, given zeros in place of the users' rows. */
export function makeReference(addon: Addon, problem: Problem, zeros: Memory | null = null): Reference {
  const { op, dims, seed } = problem.plan.request;
  const count = Math.max(4, Math.min(MOST_ROWS, Math.floor(REFERENCE_OPERATIONS / rowOperations(op, dims))));
  const next = random(seed);
  const rows = new Set([0, problem.rows - 1]);
  while (rows.size < Math.min(count, problem.rows)) rows.add(Math.floor(next() * problem.rows));
  const chosen = [...rows];
  const { shape, args } = problem.call({ kind: 'stage', stage: 0, input: 'mapped' });
  const given = zeros ? replaced(args[0] ?? {}, problem.inputs[0]?.['user'], zeros) : (args[0] ?? {});
  return { rows: chosen, values: addon.reference(shape, given, Float64Array.from(chosen)) };
}

function replaced(args: Args, from: Memory | undefined, to: Memory): Args {
  const one = (value: Memory | null): Memory | null => (value === from ? to : value);
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, isList(value) ? value.map(one) : one(value)]),
  );
}

const isList = (value: Args[string]): value is readonly (Memory | null)[] => Array.isArray(value);

function rowOperations(op: Op, { Ku = 0, Kc = 0, M = 0, N = 0, S = 0, D = 0 }: Dims): number {
  if (op === 'attention') return 2 * S * D;
  return (Ku + Kc) * (op === 'concat-linear' ? M : N);
}

/** Reads the reference's rows from an output in the device's memory. */
export function readRows(problem: Problem, out: Memory, rows: readonly number[]): Float64Array {
  const { dtype } = problem.plan.request;
  const all = new Float64Array(rows.length * problem.rowWidth);
  rows.forEach((row, i) => {
    all.set(out.values(dtype, row * problem.rowWidth, problem.rowWidth), i * problem.rowWidth);
  });
  return all;
}

/** ‖out - ref‖ / ‖ref‖; infinite where anything is not finite. */
export function errorOf(values: Float64Array, reference: Float64Array): number {
  let difference = 0;
  let norm = 0;
  reference.forEach((expected, i) => {
    difference += ((values[i] ?? NaN) - expected) ** 2;
    norm += expected ** 2;
  });
  const error = norm > 0 ? Math.sqrt(difference / norm) : Math.sqrt(difference);
  return Number.isFinite(error) ? error : Infinity;
}

/** Spacing of numbers at 1. */
export const UNIT: Readonly<Record<Dtype, number>> = { fp32: 2 ** -23, fp16: 2 ** -10, bf16: 2 ** -7 };
const FEW_ELEMENTS = 256;

/**
 * The most that is accepted: 1.2 times the decomposed form's own error. In fp32 all rounding happens inside sums, whose
 * order differs between kernels (one chain of K terms is off by √2 against two of K / 2): 1.5 times, at least 2^-20. Of
 * few elements the decomposed form may get all right by chance: at least one unit in the last place.
 */
export function limitOf(dtype: Dtype, decomposed: number, elements: number): number {
  if (dtype === 'fp32') return Math.max(1.5 * decomposed, 2 ** -20);
  return Math.max(1.2 * decomposed, elements < FEW_ELEMENTS ? UNIT[dtype] : 0);
}

export function checkOutput(problem: Problem, reference: Reference, limit: number): Check {
  const unwritten = problem.out.count(POISON, BYTES_PER_ELEMENT[problem.plan.request.dtype]);
  return judge(readRows(problem, problem.out, reference.rows), reference, limit, unwritten);
}

export function judge(values: Float64Array, reference: Reference, limit: number, unwritten: number): Check {
  const error = errorOf(values, reference.values);
  return { ok: unwritten === 0 && error <= limit, error, limit, unwritten };
}

/** In words, for an arm that failed. */
export function problemOf(check: Check): string | null {
  if (check.ok) return null;
  if (check.unwritten > 0) return `wrong result: ${check.unwritten} elements were never written`;
  return `wrong result: error ${check.error.toExponential(2)}, accepted ${check.limit.toExponential(2)}`;
}
