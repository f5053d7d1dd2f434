/**
 * An attention operator whose keys and values are copied over the batch: the queries of all copies become further rows of
 * one attention per source. With an axis for the heads, [U*r, H, L, D] is turned to [U, H, r*L, D] and the result back; with
 * heads inside the width, [U*r, L, H*D] is [U, r*L, H*D] as it lies. Masks go along row by row.
 */
import { isOne, valueOf, type Dim } from '../../tensor/dim';
import { intOf } from '../attributes';
import type { Operator, Value } from '../graph';
import type { OnnxMatch } from '../judge/select';
import type { Spread } from '../judge/spread';
import {
  addNode,
  ints,
  madeOf,
  placeBefore,
  refuse,
  shapeVector,
  type Builder,
  type Place,
  type Size,
} from './builder';
import { sameBack, shrink, type Shrinker } from './shrink';

/** Where the operators that can be folded have their mask; all other inputs after the values must be absent. */
const MASK: ReadonlyMap<string, number> = new Map([
  [':Attention', 3],
  ['com.microsoft:MultiHeadAttention', 5],
]);
/** The bias of a MultiHeadAttention is the same for every row. */
const BIAS = 3;
/** From here on a causal mask starts at another corner. */
const OTHER_CORNER = 25;

const keyOf = ({ node }: Operator): string => `${node.domain}:${node.op}`;

/** True for operators that are a whole attention: why one is not folded is then the reason to give. */
export const isAttentionOperator = (op: Operator): boolean =>
  MASK.has(keyOf(op)) || op.node.op === 'GroupQueryAttention';

export function foldBatchAttention(builder: Builder, spread: Spread, match: OnnxMatch): void {
  const [first, second] = match.events;
  const { sink } = first;
  const maskAt = MASK.get(keyOf(sink));
  if (first.code !== 'IKB201' || maskAt === undefined)
    refuse(`${sink.node.op} keeps a cache for every row of the batch`);
  if (second?.sink !== sink || match.events.length !== 2 || first.axis !== 0 || second.axis !== 0)
    refuse('keys and values are not copied alike');
  const isBias = (index: number): boolean => maskAt !== BIAS && index === BIAS;
  sink.inputs.forEach((input, i) => {
    if (i > 2 && input && i !== maskAt && !isBias(i)) refuse('a cache or a padding mask has rows for every copy');
  });
  if (sink.outputs.slice(1).some((output) => output !== null)) refuse('a cache or the scores are results, too');
  if (intOf(sink, 'unidirectional', 0) !== 0) refuse('a causal mask counts the rows of each copy');
  const [query, key, value] = sink.inputs;
  const out = sink.outputs[0];
  if (!query || !key || !value || !out) refuse('the attention lacks an operand');
  const [q, y] = [madeOf(builder, query), madeOf(builder, out)];
  if (q.shape.length !== 4 && q.shape.length !== 3) refuse('the queries have a form that is not known');
  const place = placeBefore(builder, sink);
  const shrinker: Shrinker = { place, spread, done: new Map() };
  const [k, v] = [shrink(shrinker, key, 0), shrink(shrinker, value, 0)];
  if (!sameBack(k.back, v.back) || (k.back.kind !== 'all' && k.back.kind !== 'blocks'))
    refuse('which copy reads what is known at run time only');
  const users = valueOf(k.value.shape[0] ?? null) ?? { of: k.value.name, axis: 0 };
  const form: Form = { place, query, users, rows: sizeAt(query, q.shape, q.shape.length - 2) };
  const given = sink.inputs[maskAt] ?? null;
  const causal = intOf(sink, 'is_causal', 0) !== 0;
  if (causal && given) refuse('a causal mask and another one are not put together');
  const mask = given
    ? foldMask(form, given)
    : causal
      ? causalMask(form, sizeAt(key, madeOf(builder, key).shape, -2))
      : '';
  const bias = maskAt === BIAS ? [] : [sink.inputs[BIAS]?.name ?? '', ''];
  const inputs = [fold(form, query, q.shape), k.value.name, v.value.name, ...bias, mask];
  while (inputs.at(-1) === '') inputs.pop();
  builder.replaced.add(sink.node);
  const options = { like: sink.node, without: causal ? ['is_causal'] : [], domain: sink.node.domain };
  const made = addNode(place, sink.node.op, inputs, options);
  unfold(form, made, y.shape, v.value.name, out.name);
}

interface Form {
  readonly place: Place;
  readonly query: Value;
  /** Sources, and query rows of one copy. */
  readonly users: Size;
  readonly rows: Size;
}

/** A size of a value; `axis` counts from the end when negative. */
function sizeAt(of: Value, shape: readonly Dim[], axis: number): Size {
  const at = axis < 0 ? axis + shape.length : axis;
  return valueOf(shape[at] ?? null) ?? { of: of.name, axis: at };
}

const reshape = (place: Place, from: string, sizes: readonly Size[]): string =>
  addNode(place, 'Reshape', [from, shapeVector(place, sizes)]);

/** The copies and the heads change places. */
const swap = (place: Place, from: string): string =>
  addNode(place, 'Transpose', [from], { attributes: { perm: [0n, 2n, 1n, 3n, 4n] } });

/** Rows of all copies of a source behind each other; `heads` stand before them where there are four axes. */
function fold({ place, users }: Form, value: Value, shape: readonly Dim[]): string {
  const width = sizeAt(value, shape, -1);
  if (shape.length === 3) return reshape(place, value.name, [users, -1, width]);
  const [heads, rows] = [sizeAt(value, shape, 1), sizeAt(value, shape, 2)];
  const opened = reshape(place, value.name, [users, -1, heads, rows, width]);
  return reshape(place, swap(place, opened), [users, heads, -1, width]);
}

function unfold(
  { place, query, users, rows }: Form,
  made: string,
  y: readonly Dim[],
  values: string,
  to: string,
): void {
  const width = valueOf(y.at(-1) ?? null) ?? { of: made, axis: y.length - 1 };
  if (y.length === 3) {
    addNode(place, 'Reshape', [made, shapeVector(place, [-1, rows, width])], { outputs: [to] });
    return;
  }
  const heads = valueOf(y[1] ?? null) ?? { of: query.name, axis: 1 };
  const wide = typeof width === 'number' ? width : { of: values, axis: 3 };
  const cut = reshape(place, made, [users, heads, -1, rows, wide]);
  addNode(place, 'Reshape', [swap(place, cut), shapeVector(place, [-1, heads, rows, wide])], { outputs: [to] });
}

/** The mask of [batch, heads, rows, keys], the first axes of which may be missing or 1, for the folded rows. */
function foldMask(form: Form, mask: Value): string {
  const { builder } = form.place;
  const { shape } = madeOf(builder, mask);
  const rows = madeOf(builder, form.query).shape.at(-2) ?? null;
  // Runtimes want a row of the mask for each row of the queries.
  if (shape.length < 2 || (isOne(shape.at(-2) ?? null) && !isOne(rows)))
    refuse('the mask has one row for several queries');
  return shape.length === 4 && !isOne(shape[0] ?? null) ? fold(form, mask, shape) : repeated(form, mask, shape);
}

/** The same mask for the rows of every copy: [H, L, S] becomes [1, H, r*L, S]. */
function repeated({ place, query, users }: Form, mask: Value, shape: readonly Dim[]): string {
  const { builder } = place;
  const [heads, rows, keys] = [
    shape.length > 2 ? sizeAt(mask, shape, -3) : 1,
    sizeAt(mask, shape, -2),
    sizeAt(mask, shape, -1),
  ];
  const opened = reshape(place, mask.name, [1, heads, 1, rows, keys]);
  const batch = addNode(place, 'Gather', [addNode(place, 'Shape', [query.name]), ints(builder, [0])]);
  const copies = addNode(place, 'Div', [batch, shapeVector(place, [users])]);
  const times = addNode(place, 'Concat', [ints(builder, [1, 1]), copies, ints(builder, [1, 1])], {
    attributes: { axis: 0n },
  });
  return reshape(place, addNode(place, 'Tile', [opened, times]), [1, heads, -1, keys]);
}

/** Row i of each copy sees the keys up to i: written out, because the folded rows count on. */
function causalMask({ place, query, users, rows }: Form, keys: Size): string {
  const { builder } = place;
  if (builder.opset >= OTHER_CORNER) refuse(`a causal mask starts at another corner since opset ${OTHER_CORNER}`);
  const scalar = (size: Size): string =>
    typeof size === 'number' ? ints(builder, [size], true) : addNode(place, 'Squeeze', [shapeVector(place, [size])]);
  const upTo = (size: Size): string =>
    addNode(place, 'Range', [ints(builder, [0], true), scalar(size), ints(builder, [1], true)]);
  const batch = addNode(place, 'Gather', [addNode(place, 'Shape', [query.name]), ints(builder, [0])]);
  const copies = addNode(place, 'Div', [batch, shapeVector(place, [users])]);
  const all = addNode(place, 'Squeeze', [addNode(place, 'Mul', [copies, shapeVector(place, [rows])])]);
  const counted = addNode(place, 'Range', [ints(builder, [0], true), all, ints(builder, [1], true)]);
  const row = addNode(place, 'Mod', [counted, scalar(rows)]);
  const column = addNode(place, 'Unsqueeze', [row, ints(builder, [1])]);
  return addNode(place, 'GreaterOrEqual', [column, upTo(keys)]);
}
