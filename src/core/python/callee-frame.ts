import { bind } from './arguments';
import type { FunctionModel } from './model';
import { Names } from './names';
import type { Frame, Run } from './run';
import type { Node } from './syntax';
import type { Args, Scope, Value } from './value';

/** The frame of a function that is called at `node` of `frame`, with its parameters bound; its heap is that of the caller. */
export const calleeFrame = (
  model: FunctionModel,
  self: Value | null,
  closure: Scope | null,
  args: Args,
  node: Node,
  frame: Frame,
  run: Run,
): Frame => ({
  function: model,
  file: model.file,
  state: {
    names: new Names(bind(model, self, args, frame, run, closure)),
    heap: frame.state.heap,
    path: frame.state.path,
  },
  closure,
  depth: frame.depth + 1,
  call: node,
  caller: frame,
  returns: [],
  building: frame.building,
});
