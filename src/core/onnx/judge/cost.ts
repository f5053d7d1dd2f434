/** What a match costs per run: bytes written for the copies, operations on copied rows. */
import { constant, evaluate, format, multiply, product, subtract, valueOf, type Dim } from '../../tensor/dim';
import type { Cost } from '../../finding';
import { elementBytes } from '../data';
import type { Event } from './events';
import { isShared } from './sinks';
import type { Program } from './program';
import { originsOf, type OnnxMatch } from './select';
import type { Spread } from './spread';
import { collapse, type Replica } from './state';

export interface OnnxCost {
  readonly bytes: Dim;
  readonly flops: Dim;
}

export function costOf(program: Program, spread: Spread, match: OnnxMatch): OnnxCost {
  let bytes: Dim = constant(0);
  for (const { origin } of originsOf(match)) {
    const out = origin?.operator.outputs[0];
    const info = out && program.infer.of(out);
    bytes = plus(bytes, info?.shape ? multiply(product(info.shape), constant(elementBytes(info.element) ?? 4)) : null);
  }
  const flops = match.events.map((event) => flopsOf(program, spread, event)).reduce<Dim>(plus, constant(0));
  return { bytes, flops };
}

const plus = (a: Dim, b: Dim): Dim => subtract(a, multiply(b, constant(-1)));

/** Two operations per multiply-add, for every row that repeats another one. */
function flopsOf(program: Program, spread: Spread, event: Event): Dim {
  const shape = program.shape(event.operand);
  const out = event.sink.outputs[0] && program.shape(event.sink.outputs[0]);
  const replica = event.replicas[0];
  if (!shape || !out || !replica) return null;
  // Folding keys and values saves the copies and what projects them, not the products with the queries.
  if (event.code === 'IKB201' || event.code === 'IKB202' || event.code === 'IKB301') {
    return projections(program, spread, replica);
  }
  const widths = event.form.blocks
    .filter(({ terms }) => terms.every((term) => isShared(term, event.axis)))
    .map(({ width }) => width);
  const inner =
    event.form.blocks.length === 1 ? (shape[event.contracted] ?? null) : widths.reduce<Dim>(plus, constant(0));
  const { extent, source } = replica.mapped;
  const others = otherRows(out, extent);
  return product([constant(2), inner, others, subtract(extent, source)]);
}

/** The products with a weight that the copies have gone through on the way. */
function projections(program: Program, spread: Spread, replica: Replica): Dim {
  return replica.sunk
    .map((op): Dim => {
      const out = op.outputs[0];
      const [shape, inner] = [out && program.shape(out), op.inputs[0] && program.shape(op.inputs[0])?.at(-1)];
      const state = out && spread.stateOf(out);
      const here =
        state &&
        collapse(state).find((axis) => axis?.kind === 'replica' && axis.origin?.operator === replica.origin?.operator);
      if (!shape || here?.kind !== 'replica') return null;
      const { extent, source } = here.mapped;
      return product([constant(2), inner ?? null, otherRows(shape, extent), subtract(extent, source)]);
    })
    .reduce<Dim>(plus, constant(0));
}

/** The result's elements per position of the replicated axis. */
function otherRows(out: readonly Dim[], extent: Dim): Dim {
  const text = format(extent);
  const at = out.findIndex((dim) => format(dim) === text);
  return at < 0 ? null : product(out.filter((_, i) => i !== at));
}

export function report(cost: OnnxCost, shapes: Readonly<Record<string, number>>): Cost {
  const bind = (name: string): number | null => shapes[name] ?? null;
  const known = valueOf(cost.bytes) !== null || Object.keys(shapes).length > 0;
  return {
    bytes: format(cost.bytes),
    flops: format(cost.flops),
    bound: known ? shapes : null,
    bytesValue: evaluate(cost.bytes, bind),
    flopsValue: evaluate(cost.flops, bind),
  };
}
