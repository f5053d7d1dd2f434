/** Turns the collected nodes into edits of the file, and removes what nothing reads any more. */
import { encodeFunction, encodeNode, encodeOpset } from '../encode';
import type { Model, Node } from '../model';
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
  for (const { node, like, before } of builder.placed) {
    if (dead.names.has(node.name)) continue;
    const copied = like?.attributes.map((attribute) => bytes(attribute.span)) ?? [];
    edits.push({
      start: before.span.start,
      end: before.span.start,
      within: before.parent,
      bytes: encodeNode({ ...node, copied }),
    });
  }
  for (const node of dead.nodes) edits.push({ ...node.span, within: node.parent, bytes: NOTHING });
  const inputs = new Set(graph.inputs.map(({ name }) => name));
  for (const tensor of graph.initializers) {
    if (dead.values.has(tensor.name) && !inputs.has(tensor.name))
      edits.push({ ...tensor.span, within: frameAt(model, tensor.span.start), bytes: NOTHING });
  }
  for (const info of graph.valueInfo) {
    if (dead.values.has(info.name) || builder.reshaped.has(info.name))
      edits.push({ ...info.span, within: frameAt(model, info.span.start), bytes: NOTHING });
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

const frameAt = (model: Model, offset: number): Splice['within'] =>
  model.graph.frames.find(({ start, end }) => start <= offset && offset < end) ?? null;

export interface Dead {
  readonly nodes: ReadonlySet<Node>;
  /** Names of new nodes that turned out not to be needed. */
  readonly names: ReadonlySet<string>;
  /** Values that were read before and are not any more. */
  readonly values: ReadonlySet<string>;
}

/** What was read before the rewrite and is not read after it; what nothing read before is left alone. */
export function deadNodes(model: Model, builder: Builder): Dead {
  const { graph } = model;
  const readers = new Map<string, number>();
  const count = (names: readonly string[], by: number): void =>
    names.forEach((name) => readers.set(name, (readers.get(name) ?? 0) + by));
  const reads = new Map(graph.nodes.map((node) => [node, [...node.inputs, ...nestedNames(node)]]));
  const nodes = new Set<Node>(builder.replaced);
  const names = new Set<string>();
  const values = new Set<string>();
  for (const node of graph.nodes) if (!nodes.has(node)) count(reads.get(node) ?? [], 1);
  for (const { node } of builder.placed) count(node.inputs, 1);
  count(graph.outputs.map(({ name }) => name), 1); // prettier-ignore
  const touched = [...builder.replaced].flatMap((node) => reads.get(node) ?? []);
  const isUnread = (outputs: readonly string[]): boolean => outputs.every((name) => !readers.get(name));
  const producers = new Map(graph.nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)));
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
    if (!node || nodes.has(node) || !isUnread(node.outputs)) continue;
    nodes.add(node);
    const inputs = reads.get(node) ?? [];
    count(inputs, -1);
    touched.push(...inputs);
  }
  return { nodes, names, values };
}

/** All names that a node's subgraphs read; their own values among them do no harm. */
function nestedNames(node: Node): string[] {
  const graphs = node.attributes.flatMap((a) => (a.g ? [a.g, ...a.graphs] : a.graphs));
  return graphs.flatMap((g) => [
    ...g.nodes.flatMap((inner) => [...inner.inputs, ...nestedNames(inner)]),
    ...g.outputs.map(({ name }) => name),
  ]);
}
