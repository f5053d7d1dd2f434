/** Reads, infers and follows: what checking, showing and rewriting a model have in common. */
import { buildGraph, type GraphModel } from './graph';
import { inferShapes } from './infer';
import { programOf, type Program } from './judge/program';
import { selectMatches, type OnnxMatch } from './judge/select';
import { spread, type Spread } from './judge/spread';
import type { Model } from './model';

export interface Analysed {
  readonly model: Model;
  readonly graph: GraphModel;
  readonly program: Program;
  readonly spread: Spread;
  readonly matches: readonly OnnxMatch[];
}

/** `inlineAll` as for `buildGraph`. */
export function analyse(model: Model, inlineAll = false): Analysed {
  const graph = buildGraph(model, inlineAll);
  const program = programOf(graph, inferShapes(graph));
  const followed = spread(program);
  return { model, graph, program, spread: followed, matches: selectMatches(followed.events) };
}
