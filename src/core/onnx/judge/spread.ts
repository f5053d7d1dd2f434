/** Walks a graph in the order of its data and follows replicas to the products that read them. */
import type { Operator, Scope, Value } from '../graph';
import { valueOf, type Dim } from '../../tensor/dim';
import { intOf } from '../attributes';
import { axisOf } from '../infer/info';
import type { Event } from './events';
import { addition, division, multiplication, subtraction } from './linear';
import type { Program } from './program';
import { sinkOf } from './sinks';
import { collapse, free, isInteresting, single, type State } from './state';
import { repeated } from './pieces';
import { TRANSFERS } from './transfer';
import type { Transfer } from './transfer-type';

/** What is known of a sequence: that it is a value cut into rows, or what a loop appended to it. */
type SequenceState =
  | { readonly kind: 'rows'; readonly of: Value; readonly axis: number; readonly count: Dim }
  | { readonly kind: 'appended'; readonly item: Value; readonly to: Value }
  | { readonly kind: 'collected'; readonly item: Value; readonly count: Dim; readonly iteration: Value };

const LINEAR = new Map<string, Transfer>([
  ['Add', addition],
  ['Sum', addition],
  ['Sub', subtraction],
  ['Mul', multiplication],
  ['Div', division],
]);

interface Walk {
  readonly program: Program;
  readonly states: Map<Value, State>;
  readonly sequences: Map<Value, SequenceState>;
  readonly events: Event[];
}

export interface Spread {
  readonly events: readonly Event[];
  readonly stateOf: (value: Value) => State | null;
}

export function spread(program: Program): Spread {
  const walk: Walk = { program, states: new Map(), sequences: new Map(), events: [] };
  visit(walk, program.graph.main, null);
  return { events: walk.events, stateOf: (value) => walk.states.get(value) ?? null };
}

/** `iteration` is the count of the loop whose body this is. */
function visit(walk: Walk, scope: Scope, iteration: Value | null): void {
  for (const op of scope.operators) {
    for (const { scope: body } of op.bodies) visit(walk, body, op.node.op === 'Loop' ? (body.inputs[0] ?? null) : null);
    step(walk, op, iteration);
  }
}

function step(walk: Walk, op: Operator, iteration: Value | null): void {
  const { domain, op: name } = op.node;
  if (sequenceStep(walk, op, iteration)) return;
  const states = op.inputs.map((value) => (value ? (walk.states.get(value) ?? null) : null));
  const sink = sinkOf(domain, name);
  if (sink) {
    const { events, outputs } = sink(op, states, walk.program);
    walk.events.push(...events);
    keep(walk, op, outputs);
    if (name !== 'Conv' || outputs.length > 0) return;
  }
  if (domain !== '' && domain !== 'com.microsoft') return;
  const transfer = LINEAR.get(name) ?? TRANSFERS.get(name);
  if (transfer) keep(walk, op, transfer(op, states, walk.program));
}

function keep(walk: Walk, op: Operator, outputs: readonly (State | null)[]): void {
  op.outputs.forEach((value, i) => {
    const state = outputs[i];
    if (value && state && isInteresting(state)) walk.states.set(value, state);
  });
}

/** Sequences: a value cut into rows, rows taken out, results appended in a loop and put together again. */
function sequenceStep(walk: Walk, op: Operator, iteration: Value | null): boolean {
  const { program, sequences, states } = walk;
  const [out] = op.outputs;
  const [first, second] = op.inputs;
  if (!out || op.node.domain !== '') return false;
  switch (op.node.op) {
    case 'SplitToSequence': {
      const shape = first && program.shape(first);
      const axis = shape && axisOf(intOf(op, 'axis', 0), shape.length);
      const even = second ? valueOf(program.infer.of(second).fill) === 1 : intOf(op, 'keepdims', 1) === 1;
      if (first && shape && axis !== null && axis !== undefined && even)
        sequences.set(out, { kind: 'rows', of: first, axis, count: shape[axis] ?? null });
      return true;
    }
    case 'SequenceAt': {
      const list = first && sequences.get(first);
      if (list?.kind !== 'rows' || !second || second !== iteration) return true;
      const { of, axis, count } = list;
      const rank = program.shape(of)?.length ?? 0;
      const base = states.get(of);
      const axes = base ? collapse(base) : Array<null>(rank).fill(null);
      states.set(
        out,
        single(
          out,
          axes.map((state, i) => (i === axis ? { kind: 'piece', of, axis, index: second, count } : state)),
        ),
      );
      return true;
    }
    case 'SequenceInsert':
      if (first && second && !op.inputs[2]) sequences.set(out, { kind: 'appended', item: second, to: first });
      return true;
    case 'Loop':
      collect(walk, op);
      return true;
    case 'ConcatFromSequence': {
      const list = first && sequences.get(first);
      if (list?.kind === 'collected') reassemble(walk, op, out, list);
      return true;
    }
    default:
      return false;
  }
}

/** A loop that starts with an empty sequence and appends one item in every iteration. */
function collect({ program, sequences }: Walk, op: Operator): void {
  const body = op.bodies[0]?.scope;
  const trips = op.inputs[0];
  const iteration = body?.inputs[0];
  if (!body || !trips || !iteration) return;
  op.outputs.forEach((out, i) => {
    const carried = body.inputs[i + 2];
    const result = body.outputs[i + 1];
    const made = result && sequences.get(result);
    const start = op.inputs[i + 2];
    if (!out || made?.kind !== 'appended' || made.to !== carried || start?.producer?.node.op !== 'SequenceEmpty')
      return;
    sequences.set(out, {
      kind: 'collected',
      item: made.item,
      count: program.infer.of(trips).data?.[0] ?? null,
      iteration,
    });
  });
}

function reassemble(
  { program, states }: Walk,
  op: Operator,
  out: Value,
  list: Extract<SequenceState, { kind: 'collected' }>,
): void {
  const rank = program.shape(list.item)?.length;
  const axis = rank === undefined ? null : axisOf(intOf(op, 'axis', 0), rank);
  const state = states.get(list.item);
  if (axis === null || rank === undefined || intOf(op, 'new_axis', 0) === 1) return;
  const sample = collapse(state ?? free(list.item, rank))[axis];
  if (sample?.kind !== 'replica' || sample.piece?.index !== list.iteration || sample.mapped.map.kind !== 'all') return;
  const ratio = sample.mapped.extent;
  const whole = repeated(op, out, program, axis, sample, sample.piece, ratio, program.shape(out)?.[axis] ?? null);
  if (whole) states.set(out, whole);
}
