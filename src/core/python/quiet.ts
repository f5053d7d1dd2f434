/** Functions that, given no replica, return none: their own findings are known once they have been evaluated. */
import type { Node } from './syntax';
import { type Args, NO_ARGS } from './value';

export interface QuietFunctions {
  /** Known to be quiet with these arguments, or with unknown ones. */
  has(node: Node, args?: Args): boolean;
  add(node: Node, args?: Args): void;
  drop(node: Node): void;
  /** How many were added so far. */
  count(): number;
  /** Forgets what was added since there were so many: it was found out with networks that were not known. */
  forget(count: number): void;
}

export function createQuiet(): QuietFunctions {
  const known = new Map<Node, Set<string>>();
  const added: Node[] = [];
  return {
    has(node, args = NO_ARGS) {
      const flags = known.get(node);
      return flags !== undefined && (flags.has('') || flags.has(flagsOf(args)));
    },
    add(node, args = NO_ARGS) {
      known.set(node, (known.get(node) ?? new Set<string>()).add(flagsOf(args)));
      added.push(node);
    },
    drop: (node) => void known.delete(node),
    count: () => added.length,
    forget(count) {
      for (const node of added.splice(count)) known.delete(node);
    },
  };
}

/** Flags that are given: what they leave out is not known. */
function flagsOf({ positional, keywords }: Args): string {
  let flags = '';
  for (const [at, value] of positional.entries())
    if (value.kind === 'bool' && value.value !== null) flags += `${at}=${value.value},`;
  for (const [key, value] of keywords)
    if (value.kind === 'bool' && value.value !== null) flags += `${key}=${value.value},`;
  return flags;
}
