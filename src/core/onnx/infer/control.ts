/** If, Loop, Scan and sequences: subgraphs are inferred with what is known outside of them. */
import { add, constant, isOne, multiply, valueOf, type Dim } from '../../tensor/dim';
import { intOf, intsOf } from '../attributes';
import type { Operator, Scope } from '../graph';
import { axisOf, bestDim, joinInfo, tensor, UNKNOWN, type Info } from './info';
import type { Rule } from './rule';

/** Infers a subgraph whose inputs look like this and answers with its outputs. */
export type Enter = (scope: Scope, inputs: readonly Info[]) => readonly Info[];

export function controlFlow(op: Operator, inputs: readonly (Info | null)[], enter: Enter): readonly Info[] | null {
  const bodies = op.bodies.map(({ scope }) => scope);
  switch (op.node.op) {
    case 'If':
      return branches(bodies, enter);
    case 'Loop':
      return bodies[0] ? loop(bodies[0], inputs, enter) : [];
    case 'Scan':
      return bodies[0] ? scan(op, bodies[0], inputs, enter) : [];
    default:
      for (const body of bodies)
        enter(
          body,
          body.inputs.map(() => UNKNOWN),
        );
      return null;
  }
}

function branches(bodies: readonly Scope[], enter: Enter): readonly Info[] {
  const [first, ...rest] = bodies.map((body) => enter(body, []));
  return (first ?? []).map((info, i) => rest.reduce((joined, other) => joinInfo(joined, other[i] ?? UNKNOWN), info));
}

const ITERATION = tensor(7, []);
const CONDITION = tensor(9, []);

function loop(body: Scope, inputs: readonly (Info | null)[], enter: Enter): readonly Info[] {
  const trips = inputs[0]?.data?.[0] ?? null;
  const carried = inputs.slice(2).map((info) => info ?? UNKNOWN);
  // What a first pass changes is not the same in every iteration.
  const once = enter(body, [ITERATION, CONDITION, ...carried]);
  const stable = carried.map((info, i) => widen(info, once[i + 1] ?? UNKNOWN));
  const outputs = enter(body, [ITERATION, CONDITION, ...stable]);
  const finals = stable.map((info, i) => grow(info, outputs[i + 1] ?? UNKNOWN, trips));
  const scanned = outputs
    .slice(1 + carried.length)
    .map((info) => tensor(info.element, info.shape && [trips, ...info.shape]));
  return [...finals, ...scanned];
}

/** A carried value that holds for every iteration: a sequence may grow, everything else keeps what both agree on. */
function widen(before: Info, after: Info): Info {
  if (before.sequence && after.sequence) {
    const empty = valueOf(before.sequence.length) === 0;
    const of = empty ? after.sequence.of : joinInfo(before.sequence.of, after.sequence.of);
    return { ...UNKNOWN, sequence: { of, length: null } };
  }
  return { ...joinInfo(before, after), data: null, fill: null };
}

/** A sequence that starts empty and gains one element per iteration has as many as there are iterations. */
function grow(stable: Info, after: Info, trips: Dim): Info {
  if (!stable.sequence || !after.sequence) return stable;
  return { ...UNKNOWN, sequence: { of: after.sequence.of, length: trips } };
}

function scan(op: Operator, body: Scope, inputs: readonly (Info | null)[], enter: Enter): readonly Info[] {
  const scans = intOf(op, 'num_scan_inputs', 0);
  // Opset 8 has a leading sequence-length input and a batch axis: left unknown.
  if (op.opset < 9)
    return (
      enter(
        body,
        body.inputs.map(() => UNKNOWN),
      ),
      []
    );
  const states = inputs.slice(0, inputs.length - scans).map((info) => info ?? UNKNOWN);
  const axes = intsOf(op, 'scan_input_axes');
  let trips: Dim = null;
  const items = inputs.slice(inputs.length - scans).map((info, i) => {
    if (!info?.shape) return UNKNOWN;
    const axis = axisOf(axes?.[i] ?? 0, info.shape.length);
    if (axis === null) return UNKNOWN;
    trips = bestDim(trips, info.shape[axis] ?? null);
    return tensor(
      info.element,
      info.shape.filter((_, j) => j !== axis),
    );
  });
  const once = enter(body, [...states, ...items]);
  const stable = states.map((info, i) => widen(info, once[i] ?? UNKNOWN));
  const outputs = enter(body, [...stable, ...items]);
  const out = intsOf(op, 'scan_output_axes');
  const scanned = outputs.slice(states.length).map((info, i) => {
    if (!info.shape) return tensor(info.element, null);
    const axis = axisOf(out?.[i] ?? 0, info.shape.length + 1) ?? 0;
    return tensor(info.element, [...info.shape.slice(0, axis), trips, ...info.shape.slice(axis)]);
  });
  return [...stable, ...scanned];
}

const sequence = (of: Info, length: Dim): Info => ({ ...UNKNOWN, sequence: { of, length } });

export const sequenceEmpty: Rule = () => [sequence(UNKNOWN, constant(0))];

export const sequenceConstruct: Rule = (_op, inputs) => {
  const present = inputs.map((info) => info ?? UNKNOWN);
  const [first, ...rest] = present;
  return [sequence(rest.reduce(joinInfo, first ?? UNKNOWN), constant(present.length))];
};

/** The elements of a loop's sequence are alike: inserting one tells what all look like. */
export const sequenceInsert: Rule = (_op, [list, item]) => {
  const before = list?.sequence;
  if (!item) return [UNKNOWN];
  const fresh = !before || valueOf(before.length) === 0;
  return [sequence(fresh ? item : joinInfo(before.of, item), before ? add(before.length, constant(1)) : null)];
};

export const sequenceAt: Rule = (_op, [list]) => [list?.sequence?.of ?? UNKNOWN];
export const sequenceLength: Rule = (_op, [list]) => [tensor(7, [], [list?.sequence?.length ?? null])];

export const splitToSequence: Rule = (op, [data, sizes]) => {
  if (!data?.shape) return [sequence(UNKNOWN, null)];
  const axis = axisOf(intOf(op, 'axis', 0), data.shape.length);
  if (axis === null) return [sequence(UNKNOWN, null)];
  const part = sizes ? sizes.fill : constant(1);
  const keep = sizes ? true : intOf(op, 'keepdims', 1) === 1;
  const shape = keep ? data.shape.map((dim, i) => (i === axis ? part : dim)) : data.shape.filter((_, i) => i !== axis);
  const of = data.fill
    ? { ...tensor(data.element, shape, single(shape, data.fill)), fill: data.fill }
    : tensor(data.element, shape);
  return [sequence(of, isOne(part) ? (data.shape[axis] ?? null) : null)];
};

const single = (shape: readonly Dim[], fill: Dim): Dim[] | null => (shape.every(isOne) ? [fill] : null);

export const concatFromSequence: Rule = (op, [list]) => {
  const before = list?.sequence;
  const of = before?.of;
  if (!before || !of?.shape) return [tensor(of?.element ?? 0, null)];
  const stacked = intOf(op, 'new_axis', 0) === 1;
  const axis = axisOf(intOf(op, 'axis', 0), of.shape.length + (stacked ? 1 : 0));
  if (axis === null) return [UNKNOWN];
  const shape = stacked
    ? [...of.shape.slice(0, axis), before.length, ...of.shape.slice(axis)]
    : of.shape.map((dim, i) => (i === axis ? multiply(dim, before.length) : dim));
  return [tensor(of.element, shape)];
};
