/** One tensor that a list holds several times: `torch.stack([x] * n)`, `torch.cat([x for _ in range(n)], dim=1)`. */
import { type Node, childOf, textOf } from '../python/syntax';
import { flat } from './edit';
import { type Call, argument, callOf, elements, integer } from './expression';
import type { Replicate } from './replica';

/** Such a call, taken apart; null where its list is not written there, or its axis is counted from the back. */
export function listedCopies(call: Call): Replicate | null {
  const stacks = call.name === 'torch.stack';
  if (!stacks && !/^torch\.(cat|concat|concatenate)$/.test(call.name)) return null;
  const list = argument(call, 0, 'tensors');
  const given = argument(call, 1, 'dim');
  const dim = given ? integer(given) : 0;
  const [source, count] = (list && (multiplied(list) ?? counted(list))) ?? [];
  if (!source || !count || dim === null || dim < 0) return null;
  // A tensor that has the new axis is repeated along it as it is; another one in a new axis, which is merged with the old one.
  const copies = `.repeat_interleave(${flat(count)}, dim=${dim})`;
  return {
    node: call.node,
    source,
    suffix: stacks ? `.unsqueeze(${dim})` : '',
    kind: 'repeat',
    arguments: [count],
    apply: stacks ? (x) => `${x}${copies}` : (x) => `${x}.unsqueeze(${dim})${copies}.flatten(${dim}, ${dim + 1})`,
    axis: dim,
    map: ([replica, ...more]) =>
      replica && more.length === 0
        ? { kind: replica.map.kind === 'all' ? 'expand' : 'tile', count: flat(count), axis: dim }
        : null,
  };
}

type Copies = readonly [source: Node, count: Node];

/** `[x] * n`. */
function multiplied(list: Node): Copies | null {
  const [left, right] = [childOf(list, 'left'), childOf(list, 'right')];
  const sign = childOf(list, 'operator');
  if (list.kind !== 'binary_operator' || !left || !right || !sign || textOf(sign) !== '*') return null;
  const [held, count] = left.kind === 'list' ? [left, right] : [right, left];
  const [only, ...more] = elements(held) ?? [];
  return only && more.length === 0 && count.kind !== 'list' ? [only, count] : null;
}

/** `[x for _ in range(n)]`. */
function counted(list: Node): Copies | null {
  const [clause, ...more] = list.children.filter(({ kind }) => /_clause$/.test(kind));
  const body = childOf(list, 'body');
  const [variable, over] = [clause && childOf(clause, 'left'), clause && childOf(clause, 'right')];
  const range = over ? callOf(over) : null;
  const [count, ...bounds] = range?.name === 'range' ? range.positional : [];
  const isPlain = list.kind === 'list_comprehension' && more.length === 0 && bounds.length === 0;
  return isPlain && body?.kind === 'identifier' && variable && count && textOf(variable) !== textOf(body)
    ? [body, count]
    : null;
}
