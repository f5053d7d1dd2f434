/** What a pass of a loop leaves for the next one: only then is there a second. */
import { sameCopies } from '../tensor/alike';
import type { Heap, HeapItem } from './heap';
import type { Frame } from './run';
import { matters } from './state';
import { type Node, textOf } from './syntax';
import type { Value } from './value';

/** `names` and `before` are as the pass through `body` found them; `frame` is as it left it. */
export function leavesSomething(names: ReadonlyMap<string, Value>, before: Heap, frame: Frame, body: Node): boolean {
  let isSame = true;
  for (const [key, old] of names) {
    const now = frame.state.names.get(key);
    if (now === old || !now) continue;
    if (isNews(old, now) || (isOtherFlag(old, now) && asks(body, key))) return true;
    isSame = false;
  }
  for (const [id, item] of frame.state.heap.since(before)) {
    const old = before.get(id);
    // Layers that a constructor makes out of the same things are the same in each pass.
    if (!old || item === old || (item.kind === 'list' && frame.building && isSame)) continue;
    if (isNewsOf(old, item, frame.building)) return true;
    if (isBegun(old, item) && isRead(id, names, body)) return true;
  }
  return false;
}

/** What asks for the items of a list meets none of them in the first pass. */
const isBegun = (old: HeapItem, now: HeapItem): boolean =>
  old.kind === 'list' && now.kind === 'list' && old.items.length === 0 && now.items.length > 0;

/** `first = True` in front of the loop, `first = False` at the end of its first pass. */
const isOtherFlag = (old: Value, now: Value): boolean =>
  old.kind === 'bool' && now.kind === 'bool' && old.value !== null && old.value !== now.value;

/** A test in the loop reads the name. */
const asks = (body: Node, name: string): boolean =>
  new RegExp(`\\b(if|elif|while|and|or|not|assert)\\b[^\\n:]*(?<![\\w.])${name}(?!\\w)`).test(textOf(body));

/** Is it more than added to? */
function isRead(id: number, names: ReadonlyMap<string, Value>, body: Node): boolean {
  for (const [name, value] of names)
    if (value.kind === 'ref' && value.id === id)
      return new RegExp(`(?<![\\w.])${name}(?!\\w|\\.(?:append|extend)\\(| *\\+= )`).test(textOf(body));
  return false;
}

/** Would a pass that begins with the one meet what a pass that began with the other did not? */
const isNews = (old: Value | undefined, now: Value): boolean =>
  old?.kind === 'none' || (old?.kind === 'union' ? !isAlike(old, now) : matters(now) && !isAlike(old, now));

const isNewsOf = (old: HeapItem, now: HeapItem, building: boolean): boolean => {
  if (old.kind === 'list' && now.kind === 'list')
    return now.items.length < old.items.length || now.items.slice(old.items.length).some((v) => building || matters(v));
  if (old.kind === 'dict' && now.kind === 'dict') return hasNews(old.entries, now.entries);
  if (old.kind === 'object' && now.kind === 'object')
    return old.holds !== now.holds || (old.build === null && hasNews(old.attributes, now.attributes));
  return true;
};

function hasNews(old: ReadonlyMap<string, Value>, now: ReadonlyMap<string, Value>): boolean {
  for (const [key, value] of now) if (value !== old.get(key) && isNews(old.get(key), value)) return true;
  return false;
}

function isAlike(a: Value | undefined, b: Value): boolean {
  if (a === b) return true;
  if (a?.kind === 'tensor' && b.kind === 'tensor') return sameCopies(a, b);
  if (a?.kind === 'union' && b.kind === 'union')
    return (
      a.options.length === b.options.length &&
      a.options.every(({ value, when }, at) => {
        const other = b.options[at];
        return other !== undefined && other.when.length === when.length && isAlike(value, other.value);
      })
    );
  return a?.kind === b.kind && b.kind === 'unknown';
}
