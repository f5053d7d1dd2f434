/**
 * Puts the operators of model-local functions in the place of the calls that a rewrite reaches into. A call means its
 * body, so nothing changes but that the operators can then be rewritten for this call alone.
 */
import { analyse, type Analysed } from '../analyse';
import { bytesOf, concatBytes, encodeNode, encodeOpset, textOf } from '../encode';
import type { GraphModel, Operator, Value } from '../graph';
import type { Event } from '../judge/events';
import type { OnnxMatch } from '../judge/select';
import { originsOf } from '../judge/select';
import type { Spread } from '../judge/spread';
import type { State } from '../judge/state';
import type { Attribute, FunctionDef, Graph, Model, Node } from '../model';
import { readModel } from '../read';
import { openWindow, memorySource } from '../source';
import { pieceSource, splice, type Piece, type Splice } from '../splice';
import { fields } from '../wire';
import { refuse } from './builder';

export interface Inlined {
  readonly analysed: Analysed;
  /** As given, in the new model; null for a match that is not found there again. */
  readonly matches: readonly (OnnxMatch | null)[];
  /** From the old file to the new one. */
  readonly pieces: readonly Piece[];
}

/** The calls through which the copies of a match go, and that of its product. */
export function callsOf({ graph, spread }: Analysed, match: OnnxMatch): ReadonlySet<Node> {
  const origins = originsOf(match).flatMap(({ origin }) => (origin ? [origin.operator] : []));
  // What is copied may be made inside a function that hands over its pieces only.
  const made = originsOf(match).flatMap(({ origin }) => (origin?.data.producer ? [origin.data.producer] : []));
  const own = [...origins, ...made, ...match.events.map(({ sink }) => sink)].flatMap(({ call }) =>
    call ? [call] : [],
  );
  const passed = carriersOf(graph, spread);
  return new Set([...own, ...origins.flatMap((origin) => [...(passed.get(origin) ?? [])])]);
}

type Carriers = ReadonlyMap<Operator, ReadonlySet<Node>>;
const known = new WeakMap<GraphModel, Carriers>();

/** For each operator that copies, the calls in which something is a copy of its making. Found once for a model. */
function carriersOf(graph: GraphModel, spread: Spread): Carriers {
  const before = known.get(graph);
  if (before) return before;
  const carriers = new Map<Operator, Set<Node>>();
  for (const { call, outputs } of graph.operators) {
    if (!call) continue;
    for (const out of outputs)
      for (const origin of (out && originsIn(spread.stateOf(out))) ?? []) {
        const calls = carriers.get(origin) ?? new Set();
        carriers.set(origin, calls.add(call));
      }
  }
  known.set(graph, carriers);
  return carriers;
}

const originsIn = (state: State | null): Operator[] =>
  (state?.blocks ?? []).flatMap(({ terms }) =>
    terms.flatMap(({ atoms }) =>
      atoms.flatMap(({ axes }) =>
        axes.flatMap((axis) => (axis?.kind === 'replica' && axis.origin ? [axis.origin.operator] : [])),
      ),
    ),
  );

/** Refuses calls whose operators would not mean the same outside of their function. */
export function checkCalls({ graph, model }: Analysed, calls: ReadonlySet<Node>): void {
  for (const op of graph.operators)
    if (op.call && calls.has(op.call) && op.bodies.length > 0)
      refuse(`it is inside the function '${op.call.op}', which has subgraphs`);
  for (const call of calls)
    for (const { name, opsets } of definitionsOf(model, call))
      for (const { domain, version } of opsets) {
        const own = model.opsets.find((known) => known.domain === domain)?.version ?? version;
        if (own !== version)
          refuse(
            `it is inside the function '${name}', which imports version ${version} of ${domain || 'the standard operators'}, and the model ${own}`,
          );
      }
}

/** The model with these calls replaced. They must have passed `checkCalls`. */
export function inlineCalls(analysed: Analysed, calls: ReadonlySet<Node>, matches: readonly OnnxMatch[]): Inlined {
  const { graph, model } = analysed;
  const names = namesOf(graph, calls);
  const nameOf = (value: Value | null): string => (!value || isMissing(value) ? '' : (names.get(value) ?? value.name));
  const bodies = new Map<Node, Operator[]>([...calls].map((call) => [call, []]));
  for (const op of graph.operators) if (op.call) bodies.get(op.call)?.push(op);
  const edits = [...bodies].map(([call, ops]): Splice => {
    const nodes = ops.map((op) => encodeOperator(model, op, nameOf));
    const passed = call.outputs.flatMap((name) => {
      const value = name === '' ? undefined : ops[0]?.scope.values.get(name);
      return value && nameOf(value) !== name ? [identity(nameOf(value), name)] : [];
    });
    return { ...call.span, within: call.parent, bytes: concatBytes([...nodes, ...passed]) };
  });
  const imports = [...calls].flatMap((call) => definitionsOf(model, call).flatMap(({ opsets }) => opsets));
  const missing = new Map(
    imports.filter(({ domain }) => !model.opsets.some((known) => known.domain === domain)).map((one) => [one.domain, one.version]),
  ); // prettier-ignore
  const { size } = model.source;
  for (const [domain, version] of missing)
    edits.push({ start: size, end: size, within: null, bytes: encodeOpset(domain, version) });
  for (const { span } of unusedAfter(model, calls)) edits.push({ ...span, within: null, bytes: new Uint8Array(0) });
  const pieces = splice(size, edits);
  const again = analyse(readModel(pieceSource(model.source, pieces)));
  return { analysed: again, pieces, matches: findAgain(again, matches, nameOf) };
}

/** Names for what the calls make inside; their results keep those that the graph has for them. */
function namesOf({ operators, values }: GraphModel, calls: ReadonlySet<Node>): Map<Value, string> {
  const known = (value: Value): boolean => !value.producer?.call || value.scope.values.get(value.name) === value;
  const taken = new Set(values.filter(known).map(({ name }) => name));
  const names = new Map<Value, string>();
  for (const { call, outputs } of operators) {
    if (!call || !calls.has(call)) continue;
    for (const out of outputs) {
      if (!out || known(out)) continue;
      let name = out.name;
      for (let i = 1; taken.has(name); i++) name = `${out.name}_${i}`;
      taken.add(name);
      names.set(out, name);
    }
  }
  return names;
}

/** An optional input of a function that the call leaves out. */
const isMissing = ({ producer, initializer, isInput, name, scope }: Value): boolean =>
  !producer && !initializer && !isInput && !scope.values.has(name);

const identity = (from: string, to: string): Uint8Array =>
  encodeNode({ op: 'Identity', name: `${to}/Identity`, inputs: [from], outputs: [to] });

function encodeOperator(model: Model, op: Operator, nameOf: (value: Value | null) => string): Uint8Array {
  const { node, call } = op;
  return encodeNode({
    op: node.op,
    domain: node.domain,
    name: `${(call?.name || call?.op) ?? ''}/${node.name || node.outputs[0] || node.op}`,
    inputs: op.inputs.map(nameOf),
    outputs: op.outputs.map(nameOf),
    copied: op.attributes.map((attribute) => renamed(model, attribute)),
  });
}

const NAME = 1;
const REFERENCE = 21;

/** The attribute's bytes under the name that the operator has for it: a call may call it otherwise. */
function renamed({ source }: Model, { name, span }: Attribute): Uint8Array {
  const bytes = source.read(span.start, span.end - span.start).slice();
  const window = openWindow(memorySource(bytes));
  const [whole] = fields(window, { start: 0, end: bytes.length });
  const parts = [...fields(window, whole ?? { start: 0, end: 0 })].filter(
    ({ number }) => number !== NAME && number !== REFERENCE,
  );
  return bytesOf(5, concatBytes([textOf(1, name), ...parts.map(({ tag, end }) => bytes.subarray(tag, end))]));
}

const subgraphsOf = ({ attributes }: Node): readonly Graph[] =>
  attributes.flatMap(({ g, graphs }) => (g ? [g, ...graphs] : graphs));

const nodesOf = (nodes: readonly Node[]): Node[] =>
  nodes.flatMap((node) => [node, ...subgraphsOf(node).flatMap((graph) => nodesOf(graph.nodes))]);

const definitionOf = ({ functions }: Model, node: Node): FunctionDef | undefined =>
  functions.find(
    ({ domain, name, overload }) => domain === node.domain && name === node.op && overload === node.overload,
  );

/** The function of a call and those that it calls in turn. */
function definitionsOf(model: Model, call: Node): readonly FunctionDef[] {
  const found = new Set<FunctionDef>();
  const queue = [call];
  for (let node = queue.pop(); node; node = queue.pop()) {
    const def = definitionOf(model, node);
    if (!def || found.has(def)) continue;
    found.add(def);
    queue.push(...nodesOf(def.nodes));
  }
  return [...found];
}

/** Functions that were called before and are not any more. */
function unusedAfter(model: Model, calls: ReadonlySet<Node>): FunctionDef[] {
  const all = nodesOf(model.graph.nodes);
  const used = new Set(all.filter((node) => !calls.has(node)).flatMap((node) => definitionsOf(model, node)));
  return [...new Set([...calls].flatMap((call) => definitionsOf(model, call)))].filter((def) => !used.has(def));
}

/** The matches with the same products, by the names of their results. */
function findAgain(
  again: Analysed,
  matches: readonly OnnxMatch[],
  nameOf: (value: Value | null) => string,
): (OnnxMatch | null)[] {
  const keyOf = ({ code, sink }: Event, name: (value: Value | null) => string): string =>
    [code, ...sink.outputs.map(name)].join('\n');
  const found = new Map<string, OnnxMatch>();
  for (const match of again.matches)
    for (const event of match.events)
      found.set(
        keyOf(event, (value) => value?.name ?? ''),
        match,
      );
  return matches.map(({ events }) => found.get(keyOf(events[0], nameOf)) ?? null);
}
