/**
 * Computes a replicated value at the size of its source: every operator between the copy and the value is repeated on
 * the small tensor. With it comes the way back: how the full rows are read from the small ones.
 */
import { equal, isOne, valueOf, type Dim } from '../../tensor/dim';
import { intOf, intsOf } from '../attributes';
import type { Operator, Value } from '../graph';
import { axisOf } from '../infer/info';
import { axesOf } from '../infer/shapes';
import { fillNumber } from '../judge/program';
import { batchOf, sinkOf } from '../judge/sinks';
import type { Spread } from '../judge/spread';
import { collapse, type Replica } from '../judge/state';
import { TRANSFERS } from '../judge/transfer';
import {
  addNode,
  float,
  ints,
  fresh,
  isVisible,
  madeOf,
  refuse,
  reshapeTo,
  unsqueezeAt,
  gatherRows,
  type Made,
  type Place,
} from './builder';

/** How position i of the full axis finds its row in the small one. */
export type WayBack =
  /** The small axis has one row. */
  | { readonly kind: 'all'; readonly origin: Operator }
  /** An int64 vector, as long as the full axis. */
  | { readonly kind: 'index'; readonly index: string; readonly origin: Operator }
  /** i // ratio, or i mod source, by the sizes alone. */
  | { readonly kind: 'blocks' | 'cycle'; readonly origin: Operator };

export interface Shrunk {
  readonly value: Made;
  readonly back: WayBack;
}

export interface Shrinker {
  readonly place: Place;
  readonly spread: Spread;
  readonly done: Map<string, Shrunk>;
}

export function replicaOf(spread: Spread, value: Value, axis: number): Replica | null {
  const state = spread.stateOf(value);
  const found = state && collapse(state)[axis];
  return found?.kind === 'replica' ? found : null;
}

/** Refuses where an operator on the way cannot be repeated on the small tensor. */
export function shrink(s: Shrinker, value: Value, axis: number): Shrunk {
  const key = `${value.id}:${axis}`;
  const known = s.done.get(key);
  if (known) return known;
  const replica = replicaOf(s.spread, value, axis);
  const { producer } = value;
  if (!replica || !producer) refuse(`'${value.name}' is not the same for every copy`);
  const result =
    replica.origin?.operator === producer
      ? atOrigin(s, value, axis, replica)
      : through(s, value, axis, replica, producer);
  s.done.set(key, result);
  return result;
}

const shapeOf = (s: Shrinker, value: Value): readonly Dim[] => madeOf(s.place.builder, value).shape;

/** The copy itself: what it copies is the small tensor. */
function atOrigin(s: Shrinker, value: Value, axis: number, replica: Replica): Shrunk {
  const origin = replica.origin;
  if (!origin) refuse('the copy has no operator of its own');
  const { operator } = origin;
  const data = withoutIdentity(s, origin.data);
  const made = madeOf(s.place.builder, data);
  const rank = shapeOf(s, value).length;
  switch (operator.node.op) {
    case 'Expand':
    case 'Tile':
    case 'Mul':
    case 'Add':
    case 'Sub':
    case 'Div': {
      onlyAxis(s, operator, value, data, axis);
      const lift = rank - made.shape.length;
      const value_ =
        lift > 0
          ? unsqueezeAt(
              s.place,
              made,
              Array.from({ length: lift }, (_, i) => i),
            )
          : made;
      const kind = isOne(made.shape[axis - lift] ?? null) || axis < lift ? 'all' : 'cycle';
      return { value: value_, back: { kind, origin: operator } };
    }
    case 'Gather':
    case 'GatherND':
      return throughIndex(s, operator, origin.data, axis, replica);
    case 'Concat':
    case 'ConcatFromSequence':
      if (replica.mapped.map.kind !== 'blocks') refuse('rows are repeated by counts that only the run knows');
      return { value: made, back: { kind: 'blocks', origin: operator } };
    default:
      return refuse(`the copy is made by ${operator.node.op}`);
  }
}

/** Exporters lift a tensor's rank with an Expand by ones before they tile it: that changes nothing. */
function withoutIdentity(s: Shrinker, value: Value): Value {
  const input = value.producer?.inputs[0];
  if (!input || !/^(Expand|Identity)$/.test(value.producer?.node.op ?? '') || value.producer?.call) return value;
  const [from, to] = [shapeOf(s, input), shapeOf(s, value)];
  return from.length === to.length && from.every((dim, i) => equal(dim, to[i] ?? null) === true)
    ? withoutIdentity(s, input)
    : value;
}

/** An Expand may copy several axes at once; a multiplication by ones must be one by ones. */
function onlyAxis(s: Shrinker, operator: Operator, value: Value, data: Value, axis: number): void {
  const [from, to] = [shapeOf(s, data), shapeOf(s, value)];
  const lift = to.length - from.length;
  to.forEach((dim, i) => {
    if (i === axis) return;
    const own = i < lift ? null : (from[i - lift] ?? null);
    if (i < lift ? !isOne(dim) : equal(own, dim) !== true) refuse('several axes are copied at once');
  });
  if (/^(Expand|Tile)$/.test(operator.node.op)) return;
  const other = operator.inputs.find((input) => input && input !== data);
  const number = other ? fillNumber(s.place.builder.program, other) : null;
  const neutral = operator.node.op === 'Mul' || operator.node.op === 'Div' ? 1 : 0;
  if (number !== neutral) refuse(`the copy is made by ${operator.node.op} with ${number ?? 'a tensor'}`);
  if (/^(Sub|Div)$/.test(operator.node.op) && operator.inputs[0] !== data)
    refuse(`the copy is made by ${operator.node.op}`);
}

/** A lookup in a lookup is one lookup with the composed index. */
function throughIndex(s: Shrinker, operator: Operator, data: Value, axis: number, replica: Replica): Shrunk {
  const index = operator.inputs[1];
  if (!index) refuse('a Gather without an index');
  const program = s.place.builder.program;
  const rank = program.shape(index)?.length;
  if (rank !== (operator.node.op === 'GatherND' ? 2 : 1)) refuse('the index has more than one axis');
  const inner = replicaOf(s.spread, data, axis);
  if (!inner)
    return {
      value: madeOf(s.place.builder, data),
      back: { kind: 'index', index: int64Index(s, index), origin: operator },
    };
  const before = shrink(s, data, axis);
  const { back } = before;
  if (back.kind === 'all') return { ...before, back };
  if (back.kind !== 'index') refuse('a lookup in repeated rows');
  const composed = gatherRows(
    s.place,
    { name: back.index, shape: [inner.mapped.extent] },
    int64Index(s, index),
    0,
    replica.mapped.extent,
  );
  return { value: before.value, back: { kind: 'index', index: composed.name, origin: operator } };
}

const INT64 = 7;
const FLOAT = 1;

function int64Index(s: Shrinker, given: Value): string {
  const { builder } = s.place;
  const index = beforeUnsqueeze(s, given);
  const { element } = builder.program.infer.of(index);
  const long =
    element === INT64 ? index.name : addNode(s.place, 'Cast', [index.name], { attributes: { to: BigInt(INT64) } });
  // GatherND has one index component per row, in an axis of its own.
  return builder.program.shape(index)?.length === 1 ? long : addNode(s.place, 'Reshape', [long, ints(builder, [-1])]);
}

/** GatherND wants [B, 1] of what is a vector before: the vector itself, so that all lookups by it are seen to be alike. */
function beforeUnsqueeze({ place }: Shrinker, index: Value): Value {
  const { producer } = index;
  const [vector] = producer?.inputs ?? [];
  const lifted = producer?.node.op === 'Unsqueeze' && isVisible(producer, place) && vector;
  return lifted && place.builder.program.shape(vector)?.length === 1 ? vector : index;
}

/** An operator after the copy, repeated on small inputs. */
function through(s: Shrinker, value: Value, axis: number, replica: Replica, op: Operator): Shrunk {
  const { builder } = s.place;
  const shape = shapeOf(s, value);
  const small = shape.map((dim, i) => (i === axis ? replica.mapped.source : dim));
  if (!isVisible(op, s.place)) refuse('the copy and the product are in different graphs');
  const clone = (inputs: readonly string[]): Made => ({ name: cloneNode(s, op, value, inputs), shape: small });
  const [data] = op.inputs;
  const name = op.node.op;
  if (!data) refuse(`${name} without an input`);
  const rest = op.inputs.slice(1).map((input) => input?.name ?? '');
  switch (name) {
    case 'Transpose': {
      const order = intsOf(op, 'perm') ?? shape.map((_, i) => shape.length - 1 - i);
      const inner = shrink(s, data, order[axis] ?? -1);
      return { value: clone([inner.value.name]), back: inner.back };
    }
    case 'Unsqueeze': {
      const at = new Set(layoutAxes(s, op).flatMap((a) => axisOf(a, shape.length) ?? []));
      const inner = shrink(
        s,
        data,
        shape
          .map((_, i) => i)
          .filter((i) => !at.has(i))
          .indexOf(axis),
      );
      return { value: clone([inner.value.name, ...rest]), back: inner.back };
    }
    case 'Reshape':
    case 'Flatten':
    case 'Squeeze':
      return reshaped(s, data, value, axis, replica, small);
    case 'Gather': {
      const at = axisOf(intOf(op, 'axis', 0), shapeOf(s, data).length) ?? 0;
      const added = (builder.program.shape(op.inputs[1] ?? data)?.length ?? 1) - 1;
      if (axis >= at && axis <= at + added) refuse('a lookup in repeated rows');
      const inner = shrink(s, data, axis < at ? axis : axis - added);
      return { value: clone([inner.value.name, ...rest]), back: inner.back };
    }
    case 'Slice':
    case 'Split':
      if (equal(shapeOf(s, data)[axis] ?? null, shape[axis] ?? null) !== true)
        refuse('a part of the copies is cut out');
  }
  if (sinkOf(op.node.domain, name)) return product(s, value, axis, op, small);
  if (!TRANSFERS.has(name) && !/^(Add|Sub|Mul|Div|Sum)$/.test(name)) refuse(`${name} is not known to work row by row`);
  const operands = op.inputs.map((input) => input && operand(s, input, axis, shape.length));
  const backs = operands.flatMap((made) => (made && 'back' in made ? [made.back] : []));
  const [back] = backs;
  if (!back || backs.some((other) => !sameBack(back, other))) refuse('copies made in different ways are combined');
  // A number in place of a full tensor gives the result no size any more: another operand must.
  const emptied = operands.some(
    (made, i) => made?.value.shape.length === 0 && (op.inputs[i] ? shapeOf(s, op.inputs[i]) : []).length > 0,
  );
  const sized = (dim: Dim, i: number): boolean =>
    operands.some(
      (made) => made?.value.shape.length === shape.length && equal(made.value.shape[i] ?? null, dim) === true,
    );
  if (emptied && !small.every(sized)) refuse(`${name} takes its size from a tensor that is left out`);
  const names = operands.map((made, i) => (made ? made.value.name : (op.inputs[i]?.name ?? '')));
  return { value: clone(names), back };
}

const layoutAxes = (s: Shrinker, op: Operator): number[] => {
  const input = op.inputs[1];
  return axesOf(op, input ? s.place.builder.program.infer.of(input) : null) ?? refuse('axes that are not constant');
};

/** An input of an operator with broadcasting: small where it is copied, as it is where the axis has size 1. */
function operand(s: Shrinker, input: Value, axis: number, rank: number): Shrunk | { readonly value: Made } {
  const made = madeOf(s.place.builder, input);
  const at = axis - (rank - made.shape.length);
  if (at < 0 || isOne(made.shape[at] ?? null)) return { value: made };
  if (replicaOf(s.spread, input, at)) return shrink(s, input, at);
  // The same number everywhere: one of it is enough.
  const { program } = s.place.builder;
  const number = fillNumber(program, input);
  if (number !== null && program.infer.of(input).element === FLOAT) {
    return { value: { name: float(s.place.builder, number), shape: [] } };
  }
  return refuse(`'${input.name}' differs from copy to copy`);
}

export function sameBack(a: WayBack, b: WayBack): boolean {
  return a.kind === b.kind && (a.kind !== 'index' || (b.kind === 'index' && a.index === b.index));
}

function reshaped(
  s: Shrinker,
  data: Value,
  value: Value,
  axis: number,
  replica: Replica,
  small: readonly Dim[],
): Shrunk {
  const from = shapeOf(s, data);
  const state = s.spread.stateOf(data);
  const axes = state ? collapse(state) : [];
  // The axis that carries the copy before the reshape: the only replicated one with this origin.
  const at = axes.findIndex(
    (found) => found?.kind === 'replica' && found.origin?.operator === replica.origin?.operator,
  );
  const others = axes.filter(
    (found, i) => i !== at && found?.kind === 'replica' && found.origin?.operator === replica.origin?.operator,
  );
  if (at < 0 || others.length > 0) refuse('a reshape mixes copied axes');
  const inner = shrink(s, data, at);
  const kind = replica.mapped.map.kind;
  const back =
    inner.back.kind === 'index' || kind === 'indexed' || kind === 'other'
      ? inner.back
      : { kind, origin: inner.back.origin };
  if (
    inner.back.kind === 'index' &&
    valueOf(from[at] ?? null) !== valueOf(shapeOf(s, value)[axis] ?? null) &&
    equal(from[at] ?? null, shapeOf(s, value)[axis] ?? null) !== true
  ) {
    refuse('looked-up rows are merged with another axis');
  }
  return { value: reshapeTo(s.place, inner.value, small), back };
}

/** A matrix product of copied rows with something that is the same for all of them, or of two copies alike. */
function product(s: Shrinker, value: Value, axis: number, op: Operator, small: readonly Dim[]): Shrunk {
  const [a, b] = op.inputs;
  const batch = batchOf(op, s.place.builder.program);
  if (a && batch) return sequences(s, a, value, axis, op, batch);
  if (!a || !b || !/^(MatMul|Gemm)$/.test(op.node.op)) refuse(`${op.node.op} on the way is not repeated on the source`);
  const rank = shapeOf(s, value).length;
  const at = (input: Value, first: boolean): number | null => {
    const own = shapeOf(s, input).length;
    if (op.node.op === 'Gemm') {
      if (axis !== (first ? 0 : 1)) return null;
      return intOf(op, first ? 'transA' : 'transB', 0) ? 1 - axis : axis;
    }
    const place = axis - (rank - own);
    if (axis === rank - 2) return first ? place : null;
    if (axis === rank - 1) return first ? null : place;
    return place < 0 || isOne(shapeOf(s, input)[place] ?? null) ? null : place;
  };
  const parts = [a, b].map((input, i) => {
    const axisOfInput = at(input, i === 0);
    return axisOfInput === null ? null : shrink(s, input, axisOfInput);
  });
  const backs = parts.flatMap((part) => (part ? [part.back] : []));
  const [back] = backs;
  if (!back || backs.some((other) => !sameBack(back, other))) refuse('copies made in different ways are multiplied');
  const names = op.inputs.map((input, i) => parts[i]?.value.name ?? input?.name ?? '');
  return { value: { name: cloneNode(s, op, value, names), shape: small }, back };
}

/** Sequences, each on its own: states at the start are zeros, which are what an operator has without them. */
function sequences(
  s: Shrinker,
  data: Value,
  value: Value,
  axis: number,
  op: Operator,
  batch: NonNullable<ReturnType<typeof batchOf>>,
): Shrunk {
  const at = op.outputs.indexOf(value);
  if (batch.outputs[at] !== axis) refuse(`${op.node.op} mixes the copied axis`);
  const inner = shrink(s, data, batch.input);
  const inputs = op.inputs.map((input, i) =>
    i === 0 ? inner.value.name : i === 5 || i === 6 ? '' : (input?.name ?? ''),
  );
  while (inputs.at(-1) === '') inputs.pop();
  const outputs = cloneOutputs(s, op, inputs);
  const rows = inner.value.shape[batch.input] ?? null;
  op.outputs.forEach((out, i) => {
    const own = batch.outputs[i];
    if (!out || own === undefined) return;
    const shape = shapeOf(s, out).map((dim, j) => (j === own ? rows : dim));
    s.done.set(`${out.id}:${own}`, { value: { name: outputs[i] ?? '', shape }, back: inner.back });
  });
  return s.done.get(`${value.id}:${axis}`) ?? refuse(`${op.node.op} mixes the copied axis`);
}

function cloneNode(s: Shrinker, op: Operator, value: Value, inputs: readonly string[]): string {
  return cloneOutputs(s, op, inputs)[op.outputs.indexOf(value)] ?? '';
}

function cloneOutputs(s: Shrinker, op: Operator, inputs: readonly string[]): string[] {
  const { builder, stem } = s.place;
  const outputs = op.outputs.map((out) => (out ? fresh(builder, `${stem}/${out.name.replace(/^\//, '')}`) : ''));
  addNode(s.place, op.node.op, inputs, { like: op.node, outputs, domain: op.node.domain });
  return outputs;
}
