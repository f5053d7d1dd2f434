/** Whether an expression, moved down from one statement to another, still gives the same value there. */
import { type Node, textOf, lineOf } from '../python/syntax';
import { shortly } from './edit';
import { effectIn } from './effects';
import { isBinding, isMutation, occurrencesBetween, visit } from './names';
import { refuse } from './refusal';

/** Refuses when `expression` would not give the same value at `to` as it did at `from`. */
export function requireUndisturbed(expression: Node, from: Node, to: Node, what: 'all' | 'writes' = 'all'): void {
  const effect = what === 'all' ? effectIn(expression) : null;
  if (effect) refuse(`line ${lineOf(effect)}: \`${shortly(effect)}\` may have an effect, and would run later`);
  const reason = disturbance(expression, from, to, what);
  if (reason !== null) refuse(reason);
}

/**
 * The name that `expression` reads and that is bound again, or written into, after `from` and before `to`, as a reason;
 * null when there is none. With 'writes' only the latter counts: the expression keeps its place, but its result may share
 * memory with what it reads.
 */
export function disturbance(expression: Node, from: Node, to: Node, what: 'all' | 'writes' = 'all'): string | null {
  let reason: string | null = null;
  visit(expression, (node) => {
    if (reason !== null || node.kind !== 'identifier' || node.field === 'attribute') return;
    const name = textOf(node);
    const path = pathOf(node);
    for (const other of occurrencesBetween(from, to, name)) {
      if (what === 'all' && isBinding(other)) {
        reason = `\`${name}\` is bound again at line ${lineOf(other)}, before it would be read`;
      } else if (isMutation(other) && overlap(path, pathOf(other))) {
        reason = `\`${path}\` may be written into at line ${lineOf(other)}, after the copy was made`;
      }
    }
  });
  return reason;
}

/** `self.a.b` around a name, as far as attributes go. */
export function pathOf(name: Node): string {
  let at = name;
  while (at.parent?.kind === 'attribute' && at.field === 'object' && at.parent.parent?.kind !== 'call') at = at.parent;
  return textOf(at).replace(/\s+/g, '');
}

export const overlap = (a: string, b: string): boolean => a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
