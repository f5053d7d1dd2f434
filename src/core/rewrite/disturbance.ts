/** Whether an expression, moved down from one statement to another, still gives the same value there. */
import { type Node, textOf } from '../python/syntax';
import { lineOf } from './edit';
import { isBinding, isMutation, occurrencesBetween, visit } from './names';
import { refuse } from './refusal';

/** Refuses when a name that `expression` reads is bound again, or written into, after `from` and before `to`. */
export function requireUndisturbed(expression: Node, from: Node, to: Node): void {
  visit(expression, (node) => {
    if (node.kind !== 'identifier' || node.field === 'attribute') return;
    const name = textOf(node);
    const path = pathOf(node);
    for (const other of occurrencesBetween(from, to, name)) {
      if (isBinding(other)) refuse(`\`${name}\` is bound again at line ${lineOf(other)}, before it would be read`);
      if (isMutation(other) && overlap(path, pathOf(other))) {
        refuse(`\`${path}\` may be written into at line ${lineOf(other)}, after the copy was made`);
      }
    }
  });
}

/** `self.a.b` around a name, as far as attributes go. */
function pathOf(name: Node): string {
  let at = name;
  while (at.parent?.kind === 'attribute' && at.field === 'object' && at.parent.parent?.kind !== 'call') at = at.parent;
  return textOf(at).replace(/\s+/g, '');
}

const overlap = (a: string, b: string): boolean => a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
