/** Shape inference over a whole graph, with integer data followed symbolically. */
import { constant, symbol, type Dim } from '../../tensor/dim';
import type { GraphModel, Operator, Scope, Value } from '../graph';
import type { FileDim, Type } from '../model';
import { controlFlow } from './control';
import { bestShape, tensor, UNKNOWN, type Info } from './info';
import { constantInfo } from './shapes';
import { ruleOf } from './table';

export interface Inference {
  of(value: Value): Info;
}

export function inferShapes(graph: GraphModel): Inference {
  const infos = new Map<Value, Info>();
  const { source } = graph.model;
  const of = (value: Value): Info => {
    const known = infos.get(value);
    if (known) return known;
    const info = value.initializer ? initial(value) : declared(value);
    infos.set(value, info);
    return info;
  };
  const initial = (value: Value): Info => {
    const { initializer } = value;
    if (!initializer) return UNKNOWN;
    return initializer.external
      ? tensor(initializer.element, initializer.dims.map(constant))
      : constantInfo(source, initializer);
  };
  const enter = (scope: Scope, inputs: readonly Info[]): readonly Info[] => {
    scope.inputs.forEach((value, i) => {
      const own = declared(value, false);
      const given = inputs[i];
      infos.set(
        value,
        given ? { ...given, element: given.element || own.element, shape: bestShape(given.shape, own.shape) } : own,
      );
    });
    for (const op of scope.operators) infer(op);
    return scope.outputs.map((value) => (value ? of(value) : UNKNOWN));
  };
  const infer = (op: Operator): void => {
    const inputs = op.inputs.map((value) => value && of(value));
    const { domain, op: name } = op.node;
    const results =
      op.bodies.length > 0 ? controlFlow(op, inputs, enter) : ruleOf(domain, name)?.(op, inputs, { source });
    op.outputs.forEach((value, i) => {
      if (!value) return;
      const own = declared(value);
      const info = results?.[i] ?? UNKNOWN;
      infos.set(value, { ...info, element: info.element || own.element, shape: bestShape(info.shape, own.shape) });
    });
  };
  for (const value of graph.main.inputs) of(value);
  for (const op of graph.main.operators) infer(op);
  return { of };
}

/** What the file says of a value. An input's size without a number or name is a symbol of its own. */
function declared(value: Value, named = value.isInput): Info {
  const { declared: type } = value;
  if (!type) return UNKNOWN;
  return fromType(type, named ? value.name : null);
}

function fromType(type: Type, name: string | null): Info {
  if (type.kind === 'sequence')
    return { ...UNKNOWN, sequence: { of: type.of ? fromType(type.of, null) : UNKNOWN, length: null } };
  if (type.kind !== 'tensor') return UNKNOWN;
  return tensor(type.element, type.shape?.map((dim, i) => fromFile(dim, name && `${name}.${i}`)) ?? null);
}

function fromFile(dim: FileDim, name: string | null): Dim {
  if (typeof dim === 'number') return constant(dim);
  if (dim !== null) return symbol(dim);
  return name === null ? null : symbol(name);
}

export type { Info };
