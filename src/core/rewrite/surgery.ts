/**
 * What the rest of a file does to a layer that a class holds: a subclass or a caller may put another module in its
 * place (`model.fc = nn.Identity()`), replace its forward, or hook it. A rewrite that reads the weight would pass it by.
 */
import { type Node, type SourceFile, childOf, enclosing, textOf } from '../python/syntax';
import { lineOf } from './edit';
import { callOf } from './expression';
import { isBinding, visit } from './names';
import { refuse } from './refusal';

/** What changes the stages of a container. */
const CONTAINER = new Set(['insert', 'append', 'extend', 'pop', 'add_module', 'register_module']);

/**
 * Refuses when `file` may change what `text` (`self.fc`, `self.mlp[0]`) stands for. `owners` are the classes that hold
 * the layer: what they assign to it themselves is the caller's to judge.
 */
export function requireUntouched(file: SourceFile, text: string, owners: readonly Node[]): void {
  const name = /\.(\w+)(\[[^\]]*\])*$/.exec(text)?.[1];
  if (!name) return;
  const container = !text.endsWith(']');
  const { attributes, strings } = mentionsOf(file);
  const patched = (attributes.get('forward') ?? []).find(
    (forward) => isTarget(forward) && /\b(Linear|Conv[12]d|Sequential|Module)\.forward$/.test(textOf(forward)),
  );
  if (patched) refuse(`line ${lineOf(patched)} replaces \`${textOf(patched)}\``);
  for (const attribute of attributes.get(name) ?? []) {
    const what = touched(attribute, name, container);
    if (what === null || (what === 'set' && isOwn(attribute, owners))) continue;
    const verb = { set: 'puts another module in the place of', forward: 'replaces the forward of', stage: 'changes' };
    refuse(`line ${lineOf(attribute)} ${what === 'hook' ? 'wraps or hooks' : verb[what]} \`${textOf(attribute)}\``);
  }
  for (const string of strings.get(name) ?? []) {
    const call = string.parent?.parent ? callOf(string.parent.parent) : null;
    const set = call && ['setattr', 'add_module', 'register_module', 'delattr'].includes(call.method);
    const item =
      string.parent?.kind === 'subscript' && /\b_modules$/.test(textOf(childOf(string.parent, 'value') ?? string));
    if (set || item) refuse(`line ${lineOf(string)} may put another module in the place of \`${text}\``);
  }
  for (const owner of owners) {
    const member = subclassesOf(owner).flatMap((sub) => membersOf(sub, name))[0];
    if (member) refuse(`line ${lineOf(member)} gives \`${name}\` another meaning in a subclass`);
  }
}

type Touch = 'set' | 'forward' | 'stage' | 'hook';

/** What the text around `x.fc` does to it, null for a mere read. */
function touched(attribute: Node, name: string, container: boolean): Touch | null {
  if (isTarget(attribute)) return 'set';
  const { parent, field } = attribute;
  if (parent?.kind === 'subscript' && field === 'value') return isTarget(parent) ? 'stage' : null;
  if (parent?.kind !== 'attribute' || field !== 'object') return null;
  const member = textOf(childOf(parent, 'attribute') ?? parent);
  if (isTarget(parent)) return member === 'forward' || member === '__class__' ? 'forward' : null;
  if (parent.parent?.kind !== 'call' || parent.field !== 'function') return null;
  if (/^register_.*(hook|parametrization)/.test(member)) return 'hook';
  return container && CONTAINER.has(member) && name !== member ? 'stage' : null;
}

const PATTERNS = new Set(['pattern_list', 'tuple_pattern', 'list_pattern', 'tuple', 'list', 'expression_list']);

function isTarget(node: Node): boolean {
  let at = node;
  while (at.parent && PATTERNS.has(at.parent.kind)) at = at.parent;
  const kind = at.parent?.kind ?? '';
  return kind === 'delete_statement' || (at.field === 'left' && /^(augmented_)?assignment$|^for_/.test(kind));
}

/** `self.fc = ..` in a class that holds the layer, or in one that has nothing to do with it. */
function isOwn(attribute: Node, owners: readonly Node[]): boolean {
  if (textOf(childOf(attribute, 'object') ?? attribute) !== 'self') return false;
  const around = enclosing(attribute, 'class_definition');
  return around !== null && !owners.some((owner) => owner !== around && subclassesOf(owner).includes(around));
}

/** The classes of the file that inherit from `owner`, directly or not, by the names of their bases. */
function subclassesOf(owner: Node): readonly Node[] {
  const { classes } = mentionsOf(owner.file);
  const found = new Set<Node>([owner]);
  for (const base of found) {
    const name = textOf(childOf(base, 'name') ?? base);
    for (const one of classes) {
      const bases = childOf(one, 'superclasses')?.children ?? [];
      if (bases.some((b) => textOf(b) === name || textOf(b).endsWith(`.${name}`))) found.add(one);
    }
  }
  found.delete(owner);
  return [...found];
}

/** What a class body itself binds to `name`: a method, a property, a class attribute. */
function membersOf(owner: Node, name: string): readonly Node[] {
  const found: Node[] = [];
  visit(childOf(owner, 'body') ?? owner, (node) => {
    if (node.kind !== 'identifier' || textOf(node) !== name || !isBinding(node)) return;
    const own = node.parent?.kind === 'function_definition' && node.field === 'name' ? node.parent : node;
    if (enclosing(own.parent ?? own, 'function_definition', 'lambda', 'class_definition') === owner) found.push(node);
  });
  return found;
}

interface Mentions {
  /** Attribute nodes by the last name. */
  readonly attributes: ReadonlyMap<string, readonly Node[]>;
  /** Plain strings by their text. */
  readonly strings: ReadonlyMap<string, readonly Node[]>;
  readonly classes: readonly Node[];
}

/** Collected once per file, since every rewrite in it asks. */
const mentions = new WeakMap<SourceFile, Mentions>();

function mentionsOf(file: SourceFile): Mentions {
  const known = mentions.get(file);
  if (known) return known;
  const attributes = new Map<string, Node[]>();
  const strings = new Map<string, Node[]>();
  const classes: Node[] = [];
  const add = (map: Map<string, Node[]>, key: string, node: Node): void => {
    const list = map.get(key);
    if (list) list.push(node);
    else map.set(key, [node]);
  };
  visit(file.root, (node) => {
    if (node.kind === 'attribute') add(attributes, textOf(childOf(node, 'attribute') ?? node), node);
    else if (node.kind === 'string') add(strings, textOf(node).replace(/^\w*['"]|['"]$/g, ''), node);
    else if (node.kind === 'class_definition') classes.push(node);
  });
  const found = { attributes, strings, classes };
  mentions.set(file, found);
  return found;
}
