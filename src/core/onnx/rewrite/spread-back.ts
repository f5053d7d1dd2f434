/** From the small tensor back to one row per copy. */
import { equal, isOne, multiply, valueOf, type Dim } from '../../tensor/dim';
import type { Operator } from '../graph';
import {
  addNode,
  gatherRows,
  ints,
  refuse,
  reshapeTo,
  shapeVector,
  unsqueezeAt,
  type Made,
  type Place,
  type Size,
} from './builder';
import type { Shrunk } from './shrink';

/**
 * The full rows of a small value along `axis`. With `lazy` an axis of size 1 is left to the broadcasting of whatever
 * reads the result.
 */
export function spreadBack(
  place: Place,
  small: Shrunk,
  axis: number,
  extent: Dim,
  lazy: boolean,
  rows: Size | null = null,
): Made {
  const { value, back } = small;
  switch (back.kind) {
    case 'all':
      return lazy ? value : expandAxis(place, value, axis, rows ?? extentOf(place, back.origin, extent), extent);
    case 'index':
      return gatherRows(place, value, back.index, axis, extent);
    case 'blocks':
    case 'cycle':
      if (!rows && valueOf(extent) === null) return repeatAxis(place, value, axis, back.kind, back.origin, extent);
      return gatherRows(place, value, rowIndex(place, value, axis, extent, rows, back.kind), axis, extent);
  }
}

/** The source row of every position as an int64 vector, where the way back is not a plain broadcast. */
export function indexVector(
  place: Place,
  small: { readonly made: Made; readonly back: Shrunk['back'] },
  axis: number,
  extent: Dim,
  rows: Size | null,
): string {
  const { back, made } = small;
  if (back.kind === 'index') return back.index;
  return back.kind === 'all'
    ? refuse('one row for all needs no index')
    : rowIndex(place, made, axis, extent, rows, back.kind);
}

/** How many rows there are: a number, or the size that the copying operator was given. */
function extentOf({ builder }: Place, origin: Operator, extent: Dim): Size {
  const number = valueOf(extent);
  if (number !== null) return number;
  const [, target] = origin.inputs;
  const out = origin.outputs[0];
  const shape = out && builder.program.shape(out);
  const axis = shape?.findIndex((dim) => equal(dim, extent) === true) ?? -1;
  if (axis < 0 || !target) refuse('the number of copies is not at hand');
  // An operand of the copying operator that has the rows in full.
  for (const input of origin.inputs) {
    const own = input && builder.program.shape(input);
    const at = own && shape ? axis - (shape.length - own.length) : -1;
    if (input && own && at >= 0 && equal(own[at] ?? null, extent) === true) return { of: input.name, axis: at };
  }
  if (!/^(Expand|Tile)$/.test(origin.node.op)) refuse('the number of copies is not at hand');
  return { element: target.name, at: axis };
}

/** Copies made as often as the copying operator makes its own, where an axis has been merged with the copied one. */
function repeatAxis(
  place: Place,
  value: Made,
  axis: number,
  kind: 'blocks' | 'cycle',
  origin: Operator,
  extent: Dim,
): Made {
  const { program } = place.builder;
  const [data] = origin.inputs;
  const [from, to] = [data && program.shape(data), origin.outputs[0] && program.shape(origin.outputs[0])];
  const lift = (to?.length ?? 0) - (from?.length ?? 0);
  const copied = to?.find((dim, i) => !isOne(dim) && (i < lift || isOne(from?.[i - lift] ?? null))) ?? null;
  const source = value.shape[axis] ?? null;
  if (!copied || equal(multiply(source, copied), extent) !== true) refuse('the number of copies is not at hand');
  const times = extentOf(place, origin, copied);
  const shape = value.shape.map((dim, i) => (i === axis ? extent : dim));
  const tile = (from: string, rank: number, at: number): string =>
    addNode(place, 'Tile', [
      from,
      shapeVector(
        place,
        Array.from({ length: rank }, (_, i): Size => (i === at ? times : 1)),
      ),
    ]);
  if (kind === 'cycle') return { name: tile(value.name, shape.length, axis), shape };
  const opened = unsqueezeAt(place, value, [axis + 1]);
  const name = tile(opened.name, opened.shape.length, axis + 1);
  return reshapeTo(place, { name, shape: opened.shape.map((dim, i) => (i === axis + 1 ? copied : dim)) }, shape);
}

function expandAxis(place: Place, value: Made, axis: number, rows: Size, extent: Dim): Made {
  const sizes = value.shape.map((_, i): Size => (i === axis ? rows : 1));
  const name = addNode(place, 'Expand', [value.name, shapeVector(place, sizes)]);
  return { name, shape: value.shape.map((dim, i) => (i === axis ? extent : dim)) };
}

/** The source row of every position, computed from the sizes alone: i // ratio or i mod source. */
function rowIndex(
  place: Place,
  value: Made,
  axis: number,
  extent: Dim,
  rows: Size | null,
  kind: 'blocks' | 'cycle',
): string {
  const { builder } = place;
  const [source, count] = [valueOf(value.shape[axis] ?? null), valueOf(extent)];
  if (source !== null && count !== null && count <= 4096) {
    const ratio = count / source;
    return ints(
      builder,
      Array.from({ length: count }, (_, i) => (kind === 'cycle' ? i % source : Math.floor(i / ratio))),
    );
  }
  if (!rows && count === null) refuse('the number of copies is not at hand');
  if (builder.opset < 12) refuse('a computed index needs opset 12');
  const total = scalar(place, count ?? rows ?? 0);
  const all = addNode(place, 'Range', [ints(builder, [0], true), total, ints(builder, [1], true)]);
  // With no rows at all nothing is divided, but the divisor must not be 0 for that.
  const positive = (name: string): string => addNode(place, 'Max', [name, ints(builder, [1], true)]);
  const size = positive(scalar(place, source ?? { of: value.name, axis }));
  if (kind === 'cycle') return addNode(place, 'Mod', [all, size]);
  return addNode(place, 'Div', [all, positive(addNode(place, 'Div', [total, size]))]);
}

function scalar(place: Place, size: Size): string {
  const { builder } = place;
  if (typeof size === 'number') return ints(builder, [size], true);
  const vector = shapeVector(place, [size]);
  return builder.opset < 13
    ? addNode(place, 'Squeeze', [vector], { attributes: { axes: [0n] } })
    : addNode(place, 'Squeeze', [vector, ints(builder, [0])]);
}
