/** Addition, subtraction and multiplication, which keep a form where they can: sums of products of atoms. */
import { ALL } from '../../tensor/axis-map';
import { constant, equal, isOne, type Dim } from '../../tensor/dim';
import type { Operator, Value } from '../graph';
import { fillNumber, type Program } from './program';
import {
  collapse,
  free,
  perBlock,
  sameAxis,
  single,
  type Atom,
  type AxisState,
  type Block,
  type State,
  type Term,
} from './state';
import { broadcastAxes } from './transfer';
import type { Transfer } from './transfer-type';

/** An operand as a form in the coordinates of the result. */
interface Operand {
  readonly value: Value;
  readonly state: State;
  /** The same number everywhere: a factor or an offset that changes no row. */
  readonly number: number | null;
  /** A constant that is the same for every replicated row: a bias or a scale per feature. */
  readonly perFeature: boolean;
}

export const addition: Transfer = (op, states, program) => combine(op, states, program, sum);
export const subtraction: Transfer = (op, states, program) => combine(op, states, program, (a, b) => sum(a, negate(b)));
export const multiplication: Transfer = (op, states, program) => combine(op, states, program, times);
/** x / y is linear in x where y is one number. */
export const division: Transfer = (op, states, program) => {
  const divisor = op.inputs[1];
  const by = divisor ? fillNumber(program, divisor) : null;
  return by
    ? combine(op, states, program, (a) => ({ ...a, blocks: scaled(a.blocks, 1 / by) }))
    : combine(op, states, program, () => null);
};

type Combine = (a: State, b: State) => State | null;

function combine(
  op: Operator,
  states: readonly (State | null)[],
  program: Program,
  both: Combine,
): readonly (State | null)[] {
  const [out] = op.outputs;
  const [a, b] = op.inputs;
  const to = out && program.shape(out);
  if (!out || !a || !b || !to || op.inputs.length !== 2) return [null];
  if (!states[0] && !states[1]) {
    const axes = broadcastAxes(op, states, program, true);
    return [axes?.some((axis) => axis !== null) ? single(out, axes) : null];
  }
  const left = operand(program, a, states[0] ?? null, to);
  const right = operand(program, b, states[1] ?? null, to);
  const fallback = (): State | null => {
    const axes = broadcastAxes(op, states, program, true);
    return axes && single(out, axes);
  };
  if (!left || !right) return [fallback()];
  // A bias, a scale per feature: rows stay what they are, block by block.
  for (const [one, other] of [
    [left, right],
    [right, left],
  ] as const) {
    // prettier-ignore
    if (other.number !== null && sameRank(one, to) && op.node.op === 'Mul') return [{ ...one.state, blocks: scaled(one.state.blocks, other.number) }];
    if (other.number === null && other.perFeature && keepsShape(program, one.value, to))
      return [perBlock(one.state, out)];
  }
  const whole = fallback();
  // Where the result is a replica as a whole, or not one at all, there is nothing to keep apart.
  if (whole && isReplicated(whole) && left.state.axis === null && right.state.axis === null) return [whole];
  const form = both(left.state, right.state);
  return [form && form.blocks.every((block) => block.terms.length > 0) ? form : whole];
}

const isReplicated = (state: State): boolean => collapse(state).some((axis) => axis?.kind === 'replica');
const sameRank = ({ state }: Operand, to: readonly Dim[]): boolean =>
  state.blocks[0]?.terms[0]?.atoms[0]?.axes.length === to.length;

function keepsShape(program: Program, value: Value, to: readonly Dim[]): boolean {
  const shape = program.shape(value);
  return shape?.length === to.length && shape.every((dim, i) => equal(dim, to[i] ?? null) === true);
}

function operand(program: Program, value: Value, state: State | null, to: readonly Dim[]): Operand | null {
  const shape = program.shape(value);
  if (!shape) return null;
  const lift = to.length - shape.length;
  // Only the last axis: what a bias or a scale has.
  const perFeature = program.isConstant(value) && shape.slice(0, -1).every(isOne);
  const own = state ?? free(value, shape.length);
  const spread = (axes: readonly AxisState[]): AxisState[] =>
    to.map((extent, i) => {
      const size = i < lift ? constant(1) : (shape[i - lift] ?? null);
      if (isOne(size) && !isOne(extent)) return broadcastHere(extent);
      return axes[i - lift] ?? null;
    });
  const blocks = own.blocks.map((block) => ({
    width: block.width,
    terms: block.terms.map((term) => ({
      ...term,
      atoms: term.atoms.map((atom) => ({ value: atom.value, axes: spread(atom.axes) })),
    })),
  }));
  return {
    value,
    state: { axis: own.axis === null ? null : own.axis + lift, blocks },
    number: fillNumber(program, value),
    perFeature,
  };
}

/** The result reads one row for every position; nothing is copied. */
const broadcastHere = (extent: Dim): AxisState => ({
  kind: 'replica',
  mapped: { map: ALL, source: constant(1), extent },
  origin: null,
  sunk: [],
  piece: null,
});

const scaled = (blocks: readonly Block[], by: number): Block[] =>
  blocks.map(({ width, terms }) => ({
    width,
    terms: terms.map((term) => ({ ...term, coefficient: term.coefficient * by })),
  }));

const negate = (state: State): State => ({ ...state, blocks: scaled(state.blocks, -1) });

/** Forms add block by block when they are cut alike. */
function sum(a: State, b: State): State | null {
  if (a.blocks.length !== b.blocks.length || (a.blocks.length > 1 && a.axis !== b.axis)) return null;
  const blocks: Block[] = [];
  for (const [i, block] of a.blocks.entries()) {
    const other = b.blocks[i];
    if (!other || (a.blocks.length > 1 && equal(block.width, other.width) !== true)) return null;
    blocks.push({ width: block.width ?? other.width, terms: gather([...block.terms, ...other.terms]) });
  }
  return { axis: a.axis, blocks };
}

/** Adds the coefficients of equal terms. */
function gather(terms: readonly Term[]): Term[] {
  const result: Term[] = [];
  for (const term of terms) {
    const at = result.findIndex((other) => sameAtoms(other.atoms, term.atoms));
    const found = result[at];
    if (found) result[at] = { ...found, coefficient: found.coefficient + term.coefficient };
    else result.push(term);
  }
  return result.filter(({ coefficient }) => coefficient !== 0);
}

export function sameAtoms(a: readonly Atom[], b: readonly Atom[]): boolean {
  if (a.length !== b.length) return false;
  const rest = [...b];
  return a.every((atom) => {
    const at = rest.findIndex(
      (other) =>
        other.value === atom.value &&
        other.axes.every((axis, i) => axis === atom.axes[i] || sameAxis(axis, atom.axes[i] ?? null)),
    );
    if (at >= 0) rest.splice(at, 1);
    return at >= 0;
  });
}

/** Products of single terms; anything larger is no form any more. */
function times(a: State, b: State): State | null {
  if (a.axis !== null || b.axis !== null) return null;
  const [x, y] = [a.blocks[0]?.terms ?? [], b.blocks[0]?.terms ?? []];
  const [p, q] = [x[0], y[0]];
  if (!p || !q || x.length !== 1 || y.length !== 1 || p.atoms.length + q.atoms.length > 4) return null;
  return {
    axis: null,
    blocks: [{ width: null, terms: [{ coefficient: p.coefficient * q.coefficient, atoms: [...p.atoms, ...q.atoms] }] }],
  };
}
