/** What a call gives: of several returns, and of a function of another file. */
import { mapForm, mapReplicas, step } from '../tensor/pointwise';
import type { Replica, Tensor } from '../tensor/value';
import { givenAs, placeOf } from './access';
import type { Heap } from './heap';
import type { Frame, Run } from './run';
import { either } from './state';
import type { Node } from './syntax';
import { type Args, type Condition, NONE, type Value } from './value';

/** The value of a call that has been run: one of those that its returns give. */
export const returned = ({ returns, caller, function: model }: Frame): Value =>
  oneOf(returns, caller?.state.path.length ?? 0, `return@${model?.node.start ?? 0}`);

/** What several returns give, each on the conditions behind the first `at` that tell it from the others. */
function oneOf(returns: Frame['returns'], at: number, key: string): Value {
  const last = returns.at(-1);
  if (!last) return NONE;
  if (returns.length === 1) return last.value;
  const when = last.when[at];
  const isSame = (other: Condition | undefined): boolean => other?.key === when?.key && other?.holds === when?.holds;
  const [same, others] = [returns.filter((r) => isSame(r.when[at])), returns.filter((r) => !isSame(r.when[at]))];
  if (when && others.length === 0) return oneOf(returns, at + 1, key);
  if (when) return either(oneOf(same, at + 1, key), oneOf(others, at, key), when, { ...when, holds: !when.holds });
  const another: Condition = { key, text: 'another return is taken', holds: true };
  return either(last.value, oneOf(returns.slice(0, -1), at, key), another, { ...another, holds: false });
}

/** Lists and objects that were made in a branch which a return ended: the caller has them, too. */
export function adoptReturned({ state }: Frame, { returns }: Frame): void {
  const adopt = (value: Value, heap: Heap): void => {
    if (value.kind === 'tuple') for (const item of value.items) adopt(item, heap);
    if (value.kind === 'union') for (const option of value.options) adopt(option.value, heap);
    if (value.kind !== 'ref' || state.heap.peek(value.id)) return;
    const made = heap.peek(value.id);
    if (!made) return;
    state.heap.set(value.id, made);
    const parts = made.kind === 'list' ? made.items : made.kind === 'dict' ? made.entries : made.attributes;
    for (const part of parts.values()) adopt(part, heap);
  };
  for (const { value, heap } of returns) adopt(value, heap);
}

/** A replica that a function of another file made is, for this file, made by the call. */
export function broughtHome(value: Value, args: Args, node: Node, frame: Frame, run: Run): Value {
  const { path } = frame.file.file;
  const place = placeOf(node);
  // Parts of a larger value stay where they are made; that they came through this call is a step of their way.
  const passed = (replica: Replica): Replica =>
    replica.origin.path === path
      ? replica
      : { ...replica, trail: step(replica.trail, place, 'returned by this call', 'call') };
  const home = (t: Tensor): Tensor =>
    mapReplicas(t, (replica) => {
      if (replica.origin.path === path) return replica;
      const written = replica.written && replica.written.path !== path ? place : replica.written;
      const helper = { source: givenAs(replica.of, args, run) };
      return { ...replica, origin: place, written, trail: null, argument: null, helper };
    });
  switch (value.kind) {
    case 'tensor':
      return { ...mapForm(value, passed), shape: home({ ...value, form: null }).shape };
    case 'tuple':
      return { ...value, items: value.items.map((item) => broughtHome(item, args, node, frame, run)) };
    case 'union':
      return {
        ...value,
        options: value.options.map((o) => ({ ...o, value: broughtHome(o.value, args, node, frame, run) })),
      };
    case 'ref': {
      const item = frame.state.heap.peek(value.id);
      const carried = (v: Value): Value => (v.kind === 'tensor' ? broughtHome(v, args, node, frame, run) : v);
      if (item?.kind === 'list') frame.state.heap.set(value.id, { ...item, items: item.items.map(carried) });
      else if (item?.kind === 'dict')
        frame.state.heap.set(value.id, {
          ...item,
          entries: new Map([...item.entries].map(([key, v]) => [key, carried(v)])),
        });
      return value;
    }
    default:
      return value;
  }
}
