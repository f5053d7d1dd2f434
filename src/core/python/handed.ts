/** Networks that a constructor is handed: what the constructions of its class that can be seen pass. */
import { bind, collectArgs, parametersOf } from './arguments';
import { alike } from './by-key';
import { frameOf } from './frame';
import type { ClassModel, FileModel, FunctionModel } from './model';
import { Names } from './names';
import { producesReplicas } from './producers';
import type { Project } from './project';
import type { Frame, Run } from './run';
import { handedAs } from './spare';
import { type Node, childOf, enclosing, innermostAt, scopeOf, textOf } from './syntax';
import { possible, unknown } from './state';
import type { Condition, Value } from './value';

const MAX_CONSTRUCTIONS = 6;
const MAX_KINDS = 4;
/** Assignments of local names to each other that are followed. */
const MAX_STEPS_BACK = 4;
const MAX_NAME = 60;

/** Names under which networks are handed over, of those that are not annotated and not called in the class itself. */
export const NETWORK =
  /^_*(\w+_)?(net|network|model|actor|critic|policy|encoder|decoder|backbone|head|module|layer|block|mlp|generator|discriminator|agent|vae|dynamics|embedder|attention|tower|extractor|q_?func\w*|qf|vf)s?_?\d*$/;

/** Parameters of a constructor that may be networks, by their annotations, their names and what the class does with them. */
function networksAmong(init: FunctionModel, model: ClassModel): readonly string[] {
  const text = textOf(model.node);
  return parametersOf(init).flatMap(({ name, kind, annotation, fallback }) => {
    if (kind !== 'plain' || name === 'self') return [];
    if (annotation !== null && !/Module|Callable|Any$|^[tT]ype\b/.test(annotation)) return [];
    // Called in the constructor, a string is what a class of that name is chosen by elsewhere.
    if (fallback !== null && fallback.kind !== 'none') return fallback.kind === 'string' && text.includes(` ${name}(`) ? [name] : []; // prettier-ignore
    return annotation?.includes('Module') || NETWORK.test(name) || isCalledLater(name, text, model) ? [name] : [];
  });
}

/**
 * `transform(x)` in a method that is handed it, or `self.trans = transform`, and `self.trans(x)` in a method that makes copies:
 * other files are asked for no less.
 */
function isCalledLater(name: string, text: string, { methods }: ClassModel): boolean {
  if (text.includes(`self.${name}(`) || (text.includes(` ${name}(`) && !text.includes(`def ${name}(`))) return true;
  const at = text.indexOf(`= ${name}\n`);
  const kept = at < 0 ? undefined : /\bself\.(\w+) $/.exec(text.slice(Math.max(0, at - MAX_NAME), at))?.[1];
  return (
    kept !== undefined &&
    [...methods.values()].some((method) => producesReplicas(method) && textOf(method.node).includes(`self.${kept}(`))
  );
}

/** By parameter, where all that is known of it are modules; each of several with the condition that it is this one. */
export function networksHandedIn(
  model: ClassModel,
  init: FunctionModel,
  self: Value,
  project: Pick<Project, 'main' | 'naming'>,
  frame: Frame,
  run: Run,
): ReadonlyMap<string, Value> {
  const wanted = networksAmong(init, model);
  const found = new Map<string, Value>();
  if (wanted.length === 0) return found;
  const made = (files: readonly FileModel[]): readonly { call: Node; file: FileModel }[] =>
    files.flatMap((file) =>
      callsOf(model.name, file).flatMap((call) => (isOf(model, call, file, frame, run) ? [{ call, file }] : [])),
    );
  const near = made([...new Set([model.file, project.main])]);
  const constructions = (near.length > 0 ? near : made(project.naming(model)))
    .slice(0, MAX_CONSTRUCTIONS)
    .map(({ call, file }) => {
      const names = localsOf(call, argumentsFor(wanted, init, call), file, frame, run);
      const around: Frame = { ...frameOf(file), state: { ...frame.state, names }, building: true };
      const list = childOf(call, 'arguments');
      return list ? bind(init, self, collectArgs(list, around, run), around, run) : new Map<string, Value>();
    });
  const parameters = new Map(parametersOf(init).map((parameter) => [parameter.name, parameter]));
  for (const name of wanted) {
    const network = networkOf(
      name,
      constructions.flatMap((given) => given.get(name) ?? []),
      frame,
      run,
    );
    if (!network) continue;
    handedAs(parameters.get(name), network);
    found.set(name, network);
  }
  return found;
}

/** What is handed over under a name, of the values that are all modules: one of them, on the condition that it is that one. */
export function networkOf(name: string, values: readonly Value[], frame: Frame, run: Run): Value | null {
  const kinds: Value[] = [];
  for (const value of values) {
    const options = optionsOf(value);
    const networks = options.filter((option) => isNetwork(option, frame, run));
    if (options.some((option) => option.kind !== 'none' && !networks.includes(option))) continue;
    for (const network of networks) if (!kinds.some((kind) => isSame(kind, network, frame))) kinds.push(network);
  }
  const [only] = kinds;
  return only ? (kinds.length === 1 ? only : oneOf(name, kinds.slice(0, MAX_KINDS), frame)) : null;
}

/** Also of one of several where one of those is one of several. */
const optionsOf = (value: Value): readonly Value[] =>
  value.kind === 'union' ? value.options.flatMap((option) => optionsOf(option.value)) : [value];

function oneOf(name: string, kinds: readonly Value[], frame: Frame): Value {
  const options = kinds.map((value) => {
    const text = `${name} is a ${classOf(value, frame)}`;
    const when: Condition = { key: `${text}@handed`, text, holds: true };
    return { value, when: [when] };
  });
  return { kind: 'union', options };
}

/** Linear layers with the same parameters are one kind, of whatever width. */
const isSame = (a: Value, b: Value, frame: Frame): boolean =>
  a === b ||
  (a.kind === 'function' && b.kind === 'function' && a.model === b.model) ||
  (isClass(a) && isClass(b) && nameOf(a) === nameOf(b)) ||
  alike([a, b], frame) ||
  (isPlainLinear(a) && isPlainLinear(b));

const isPlainLinear = (value: Value): boolean =>
  value.kind === 'layer' && value.name === 'nn.Linear' && value.doubt === null && !/bias|\*/.test(textOf(value.node));

/** A class that the constructor makes its network of. */
const isClass = (value: Value): value is Value & { kind: 'class' | 'name' } =>
  value.kind === 'class' || (value.kind === 'name' && /\bnn\.[A-Z]/.test(value.path));

const nameOf = (value: Value & { kind: 'class' | 'name' }): string =>
  value.kind === 'class' ? value.model.name : value.path.replace(/^torch\./, '');

function classOf(value: Value, frame: Frame): string {
  if (isClass(value)) return nameOf(value);
  const item = value.kind === 'ref' ? frame.state.heap.peek(value.id) : undefined;
  if (value.kind === 'layer') return value.name;
  if (value.kind === 'function') return value.model.name;
  return item?.kind === 'object' && item.model ? item.model.name : item?.kind === 'list' ? item.tag : 'tuple';
}

function isNetwork(value: Value, frame: Frame, run: Run): boolean {
  if (value.kind === 'layer' || (value.kind === 'function' && value.self === null)) return true;
  if (isClass(value)) return value.kind === 'name' || run.isModule(value.model);
  if (value.kind === 'tuple') return value.items.length > 0 && value.items.every((v) => isNetwork(v, frame, run));
  const item = value.kind === 'ref' ? frame.state.heap.peek(value.id) : undefined;
  if (item?.kind === 'list') return item.items.length > 0 && item.items.every((v) => isNetwork(v, frame, run));
  return item?.kind === 'object' && item.model !== null && run.isModule(item.model);
}

/** Where a file constructs the class or calls the function, as far as its name says. */
export function callsOf(name: string, { file }: FileModel): readonly Node[] {
  const found: Node[] = [];
  for (let at = file.text.indexOf(`${name}(`); at >= 0; at = file.text.indexOf(`${name}(`, at + 1)) {
    if (/\w/.test(file.text.charAt(at - 1)) || /(class|def) $/.test(file.text.slice(at - 6, at))) continue;
    const call = enclosing(innermostAt(file.root, at), 'call');
    const callee = call && childOf(call, 'function');
    if (call && callee && callee.end === at + name.length) found.push(call);
  }
  return found;
}

/** Is it this class that is called, not another one of its name? */
function isOf(model: ClassModel, call: Node, file: FileModel, frame: Frame, run: Run): boolean {
  const callee = childOf(call, 'function');
  if (!callee) return false;
  const state = { ...frame.state, names: new Names() };
  const named = run.evaluate(callee, { ...frame, file, function: null, closure: null, state });
  if (named.kind === 'class') return named.model === model;
  // Of a package that is not found here: the one that this class is in, installed, or another one.
  const path = named.kind === 'name' ? named.path.split('.').slice(0, -1) : [];
  const own = model.file.file.path.replace(/\.py$/, '').split('/');
  return path.length > 0 ? path.some((part) => own.includes(part)) : textOf(callee) === model.name;
}

/** What a call passes as these parameters of a constructor, or may pass as one of them. */
function argumentsFor(wanted: readonly string[], init: FunctionModel, call: Node): readonly Node[] {
  const [, ...parameters] = parametersOf(init);
  return (childOf(call, 'arguments')?.children ?? []).filter((child, at) => {
    if (/splat/.test(child.kind)) return true;
    const keyword = child.kind === 'keyword_argument' ? childOf(child, 'name') : null;
    return wanted.includes(keyword ? textOf(keyword) : (parameters[at]?.name ?? ''));
  });
}

/** Local names that arguments of a call speak of, by what they were last assigned. */
export function localsOf(call: Node, given: readonly Node[], file: FileModel, frame: Frame, run: Run): Names {
  // A lambda sees what the function around it assigns.
  let scope = scopeOf(call);
  while (scope.kind === 'lambda') scope = scopeOf(scope);
  const names = new Names();
  const owner = given.some((node) => /\bself\./.test(textOf(node)))
    ? file.classes.find(({ node }) => node.start <= call.start && call.end <= node.end)
    : undefined;
  if (owner) names.set('self', run.instance(owner, frame));
  for (const node of given) learn(node, MAX_STEPS_BACK);
  return names;

  function learn(node: Node, left: number): void {
    if (left === 0) return;
    for (const [name] of textOf(node).matchAll(/(?<![.\w'"])[A-Za-z_]\w*(?!\w*\s*=[^=])/g)) {
      if (names.get(name)) continue;
      const values = assignedLast(name, node.start);
      const unpacked = values ? null : unpackedLast(name, node.start);
      for (const value of values ?? (unpacked ? [unpacked.value] : [])) learn(value, left - 1);
      const around = { ...frame, file, function: null, closure: null, state: { ...frame.state, names } };
      const kinds = unpacked
        ? possible(run.evaluate(unpacked.value, around), []).map(
            ({ value }) => run.items(value, around)?.items[unpacked.at] ?? unknown(),
          )
        : (values?.map((value) => run.evaluate(value, around)) ?? [unknown()]);
      const [only] = kinds;
      if (only) names.set(name, kinds.length === 1 ? only : oneOf(name, kinds.slice(0, MAX_KINDS), frame));
      if (only?.kind === 'ref' && kinds.length === 1) fill(name, only.id, node.start, left);
    }
  }

  /** What a list that was assigned is given before it is read: `critics = []`, then `critics.append(Critic(d))` in a loop. */
  function fill(name: string, id: number, before: number, left: number): void {
    const list = frame.state.heap.peek(id);
    if (list?.kind !== 'list' || list.items.length > 0) return;
    const text = file.file.text.slice(scope.start, before);
    for (const { index } of [...text.matchAll(new RegExp(`^[ \\t]*${name}\\.append\\(`, 'gm'))].slice(0, MAX_KINDS)) {
      const at = scope.start + text.indexOf('.', index);
      const appended = enclosing(innermostAt(file.file.root, at), 'call');
      if (!appended || scopeOf(appended) !== scope) continue;
      learn(childOf(appended, 'arguments') ?? appended, left - 1);
      run.evaluate(appended, { ...frame, file, function: null, closure: null, state: { ...frame.state, names } });
    }
    const filled = frame.state.heap.peek(id);
    // How often a loop does it is not known.
    if (filled?.kind === 'list' && filled.items.length > 0) frame.state.heap.set(id, { ...filled, open: true });
  }

  /** What it was assigned last, on each branch; null for what is bound in another way. */
  function assignedLast(name: string, before: number): readonly Node[] | null {
    const text = file.file.text.slice(scope.start, before);
    const assigned = [...text.matchAll(new RegExp(`^[ \\t]*${name}[ \\t]*(:[^=\\n]*)?=(?!=)`, 'gm'))].flatMap((at) => {
      const end = scope.start + at.index + at[0].length;
      const assignment = enclosing(innermostAt(file.file.root, end - 1), 'assignment');
      // `parts = nn.ModuleList(parts)`: what is read there was assigned before.
      const isIts =
        assignment !== null && assignment.end <= before && textOf(childOf(assignment, 'left') ?? assignment) === name;
      return isIts && scopeOf(assignment) === scope ? [assignment] : [];
    });
    const last = assigned.at(-1);
    if (boundOtherwise(name).test(text.slice((last?.end ?? scope.start) - scope.start))) return null;
    const values: Node[] = [];
    for (const assignment of assigned.toReversed()) {
      const value = childOf(assignment, 'right');
      if (value) values.push(value);
      const block = enclosing(assignment, 'block');
      if (!block || (block.start <= call.start && call.end <= block.end)) break;
    }
    return values.length === 0 && isParameter(name) ? null : values;
  }

  /** `embed, width = embedder(..)`, bound there once. */
  function unpackedLast(name: string, before: number): { readonly value: Node; readonly at: number } | null {
    const text = file.file.text.slice(scope.start, before);
    const [only, more] = [
      ...text.matchAll(new RegExp(`^[ \\t]*(?=[\\w, \\t]*,)(?=[\\w, \\t]*\\b${name}\\b)[\\w, \\t]*=(?!=)`, 'gm')),
    ];
    const assignment =
      only && !more
        ? enclosing(innermostAt(file.file.root, scope.start + only.index + only[0].length - 1), 'assignment')
        : null;
    const [value, targets] = assignment
      ? [childOf(assignment, 'right'), childOf(assignment, 'left')?.children ?? []]
      : [null, []];
    const at = targets.findIndex((target) => textOf(target) === name);
    return value && at >= 0 ? { value, at } : null;
  }

  function isParameter(name: string): boolean {
    const parameters = childOf(scope, 'parameters');
    return parameters !== null && new RegExp(`[(,*\\s]${name}\\s*[,):=]`).test(textOf(parameters));
  }
}

/** By a loop, with others, by `as`, by an operator. */
const boundOtherwise = (name: string): RegExp =>
  new RegExp(
    [
      `\\bfor\\b[^:\\n]*\\b${name}\\b[^:\\n]*\\bin\\b`,
      `^(?!\\s*(?:from|import)\\b).*\\bas\\s+${name}\\b`,
      `^[ \\t]*\\(?[\\w.*, ]*,\\s*${name}\\s*[,)]?[\\w.*, ]*=(?!=)`,
      `^[ \\t]*\\(?${name}\\s*,[\\w.*, ()]*=(?!=)`,
      `\\b${name}\\s*(:|[-+*/|@])=`,
    ].join('|'),
    'm',
  );
