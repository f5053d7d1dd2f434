/** Which functions of a file are evaluated, as part of which class, and what is evaluated because of them. */
import { PRODUCT_NAMES } from '../tensor/operators';
import { constructorOf, isConstructor } from './constructors';
import type { Binding, ClassModel, FunctionModel, ImportBinding } from './model';
import { basesIn, mayProduceReplicas } from './producers';
import { isOutside } from './outside';
import type { Project } from './project';
import { type Node, textOf } from './syntax';
import { hasWord } from './words';

/** Subclasses that a method is evaluated for, besides its own class. */
const MAX_HEIRS = 3;
/** Levels of base classes. */
const MAX_LEVELS = 8;

/** A script, or the cells of a notebook. `makes`: does a text call what another file makes replicas by? */
export function worksAtTopLevel(project: Project, makes: (text: string) => boolean): boolean {
  const statements = project.main.file.root.children.filter(
    (c) => !/^(function|class|decorated)_definition$/.test(c.kind),
  );
  const text = statements.map(textOf).join('\n');
  return mayProduceReplicas(text) || makes(text);
}

export const isEntry = ({ name }: FunctionModel): boolean => !NO_ENTRY.test(name);

/** Constructors, what sets weights or brings them from elsewhere once, and what describes a module. */
const NO_ENTRY =
  /^(__(?:post_)?init__|__repr__|extra_repr|_?reset_parameters|_?init_\w*weights?|_?(load|convert|port|copy)_\w*(weights?|checkpoint|ckpt|state_dict|pretrained)\w*)$/;

/**
 * A method of a mixin runs as part of the modules of the file that derive from it, and one that calls what a subclass
 * defines runs as part of that, too.
 */
export function ownersOf(model: FunctionModel, project: Project): readonly (ClassModel | null)[] {
  const { owner } = model;
  if (!owner) return [null];
  const heirs = heirsOf(owner, project);
  if (heirs.length === 0) return [owner];
  if (!project.isModule(owner)) return heirs;
  const body = textOf(model.node);
  const left = leftToHeirs(owner);
  const made = makersOf(owner, body, project);
  const fills = (c: ClassModel): boolean =>
    !c.methods.has(model.name) &&
    ([...c.methods.keys()].some((name) => body.includes(`self.${name}(`)) ||
      makesOneOf(left, c) ||
      made.some((name) => c.methods.has(name)));
  return [owner, ...heirs.filter(fills).slice(0, MAX_HEIRS)];
}

/** Methods by which the constructor makes what a body uses: `self.encoder = self.make_encoder()`. */
function makersOf(owner: ClassModel, body: string, project: Project): readonly string[] {
  const init = constructorOf(owner, project);
  const made = init ? [...textOf(init.node).matchAll(/\bself\.(\w+) = self\.(\w+)\(/g)] : [];
  return made.flatMap(([, name = '', maker = '']) => (body.includes(`self.${name}`) ? [maker] : []));
}

const left = new WeakMap<ClassModel, readonly string[]>();

/** What a class calls and neither defines nor sets: `self.core(..)`, where each subclass makes its core. */
function leftToHeirs(owner: ClassModel): readonly string[] {
  let names = left.get(owner);
  if (!names) {
    const text = textOf(owner.node);
    const called = new Set([...text.matchAll(SELF_CALL)].map(([, name = '']) => name));
    names = [...called].filter((name) => !owner.methods.has(name) && !sets(text, name));
    left.set(owner, names);
  }
  return names;
}

function makesOneOf(names: readonly string[], { methods }: ClassModel): boolean {
  const init = names.length > 0 ? methods.get('__init__') : undefined;
  const text = init ? textOf(init.node) : '';
  return names.some((name) => sets(text, name));
}

const sets = (text: string, name: string): boolean => text.includes(`self.${name} =`) || text.includes(`self.${name}=`);

/** The modules of the main file that derive from a class of it directly. Names first: what bases are costs a look into other files. */
function heirsOf(owner: ClassModel, project: Project): readonly ClassModel[] {
  const named = project.main.classes.filter((c) => c.bases.some((base) => textOf(base) === owner.name));
  return named.filter((c) => project.bases(c).includes(owner) && project.isModule(c));
}

/** Methods that a class inherits, also from another file, and that call its own method of this name. */
export function inheritedCallers(owner: ClassModel, name: string, project: Project): readonly FunctionModel[] {
  if (!project.isModule(owner)) return [];
  const found = new Map<string, FunctionModel>();
  const hidden = new Set(owner.methods.keys());
  let level: readonly ClassModel[] = [owner];
  for (let depth = 0; level.length > 0 && depth < MAX_LEVELS; depth++) {
    level = level.flatMap((c) => project.bases(c).filter((base) => typeof base !== 'string'));
    for (const method of level.flatMap((c) => [...c.methods.values()])) {
      if (hidden.has(method.name)) continue;
      hidden.add(method.name);
      if (!isConstructor(method.name) && textOf(method.node).includes(`self.${name}(`)) found.set(method.name, method);
    }
  }
  return [...found.values()];
}

/** Functions among `waiting` that call one of these by name, or whose class builds one of their classes. */
export function usersOf(loud: readonly FunctionModel[], waiting: ReadonlySet<FunctionModel>): readonly FunctionModel[] {
  const isCalled = (f: FunctionModel): boolean => f.name === 'forward' || f.name.startsWith('__');
  const own = new Set(loud.flatMap((f) => (isCalled(f) ? (f.owner?.name ?? []) : f.name)));
  if (own.size === 0) return [];
  const names = new Set([...own, ...aliasesOf(own, loud)]);
  const uses = (node: Node): boolean => calledIn(node).some((name) => names.has(name));
  // A method that calls nothing, such as one that returns a layer, uses none.
  const isUser = (f: FunctionModel): boolean =>
    uses(f.node) || (f.owner !== null && CALLS.test(textOf(f.node)) && uses(f.owner.node));
  return [...waiting].filter(isUser);
}

/** Behind the head of a function, a bracket that may be a call's. */
const CALLS = /\)[ \t]*(?:->[^:\n]+)?:[^]*\(/;

/** Functions that themselves call one of these by name. */
export function callersOf(
  these: readonly FunctionModel[],
  among: ReadonlySet<FunctionModel>,
): readonly FunctionModel[] {
  const names = new Set(these.map(({ name }) => name));
  return names.size === 0
    ? []
    : [...among].filter((f) => !these.includes(f) && calledIn(f.node).some((n) => names.has(n)));
}

/**
 * Names of the files of these functions, and of their classes, that stand for one of them: `spread = partial(rep, n=4)`,
 * `OPS = {'rep': rep}`.
 */
function aliasesOf(names: ReadonlySet<string>, loud: readonly FunctionModel[]): readonly string[] {
  const files = new Set(loud.filter(({ owner }) => owner === null).map(({ file }) => file));
  return [...files].flatMap((file) => {
    const values = [
      ...[...file.names].flatMap(([name, binding]) =>
        binding.kind === 'value' ? [[name, binding.node] as const] : [],
      ),
      ...file.classes.flatMap(({ attributes }) => [...attributes]),
    ];
    return values.flatMap(([alias, node]) => {
      const text = [node, ...(file.entries.get(node) ?? [])].map(textOf).join('\n');
      return text.length < LONGEST_ALIAS && [...names].some((name) => hasWord(text, name)) ? [alias] : [];
    });
  });
}

const LONGEST_ALIAS = 2000;

/** Functions that call a lambda or a partial function of their module that makes replicas. */
export function usersOfLambdas(project: Project): readonly FunctionModel[] {
  const { names, functions } = project.main;
  const made = [...names].flatMap(([name, binding]) => {
    if (binding.kind !== 'value' || !/^(lambda|call)$/.test(binding.node.kind)) return [];
    const text = textOf(binding.node);
    return /^(lambda\b|(functools\.)?partial\()/.test(text) && mayProduceReplicas(text) ? [name] : [];
  });
  return made.length === 0 ? [] : functions.filter((f) => calledIn(f.node).some((name) => made.includes(name)));
}

const called = new WeakMap<Node, readonly string[]>();

/**
 * Names that the body of a definition calls: `name(`, `self.name(` and `object.name(`, no longer paths; `partial(name`, and those
 * of dictionaries that it takes something out of, `name[key]` and `self.name.get(`, or fills, `{'key': name}`, too.
 */
function calledIn(definition: Node): readonly string[] {
  const known = called.get(definition);
  if (known) return known;
  // Its own name set aside; by the text, since nodes of the body may cost a parse.
  const text = textOf(definition).replace(/^(async\s+)?(def|class)\s+\w+/, '');
  const names = [
    ...new Set([...text.matchAll(CALL)].map((match) => match.slice(1).find((name) => name !== undefined) ?? '')),
  ];
  called.set(definition, names);
  return names;
}

const CALL =
  /(?<![.\w]|\bdef )(?:(?:\w+\.)?partial\(\s*(?:\w+\.)?(\w+)|(?:\w+\.)?(\w+)\.get\(|(?:\w+\.)?(\w+)\(|(?:\w+\.)?(\w+)\[[\w.'"]*\])|['"]: *(?:self\.)?(\w+)(?= *[,}])/g;

/**
 * A function of another file that may make replicas, as a text calls it: `name(`, `module.member(` or `self.member(`; or a dictionary of
 * such functions, as a text takes one out: `name[` or `module.name.get(`.
 */
export interface Maker {
  readonly call: string;
  /** Null for `self`. */
  readonly binding: ImportBinding | null;
  readonly member: string | null;
}

/** What a text calls of these. */
export type CallsProducer = (text: string) => readonly Maker[];

/** Null when a text, which binds `names`, calls no imported function that may make replicas. */
export function importedProducers(
  text: string,
  names: ReadonlyMap<string, Binding>,
  project: Pick<Project, 'mayBring' | 'mayInherit'>,
): CallsProducer | null {
  const makers = [...names].flatMap(([name, binding]): readonly Maker[] => {
    if (binding.kind !== 'import' || isOutside(binding)) return [];
    return [...usesOf(name, text)]
      .filter(([, member]) => project.mayBring(binding, member))
      .flatMap(([call, member]) => [call, ...keptAs(call, text)].map((call) => ({ call, binding, member })));
  });
  makers.push(...inheritedMakers(text, names, project), ...moduleMakers(text, names, project));
  return makers.length > 0 ? (part) => makers.filter(({ call }) => calls(part, call)) : null;
}

/** As called by a method of `owner`. Null for what is no function of another file, as far as that is known before it is called. */
export function functionOf(
  { binding, member }: Maker,
  owner: ClassModel | null,
  project: Project,
): FunctionModel | null {
  if (!binding) return owner && member !== null ? project.method(owner, member) : null;
  const brought = project.brought(binding);
  if (member !== null && brought?.kind === 'class') return project.method(brought, member);
  const found = member !== null && brought?.kind === 'module' ? project.lookup(member, brought.file) : brought;
  return found?.kind === 'function' && (member === null || found !== brought) ? found : null;
}

/** `self.method` where a class of the text inherits a method from another file that may make replicas. */
function inheritedMakers(
  text: string,
  names: ReadonlyMap<string, Binding>,
  project: Pick<Project, 'mayInherit'>,
): readonly Maker[] {
  const bases = new Set([...basesIn(text).values()].flat());
  const brought = [...bases].flatMap((base) => {
    const binding = names.get(base);
    return binding?.kind === 'import' && !isOutside(binding) ? [binding] : [];
  });
  if (brought.length === 0) return [];
  const called = new Set([...text.matchAll(SELF_CALL)].map(([, name = '']) => name));
  return [...called]
    .filter((name) => brought.some((base) => project.mayInherit(base, name)) && !text.includes(`def ${name}(`))
    .map((member) => ({ call: `self.${member}(`, binding: null, member }));
}

/** `self.encoder(x)` where `self.encoder = Encoder(..)` is a module of another file whose `forward` may make replicas. */
function moduleMakers(
  text: string,
  names: ReadonlyMap<string, Binding>,
  project: Pick<Project, 'mayInherit'>,
): readonly Maker[] {
  // Scripts and tests that only call a model have no product of their own to bring its result to.
  let isOwn: boolean | undefined;
  const isAsked = (instance: string): boolean => instance.startsWith('self.') || (isOwn ??= PRODUCT.test(text));
  return [...instancesIn(text, names)].flatMap(([binding, instances]): readonly Maker[] => {
    const called = instances.filter((instance) => isAsked(instance) && calls(text, `${instance}(`));
    return called.length > 0 && project.mayInherit(binding, 'forward')
      ? called.map((instance) => ({ call: `${instance}(`, binding, member: 'forward' }))
      : [];
  });
}

const MAX_NAME = 60;

/** Variables and attributes to which a text assigns what it makes of imported classes. */
function instancesIn(text: string, names: ReadonlyMap<string, Binding>): ReadonlyMap<ImportBinding, readonly string[]> {
  const found = new Map<ImportBinding, string[]>();
  for (const { index, 1: name = '' } of text.matchAll(MADE)) {
    const binding = names.get(name);
    if (binding?.kind !== 'import' || isOutside(binding)) continue;
    const [, instance] = /([\w.]+)[ \t]*$/.exec(text.slice(Math.max(0, index - MAX_NAME), index)) ?? [];
    if (instance === undefined) continue;
    const known = found.get(binding);
    if (!known) found.set(binding, [instance]);
    else if (!known.includes(instance)) known.push(instance);
  }
  return found;
}

const PRODUCT = new RegExp(`\\b(${PRODUCT_NAMES.join('|')})\\(`);
const MADE = /=[ \t]*([A-Z]\w*)\(/g;

const SELF_CALL = /\bself\.(\w+)\(/g;

const isWord = (text: string, at: number): boolean => /\w/.test(text.charAt(at));

/**
 * `name(` and `name.member(` where a text calls them, `name[` and `name.get(` where it takes something out, each with the member that it
 * asks for. A loop: patterns made for each text take longer to make than to use.
 */
function usesOf(name: string, text: string): ReadonlyMap<string, string | null> {
  const found = new Map<string, string | null>();
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (isWord(text, at - 1)) continue;
    let end = at + name.length;
    let member: string | null = null;
    if (text[end] === '.' && !text.startsWith(GET, end)) {
      const from = ++end;
      while (isWord(text, end)) end++;
      member = text.slice(from, end);
    }
    const isTaken = text[end] === '[' || text.startsWith(GET, end);
    // What a class is called for makes one of it.
    if (!isTaken && (text[end] !== '(' || !/^[a-z_]/.test(name))) continue;
    // What a class keeps is of the class.
    const asked = isTaken && /^[A-Z]/.test(name) ? null : member;
    found.set(text.slice(at, end + (text[end] === '.' ? GET.length : 1)), asked);
  }
  return found;
}

const GET = '.get(';

/** Calls of the attributes in which what a call gives, or a dictionary holds, is kept: `self.op = OPS[key]`. */
function keptAs(use: string, text: string): readonly string[] {
  const found: string[] = [];
  for (let at = text.indexOf(use); at >= 0; at = text.indexOf(use, at + 1)) {
    const [, attribute] = /(\bself\.\w+)[ \t]*=[ \t]*$/.exec(text.slice(Math.max(0, at - MAX_NAME), at)) ?? [];
    const call = attribute === undefined ? null : `${attribute}(`;
    if (call !== null && !found.includes(call) && calls(text, call)) found.push(call);
  }
  return found;
}

/** `call` ends in its bracket. */
function calls(text: string, call: string): boolean {
  for (let at = text.indexOf(call); at >= 0; at = text.indexOf(call, at + 1)) if (!isWord(text, at - 1)) return true;
  return false;
}

/** Can a method that the constructor of an agent or a trainer calls make the modules that it works with, or return them? */
export function buildsParts({ name, node: { file, start, end } }: FunctionModel, small: boolean): boolean {
  if (!small && !/build|create|make|init|set_?up/.test(name)) return false;
  const text = file.text.slice(start, end);
  return (
    /\bself\.\w+( *= *\w[^\n]*)?\(|\.append\(lambda\b/.test(text) ||
    (/^ *\w+ = [A-Z]\w*\(/m.test(text) && /^ *return\b/m.test(text))
  );
}

/** Can a function that a constructor calls add to the layers of a model, or choose one of several? */
export const buildsLayers = ({ node: { file, start, end } }: FunctionModel): boolean =>
  /\bnn\.|\b(Linear|Sequential|ModuleList|Module)\b(?=[(),:\]])|\bParameter\(|\breturn [A-Z]\w*\(/.test(
    file.text.slice(start, end),
  );

/** `self.mlp = layers.MLP(..)`: makes attributes of classes, which may be layers of the project's own. */
export const buildsAttributes = ({ node: { file, start, end } }: FunctionModel): boolean =>
  /\bself\.\w+ = (\w+\.)?[A-Z]\w*\(/.test(file.text.slice(start, end));
