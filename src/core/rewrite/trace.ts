/** From a use of a name back to the expression that made its value. */
import { type Node, textOf } from '../python/syntax';
import { unwrap } from './expression';
import { type Definition, definitionOf } from './names';

export interface Traced {
  /** What the operand is, behind the names that it goes through. */
  readonly value: Node;
  /** The definitions gone through, the nearest to the use first. */
  readonly definitions: readonly (Definition & { readonly name: string })[];
}

/** Follows names to the one expression that they stand for; stops at arguments and at names with several definitions. */
export function trace(use: Node): Traced {
  const definitions: (Definition & { name: string })[] = [];
  let value = unwrap(use);
  while (value.kind === 'identifier' && definitions.length < 8) {
    const definition = definitionOf(value);
    if (!definition) break;
    definitions.push({ ...definition, name: textOf(value) });
    value = unwrap(definition.value);
  }
  return { value, definitions };
}
