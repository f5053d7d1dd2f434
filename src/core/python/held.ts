/** Whether a value holds copies, by itself or inside of what it consists of. */
import { carriesReplica } from '../tensor/shape';
import type { Heap } from './heap';
import type { Frame, Run } from './run';
import type { Args, Value } from './value';

export const carriesAny = (args: Args, frame: Frame, run: Run): boolean =>
  [...args.positional, ...args.keywords.values()].some((v) => carries(v, frame, run));

const MAX_FIELDS = 32;

/** Does a value hold a replica, directly or inside of lists, dicts and tuples? */
export function carries(value: Value, frame: Frame, run: Run, depth = 3): boolean {
  if (value.kind === 'tensor') return carriesReplica(value);
  if (value.kind === 'union') return value.options.some((o) => carries(o.value, frame, run, depth));
  if (depth === 0) return false;
  if (value.kind === 'tuple') return value.items.some((v) => carries(v, frame, run, depth - 1));
  if (value.kind === 'ref') {
    const item = frame.state.heap.peek(value.id);
    if (item?.kind === 'list') return item.items.some((v) => carries(v, frame, run, depth - 1));
    if (item?.kind === 'dict') return [...item.entries.values()].some((v) => carries(v, frame, run, depth - 1));
    // A record of tensors; a module keeps its own.
    if (item?.kind === 'object' && item.model && item.attributes.size <= MAX_FIELDS && !run.isModule(item.model))
      for (const field of item.attributes.values()) if (field.kind === 'tensor' && carriesReplica(field)) return true;
  }
  return false;
}

/** Did a method leave copies in an attribute of the object, for others to read? */
export function keepsCopies(id: number, before: Heap | null, frame: Frame, run: Run): boolean {
  const [old, item] = [before?.peek(id), frame.state.heap.peek(id)];
  if (item?.kind !== 'object' || item === old) return false;
  const known = old?.kind === 'object' ? old.attributes : null;
  const isOfData = (value: Value): boolean => value.kind !== 'tensor' || !/^(mask|index)$/.test(value.content);
  return [...item.attributes].some(
    ([key, value]) => value !== known?.get(key) && isOfData(value) && carries(value, frame, run),
  );
}
