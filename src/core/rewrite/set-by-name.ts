/** Attributes that are set under names which code puts together: `setattr(m, f'{kind}_fc', nn.Identity())`. */
import { type Node, type SourceFile, childOf, enclosing, innermostAt, textOf } from '../python/syntax';
import { placesOf } from '../python/words';
import { type Call, callOf, unwrap } from './expression';
import { definitionOf } from './names';

export interface NamedSet {
  /** What sets it: a call, or the item of a table. */
  readonly node: Node;
  /** The object that gets the attribute. */
  readonly object: Node | null;
  /** An expression of the name. */
  readonly name: Node;
}

const SETTERS = ['setattr', '__setattr__', 'delattr', 'add_module', 'register_module'];
/** What holds the modules, or all attributes, of an object by their names. */
const TABLES = ['_modules', '__dict__', 'vars'];

const known = new WeakMap<SourceFile, readonly NamedSet[]>();

/** Where a file sets an attribute whose name is no plain string. */
function namedSets(file: SourceFile): readonly NamedSet[] {
  const before = known.get(file);
  if (before) return before;
  const at = (word: string): readonly Node[] =>
    placesOf(file.text, word).map((offset) => innermostAt(file.root, offset));
  const found = [...SETTERS.flatMap(at).flatMap(byCall), ...TABLES.flatMap(at).flatMap(byItem)];
  known.set(file, found);
  return found;
}

function byCall(word: Node): readonly NamedSet[] {
  const node = enclosing(word, 'call');
  const call = node && callOf(node);
  if (!node || !call || !SETTERS.includes(call.method) || call.splat) return [];
  const given = call.positional;
  const name = call.method === 'delattr' ? given.at(-1) : given.at(-2);
  const object = given.length > (call.method === 'delattr' ? 1 : 2) ? (given[0] ?? null) : call.receiver;
  return name ? [{ node, object, name }] : [];
}

/** `m._modules[name] = ..`, `vars(m)[name] = ..` */
function byItem(word: Node): readonly NamedSet[] {
  let table = word;
  while (table.parent && /^(attribute|call|argument_list)$/.test(table.parent.kind)) table = table.parent;
  let item = table.parent;
  while (item?.kind === 'subscript' && item.parent?.kind === 'subscript') item = item.parent;
  const name = item?.kind === 'subscript' ? childOf(item, 'subscript') : null;
  const isSet = item?.field === 'left' || item?.parent?.kind === 'delete_statement';
  return item && name && isSet ? [{ node: item, object: table.children[0] ?? null, name }] : [];
}

/** The first one of a file that may be of this name. `spelled`: the file holds the name as a string. */
export function setUnder(
  file: SourceFile,
  name: string,
  spelled: boolean,
  counts: (set: NamedSet) => boolean,
): NamedSet | null {
  return namedSets(file).find((one) => mayBe(one.name, name, spelled) && counts(one)) ?? null;
}

function mayBe(expression: Node, name: string, spelled: boolean): boolean {
  const pattern = patternOf(expression).replace(/(?:\.\*)+/g, ANY);
  if (pattern.split(ANY).length > MOST_WILDCARDS) return true;
  // A name that comes from anywhere is this one where it is written somewhere.
  return pattern.replaceAll('.*', '') === '' ? spelled : new RegExp(`^${pattern}$`, 's').test(name);
}

const ANY = '.*';
/** Any text, put together for sure. */
const MADE = '(?:.*)';
/** A pattern of many takes very long to fail. */
const MOST_WILDCARDS = 5;
/** Names of names: each may be put together of many. */
const MOST_NAMES = 2;

/** What the text of a name is known to hold. */
function patternOf(expression: Node, depth = 0): string {
  const node = unwrap(expression);
  if (node.kind === 'string')
    return node.children.map((part) => (part.kind === 'interpolation' ? ANY : literal(part))).join('');
  if (node.kind === 'concatenated_string') return node.children.map((part) => patternOf(part, depth)).join('');
  if (node.kind === 'identifier' && depth < MOST_NAMES) {
    const made = definitionOf(node);
    return made ? patternOf(made.value, depth + 1) : ANY;
  }
  if (node.kind === 'binary_operator') {
    const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
    const operator = childOf(node, 'operator');
    if (!left || !right || !operator) return ANY;
    if (textOf(operator) === '+') return patternOf(left, depth) + patternOf(right, depth);
    return textOf(operator) === '%' ? patternOf(left, depth).replace(/%\S/g, ANY) : ANY;
  }
  const call: Call | null = callOf(node);
  if (call?.method === 'format' && call.receiver) return patternOf(call.receiver, depth).replace(/\\\{.*?\\\}/g, ANY);
  return call?.method === 'join' || call?.method === 'replace' ? MADE : ANY;
}

const literal = (part: Node): string =>
  part.kind === 'string_content' ? textOf(part).replace(/[.*+?^${}()|[\]\\]/g, '\\$&') : '';
