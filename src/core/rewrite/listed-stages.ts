/** `layers = [nn.Linear(..)]; layers.append(..); self.mlp = nn.Sequential(*layers)`: whether the layer comes first. */
import type { Condition } from '../finding';
import { type Node, childOf, enclosing, scopeOf, statementOf, textOf, lineOf } from '../python/syntax';
import { beginsWithLayer } from './conditions';
import { callOf, elements, unwrap } from './expression';
import { assignmentsIn } from './file-index';
import { torchName } from './torch-name';
import { dominates, isBinding, isMutation, occurrences } from './names';

/**
 * Conditions under which `constructor` makes the first stage of the Sequential `text`, whose stages are collected in a list;
 * null when it is no such Sequential, or plainly not the first. The user knows it as `shown`; `of` names the file where it is
 * another one.
 */
export function firstOfList(constructor: Node, text: string, shown: string, of: string): readonly Condition[] | null {
  const owner = enclosing(constructor, 'class_definition');
  const [assignment, ...more] = (owner && assignmentsIn(owner).get(text)) ?? [];
  const value = assignment && more.length === 0 ? childOf(assignment, 'right') : null;
  const list = value ? splattedList(value) : null;
  if (!assignment || !list || scopeOf(assignment) !== scopeOf(constructor)) return null;
  const additions = additionsTo(list);
  const at = additions?.findIndex(({ made }) => made === constructor) ?? -1;
  const own = additions?.[at];
  if (!additions || !own || additions.slice(0, at).some(({ always }) => always)) return null;
  return at === 0 && own.always ? [] : [beginsWithLayer(shown, lineOf(constructor), of)];
}

/** The name in `nn.Sequential(*layers)`. */
function splattedList(value: Node): Node | null {
  const call = callOf(unwrap(value));
  const [only, ...more] = (call && childOf(call.node, 'arguments')?.children) ?? [];
  if (!call || torchName(call) !== 'Sequential' || only?.kind !== 'list_splat' || more.length > 0) {
    return null;
  }
  const [name] = only.children;
  return name?.kind === 'identifier' ? name : null;
}

interface Addition {
  readonly made: Node;
  /** It is added whenever the list is made. */
  readonly always: boolean;
}

/** What is put into a list, in order; null where something else is done to it. */
function additionsTo(list: Node): readonly Addition[] | null {
  const found: Addition[] = [];
  let start: Node | null = null;
  for (const name of occurrences(scopeOf(list), textOf(list))) {
    const { parent } = name;
    const statement = statementOf(name);
    const always = start !== null && dominates(start, statement) && statement.parent === start.parent;
    if (isBinding(name) && parent?.kind === 'assignment' && name.field === 'left') {
      const items = elements(childOf(parent, 'right'));
      if (start !== null || !items) return null;
      start = statement;
      found.push(...items.map((made) => ({ made, always: true })));
    } else if (parent?.kind === 'augmented_assignment' && name.field === 'left') {
      const items = elements(childOf(parent, 'right'));
      if (!items || textOf(childOf(parent, 'operator') ?? parent) !== '+=') return null;
      found.push(...items.map((made) => ({ made, always })));
    } else if (parent?.kind === 'attribute' && name.field === 'object') {
      const call = parent.parent ? callOf(parent.parent) : null;
      const items = call?.method === 'append' ? call.positional : elements(call?.positional[0] ?? null);
      if (!call || !/^(append|extend)$/.test(call.method) || !items) return null;
      found.push(...items.map((made) => ({ made, always })));
    } else if (isBinding(name) || !isRead(name)) return null;
  }
  return start === null ? null : found;
}

/** `len(layers)`, `*layers`, `for layer in layers`, `layers[-1]`: the list stays as it is. */
function isRead(name: Node): boolean {
  const { parent } = name;
  if (parent?.kind === 'list_splat') return true;
  if (parent?.kind === 'argument_list' && parent.parent)
    return /^(len|enumerate|zip)$/.test(callOf(parent.parent)?.name ?? '');
  if (parent?.kind === 'subscript') return name.field === 'value' && !isMutation(name);
  return parent?.kind === 'for_statement' && name.field === 'right';
}
