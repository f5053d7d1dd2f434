/** What annotations say of values beyond parameters: of results, of assigned names, and in stub files. */
import { type Dim, constant } from '../tensor/dim';
import { carriesReplica, rankOf, tensor } from '../tensor/shape';
import { asTensor } from './access';
import { contentOf, isStatic, parametersOf, typedTensor } from './arguments';
import type { FunctionModel } from './model';
import type { Frame, Run } from './run';
import { tensorType } from './shape-facts';
import { type Node, childOf, textOf } from './syntax';
import type { Args, Value } from './value';

/** A stub tells what functions take and give, and has no bodies. */
export const isStub = (model: FunctionModel): boolean => model.file.file.path.endsWith('.pyi');

/** `x: Float[Tensor, "b k"] = ..`: a value of which nothing better is known has the annotated axes. */
export function assignedAs(type: Node, left: Node, value: Value, run: Run, frame: Frame): Value {
  const isOpen =
    (value.kind === 'unknown' && !value.foreign) ||
    (value.kind === 'tensor' && rankOf(value.shape) === null && !carriesReplica(value));
  const typed = isOpen ? tensorType(textOf(type)) : null;
  return typed?.dims ? typedTensor(textOf(left), typed.type, typed.dims, run, frame) : value;
}

/** Far enough for any header. */
const HEADER = 3000;

/**
 * The result that a function's annotation gives the axes of, for a call that is not followed. Names of axes mean what the
 * arguments have there: `def f(x: Float[Tensor, "b d"]) -> Float[Tensor, "b k"]` called with 32 rows gives 32. Null where it
 * does not say.
 */
export function statedResult(model: FunctionModel, self: Value | null, args: Args, run: Run): Value | null {
  const { node } = model;
  // By the text first: to ask for the node may cost a parse.
  if (!/->[^:]*\[\s*(torch\.)?Tensor\s*,/.test(node.file.text.slice(node.start, Math.min(node.end, node.start + HEADER)))) return null; // prettier-ignore
  const type = childOf(node, 'return_type');
  const typed = type && tensorType(textOf(type));
  if (!typed?.dims) return null;
  const bound = new Map<string, Dim>();
  const parameters = parametersOf(model).slice(self && !isStatic(model) ? 1 : 0);
  parameters.forEach((parameter, i) => {
    const { dims } = (parameter.annotation === null ? null : tensorType(parameter.annotation)) ?? {};
    const value = (parameter.keywordOnly ? undefined : args.positional[i]) ?? args.keywords.get(parameter.name);
    const t = value && asTensor(value, run);
    if (!dims || !t?.shape.exact || t.shape.head.length !== dims.length) return;
    dims.forEach((name, axis) => {
      const dim = t.shape.head[axis]?.dim;
      if (name !== null && dim && !bound.has(name)) bound.set(name, dim);
    });
  });
  const head = typed.dims.map((d) => ({
    dim: d === null ? null : /^\d+$/.test(d) ? constant(Number(d)) : (bound.get(d) ?? null),
    replica: null,
  }));
  return tensor({ exact: true, head, tail: [] }, { content: contentOf('', typed.type) });
}
