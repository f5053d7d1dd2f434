/** Seeing a value as what an operator needs: a tensor, a size, a list of values. */
import { type Dim, ONE, constant, isOne, onlySymbol, symbol, valueOf } from '../tensor/dim';
import type { Size } from '../tensor/replicate';
import { UNKNOWN_SHAPE, dimAt, exactShape, freshId, tensor, unknownDim } from '../tensor/shape';
import type { Place, Tensor } from '../tensor/value';
import type { HeapItem } from './heap';
import { indexByName } from './index-names';
import type { Frame, Run } from './run';
import { type Node, childOf, positionOf, textOf } from './syntax';
import type { Args, Value } from './value';

/** Made for every operator and read for few: the line is looked for when it is asked for. */
class NodePlace implements Place {
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly #node: Node;
  constructor(node: Node) {
    this.path = node.file.path;
    this.start = node.start;
    this.end = node.end;
    this.#node = node;
  }
  get line(): number {
    return positionOf(this.#node.file, this.start).line;
  }
  static nodeOf(place: Place): Node | null {
    return #node in place ? place.#node : null;
  }
}

export const placeOf = (node: Node): Place => new NodePlace(node);

/** The node that a place was made from. */
export const nodeAt = (place: Place): Node | null => NodePlace.nodeOf(place);

/** The value as a tensor; null for what cannot be one. An unknown value stays the same tensor each time. */
export function asTensor(value: Value, run: Run): Tensor | null {
  switch (value.kind) {
    case 'tensor':
      return value;
    case 'unknown': {
      if (value.foreign) return null;
      const index = indexByName(value.label, run);
      const content = /mask/i.test(value.label)
        ? 'mask'
        : /(^|[._])(\w*_ids?|ids|(\w*_)?idx)$/.test(value.label)
          ? 'index'
          : 'data';
      return tensor(UNKNOWN_SHAPE, { id: value.id, storage: value.id, label: value.label, index, content });
    }
    case 'int':
    case 'number':
    case 'bool':
      return tensor(exactShape([]), { content: 'constant' });
    default:
      return null;
  }
}

/** The value as a size. An unknown value is a symbol of its own. */
export function asDim(value: Value | undefined): Dim {
  if (!value) return null;
  switch (value.kind) {
    case 'int':
      return value.dim;
    case 'bool':
      return value.value === null ? null : constant(Number(value.value));
    case 'unknown':
      return value.foreign ? null : symbol(`${value.label || '?'}@${value.id}`);
    default:
      return null;
  }
}

/** `width // 2` of something unknown: no size that is known, but no whole one. */
export function asQuotient(value: Value): Dim {
  const node = value.kind === 'tensor' && value.place ? nodeAt(value.place) : null;
  const operator = node?.kind === 'binary_operator' ? childOf(node, 'operator') : null;
  return node && operator && textOf(operator) === '//' ? symbol(`(${textOf(node)})@${freshId()}`) : null;
}

export const asNumber = (value: Value | undefined): number | null =>
  value?.kind === 'int' ? valueOf(value.dim) : null;

export const asString = (value: Value | undefined): string | null => (value?.kind === 'string' ? value.value : null);

/** Several ints: `(2, 3)`, `2, 3`, a shape of known rank. Null when not known one by one. */
export function asSizes(values: readonly Value[], run: Run, frame: Frame): readonly Value[] | null {
  const [only] = values;
  if (values.length === 1 && only?.kind === 'unknown' && /(^|_)shape$/.test(only.label)) return null;
  if (values.length === 1 && only && only.kind !== 'int' && only.kind !== 'unknown') {
    const listed = run.items(only, frame);
    return listed && !listed.open ? listed.items : null;
  }
  return values;
}

/** `x.reshape(-1, *y.shape[1:])`, in one tuple or several arguments: the sizes before, and what has the shape of those after. */
export function leadingSizes({
  positional: [, ...given],
  keywords,
  rest,
}: Args): { sizes: readonly Value[]; rest: Tensor } | null {
  const [only = keywords.get('size')] = given;
  if (rest && given.length > 0) return { sizes: given, rest };
  return only?.kind === 'tuple' && given.length < 2 && only.rest ? { sizes: only.items, rest: only.rest } : null;
}

/** What `*xs` unpacks, and `*list(xs)`. */
export function unpacked(splat: Node): Node | undefined {
  const [inner] = splat.children;
  const list = inner && /^(list|tuple)\(/.test(textOf(inner)) ? childOf(inner, 'arguments') : null;
  return list?.children.length === 1 ? list.children[0] : inner;
}

/** What has the sizes that are left of an unpacked shape, or of a list that ends in one. */
export const restOf = (splat: Value | undefined, listed: { readonly rest?: Tensor } | null): Tensor | null =>
  listed ? (listed.rest ?? null) : splat?.kind === 'shape' ? splat.of : null;

/** Positional argument `at`, or the keyword. */
export function argument(args: Args, at: number, ...keywords: readonly string[]): Value | undefined {
  const direct = args.positional[at];
  if (direct) return direct;
  for (const keyword of keywords) {
    const value = args.keywords.get(keyword);
    if (value) return value;
  }
  return undefined;
}

export function argumentNode(args: Args, at: number, ...keywords: readonly string[]): Node | null {
  const direct = args.nodes.get(at);
  if (direct) return direct;
  for (const keyword of keywords) {
    const node = args.nodes.get(keyword);
    if (node) return node;
  }
  return null;
}

/** The argument whose memory a tensor is (a view of), where one is. */
export function givenAs(t: Tensor, args: Args, run: Run): Place | null {
  const keyed: readonly (readonly [number | string, Value])[] = [...args.positional.entries(), ...args.keywords];
  const options = (value: Value): readonly Value[] =>
    value.kind === 'union' ? value.options.map((option) => option.value) : [value];
  const found = keyed.find(([, value]) => options(value).some((one) => asTensor(one, run)?.storage === t.storage));
  const node = found && args.nodes.get(found[0]);
  return node ? placeOf(node) : null;
}

/** Sizes of a tensor as ints, when the rank is known. */
export function sizesOf(t: Tensor): readonly Dim[] | null {
  return t.shape.exact ? t.shape.head.map((axis, i) => axis.dim ?? unknownDim(t, i)) : null;
}

/** A tensor of which nothing is known. */
export const opaque = (place: Place): Tensor => tensor(UNKNOWN_SHAPE, { place });

export const sizeAt = (t: Tensor, axis: number): Dim => dimAt(t, axis) ?? ONE;

/** A variable, attribute or parameter that holds a size of one symbol is the source's name for it. */
export function nameSymbol(dim: Dim, name: string, at: Node, run: Run, inClass = false): void {
  const symbol = onlySymbol(dim);
  if (symbol !== null && !/^_/.test(name)) run.nameSymbol(symbol, name, at, inClass);
}

/** A new list, dict or object. */
export function allocate(item: HeapItem, frame: Frame): Value {
  const id = freshId();
  frame.state.heap.set(id, item);
  return { kind: 'ref', id };
}

/** What `expand` and `repeat` are given for an axis: -1 and 1 leave it as it is. */
export const expandSize = (value: Value): Size => (asNumber(value) === -1 ? 'keep' : asDim(value));
export const repeatSize = (value: Value): Size => (isOne(asDim(value)) ? 'keep' : asDim(value));

/** Positions of a search or a sort: each is there once. */
export const uniqueIds = (place: Place): Tensor =>
  tensor(UNKNOWN_SHAPE, { content: 'index', index: { kind: 'one-to-one' }, place });
