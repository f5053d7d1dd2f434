/** Functions inside of a function that are handed on instead of called: a sampler is given one that calls the model. */
import type { FunctionModel } from './model';
import { producesReplicas } from './producers';
import type { Frame, Run } from './run';
import type { Node } from './syntax';
import { type Args, NO_ARGS } from './value';

/** Runs those that make copies and have not been called, with unknown arguments. `called`: what has. */
export function runUncalled(
  { node: { start, end } }: FunctionModel,
  called: ReadonlyMap<Node, number>,
  frame: Frame,
  run: Run,
): void {
  for (const local of frame.state.names.all().values()) {
    if (local.kind !== 'function' || !producesReplicas(local.model)) continue;
    const { node } = local.model;
    if (node.kind === 'lambda' || node.start < start || end < node.end || called.has(node)) continue;
    run.call(local, { ...NO_ARGS, open: true }, node, frame);
  }
}

/** `graph.apply_edges(lambda edges: ..)`: something unknown calls what it is given with what is not known. */
export function callHanded({ positional, keywords }: Args, frame: Frame, run: Run): void {
  for (const value of [...positional, ...keywords.values()])
    if (value.kind === 'function' && value.model.node.kind === 'lambda' && producesReplicas(value.model))
      run.call(value, { ...NO_ARGS, open: true }, value.model.node, frame);
}
