/** A part of a model's text: a node, what it reads and what reads it. */
import type { GraphModel, Operator } from './graph';
import type { Node } from './model';
import type { ModelText } from './text';

const REACH = 3;

/**
 * The lines of the node called `around` (by node name or by the name of a value that it makes; for an
 * input or a weight, those that read it) and of the nodes within
 * three steps of it, with `...` for what is left out. Null when there is no such node.
 */
export function textAround(graph: GraphModel, printed: ModelText, around: string): string | null {
  const maker = graph.operators.find(({ node }) => node.name === around || node.outputs.includes(around));
  // An input or a weight of the model has no maker.
  const starts = maker ? [maker] : graph.operators.filter(({ node }) => node.inputs.includes(around));
  if (starts.length === 0) return null;
  const lines = printed.text.split('\n');
  const shown = new Set<number>();
  for (const node of new Set(starts.flatMap((start) => [...neighbours(start)]))) {
    const range = printed.nodes.get(node);
    if (range) for (let line = range.first; line <= range.last; line++) shown.add(line);
  }
  const result: string[] = [];
  let last = 0;
  for (const line of [...shown].sort((a, b) => a - b)) {
    if (line > last + 1) result.push('   ...');
    result.push(lines[line - 1] ?? '');
    last = line;
  }
  return `${[...result, '   ...'].join('\n')}\n`;
}

function neighbours(start: Operator): Set<Node> {
  const nodes = new Set<Node>([start.call ?? start.node]);
  const spread = (next: (op: Operator) => readonly Operator[]): void => {
    let edge = [start];
    for (let step = 0; step < REACH; step++) {
      edge = edge.flatMap(next);
      for (const op of edge) nodes.add(op.call ?? op.node);
    }
  };
  spread((op) => op.inputs.flatMap((value) => (value?.producer ? [value.producer] : [])));
  spread((op) => op.outputs.flatMap((value) => (value ? value.uses.map(({ operator }) => operator) : [])));
  return nodes;
}
