/**
 * What the rest of a file does to a layer that a class holds: a subclass or a caller may put another module in its
 * place (`model.fc = nn.Identity()`), replace its forward, or hook it. A rewrite that reads the weight would pass it by.
 */
import { type Node, type SourceFile, childOf, enclosing, innermostAt, scopeOf, textOf, lineOf } from '../python/syntax';

import { callOf } from './expression';
import { addTo, perNode } from './file-index';
import { isBinding, visit } from './names';
import { refuse } from './refusal';
import { type NamedSet, setUnder } from './set-by-name';
import { LETTER, placesOf, patternOf } from '../python/words';

/** What changes the stages of a container. */
const LAST_NAME = patternOf(`\\.(${LETTER}+)(\\[[^\\]]*\\])*$`, 'u');
const CONTAINER = new Set(['insert', 'append', 'extend', 'pop', 'add_module', 'register_module']);

/**
 * Refuses when `file` may change what `text` (`self.fc`, `self.mlp[0]`) stands for. `owners` are the classes that hold
 * the layer: what they assign to it themselves is the caller's to judge. `of` names the file where it is another one.
 */
export function requireUntouched(file: SourceFile, of: string, text: string, owners: readonly Node[]): void {
  const name = LAST_NAME(text).exec(text)?.[1];
  if (!name) return;
  const container = !text.endsWith(']');
  for (const { attribute, what, around } of touchesOf(file, name)) {
    if (what === 'resized' && !container) continue;
    if (what === 'set' && around !== null && isOwn(around, owners)) continue;
    refuse(`line ${lineOf(attribute)}${of} ${VERBS[what]} \`${textOf(attribute)}\``);
  }
  const strings = stringsOf(file, name);
  for (const string of strings) {
    const call = string.parent?.parent ? callOf(string.parent.parent) : null;
    const set = call && (SETTERS.has(call.method) || (GETTERS.has(call.method) && isTouched(call.node, name)));
    const item = string.parent?.kind === 'subscript' && TABLE.test(textOf(childOf(string.parent, 'value') ?? string));
    if (set || item) refuse(`line ${lineOf(string)}${of} may put another module in the place of \`${text}\``);
  }
  const isOfOthers = ({ node, object }: NamedSet): boolean => {
    const around = object && textOf(object) === 'self' ? enclosing(node, 'class_definition') : null;
    return around !== null && !owners.includes(around) && isOwn(around, owners);
  };
  const set = setUnder(file, name, strings.length > 0, (one) => !isOfOthers(one));
  if (set) refuse(`line ${lineOf(set.node)}${of} may put another module in the place of \`${text}\``);
  const nameless = namelessOf(file);
  if (nameless)
    refuse(`line ${lineOf(nameless)}${of} replaces modules without naming them, \`${text}\` perhaps among them`);
  for (const owner of owners) {
    const property = membersOf(owner, name).find(({ parent }) =>
      /^@.*property\b/.test(textOf(parent?.parent ?? owner)),
    );
    if (property) refuse(`line ${lineOf(property)}${of}: \`${name}\` is made anew whenever it is read`);
    const magic = ['__getattr__', '__getattribute__', '__setattr__'].flatMap((own) => membersOf(owner, own))[0];
    if (magic) refuse(`line ${lineOf(magic)}${of}: \`${textOf(magic)}\` decides what \`${text}\` is`);
    const member = [...subclassesOf(owner)].flatMap((sub) => membersOf(sub, name))[0];
    if (member) refuse(`line ${lineOf(member)}${of} gives \`${name}\` another meaning in a subclass`);
  }
}

const SETTERS = new Set(['setattr', '__setattr__', 'add_module', 'register_module', 'delattr']);
/** What holds the modules, or all attributes, of an object by their names. */
const TABLE = /\b_modules$|\b__dict__$|\bvars\([^)]*\)$/;
const WALKS = /\.(named_)?(children|modules)\(|\b_modules\b|\bget_submodule\(/;

/** `for name, child in m.named_children(): setattr(m, name, Wrapped(child))`: the file wraps layers wherever they are. */
function namelessOf(file: SourceFile): Node | null {
  const about = known(file);
  if (about.nameless !== undefined) return about.nameless;
  const calls = WALKS.test(file.text)
    ? ['setattr', '__setattr__', 'add_module'].flatMap((name) =>
        placesOf(file.text, name).flatMap((at) => enclosing(innermostAt(file.root, at), 'call') ?? []),
      )
    : [];
  const found = calls.find((node) => {
    const call = callOf(node);
    const given = call?.positional[call.positional.length - 2];
    return call && SETTERS.has(call.method) && given && given.kind !== 'string' && WALKS.test(textOf(scopeOf(node)));
  });
  return (about.nameless = found ?? null);
}

/** Refuses in a file that replaces a part of PyTorch by something of its own. */
export function requirePlainLibrary(file: SourceFile): void {
  const patched = patchOf(file);
  if (patched) refuse(`line ${lineOf(patched)} replaces \`${textOf(patched)}\``);
}

/** Members that decide what the call of a module does. */
const CALLED = ['forward', '__call__', '_call_impl', '__getattr__', '__getattribute__'];

/** Where the file replaces what the call of a class's objects does: a decorator, `Net.forward = f`, `setattr(Net, ..)`. */
export function replacedCall(owner: Node): Node | null {
  const name = textOf(childOf(owner, 'name') ?? owner);
  const isOf = (object: Node | null | undefined): boolean => !!object && textOf(object) === name;
  const set = CALLED.flatMap((member) => valuesOf(owner.file, member)).find(
    (attribute) => isOf(childOf(attribute, 'object')) && isTarget(attribute),
  );
  const byName = CALLED.flatMap((member) => stringsOf(owner.file, member)).find((string) =>
    isOf(string.parent?.parent ? callOf(string.parent.parent)?.positional[0] : null),
  );
  return set ?? byName ?? (owner.parent?.kind === 'decorated_definition' ? owner.parent : null);
}

type TouchKind = 'set' | 'forward' | 'stage' | 'resized' | 'hook';

const VERBS: Readonly<Record<TouchKind, string>> = {
  set: 'puts another module in the place of',
  forward: 'replaces the forward of',
  stage: 'changes',
  resized: 'changes',
  hook: 'wraps or hooks',
};

interface Touch {
  readonly attribute: Node;
  readonly what: TouchKind;
  /** The class in which `self.x` is written so; null where something else than `self` is reached into. */
  readonly around: Node | null;
}

/** Where the file does more to `anything.name` than read it. */
function touchesOf(file: SourceFile, name: string): readonly Touch[] {
  const { touches } = known(file);
  const before = touches.get(name);
  if (before) return before;
  const found = attributesOf(file, name).flatMap((attribute): readonly Touch[] => {
    const what = touched(attribute, name);
    if (what === null) return [];
    const own = textOf(childOf(attribute, 'object') ?? attribute) === 'self';
    return [{ attribute, what, around: own ? enclosing(attribute, 'class_definition') : null }];
  });
  touches.set(name, found);
  return found;
}

/** `getattr(m, 'fc').forward = f` */
const GETTERS = new Set(['getattr', 'get_submodule']);
const isTouched = (read: Node, name: string): boolean => touched(read, name) !== null;

/** What the text around `x.fc` does to it, null for a mere read. */
function touched(attribute: Node, name: string): TouchKind | null {
  if (isTarget(attribute)) return 'set';
  const { parent, field } = attribute;
  if (parent?.kind === 'subscript' && field === 'value') return isTarget(parent) ? 'stage' : null;
  if (parent?.kind !== 'attribute' || field !== 'object') return null;
  const member = textOf(childOf(parent, 'attribute') ?? parent);
  if (isTarget(parent)) return member === 'forward' || member === '__class__' ? 'forward' : null;
  if (parent.parent?.kind !== 'call' || parent.field !== 'function') return null;
  if (/^register_.*(hook|parametrization)/.test(member)) return 'hook';
  return CONTAINER.has(member) && name !== member ? 'resized' : null;
}

const PATTERNS = new Set(['pattern_list', 'tuple_pattern', 'list_pattern', 'tuple', 'list', 'expression_list']);

function isTarget(node: Node): boolean {
  let at = node;
  while (at.parent && PATTERNS.has(at.parent.kind)) at = at.parent;
  const kind = at.parent?.kind ?? '';
  return kind === 'delete_statement' || (at.field === 'left' && /^(augmented_)?assignment$|^for_/.test(kind));
}

/** Is the class `around` one that holds the layer, or one that has nothing to do with it? */
const isOwn = (around: Node, owners: readonly Node[]): boolean =>
  !owners.some((owner) => owner !== around && subclassesOf(owner).has(around));

/** The classes of the file that inherit from `owner`, directly or not, by the names of their bases. */
function subclassesOf(owner: Node): ReadonlySet<Node> {
  const { heirs } = known(owner.file);
  const before = heirs.get(owner);
  if (before) return before;
  const found = new Set<Node>([owner]);
  for (const base of found)
    for (const one of derivedFrom(owner.file, textOf(childOf(base, 'name') ?? base))) found.add(one);
  found.delete(owner);
  heirs.set(owner, found);
  return found;
}

/** What a class body itself binds to `name`: a method, a property, a class attribute. */
const membersOf = (owner: Node, name: string): readonly Node[] => members(owner).get(name) ?? [];

const members = perNode((owner) => {
  const found = new Map<string, Node[]>();
  visit(childOf(owner, 'body') ?? owner, (node) => {
    if (node.kind !== 'identifier' || !isBinding(node)) return;
    const own = node.parent?.kind === 'function_definition' && node.field === 'name' ? node.parent : node;
    if (enclosing(own.parent ?? own, 'function_definition', 'lambda', 'class_definition') === owner)
      addTo(found, textOf(node), node);
  });
  return found;
});

/** What rewrites rely on, and nobody replaces but to trace or patch it. */
const LIBRARY_NAMES = (
  'Linear Conv1d Conv2d Sequential linear cat concat matmul bmm einsum scaled_dot_product_attention repeat ' +
  'repeat_interleave expand index_select unsqueeze'
).split(' ');
const LIBRARY = /^(nn|torch|F|functional|torch\.(nn|Tensor|nn\.functional)|nn\.functional|Tensor)$/;

/** `nn.Linear = Patched`, `setattr(torch.Tensor, 'expand', f)` */
function isReplaced(node: Node): boolean {
  if (node.kind === 'attribute') return isTarget(node) && LIBRARY.test(textOf(childOf(node, 'object') ?? node));
  const call = node.parent?.parent ? callOf(node.parent.parent) : null;
  const [owner] = call?.positional ?? [];
  return /^(setattr|object)$/.test(call?.method ?? '') && owner !== undefined && LIBRARY.test(textOf(owner));
}

/** What was found out about a file: many findings ask the same. */
interface Known {
  readonly touches: Map<string, readonly Touch[]>;
  readonly heirs: Map<Node, ReadonlySet<Node>>;
  /** Undefined until somebody asks. */
  patch?: Node | null;
  nameless?: Node | null;
}

const knownFiles = new WeakMap<SourceFile, Known>();

function known(file: SourceFile): Known {
  const made = knownFiles.get(file) ?? { touches: new Map(), heirs: new Map() };
  knownFiles.set(file, made);
  return made;
}

/**
 * Attribute nodes whose last name it is, of those that are not called if only values are asked for. By the text first: to walk through
 * all nodes of a file costs a parse of every function in it.
 */
const attributesOf = (file: SourceFile, name: string, isValue = false): readonly Node[] =>
  placesOf(file.text, name).flatMap((at) => {
    const end = at + name.length;
    if (!isBehindDot(file.text, at) || (isValue && CALL.test(file.text.slice(end, end + 40)))) return [];
    const { kind, field, parent } = innermostAt(file.root, at);
    return kind === 'identifier' && field === 'attribute' && parent?.kind === 'attribute' ? [parent] : [];
  });

const valuesOf = (file: SourceFile, name: string): readonly Node[] => attributesOf(file, name, true);

const CALL = /^\s*\(/;

function isBehindDot(text: string, at: number): boolean {
  let before = at - 1;
  while (/\s/.test(text.charAt(before))) before--;
  return text[before] === '.';
}

/** Plain strings of this text. */
const stringsOf = (file: SourceFile, text: string): readonly Node[] =>
  placesOf(file.text, text).flatMap((at) => {
    if (!QUOTES.has(file.text.charAt(at - 1)) || !QUOTES.has(file.text.charAt(at + text.length))) return [];
    const string = enclosing(innermostAt(file.root, at), 'string');
    return string && textOf(string).replace(/^\w*['"]|['"]$/g, '') === text ? [string] : [];
  });

const QUOTES = new Set(["'", '"']);

/** Classes one of whose bases has this last name. */
const derivedFrom = (file: SourceFile, base: string): readonly Node[] =>
  [...file.text.matchAll(CLASS(file.text))].flatMap(({ index, 1: head = '', 2: list = '' }) => {
    if (!list.includes(base)) return [];
    const { parent } = innermostAt(file.root, index + head.length - 1);
    const bases = parent?.kind === 'class_definition' ? (childOf(parent, 'superclasses')?.children ?? []) : [];
    return parent && bases.some((node) => textOf(node).split('.').pop() === base) ? [parent] : [];
  });

const CLASS = patternOf(`(\\bclass\\s+${LETTER}+)\\s*\\(([^)]*)`, 'gu');

/** `nn.Linear.forward = ..`, `nn.Linear = ..`: then no layer of the file is what it seems. */
function patchOf(file: SourceFile): Node | null {
  const about = known(file);
  if (about.patch !== undefined) return about.patch;
  const isForward = (node: Node): boolean =>
    isTarget(node) && /\b(Linear|Conv[12]d|Sequential|Module)\.forward$/.test(textOf(node));
  const patch =
    valuesOf(file, 'forward').find(isForward) ??
    LIBRARY_NAMES.flatMap((name) => valuesOf(file, name)).find(isReplaced) ??
    (/\b__setattr__|\bsetattr/.test(file.text)
      ? LIBRARY_NAMES.flatMap((name) => stringsOf(file, name)).find(isReplaced)
      : null);
  return (about.patch = patch ?? null);
}
