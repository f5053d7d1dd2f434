/** Networks that whoever hands one over could leave out: `def __init__(self, local_nn=None)`. */
import type { Parameter } from './arguments';
import type { Value } from './value';

const spare = new WeakSet<Value>();

/** What is handed over as the parameter; its default decides whether there might be none. */
export function handedAs(parameter: Parameter | undefined, network: Value): void {
  if (parameter?.fallback?.kind !== 'none') return;
  for (const option of network.kind === 'union' ? network.options : []) handedAs(parameter, option.value);
  spare.add(network);
}

/** The calls that can be seen hand one over; others, outside of the project, may not. */
export const isSpare = (value: Value): boolean => spare.has(value);
