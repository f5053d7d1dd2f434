/** Lists to which each pass of a loop adds the same tensor: `for _ in range(n): rows.append(x)`. */
import { asDim, asTensor } from './access';
import { withItems } from './heap';
import type { Frame, Run } from './run';
import { type Node, childOf, textOf } from './syntax';
import { placesOf } from './words';

/** A name, an attribute, and views of it. */
const ALWAYS_SAME = /^[A-Za-z_][\w.]*?(\.(unsqueeze|squeeze|view|reshape|transpose|permute|detach)\([^()]*\))*$/;
const LEAVES = /\b(break|continue|return|yield|raise)\b/;

/** `rows.append(x)` or `rows += [x]` as a statement of its own: the name of the list, and what is added. */
function added(statement: Node): readonly [list: string, item: string] | null {
  const [, list, item] = /^(\w+)(?:\.append\(| *\+= *\[)(.*)[)\]]$/s.exec(textOf(statement)) ?? [];
  return list !== undefined && item !== undefined && ALWAYS_SAME.test(item) ? [list, item] : null;
}

/**
 * Asked in front of a loop that only counts. What it gives says behind the loop of each list that was empty how often its item is
 * in it; null where there is no such list.
 */
export function countAppended(loop: Node, frame: Frame, run: Run): (() => void) | null {
  const [over, body] = [childOf(loop, 'right'), childOf(loop, 'body')];
  const count = over && /^range\([^,]*\)$/s.test(textOf(over)) ? childOf(over, 'arguments')?.children[0] : null;
  const text = body ? textOf(body) : '';
  if (!count || !body || childOf(loop, 'left')?.kind !== 'identifier' || LEAVES.test(text)) return null;
  const lists = body.children.flatMap((statement) => {
    const [list = '', item = ''] = added(statement) ?? [];
    const ref = frame.state.names.get(list);
    const held = ref?.kind === 'ref' ? frame.state.heap.peek(ref.id) : undefined;
    const isEmpty = held?.kind === 'list' && !held.open && held.items.length === 0;
    return ref?.kind === 'ref' && isEmpty && placesOf(text, list).length === 1 ? [{ id: ref.id, item }] : [];
  });
  if (lists.length === 0) return null;
  const times = asDim(run.evaluate(count, frame));
  const names = frame.state.names.all();
  // What the loop gives another value, or writes into, is another tensor in each pass.
  const stays = (name: string): boolean =>
    name === 'self' || (names.has(name) && names.get(name) === frame.state.names.get(name));
  return () => {
    for (const { id, item } of lists) {
      const list = frame.state.heap.get(id);
      const [first] = list?.kind === 'list' ? list.items : [];
      if (list?.kind !== 'list' || !first || !asTensor(first, run) || times === null) continue;
      if ((item.match(/(?<![.\w])[A-Za-z_]\w*/g) ?? []).every(stays))
        frame.state.heap.set(id, { ...withItems(list, [first], true), times });
    }
  };
}
