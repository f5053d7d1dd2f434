/**
 * Collects the nodes and constants of a rewrite. Nothing is changed here: `apply.ts` turns the collection into edits of
 * the file. New names cannot meet old ones; everything a node reads must exist before the place it is put.
 */
import { constant, equal, valueOf, type Dim } from '../../tensor/dim';
import { encodeInts, encodeTensor, type AttributeValue, type NewNode } from '../encode';
import type { Operator, Value } from '../graph';
import type { Program } from '../judge/program';
import type { Node } from '../model';

/** Why a rewrite is not made, in words for the user. */
export class Refusal extends Error {}

export function refuse(reason: string): never {
  throw new Refusal(reason);
}

/** A value of the new graph: its name, and its shape as far as known. */
export interface Made {
  readonly name: string;
  readonly shape: readonly Dim[];
}

/** A linear operator, whatever its kind: how to apply a part of its weight to a part of its input. */
export interface Linear {
  readonly op: Operator;
  readonly weight: Value;
  /** The axis of the weight that is contracted. */
  readonly weightAxis: number;
  readonly operandIndex: number;
  readonly bias: string | null;
}

export interface Placed {
  readonly node: NewNode;
  /** The old node whose attributes are copied, for clones, but for these. */
  readonly like: Node | null;
  readonly without: readonly string[];
  /** The old node before which it stands. */
  readonly before: Node;
}

/** `standard`: ONNX operators alone; `ikbo`: operators of ai.ikbo with their definitions where they fit. */
export type Target = 'standard' | 'ikbo';

export interface Builder {
  readonly program: Program;
  readonly opset: number;
  readonly target: Target;
  /** Operators of ai.ikbo whose definitions the model needs. */
  readonly functions: Set<string>;
  /** Names of the model, and new ones. */
  readonly taken: ReadonlySet<string>;
  readonly named: Set<string>;
  /** Names that nodes of the graph can read; those inside functions are not among them. */
  readonly readable: ReadonlySet<string>;
  readonly placed: Placed[];
  /** Encoded initializers, as fields of the graph. */
  readonly initializers: Uint8Array[];
  readonly constants: Map<string, string>;
  /** Old nodes that new ones stand for. */
  readonly replaced: Set<Node>;
  /** Values whose declared shape no longer holds. */
  readonly reshaped: Set<string>;
}

/** `opset`: the version to write for, where it is not the model's own. */
export function createBuilder(program: Program, target: Target, opset: number | null = null): Builder {
  const taken = new Set<string>();
  const readable = new Set<string>(['']);
  for (const value of program.graph.values) {
    taken.add(value.name);
    if (!value.producer?.call || value.scope.values.get(value.name) === value) readable.add(value.name);
  }
  for (const { node } of program.graph.operators) taken.add(node.name);
  const own = program.graph.model.opsets.find(({ domain }) => domain === '')?.version ?? 1;
  return {
    program,
    opset: opset ?? own,
    target,
    functions: new Set(),
    taken,
    named: new Set(),
    readable,
    placed: [],
    initializers: [],
    constants: new Map(),
    replaced: new Set(),
    reshaped: new Set(),
  };
}

/** A builder whose additions can be taken over or forgotten as a whole. */
export function fork(builder: Builder): Builder {
  return {
    ...builder,
    functions: new Set(builder.functions),
    named: new Set(builder.named),
    placed: [...builder.placed],
    initializers: [...builder.initializers],
    constants: new Map(builder.constants),
    replaced: new Set(builder.replaced),
    reshaped: new Set(builder.reshaped),
  };
}

export function fresh(builder: Builder, stem: string): string {
  let name = stem;
  for (let i = 1; builder.taken.has(name) || builder.named.has(name); i++) name = `${stem}_${i}`;
  builder.named.add(name);
  return name;
}

/** Where new nodes go: before an old node, named after it. */
export interface Place {
  readonly builder: Builder;
  readonly before: Node;
  readonly stem: string;
}

export function placeBefore(builder: Builder, op: Operator): Place {
  const stem = `${(op.node.name || op.node.outputs[0]) ?? op.node.op}/ikbo`;
  return { builder, before: op.node, stem };
}

/** True where the operator's results can be read before that node: it is in the same graph or in one around it. */
export const isVisible = ({ node, call }: Operator, { before }: Place): boolean =>
  call === null && node.parent.start <= before.span.start && before.span.end <= node.parent.end;

export interface NodeOptions {
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly like?: Node;
  /** Attributes of `like` that are not copied. */
  readonly without?: readonly string[];
  /** Names for the outputs instead of fresh ones. */
  readonly outputs?: readonly string[];
  readonly domain?: string;
}

/** Adds a node with one output and answers with that output's name. */
export function addNode(place: Place, op: string, inputs: readonly string[], options: NodeOptions = {}): string {
  const { builder, before, stem } = place;
  const name = fresh(builder, `${stem}/${op}`);
  const outputs = options.outputs ?? [fresh(builder, `${name}_output_0`)];
  const { attributes, domain, like } = options;
  builder.placed.push({
    node: { op, name, inputs, outputs, ...(attributes ? { attributes } : {}), ...(domain ? { domain } : {}) },
    like: like ?? null,
    without: options.without ?? [],
    before,
  });
  return outputs[0] ?? '';
}

/** An int64 constant; equal ones are made once. */
export function ints(builder: Builder, values: readonly number[], scalar = false): string {
  const key = `${scalar ? 's' : 'v'}${values.join(',')}`;
  const known = builder.constants.get(key);
  if (known !== undefined) return known;
  const name = fresh(builder, `ikbo/${scalar ? 'int' : 'ints'}_${values.join('_').replace(/-/g, 'm').slice(0, 40)}`);
  builder.initializers.push(encodeInts(name, scalar ? [] : [values.length], values.map(BigInt)));
  builder.constants.set(key, name);
  return name;
}

/** A float scalar; equal ones are made once. */
export function float(builder: Builder, value: number): string {
  const key = `f${value}`;
  const known = builder.constants.get(key);
  if (known !== undefined) return known;
  const name = fresh(builder, 'ikbo/float');
  builder.initializers.push(encodeTensor(name, 1, [], new Uint8Array(Float32Array.of(value).buffer)));
  builder.constants.set(key, name);
  return name;
}

/** One size of a shape to be built: a number, the size of an axis of a value, or an element of an int64 vector. */
export type Size =
  number | { readonly of: string; readonly axis: number } | { readonly element: string; readonly at: number };

/** An int64 vector of these sizes; a constant where all are numbers. */
export function shapeVector(place: Place, sizes: readonly Size[]): string {
  const { builder } = place;
  if (sizes.every((size) => typeof size === 'number')) return ints(builder, sizes);
  const parts: string[] = [];
  let run: number[] = [];
  const flush = (): void => {
    if (run.length > 0) parts.push(ints(builder, run));
    run = [];
  };
  for (const size of sizes) {
    if (typeof size === 'number') run.push(size);
    else {
      flush();
      const [vector, at] = 'of' in size ? [addNode(place, 'Shape', [size.of]), size.axis] : [size.element, size.at];
      parts.push(addNode(place, 'Gather', [vector, ints(builder, [at])]));
    }
  }
  flush();
  return parts.length === 1 ? (parts[0] ?? '') : addNode(place, 'Concat', parts, { attributes: { axis: 0n } });
}

/** Reshapes to `shape`; each size must be a number, be a size of the input, or be the only other one. */
export function reshapeTo(place: Place, from: Made, shape: readonly Dim[]): Made {
  const known = shape.map((dim, i): Size | null => {
    const number = valueOf(dim);
    if (number !== null) return number;
    // Zero copies the size that stands at the same place.
    if (equal(from.shape[i] ?? null, dim) === true) return 0;
    const axis = from.shape.findIndex((other) => equal(other, dim) === true);
    return axis < 0 ? null : { of: from.name, axis };
  });
  const holes = known.filter((size) => size === null).length;
  if (holes > 1) refuse('a reshape of the shared part has sizes that are not known');
  // With one dynamic size, -1 needs no shape arithmetic at all.
  const dynamic = known.filter((size) => size !== null && typeof size !== 'number').length;
  const sizes = known.map((size): Size => size ?? -1);
  if (holes === 0 && dynamic === 1) sizes[known.findIndex((size) => typeof size !== 'number')] = -1;
  return { name: addNode(place, 'Reshape', [from.name, shapeVector(place, sizes)]), shape };
}

/** Unsqueeze with the axes where the opset wants them. */
export function unsqueezeAt(place: Place, from: Made, axes: readonly number[]): Made {
  const rest = [...from.shape];
  const rank = from.shape.length + axes.length;
  const shape = Array.from({ length: rank }, (_, i): Dim => (axes.includes(i) ? constant(1) : (rest.shift() ?? null)));
  const name =
    place.builder.opset < 13
      ? addNode(place, 'Unsqueeze', [from.name], { attributes: { axes: axes.map(BigInt) } })
      : addNode(place, 'Unsqueeze', [from.name, ints(place.builder, axes)]);
  return { name, shape };
}

/** Cuts a value along an axis into parts of these widths. */
export function splitAt(place: Place, name: string, axis: number, widths: readonly number[]): string[] {
  const { builder, stem } = place;
  if (widths.length === 1) return [name];
  const outputs = widths.map(() => fresh(builder, `${stem}/part`));
  if (builder.opset < 13)
    addNode(place, 'Split', [name], { outputs, attributes: { axis: BigInt(axis), split: widths.map(BigInt) } });
  else addNode(place, 'Split', [name, ints(builder, widths)], { outputs, attributes: { axis: BigInt(axis) } });
  return outputs;
}

export function gatherRows(place: Place, from: Made, index: string, axis: number, extent: Dim): Made {
  const name = addNode(place, 'Gather', [from.name, index], { attributes: { axis: BigInt(axis) } });
  return { name, shape: from.shape.map((dim, i) => (i === axis ? extent : dim)) };
}

export function madeOf(builder: Builder, value: Value): Made {
  const shape = builder.program.shape(value);
  return shape ? { name: value.name, shape } : refuse(`the shape of '${value.name}' is not known`);
}

/** Makes the node that writes `from` write the old name `to`; an Identity does where others read `from`, too. */
export function giveName(place: Place, from: string, to: string): void {
  const { builder } = place;
  const at = builder.placed.findIndex(({ node }) => node.outputs.includes(from));
  const found = builder.placed[at];
  if (!found || builder.placed.some(({ node }) => node.inputs.includes(from))) {
    addNode(place, 'Identity', [from], { outputs: [to] });
    return;
  }
  const outputs = found.node.outputs.map((name) => (name === from ? to : name));
  builder.placed[at] = { ...found, node: { ...found.node, outputs } };
}
