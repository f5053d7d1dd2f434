/**
 * A tensor that only its shape is still asked of would be computed for nothing: such shapes are built from the model's
 * inputs instead, so that the rest can go.
 */
import { equal, valueOf, type Dim } from '../../tensor/dim';
import { shape as shapeRule } from '../infer/shapes';
import type { Operator } from '../graph';
import type { Model } from '../model';
import { deadNodes } from './apply';
import { addNode, giveName, ints, placeBefore, shapeVector, type Builder, type Place, type Size } from './builder';

export function rerouteShapes(model: Model, builder: Builder): void {
  const { graph, infer } = builder.program;
  const shapes = graph.main.operators.filter(
    ({ node, call }) => node.op === 'Shape' && node.domain === '' && call === null,
  );
  for (let changed = true; changed;) {
    changed = false;
    const dead = deadNodes(model, builder);
    const replaced = (op: Operator): boolean => dead.nodes.has(op.node) || builder.replaced.has(op.node);
    for (const op of shapes) {
      const [value] = op.inputs;
      const [out] = op.outputs;
      if (replaced(op) || !value?.producer || !out || replaced(value.producer) || value.isOutput) continue;
      const readers = value.uses.map(({ operator }) => operator);
      // What nothing but a shape read before the rewrite is left as it was.
      if (!readers.some(replaced)) continue;
      const onlyShapes = readers.every((reader) => replaced(reader) || reader.node.op === 'Shape');
      const readByNew = builder.placed.some(
        ({ node }) => !dead.names.has(node.name) && node.inputs.includes(value.name),
      );
      if (!onlyShapes || readByNew) continue;
      const dims = shapeRule(op, [infer.of(value)], { source: model.source })[0]?.data;
      const place = placeBefore(builder, op);
      const sizes = dims?.map((dim) => sizeOf(place, dim));
      if (!sizes || sizes.some((size) => size === null)) continue;
      builder.replaced.add(op.node);
      const vector = shapeVector(
        place,
        sizes.flatMap((size) => (size === null ? [] : [size])),
      );
      giveName(place, vector, out.name);
      changed = true;
    }
  }
}

/** A size as a number or as that of a model input; products are multiplied out. */
function sizeOf(place: Place, dim: Dim): Size | null {
  const number = valueOf(dim);
  if (number !== null) return number;
  const { builder } = place;
  for (const input of builder.program.graph.main.inputs) {
    const axis = input.isInput
      ? (builder.program.shape(input)?.findIndex((other) => equal(other, dim) === true) ?? -1)
      : -1;
    if (axis >= 0) return { of: input.name, axis };
  }
  const [only] = dim ?? [];
  if (!only || dim?.length !== 1 || only.symbols.length + (only.coef === 1 ? 0 : 1) < 2) return null;
  const factors = only.symbols.map((symbol) => sizeOf(place, [{ coef: 1, symbols: [symbol] }]));
  let product = ints(builder, [only.coef]);
  for (const factor of factors) {
    if (factor === null) return null;
    product = addNode(place, 'Mul', [product, shapeVector(place, [factor])]);
  }
  return { element: product, at: 0 };
}
