/** What a condition says of the values on its branch. */
import { carriesReplica, withRank } from '../tensor/shape';
import { asTensor } from './access';
import type { Frame, Run } from './run';
import { type Node, childOf, textOf } from './syntax';
import type { Value } from './value';

/** What the text of a test says, found once: branches are walked many times. */
interface Said {
  /** `x is None`, `x is not None`, `exists(x)`, `x`: whether x is something where the test holds. */
  readonly none: { readonly name: string; readonly present: boolean } | null;
  /** `x.dim() == 3`, `x.ndim == 2`, `len(x.shape) == 2`, where the test holds. */
  readonly ranks: readonly { readonly name: string; readonly rank: number }[];
}

const said = new WeakMap<Node, Said>();

/** `asserted`: by an `assert`, which is no branch; what is copied stays as it was followed so far. */
export function refine(test: Node, holds: boolean, frame: Frame, run: Run, asserted = false): void {
  let known = said.get(test);
  if (!known) said.set(test, (known = { none: noneIn(test), ranks: conjuncts(test).flatMap(rankIn) }));
  if (known.none) refineNone(known.none.name, known.none.present === holds, frame);
  if (!holds) return;
  for (const { name, rank } of known.ranks) {
    const value = frame.state.names.get(name);
    if (value) frame.state.names.set(name, ofRank(value, rank, run, asserted));
  }
}

function ofRank(value: Value, rank: number, run: Run, asserted: boolean): Value {
  if (value.kind === 'union')
    return { ...value, options: value.options.map((o) => ({ ...o, value: ofRank(o.value, rank, run, asserted) })) };
  const t = asTensor(value, run);
  const shape = t && !(asserted && carriesReplica(t)) ? withRank(t, rank) : null;
  return t && shape ? { ...t, shape } : value;
}

function conjuncts(node: Node): readonly Node[] {
  if (node.kind === 'boolean_operator' && textOf(childOf(node, 'operator') ?? node) === 'and')
    return node.children.filter((c) => c.field !== 'operator').flatMap(conjuncts);
  return node.kind === 'parenthesized_expression' ? node.children.flatMap(conjuncts) : [node];
}

function rankIn(node: Node): Said['ranks'] {
  const match = /^(?:len\((\w+)\.(?:shape|size\(\))\)|(\w+)\.(?:dim\(\)|ndim))\s*==\s*(\d)$/.exec(textOf(node));
  const name = match?.[1] ?? match?.[2];
  return match && name !== undefined ? [{ name, rank: Number(match[3]) }] : [];
}

function noneIn(test: Node): Said['none'] {
  const match = /^(?:(\w+) is (not )?None|exists\((\w+)\)|(\w+))$/.exec(textOf(test));
  const name = match?.[1] ?? match?.[3] ?? match?.[4];
  if (!match || name === undefined) return null;
  return { name, present: match[1] === undefined || match[2] !== undefined };
}

/** Which of its options x is on this branch. */
function refineNone(name: string, present: boolean, frame: Frame): void {
  const value = frame.state.names.get(name);
  if (value?.kind !== 'union') return;
  const options = value.options.filter((o) => (o.value.kind === 'none') !== present);
  const [only] = options;
  if (only && options.length === 1) frame.state.names.set(name, only.value);
  else if (only) frame.state.names.set(name, { ...value, options });
}
