/** Matrix products and attention: which replicas reach them, and what their results are. */
import { isOne, type Dim } from '../../tensor/dim';
import { intOf, stringOf } from '../attributes';
import type { Operator, Value } from '../graph';
import { parseEquation } from '../infer/contractions';
import type { Code, Event } from './events';
import { sameAtoms } from './linear';
import { ratioOf } from './layout';
import { fillNumber, softmaxAfter, softmaxBefore, type Program } from './program';
import { collapse, free, single, type AxisState, type Block, type Replica, type State, type Term } from './state';
import { isPointConvolution } from './transfer';

export interface Sunk {
  readonly events: readonly Event[];
  readonly outputs: readonly (State | null)[];
}

export type Sink = (op: Operator, states: readonly (State | null)[], program: Program) => Sunk;

const NOTHING: Sunk = { events: [], outputs: [] };

const passed = (axis: AxisState, op: Operator): AxisState =>
  axis?.kind === 'replica' ? { ...axis, sunk: [...axis.sunk, op] } : null;

/** The axis along which this term is a replica as a whole: every factor is. */
export function isShared(term: Term, axis: number): boolean {
  return term.atoms.every(({ axes }) => axes[axis]?.kind === 'replica');
}

const replicasOf = (blocks: readonly Block[], axis: number): Replica[] =>
  blocks.flatMap(({ terms }) => terms.flatMap(({ atoms }) => atoms.flatMap(({ axes }) => {
    const found = axes[axis];
    return found?.kind === 'replica' && found.origin ? [found] : [];
  }))); // prettier-ignore

/** What a linear operator over `contracted` can save along one of the row axes, or null. */
function linearEvent(
  op: Operator,
  index: number,
  state: State,
  contracted: number,
  axis: number,
  plain: Code,
): Event | null {
  const operand = op.inputs[index];
  if (!operand) return null;
  const form = state.axis === contracted || state.axis === null ? state : single(operand, collapse(state));
  const replicas = replicasOf(form.blocks, axis).filter(({ mapped }) => (ratioOf(mapped) ?? 2) > 1);
  if (replicas.length === 0) return null;
  const shared = form.blocks.filter(({ terms }) => terms.every((term) => isShared(term, axis)));
  const base = { sink: op, operand, operandIndex: index, contracted, axis, replicas, form, shared, attention: null };
  if (form.blocks.length === 1) return shared.length === 1 ? { ...base, code: plain } : null;
  // Copied as a whole, in one way: nothing needs to be split.
  if (collapse(form)[axis]?.kind === 'replica') return { ...base, code: plain };
  const algebra = form.blocks.some(({ terms }) => terms.length > 1 || terms.some(({ atoms }) => atoms.length > 1));
  if (algebra) return freeProducts(form, axis) < form.blocks.length ? { ...base, code: 'IKB104' } : null;
  if (shared.length === 0) return null;
  return { ...base, code: plain === 'IKB102' ? 'IKB101' : plain };
}

/** How many products at full size remain when the weight is applied term by term: one for each different free term. */
export function freeProducts(form: State, axis: number): number {
  const kept: Term[] = [];
  for (const { terms } of form.blocks) {
    for (const term of terms) {
      if (!isShared(term, axis) && !kept.some((other) => sameAtoms(other.atoms, term.atoms))) kept.push(term);
    }
  }
  return kept.length;
}

interface Side {
  readonly value: Value;
  readonly index: number;
  readonly state: State | null;
  readonly shape: readonly Dim[];
  readonly axes: readonly AxisState[];
}

function side(op: Operator, index: number, states: readonly (State | null)[], program: Program): Side | null {
  const value = op.inputs[index];
  const shape = value && program.shape(value);
  if (!value || !shape) return null;
  const state = states[index] ?? null;
  return { value, index, state, shape, axes: state ? collapse(state) : Array<AxisState>(shape.length).fill(null) };
}

/** MatMul and its kin: rows of the left, columns of the right, batch axes of both. */
const matmul =
  (left = 0, right = 1): Sink =>
  (op, states, program) => {
    const a = side(op, left, states, program);
    const b = side(op, right, states, program);
    const [out] = op.outputs;
    if (!a || !b || !out || (!a.state && !b.state) || a.shape.length === 0 || b.shape.length === 0) return NOTHING;
    const flip = (name: string): boolean => op.node.domain === 'com.microsoft' && intOf(op, name, 0) === 1;
    const ends = (s: Side, transposed: boolean): [number, number] => {
      const rank = s.shape.length;
      return rank === 1 ? [-1, 0] : transposed ? [rank - 1, rank - 2] : [rank - 2, rank - 1];
    };
    const [rows, aInner] = ends(a, flip('transA'));
    const [bInner, columns] = b.shape.length === 1 ? [0, -1] : ends(b, flip('transB'));
    const events: Event[] = [];
    const batch = Math.max(a.shape.length, b.shape.length) - 2;
    const outAxes: AxisState[] = [];
    const attention = softmaxAfter(out) ?? (a.value ? softmaxBefore(a.value) : null);
    for (let i = 0; i < batch; i++) {
      const [p, q] = [i - (batch + 2 - a.shape.length), i - (batch + 2 - b.shape.length)];
      const size = (s: Side, at: number): boolean => at < 0 || isOne(s.shape[at] ?? null);
      const [x, y] = [p < 0 ? null : (a.axes[p] ?? null), q < 0 ? null : (b.axes[q] ?? null)];
      if (size(b, q) && a.state) {
        push(events, linearEvent(op, a.index, a.state, aInner, p, 'IKB102'));
        outAxes.push(passed(x, op));
      } else if (size(a, p) && b.state) {
        push(events, linearEvent(op, b.index, b.state, bInner, q, 'IKB103'));
        outAxes.push(passed(y, op));
      } else if (x?.kind === 'replica' && y?.kind === 'replica') {
        push(events, bothEvent(op, a, p, aInner, x));
        outAxes.push(passed(x, op));
      } else {
        if (y?.kind === 'replica') push(events, sharedEvent(op, b, q, bInner, y, attention));
        if (x?.kind === 'replica')
          push(events, attention && x.mapped.map.kind !== 'all' ? null : sharedEvent(op, a, p, aInner, x, null));
        outAxes.push(null);
      }
    }
    if (rows >= 0) {
      if (a.state) push(events, linearEvent(op, a.index, a.state, aInner, rows, 'IKB102'));
      outAxes.push(passed(a.axes[rows] ?? null, op));
    }
    if (columns >= 0) {
      if (b.state) push(events, linearEvent(op, b.index, b.state, bInner, columns, 'IKB102'));
      outAxes.push(passed(b.axes[columns] ?? null, op));
    }
    return { events, outputs: [single(out, outAxes)] };
  };

function push(events: Event[], event: Event | null): void {
  if (event) events.push(event);
}

/** Both operands of a product are the same rows again: the whole product is. */
function bothEvent(op: Operator, s: Side, axis: number, contracted: number, replica: Replica): Event | null {
  if (!replica.origin || (ratioOf(replica.mapped) ?? 2) <= 1) return null;
  return {
    code: 'IKB102',
    sink: op,
    operand: s.value,
    operandIndex: s.index,
    contracted,
    axis,
    replicas: [replica],
    form: s.state ?? free(s.value, s.shape.length),
    shared: s.state?.blocks ?? [],
    attention: null,
  };
}

/** A batch axis that the other operand has in full: keys and values of an attention, or a product that broadcasts by itself. */
function sharedEvent(
  op: Operator,
  s: Side,
  axis: number,
  contracted: number,
  replica: Replica,
  attention: Operator | null,
): Event | null {
  if (!replica.origin || (ratioOf(replica.mapped) ?? 2) <= 1) return null;
  const code: Code = !attention ? 'IKB301' : isHeads(replica, axis, s.shape.length) ? 'IKB202' : 'IKB201';
  return {
    code,
    sink: op,
    operand: s.value,
    operandIndex: s.index,
    contracted,
    axis,
    replicas: [replica],
    form: s.state ?? free(s.value, s.shape.length),
    shared: s.state?.blocks ?? [],
    attention,
  };
}

/** Heads stand before length and width; merged with the batch they are still blocks of an inner axis. */
function isHeads({ mapped, origin }: Replica, axis: number, rank: number): boolean {
  if (rank >= 4) return axis === rank - 3;
  return mapped.map.kind === 'blocks' && origin !== null && origin.rank >= 4 && origin.axis >= 1;
}

const gemm: Sink = (op, states, program) => {
  const a = side(op, 0, states, program);
  const b = side(op, 1, states, program);
  const [out] = op.outputs;
  if (!a || !b || !out || a.shape.length !== 2 || b.shape.length !== 2) return NOTHING;
  const [rows, inner] = intOf(op, 'transA', 0) ? [1, 0] : [0, 1];
  const [columns, bInner] = intOf(op, 'transB', 0) ? [0, 1] : [1, 0];
  const events: Event[] = [];
  if (a.state) push(events, linearEvent(op, 0, a.state, inner, rows, 'IKB102'));
  if (b.state) push(events, linearEvent(op, 1, b.state, bInner, columns, 'IKB102'));
  // C adds rows of its own, unless it is a bias.
  const c = op.inputs[2];
  const bias = !c || program.isConstant(c);
  const axes = [bias ? passed(a.axes[rows] ?? null, op) : null, bias ? passed(b.axes[columns] ?? null, op) : null];
  return { events, outputs: [single(out, axes)] };
};

const einsum: Sink = (op, states, program) => {
  const equation = parseEquation(stringOf(op, 'equation', ''));
  const [out] = op.outputs;
  if (!equation || equation.operands.length !== 2 || !out) return NOTHING;
  const sides = [side(op, 0, states, program), side(op, 1, states, program)];
  const letters = (i: number): string => equation.operands[i] ?? '';
  const contracted = [...letters(0)].filter(
    (letter) => letters(1).includes(letter) && !equation.output.includes(letter),
  );
  // Without a contraction, or without rows and columns of its own, it is no matrix product.
  const own = (i: number): string[] =>
    [...letters(i)].filter((letter) => !letters(1 - i).includes(letter) && equation.output.includes(letter));
  const product = contracted.length > 0 && own(0).length > 0 && own(1).length > 0;
  const events: Event[] = [];
  const axes = [...equation.output].map((letter): AxisState => {
    const found = sides.map((s, i) => ({ s, i, at: letters(i).indexOf(letter) })).filter(({ s, at }) => s && at >= 0);
    const [first, second] = found;
    if (!first?.s || first.s.shape.length !== letters(first.i).length) return null;
    const state = first.s.axes[first.at] ?? null;
    if (second?.s) {
      const other = second.s.axes[second.at] ?? null;
      if (state?.kind === 'replica' && other?.kind === 'replica') return passed(state, op);
      for (const { s, at, i } of found) {
        const axis = s?.axes[at];
        if (product && s && axis?.kind === 'replica')
          push(events, sharedEvent(op, s, at, letters(i).indexOf(contracted[0] ?? ''), axis, null));
      }
      return null;
    }
    const inner = letters(first.i).indexOf(contracted[0] ?? '');
    if (product && contracted.length === 1 && first.s.state)
      push(events, linearEvent(op, first.i, first.s.state, inner, first.at, 'IKB102'));
    return passed(state, op);
  });
  return { events, outputs: [single(out, axes)] };
};

/** A convolution with kernel 1 is a product over the channels. */
const pointConvolution: Sink = (op, states, program) => {
  const x = side(op, 0, states, program);
  const [out] = op.outputs;
  if (!x?.state || !out || !isPointConvolution(op, program)) return NOTHING;
  const events: Event[] = [];
  x.shape.forEach((_, axis) => {
    if (axis !== 1 && x.state) push(events, linearEvent(op, 0, x.state, 1, axis, 'IKB102'));
  });
  return {
    events,
    outputs: [
      single(
        out,
        x.axes.map((axis, i) => (i === 1 ? null : passed(axis, op))),
      ),
    ],
  };
};

/**
 * Operators with a product over the last axis of their first input inside: recurrent ones, packed attention. Sequences
 * of the batch know nothing of each other, so that results of copied ones are copies again.
 */
const innerProjection: Sink = (op, states, program) => {
  const x = side(op, 0, states, program);
  if (!x?.state) return NOTHING;
  const events: Event[] = [];
  const last = x.shape.length - 1;
  for (let axis = 0; axis < last; axis++) push(events, linearEvent(op, 0, x.state, last, axis, 'IKB102'));
  const batch = batchOf(op, program);
  const copied = batch && passed(x.axes[batch.input] ?? null, op);
  const outputs = op.outputs.map((out, i) => {
    const [shape, at] = [out && program.shape(out), batch?.outputs[i]];
    return out && shape && at !== undefined
      ? single(
          out,
          shape.map((_, axis) => (axis === at ? (copied ?? null) : null)),
        )
      : null;
  });
  return { events, outputs };
};

/**
 * The axis of the batch in the input and in the results of an operator over sequences; null where anything but weights
 * and zeros makes a difference between them. Of recurrent ones, only the layout that runtimes have.
 */
export function batchOf(
  op: Operator,
  program: Program,
): { readonly input: number; readonly outputs: readonly number[] } | null {
  const { op: name, domain } = op.node;
  if (domain === 'com.microsoft' && name === 'Attention')
    return op.inputs.slice(3).some((value) => value !== null) ? null : { input: 0, outputs: [0] };
  if (domain !== '' || !/^(RNN|GRU|LSTM)$/.test(name) || intOf(op, 'layout', 0) !== 0) return null;
  const [lengths, ...initial] = op.inputs.slice(4, 7);
  const zero = (value: Value | null): boolean => value === null || fillNumber(program, value) === 0;
  return lengths || !initial.every(zero) ? null : { input: 1, outputs: [2, 1, 1] };
}

/** One operator that is a whole attention: keys and values copied over the batch or over the heads. */
const attention: Sink = (op, states, program) => {
  const events: Event[] = [];
  const q = side(op, 0, states, program);
  for (const index of [1, 2]) {
    const s = side(op, index, states, program);
    s?.axes.forEach((axis, i) => {
      const heads = s.shape.length === 4 && i === 1;
      const both = q?.axes[i]?.kind === 'replica';
      if (axis?.kind !== 'replica' || both || (i !== 0 && !heads)) return;
      const event = sharedEvent(op, s, i, s.shape.length - 1, axis, op);
      push(events, event && { ...event, code: heads ? 'IKB202' : 'IKB201' });
    });
  }
  return { events, outputs: [] };
};

const STANDARD = new Map<string, Sink>([
  ['MatMul', matmul()],
  ['MatMulInteger', matmul()],
  ['QLinearMatMul', matmul(0, 3)],
  ['Gemm', gemm],
  ['Einsum', einsum],
  ['Conv', pointConvolution],
  ['RNN', innerProjection],
  ['GRU', innerProjection],
  ['LSTM', innerProjection],
  ['Attention', attention],
]);
const MICROSOFT = new Map<string, Sink>([
  ['FusedMatMul', matmul()],
  ['FusedGemm', gemm],
  ['Attention', innerProjection],
  ['MultiHeadAttention', attention],
  ['GroupQueryAttention', attention],
]);

export const sinkOf = (domain: string, op: string): Sink | undefined =>
  domain === '' ? STANDARD.get(op) : domain === 'com.microsoft' ? MICROSOFT.get(op) : undefined;
