/** Turns the collected nodes into edits of the file, and removes what nothing reads any more. */
import { encodeFunction, encodeNode, encodeOpset } from '../encode';
import type { Graph, Model, Node } from '../model';
import type { Splice } from '../splice';
import type { Builder } from './builder';
import { definitionOf, DOMAIN, VERSION } from './ikbo';
import { opsetEdits } from './raise-opset';

const NOTHING = new Uint8Array(0);

export function editsOf(model: Model, builder: Builder): Splice[] {
  const { graph, source } = model;
  const frame = graph.frames.at(-1);
  if (!frame) return [];
  const edits: Splice[] = [];
  const dead = deadNodes(model, builder);
  const bytes = ({ start, end }: { start: number; end: number }): Uint8Array => source.read(start, end - start).slice();
  for (const { node, like, without, before } of builder.placed) {
    if (dead.names.has(node.name)) continue;
    const kept = like?.attributes.filter(({ name }) => !without.includes(name)) ?? [];
    const copied = kept.map((attribute) => bytes(attribute.span));
    edits.push({
      start: before.span.start,
      end: before.span.start,
      within: before.parent,
      bytes: encodeNode({ ...node, copied }),
    });
  }
  const gone = [...dead.nodes];
  for (const node of gone) {
    if (!gone.some((other) => other !== node && isInside(node, other)))
      edits.push({ ...node.span, within: node.parent, bytes: NOTHING });
  }
  for (const own of graphsOf(graph)) {
    if (gone.some((node) => own.frames.every(({ start }) => node.span.start < start && start < node.span.end)))
      continue;
    const inputs = new Set(own.inputs.map(({ name }) => name));
    for (const tensor of own.initializers) {
      if (dead.values.has(tensor.name) && !inputs.has(tensor.name))
        edits.push({ ...tensor.span, within: frameAt(own, tensor.span.start), bytes: NOTHING });
    }
    for (const info of own.valueInfo) {
      if (dead.values.has(info.name) || builder.reshaped.has(info.name))
        edits.push({ ...info.span, within: frameAt(own, info.span.start), bytes: NOTHING });
    }
  }
  for (const initializer of builder.initializers)
    edits.push({ start: frame.end, end: frame.end, within: frame, bytes: initializer });
  edits.push(...opsetEdits(model, builder.opset));
  const { size } = source;
  const add = (field: Uint8Array): number => edits.push({ start: size, end: size, within: null, bytes: field });
  if (builder.functions.size > 0 && !model.opsets.some(({ domain }) => domain === DOMAIN))
    add(encodeOpset(DOMAIN, VERSION));
  const known = new Set(model.functions.flatMap((def) => (def.domain === DOMAIN ? [def.name] : [])));
  for (const name of builder.functions) if (!known.has(name)) add(encodeFunction(definitionOf(builder, name)));
  return edits;
}

const frameAt = ({ frames }: Graph, offset: number): Splice['within'] =>
  frames.find(({ start, end }) => start <= offset && offset < end) ?? null;

/** True for a node of a subgraph of the other one. */
const isInside = ({ span }: Node, { span: outer }: Node): boolean => outer.start < span.start && span.end <= outer.end;

const subgraphs = ({ attributes }: Node): readonly Graph[] =>
  attributes.flatMap(({ g, graphs }) => (g ? [g, ...graphs] : graphs));

/** The graph and all graphs inside its nodes. */
function graphsOf(graph: Graph): Graph[] {
  return [graph, ...graph.nodes.flatMap((node) => subgraphs(node).flatMap(graphsOf))];
}

export interface Dead {
  readonly nodes: ReadonlySet<Node>;
  /** Names of new nodes that turned out not to be needed. */
  readonly names: ReadonlySet<string>;
  /** Values that were read before and are not any more. */
  readonly values: ReadonlySet<string>;
}

/**
 * What was read before the rewrite and is not read after it; what nothing read before is left alone. Names mean one value
 * each, in subgraphs as well: `planMatch` sees to that.
 */
export function deadNodes(model: Model, builder: Builder): Dead {
  const graphs = graphsOf(model.graph);
  const all = graphs.flatMap((graph) => graph.nodes);
  const readers = new Map<string, number>();
  const count = (names: readonly string[], by: number): void =>
    names.forEach((name) => readers.set(name, (readers.get(name) ?? 0) + by));
  const nodes = new Set<Node>();
  const names = new Set<string>();
  const values = new Set<string>();
  for (const node of all) count(node.inputs, 1);
  for (const graph of graphs) count(graph.outputs.map(({ name }) => name), 1); // prettier-ignore
  for (const { node } of builder.placed) count(node.inputs, 1);
  const touched: string[] = [];
  /** A node goes with everything that its subgraphs read. */
  const remove = (node: Node): void => {
    if (nodes.has(node)) return;
    nodes.add(node);
    count(node.inputs, -1);
    touched.push(...node.inputs);
    for (const graph of subgraphs(node)) {
      const outputs = graph.outputs.map(({ name }) => name);
      count(outputs, -1);
      touched.push(...outputs);
      graph.nodes.forEach(remove);
    }
  };
  builder.replaced.forEach(remove);
  const isUnread = (outputs: readonly string[]): boolean => outputs.every((name) => !readers.get(name));
  const producers = new Map(all.flatMap((node) => node.outputs.map((name) => [name, node] as const)));
  const made = new Map(builder.placed.flatMap(({ node }) => node.outputs.map((name) => [name, node] as const)));
  for (const { node } of builder.placed) if (isUnread(node.outputs)) touched.push(...node.outputs);
  for (let name = touched.pop(); name !== undefined; name = touched.pop()) {
    if (readers.get(name)) continue;
    values.add(name);
    const fresh = made.get(name);
    if (fresh) {
      if (names.has(fresh.name) || !isUnread(fresh.outputs)) continue;
      names.add(fresh.name);
      count(fresh.inputs, -1);
      touched.push(...fresh.inputs);
      continue;
    }
    const node = producers.get(name);
    if (node && isUnread(node.outputs)) remove(node);
  }
  return { nodes, names, values };
}
