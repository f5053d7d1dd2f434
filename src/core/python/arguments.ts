/** Arguments of a call, and how they meet the parameters of a function. */
import { constant, symbol } from '../tensor/dim';
import { tensor, freshId, UNKNOWN_SHAPE } from '../tensor/shape';
import type { Axis, Tensor } from '../tensor/value';
import { asDim, nameSymbol, placeOf, restOf, unpacked } from './access';
import { canonicalName } from '../tensor/operators';
import { defaultValue, layersByDefault } from './defaults';
import { gatheredAlongEdges } from './gather';
import { indexByName } from './index-names';
import { constructLayer, layerName } from './layers';
import { shapesInDocstring, tensorType } from './shape-facts';
import type { ClassModel, FileModel, FunctionModel } from './model';
import type { Frame, Run } from './run';
import { unknown } from './state';
import { type Node, childOf, textOf } from './syntax';
import { type Args, NONE, NO_ARGS, NUMBER, type Scope, TRUTH, type UnionValue, type Value, int, tuple } from './value';
import { NAME, patternOf } from './words';

/** `f(*layers)`, `f(**fields)` where the list or the dict is one of several. */
export function splatOfSeveral(list: Node, frame: Frame, run: Run): { node: Node; value: UnionValue } | null {
  for (const { kind, children } of list.children) {
    const [inner] = kind === 'list_splat' || kind === 'dictionary_splat' ? children : [];
    if (inner?.kind !== 'identifier') continue;
    const value = run.evaluate(inner, frame);
    if (value.kind === 'union') return { node: inner, value };
  }
  return null;
}

/** `chosen`: which of several a list or a dict is that is unpacked. */
export function collectArgs(
  list: Node,
  frame: Frame,
  run: Run,
  chosen: { readonly node: Node; readonly value: Value } | null = null,
): Args {
  const positional: Value[] = [];
  const keywords = new Map<string, Value>();
  const nodes = new Map<number | string, Node>();
  let open = false;
  let rest: Tensor | null = null;
  let more: Value | undefined;
  const children = list.kind === 'generator_expression' ? [list] : list.children;
  for (const child of children) {
    if (child.kind === 'keyword_argument') {
      const name = childOf(child, 'name');
      const value = childOf(child, 'value');
      if (!name || !value) continue;
      keywords.set(textOf(name), run.evaluate(value, frame));
      nodes.set(textOf(name), value);
    } else if (child.kind === 'list_splat') {
      const inner = unpacked(child);
      const splat = inner && inner === chosen?.node ? chosen.value : inner && run.evaluate(inner, frame);
      const listed = splat ? run.items(splat, frame) : null;
      if (listed) positional.push(...listed.items);
      more = listed?.open === true ? listed.items.at(-1) : undefined;
      rest = open ? null : restOf(splat, listed);
      open ||= listed?.open ?? true;
    } else if (child.kind === 'dictionary_splat') {
      const [inner] = child.children;
      const value = inner && inner === chosen?.node ? chosen.value : inner && run.evaluate(inner, frame);
      const item = value?.kind === 'ref' ? frame.state.heap.get(value.id) : null;
      if (item?.kind === 'dict') item.entries.forEach((v, k) => keywords.set(k, v));
      else open = true;
    } else {
      nodes.set(positional.length, child);
      positional.push(run.evaluate(child, frame));
      rest = null;
      more = undefined;
    }
  }
  return { positional, keywords, nodes, open, ...(rest && { rest }), ...(more?.kind === 'tensor' && { more }) };
}

export interface Parameter {
  readonly name: string;
  readonly kind: 'plain' | 'rest' | 'keywords';
  readonly keywordOnly: boolean;
  readonly annotation: string | null;
  readonly fallback: Node | null;
}

const parameterCache = new WeakMap<Node, readonly Parameter[]>();

export function parametersOf(model: FunctionModel): readonly Parameter[] {
  const known = parameterCache.get(model.node);
  if (known) return known;
  const found: Parameter[] = [];
  let keywordOnly = false;
  for (const child of childOf(model.node, 'parameters')?.children ?? []) {
    const typed = child.kind === 'typed_parameter' || child.kind === 'typed_default_parameter';
    const type = childOf(child, 'type');
    const annotation = type ? textOf(type) : null;
    const named =
      child.kind === 'identifier'
        ? child
        : child.kind === 'typed_parameter'
          ? (child.children[0] ?? null)
          : childOf(child, 'name');
    const core = named ?? child;
    if (core.kind === 'list_splat_pattern') {
      keywordOnly = true;
      found.push({ name: textOf(core).slice(1), kind: 'rest', keywordOnly, annotation, fallback: null });
    } else if (core.kind === 'dictionary_splat_pattern') {
      found.push({ name: textOf(core).slice(2), kind: 'keywords', keywordOnly, annotation, fallback: null });
    } else if (child.kind === 'keyword_separator') keywordOnly = true;
    else if (core.kind === 'identifier') {
      const fallback = typed || child.kind === 'default_parameter' ? childOf(child, 'value') : null;
      found.push({ name: textOf(core), kind: 'plain', keywordOnly, annotation, fallback });
    }
  }
  parameterCache.set(model.node, found);
  return found;
}

export const isStatic = (model: FunctionModel): boolean => model.decorators.some((d) => /^staticmethod\b/.test(d));

/** Variables of a callee. What the call leaves open is unknown, what it leaves out is the default. */
export function bind(
  model: FunctionModel,
  self: Value | null,
  args: Args,
  frame: Frame,
  run: Run,
  closure: Scope | null = null,
): Map<string, Value> {
  const names = new Map<string, Value>();
  const positional = self && !isStatic(model) ? [self, ...args.positional] : [...args.positional];
  const used = new Set<string>();
  let at = 0;
  for (const parameter of parametersOf(model)) {
    if (parameter.kind === 'rest') {
      names.set(parameter.name, tuple(positional.slice(at), args.open));
      at = positional.length;
    } else if (parameter.kind === 'keywords') {
      const entries = new Map([...args.keywords].filter(([key]) => !used.has(key)));
      const id = freshId();
      frame.state.heap.set(id, { kind: 'dict', entries, open: args.open, tag: 'dict' });
      names.set(parameter.name, { kind: 'ref', id });
    } else {
      const given = parameter.keywordOnly ? undefined : positional[at];
      if (!parameter.keywordOnly) at++;
      const keyword = args.keywords.get(parameter.name);
      if (keyword) used.add(parameter.name);
      const value =
        given ??
        keyword ??
        (args.open
          ? ((parameter.keywordOnly || parameter.fallback ? undefined : args.more) ??
            layersByDefault(parameter.fallback, model, frame, run) ??
            unknown(parameter.name))
          : parameter.fallback
            ? (ofClosure(parameter.fallback, closure) ?? defaultValue(parameter.fallback, model, frame, run))
            : unknown(parameter.name));
      if (value.kind === 'int') nameSymbol(value.dim, parameter.name, model.node, run);
      if (isRenamed(value, parameter.name, model)) nameSymbol(asDim(value), parameter.name, model.node, run, true);
      names.set(parameter.name, named(value, parameter.name));
    }
  }
  return names;
}

/** A size that one instance of a class is made with: what the class calls it holds for the others, too. */
const isRenamed = (value: Value, name: string, { name: method }: FunctionModel): boolean =>
  value.kind === 'unknown' && method === '__init__' && value.label !== '' && value.label !== name;

/** `lambda x, f=f: f(x)` of a variable of the function around it. */
const ofClosure = (fallback: Node, closure: Scope | null): Value | undefined =>
  fallback.kind === 'identifier' ? closure?.get(textOf(fallback)) : undefined;

const named = (value: Value, label: string): Value =>
  value.kind === 'tensor' && value.label === '' ? { ...value, label } : value;

/** Parameters of an entry: nothing is known but what annotations, docstring and names say. */
export function unknownParameters(
  model: FunctionModel,
  self: Value | null,
  run: Run,
  frame: Frame,
): Map<string, Value> {
  const names = new Map<string, Value>();
  const shapes = shapesInDocstring(
    model,
    parametersOf(model).map((p) => p.name),
  );
  const parameters = parametersOf(model);
  const isAnnotated = parameters.every(({ annotation }, i) => annotation !== null || (i === 0 && self !== null));
  const stub = isAnnotated ? null : run.stub(model);
  parameters.forEach((written, i) => {
    const parameter = withStub(written, stub);
    const { name } = parameter;
    if (i === 0 && self && !isStatic(model)) names.set(name, self);
    else if (parameter.kind === 'rest') names.set(name, tuple([], true));
    else if (parameter.kind === 'keywords') {
      const id = freshId();
      frame.state.heap.set(id, { kind: 'dict', entries: new Map(), open: true, tag: 'dict' });
      names.set(name, { kind: 'ref', id });
    } else
      names.set(
        name,
        endOfMessage(model, name) ?? parameterValue(parameter, run.stated.get(name) ?? shapes.get(name), run, frame),
      );
  });
  return names;
}

/** `x_i` and `x_j` of a message passing class: the rows of `x` at both ends of each edge, as its library hands them over. */
function endOfMessage({ name, node, owner }: FunctionModel, parameter: string): Tensor | null {
  if (!/^(message|edge_update)$/.test(name) || !/\w_[ij]$/.test(parameter) || !owner) return null;
  if (!/\bMessagePassing\b|\bself\.propagate\(/.test(textOf(owner.node))) return null;
  const body = node.children.length > 0 ? childOf(node, 'body') : null;
  const use = firstUse(body, parameter, false) ?? firstUse(body, parameter, true);
  const end = `edge_index[${parameter.endsWith('_j') ? 0 : 1}]`;
  return use ? gatheredAlongEdges(parameter, end, placeOf(use)) : null;
}

/** A plain assignment may be there for the sake of another branch: it is a use only where there is no other. */
function firstUse(node: Node | null, name: string, orAlias: boolean): Node | null {
  // What is asserted of its sizes is no use, nor is a test of whether it is there, or its name for what is assigned next.
  if (!node || node.kind === 'assert_statement' || node.field === 'condition') return null;
  if (node.field === 'left' && node.parent?.kind === 'assignment') return null;
  if (node.kind === 'identifier' && textOf(node) === name)
    return orAlias || node.field !== 'right' || node.parent?.kind !== 'assignment' ? node : null;
  for (const child of node.children) {
    const found = firstUse(child, name, orAlias);
    if (found) return found;
  }
  return null;
}

/** A parameter as the file says, or else as the stub beside it does. */
function withStub(parameter: Parameter, stub: FunctionModel | null): Parameter {
  if (parameter.annotation !== null || !stub) return parameter;
  const same = parametersOf(stub).find(({ name }) => name === parameter.name);
  return same ? { ...parameter, annotation: same.annotation } : parameter;
}

const NUMERIC = /^(int|torch\.SymInt)$/;
const PLAIN = /^(int|bool|str|float)$/;
/** What may be missing, as may `n: int = None` that is asked for it, whatever its annotation says. */
const OPTIONAL_PLAIN = /^(Optional\[(int|float|bool|str)\]|(int|float|bool|str) \| None)$/;
/** A class by its name, also in quotes: `Net`, `"Net"`, `Optional["Net"]`. */
const CLASS_TYPE = /^(?:Optional\[\s*)?["']?([A-Z]\w*)["']?(?:\]| \| None)?["']?$/;
/** Layers that multiply whatever their sizes are. */
const LAYER_TYPE =
  /^(?:Optional\[)?((?:\w+\.)*(?:Linear|Bilinear|FeedForward|GRU|LSTM|RNN|MultiheadAttention|Transformer(?:En|De)coder(?:Layer)?))\]?$/;
const FOREIGN_TYPE = /^(np\.|numpy\.|tf\.|jnp\.|jax\.|pd\.|list\[str\]|List\[str\]|Dict\[str, str\])/;

function parameterValue(parameter: Parameter, stated: readonly string[] | undefined, run: Run, frame: Frame): Value {
  const { name, fallback } = parameter;
  const annotation = parameter.annotation ?? assertedClass(name, frame);
  const typed = annotation === null ? null : tensorType(annotation);
  const dims = typed?.dims ?? stated;
  if (annotation !== null) {
    const isOptional = fallback?.kind === 'none' && PLAIN.test(annotation) && testedForNone(name, frame);
    if (isOptional || OPTIONAL_PLAIN.test(annotation)) return unknown(name);
    if (NUMERIC.test(annotation)) return int(symbol(`${name}@p${frame.function?.node.start ?? 0}`));
    if (annotation === 'float') return NUMBER;
    if (annotation === 'bool') return TRUTH;
    if (annotation === 'str') return { kind: 'string', value: null };
    if (FOREIGN_TYPE.test(annotation)) return unknown(name, true);
    const of = CLASS_TYPE.exec(annotation);
    const known = of?.[1] === undefined ? null : run.moduleNamed(of[1], frame.file);
    const module = known ? run.instance(known, frame) : annotatedLayer(annotation, run, frame);
    if (module) return fallback?.kind === 'none' && testedForNone(name, frame) ? orNone(name, module) : module;
  }
  const isHandedIn = fallback === null || fallback.kind === 'none';
  if (frame.building && (annotation === null || /Module$/.test(annotation)) && isHandedIn) {
    const own = classNamed(name, run, frame);
    const beside = own ?? (fallback === null ? run.sibling(name, frame.file) : null);
    if (beside && (own || !makesAny(frame.file, beside.file))) return run.instance(beside, frame);
  }
  const layers = frame.function && layersByDefault(fallback, frame.function, frame, run);
  if (layers) return layers;
  switch (fallback?.kind) {
    case 'float':
      return NUMBER;
    case 'integer':
      if (!dims && annotation === null) return int(symbol(`${name}@p${frame.function?.node.start ?? 0}`));
      break;
    case 'true':
    case 'false':
      return TRUTH;
    case 'string':
      return { kind: 'string', value: null };
  }
  if (!typed && !dims) return unknown(name);
  const value = typedTensor(name, typed?.type ?? '', dims, run, frame);
  const optional = fallback?.kind === 'none' || /Optional|None/.test(annotation ?? '') || testedForNone(name, frame);
  return optional ? orNone(name, value) : value;
}

/** A file beside that makes what asks is no part of that. */
const makesAny = ({ classes }: FileModel, { file }: FileModel): boolean =>
  classes.some(({ name }) => file.text.includes(`${name}(`));

/** `assert isinstance(encoder, Encoder)` in a constructor says no less than an annotation. */
function assertedClass(name: string, { building, function: init }: Frame): string | null {
  const text = building && init ? textOf(init.node) : '';
  if (!text.includes('assert isinstance(')) return null;
  return new RegExp(`\\bassert isinstance\\(\\s*${name}\\s*,\\s*([A-Z]\\w*)\\s*\\)`).exec(text)?.[1] ?? null;
}

/** What a parameter is where it is given. */
function orNone(name: string, value: Value): Value {
  const is = { key: `${name} is None@parameter`, text: `${name} is None`, holds: true };
  return {
    kind: 'union',
    options: [
      { value, when: [{ ...is, holds: false }] },
      { value: NONE, when: [is] },
    ],
  };
}

/** `proj: nn.Linear`, `Optional[nn.LSTM]`: a layer of which nothing else is known. */
function annotatedLayer(annotation: string, run: Run, frame: Frame): Value | null {
  const [, written] = LAYER_TYPE.exec(annotation) ?? [];
  if (written === undefined) return null;
  const [first = '', ...rest] = written.split('.');
  const found = run.global(first, frame.file, frame);
  const name = found?.kind === 'name' ? layerName(canonicalName([found.path, ...rest].join('.'))) : null;
  const node = frame.function?.node;
  return name && node ? constructLayer(name, NO_ARGS, node) : null;
}

/**
 * The module class of the file that a constructor parameter is named after: `head: Head`, or `decoder` where one class is
 * called `..Decoder` that nothing in the file makes.
 */
function classNamed(name: string, run: Run, frame: Frame): ClassModel | null {
  const plain = name.replace(/_/g, '').toLowerCase();
  const modules = frame.file.classes.filter((c) => c.name.toLowerCase().endsWith(plain) && run.isModule(c));
  const own = modules.find((c) => c.name.toLowerCase() === plain);
  if (own) return own;
  const [only] = modules;
  if (!only || modules.length > 1 || plain.length < 6 || only === frame.function?.owner) return null;
  const elsewhere = frame.file.file.text.replace(`class ${only.name}(`, '');
  return new RegExp(`[^\\w.]${only.name}\\(`).test(elsewhere) ? null : only;
}

const testedForNone = (name: string, frame: Frame): boolean => {
  const node = frame.function?.node;
  return node !== undefined && namesTestedForNone(node).has(name);
};

const testedNames = new WeakMap<Node, ReadonlySet<string>>();
/** What all tests have in common comes first: it is looked for faster than a name. */
const TESTED = patternOf(`\\bexists\\((${NAME})\\)| is (?:not )?None(?<=(${NAME}) is (?:not )?None)`, 'gu');

/** Names that a function tests by `name is None` or by `exists(name)`: found once, since each parameter asks. */
function namesTestedForNone(node: Node): ReadonlySet<string> {
  const known = testedNames.get(node);
  if (known) return known;
  const text = textOf(node);
  const names = new Set([...text.matchAll(TESTED(text))].map(([, given, compared]) => given ?? compared ?? ''));
  testedNames.set(node, names);
  return names;
}

/** A tensor of which a comment states the axes: `# ikbo: user=[U, Ku]`. */
export const statedTensor = (name: string, dims: readonly string[], run: Run, frame: Frame): Value =>
  typedTensor(name, '', dims, run, frame);

/** What a tensor holds by its name and its type (`Long`, `Bool`, ...). */
export const contentOf = (name: string, type: string): Tensor['content'] =>
  /mask/i.test(name) || type === 'Bool' ? 'mask' : /(^|_)ids?$/.test(name) || type === 'Long' ? 'index' : 'data';

/** A tensor of a name: what its type says it holds, and its axes where they are stated. Names of axes are the function's own. */
export function typedTensor(
  name: string,
  type: string,
  dims: readonly (string | null)[] | undefined,
  run: Run,
  frame: Frame,
): Value {
  const index = indexByName(name, run);
  const content = contentOf(name, type);
  if (!dims) return tensor(UNKNOWN_SHAPE, { label: name, index, content });
  const axes = dims.map((d): Axis => {
    const size =
      d === null ? null : /^\d+$/.test(d) ? constant(Number(d)) : symbol(`${d}@d${frame.function?.node.start ?? 0}`);
    return { dim: size, replica: null };
  });
  return tensor({ exact: true, head: axes, tail: [] }, { label: name, index, content });
}
