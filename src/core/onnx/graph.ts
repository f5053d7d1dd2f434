/**
 * The graph as values and operators instead of names. Names are resolved by scope (a subgraph sees the graphs around
 * it), operators are put in an order in which every input comes first, and calls of model-local functions are replaced
 * by the function's operators. Those of ai.ikbo stay whole: their definitions are what a runtime without a kernel for
 * them falls back to.
 */
import type { Attribute, FunctionDef, Graph, Model, Node, Tensor, Type, ValueInfo } from './model';

export interface Value {
  readonly id: number;
  readonly name: string;
  readonly scope: Scope;
  /** The operator that makes it; null for graph inputs, initializers and names that nothing defines. */
  readonly producer: Operator | null;
  readonly initializer: Tensor | null;
  /** True for an input of its graph that no initializer fills. */
  readonly isInput: boolean;
  /** True when an output of its graph. */
  isOutput: boolean;
  /** The type that the file declares, if any. */
  declared: Type | null;
  readonly uses: Use[];
}

export interface Use {
  readonly operator: Operator;
  readonly index: number;
}

export interface Operator {
  readonly id: number;
  readonly node: Node;
  readonly scope: Scope;
  readonly inputs: readonly (Value | null)[];
  readonly outputs: readonly (Value | null)[];
  readonly bodies: readonly { readonly attribute: string; readonly scope: Scope }[];
  /** Attributes with references to a function's attributes resolved. */
  readonly attributes: readonly Attribute[];
  /** The outermost call through which the operator was inlined; null for operators of the graph itself. */
  readonly call: Node | null;
  /** The default opset that governs it. */
  readonly opset: number;
}

export interface Scope {
  readonly graph: Graph;
  readonly values: Map<string, Value>;
  readonly inputs: readonly Value[];
  readonly outputs: readonly (Value | null)[];
  readonly operators: readonly Operator[];
}

export interface GraphModel {
  readonly model: Model;
  readonly main: Scope;
  readonly values: readonly Value[];
  readonly operators: readonly Operator[];
  /** What is odd about the graph: cycles, names without a definition, values defined twice. */
  readonly problems: readonly string[];
}

const MAX_OPERATORS = 1_000_000;
const MAX_CALL_DEPTH = 16;
const MAX_CALLS = 100_000;

interface Build {
  readonly model: Model;
  readonly functions: ReadonlyMap<string, FunctionDef>;
  readonly values: Value[];
  readonly operators: Operator[];
  readonly problems: string[];
  /** Names that are defined more than once. */
  readonly duplicates: string[];
  calls: number;
}

/** `inlineAll`: operators of ai.ikbo are replaced by their definitions, too. */
export function buildGraph(model: Model, inlineAll = false): GraphModel {
  const inlined = model.functions.filter(({ domain }) => inlineAll || domain !== 'ai.ikbo');
  const functions = new Map(inlined.map((def) => [keyOf(def.domain, def.name, def.overload), def]));
  const build: Build = { model, functions, values: [], operators: [], problems: [], duplicates: [], calls: 0 };
  const opset = model.opsets.find(({ domain }) => domain === '')?.version ?? 1;
  const main = buildScope(build, model.graph, () => undefined, { opset, call: null, arguments: null, depth: 0 });
  const [duplicate] = build.duplicates;
  const others = build.duplicates.length - 1;
  if (duplicate !== undefined) {
    build.problems.push(
      `'${duplicate}' is defined twice${others > 0 ? `, and ${others} other names` : ''}: not a valid model`,
    );
  }
  return { model, main, values: build.values, operators: build.operators, problems: build.problems };
}

const keyOf = (domain: string, name: string, overload: string): string => `${domain}:${name}:${overload}`;

/** How nodes are to be read: inside an inlined function, names and attributes go through the call. */
interface Frame {
  readonly opset: number;
  readonly call: Node | null;
  readonly arguments: readonly Attribute[] | null;
  readonly depth: number;
}

/** Resolves a name of the surrounding graphs. */
type Find = (name: string) => Value | undefined;

type MutableScope = { -readonly [K in keyof Scope]: Scope[K] } & { operators: Operator[] };

function buildScope(build: Build, graph: Graph, outer: Find, frame: Frame): Scope {
  const scope: MutableScope = { graph, values: new Map(), inputs: [], outputs: [], operators: [] };
  const initializers = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  for (const { values } of graph.sparse) if (values) initializers.set(values.name, { ...values, external: SPARSE });
  const inputs: Value[] = [];
  for (const info of graph.inputs) {
    const value = define(build, scope, info.name, {
      initializer: initializers.get(info.name) ?? null,
      isInput: !initializers.has(info.name),
    });
    value.declared = info.type;
    inputs.push(value);
  }
  for (const [name, initializer] of initializers)
    if (!scope.values.has(name)) define(build, scope, name, { initializer });
  scope.inputs = inputs;
  addNodes(build, scope, graph.nodes, scope.values, outer, frame, '');
  const declare = (info: ValueInfo): void => {
    const value = scope.values.get(info.name);
    if (value) value.declared ??= info.type;
  };
  graph.valueInfo.forEach(declare);
  graph.outputs.forEach(declare);
  scope.outputs = graph.outputs.map((info) => {
    const value = scope.values.get(info.name) ?? outer(info.name) ?? null;
    if (value) value.isOutput = true;
    else build.problems.push(`output '${info.name}' is defined nowhere`);
    return value;
  });
  return scope;
}

/** Marks the values of a sparse initializer as not readable like a dense one. */
const SPARSE = { location: '', offset: 0, length: 0 };

interface Definition {
  readonly producer?: Operator;
  readonly initializer?: Tensor | null;
  readonly isInput?: boolean;
}

function define(build: Build, scope: Scope, name: string, definition: Definition, names = scope.values): Value {
  const value: Value = {
    id: build.values.length,
    name,
    scope,
    producer: definition.producer ?? null,
    initializer: definition.initializer ?? null,
    isInput: definition.isInput ?? false,
    isOutput: false,
    declared: null,
    uses: [],
  };
  if (names.has(name)) build.duplicates.push(name);
  else names.set(name, value);
  build.values.push(value);
  return value;
}

/** Adds nodes to a scope. `names` receives their outputs; `find` resolves what they read from outside. */
function addNodes(
  build: Build,
  scope: MutableScope,
  nodes: readonly Node[],
  names: Map<string, Value>,
  find: Find,
  frame: Frame,
  prefix: string,
): void {
  for (const node of inOrder(build, nodes)) {
    if (build.operators.length >= MAX_OPERATORS) {
      build.problems.push(`more than ${MAX_OPERATORS} operators: the rest is not analysed`);
      return;
    }
    const resolve = (name: string): Value | null =>
      name === '' ? null : (names.get(name) ?? find(name) ?? undefinedValue(build, scope, name));
    const inputs = node.inputs.map(resolve);
    const attributes = node.attributes.flatMap((attribute) => resolveReference(attribute, frame.arguments));
    const def = build.functions.get(keyOf(node.domain, node.op, node.overload));
    if (def && frame.depth < MAX_CALL_DEPTH && ++build.calls < MAX_CALLS) {
      inline(build, scope, node, def, inputs, attributes, names, frame, prefix);
      continue;
    }
    const inner = (name: string) => names.get(name) ?? find(name);
    addOperator(build, scope, node, inputs, attributes, names, frame, inner, prefix);
  }
}

function addOperator(
  build: Build,
  scope: MutableScope,
  node: Node,
  inputs: readonly (Value | null)[],
  attributes: readonly Attribute[],
  names: Map<string, Value>,
  frame: Frame,
  find: Find,
  prefix: string,
): void {
  const outputs: (Value | null)[] = [];
  const bodies: { attribute: string; scope: Scope }[] = [];
  const { call, opset } = frame;
  const operator: Operator = {
    id: build.operators.length,
    node,
    scope,
    inputs,
    outputs,
    bodies,
    attributes,
    call,
    opset,
  };
  build.operators.push(operator);
  for (const attribute of attributes) {
    const graphs = attribute.g ? [attribute.g, ...attribute.graphs] : attribute.graphs;
    for (const graph of graphs) {
      bodies.push({ attribute: attribute.name, scope: buildScope(build, graph, find, frame) });
    }
  }
  scope.operators.push(operator);
  inputs.forEach((value, index) => value?.uses.push({ operator, index }));
  for (const name of node.outputs) {
    if (name === '') outputs.push(null);
    else {
      const value = define(build, scope, name, { producer: operator }, names);
      if (prefix) Object.assign(value, { name: prefix + name });
      outputs.push(value);
    }
  }
}

function inline(
  build: Build,
  scope: MutableScope,
  node: Node,
  def: FunctionDef,
  inputs: readonly (Value | null)[],
  attributes: readonly Attribute[],
  names: Map<string, Value>,
  frame: Frame,
  prefix: string,
): void {
  const inner = new Map<string, Value>();
  def.inputs.forEach((name, i) => {
    const value = inputs[i];
    if (value) inner.set(name, value);
  });
  const opset = def.opsets.find(({ domain }) => domain === '')?.version ?? frame.opset;
  const own = `${prefix}${node.name || node.op}/`;
  const defaults = def.defaults.filter(({ name }) => !attributes.some((given) => given.name === name));
  const call = frame.call ?? node;
  const next: Frame = { opset, call, arguments: [...attributes, ...defaults], depth: frame.depth + 1 };
  addNodes(build, scope, def.nodes, inner, () => undefined, next, own);
  node.outputs.forEach((name, i) => {
    const value = inner.get(def.outputs[i] ?? '');
    if (!name || !value) return;
    // What the call makes has the name that the graph around it knows.
    if (value.producer?.call === call && value.name.startsWith(own)) Object.assign(value, { name: prefix + name });
    if (names.has(name)) build.duplicates.push(name);
    else names.set(name, value);
  });
}

/** Nothing for an attribute that takes its value from one that the call leaves out. */
function resolveReference(attribute: Attribute, given: readonly Attribute[] | null): Attribute[] {
  if (!attribute.reference) return [attribute];
  const source = given?.find(({ name }) => name === attribute.reference);
  return source ? [{ ...source, name: attribute.name }] : [];
}

/** A name that nothing defines: an optional input of a function that was left out, or a broken model. */
function undefinedValue(build: Build, scope: Scope, name: string): Value {
  const value = define(build, scope, name, {}, new Map());
  return value;
}

/** The nodes such that each comes after those whose outputs it reads; nodes of a cycle are left out. */
function inOrder(build: Build, nodes: readonly Node[]): readonly Node[] {
  const position = new Map<string, number>();
  nodes.forEach((node, i) => {
    for (const name of node.outputs) if (name && !position.has(name)) position.set(name, i);
  });
  const needs = nodes.map((node, i) => {
    const from = [...node.inputs, ...outerNames(node)].map((name) => (name ? (position.get(name) ?? -1) : -1));
    return [...new Set(from)].filter((j) => j >= 0 && j !== i);
  });
  if (needs.every((from, i) => from.every((j) => j < i))) return nodes;
  const waiting = needs.map((from) => from.length);
  const followers: number[][] = nodes.map(() => []);
  needs.forEach((from, i) => from.forEach((j) => followers[j]?.push(i)));
  const ready = waiting.flatMap((count, i) => (count === 0 ? [i] : []));
  const ordered: Node[] = [];
  for (let at = 0; at < ready.length; at++) {
    const i = ready[at] as number;
    ordered.push(nodes[i] as Node);
    for (const j of followers[i] ?? []) if (--(waiting[j] as number) === 0) ready.push(j);
  }
  if (ordered.length < nodes.length)
    build.problems.push(`${nodes.length - ordered.length} nodes depend on their own results`);
  return ordered;
}

/** All names that a node's subgraphs read. */
function outerNames(node: Node): string[] {
  const graphs = node.attributes.flatMap((a) => (a.g ? [a.g, ...a.graphs] : a.graphs));
  return graphs.flatMap((g) => [
    ...g.nodes.flatMap((inner) => [...inner.inputs, ...outerNames(inner)]),
    ...g.outputs.map((o) => o.name),
  ]);
}
