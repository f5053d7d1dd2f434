/** What a condition says of the values on its branch. */
import { withRank } from '../tensor/shape';
import { asTensor } from './access';
import type { Frame, Run } from './run';
import { type Node, childOf, textOf } from './syntax';

/** What a condition says of shapes: `x.dim() == 3`, `x.ndim == 2`, `len(x.shape) == 2`. */
export function refine(test: Node, holds: boolean, frame: Frame, run: Run): void {
  refineNone(test, holds, frame);
  if (!holds) return;
  const conjuncts: Node[] = [];
  const split = (node: Node): void => {
    if (node.kind === 'boolean_operator' && textOf(childOf(node, 'operator') ?? node) === 'and')
      node.children.filter((c) => c.field !== 'operator').forEach(split);
    else if (node.kind === 'parenthesized_expression') node.children.forEach(split);
    else conjuncts.push(node);
  };
  split(test);
  for (const node of conjuncts) {
    const match = /^(?:len\((\w+)\.(?:shape|size\(\))\)|(\w+)\.(?:dim\(\)|ndim))\s*==\s*(\d)$/.exec(textOf(node));
    const name = match?.[1] ?? match?.[2];
    if (!match || name === undefined) continue;
    const value = frame.state.names.get(name);
    const t = value && asTensor(value, run);
    const shape = t ? withRank(t, Number(match[3])) : null;
    if (t && shape) frame.state.names.set(name, { ...t, shape });
  }
}

/** `x is None`, `x is not None`, `exists(x)`: which of its options x is on this branch. */
function refineNone(test: Node, holds: boolean, frame: Frame): void {
  const match = /^(?:(\w+) is (not )?None|exists\((\w+)\)|(\w+))$/.exec(textOf(test));
  const name = match?.[1] ?? match?.[3] ?? match?.[4];
  if (!match || name === undefined) return;
  const value = frame.state.names.get(name);
  if (value?.kind !== 'union') return;
  const present = match[1] !== undefined ? (match[2] !== undefined) === holds : holds;
  const options = value.options.filter((o) => (o.value.kind === 'none') !== present);
  const [only] = options;
  if (only && options.length === 1) frame.state.names.set(name, only.value);
  else if (only) frame.state.names.set(name, { ...value, options });
}
