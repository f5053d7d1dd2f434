/** Operators between evaluated operands: numbers and sizes, lists and tuples, tensors. */
import { type Dim, add, constant, divide, format, isOne, multiply, subtract, symbol, valueOf } from '../tensor/dim';
import { linear, multiply as product, pointwise } from '../tensor/pointwise';
import { carriesReplica, exactShape, freeAxis, rankOf, tensor } from '../tensor/shape';
import { operatorNamed } from '../tensor/operators';
import type { Tensor } from '../tensor/value';
import { allocate, asDim, asTensor, placeOf } from './access';
import { applyOperator } from './operators';
import { filledOut } from './disguised';
import type { Frame, Run } from './run';
import { unknown } from './state';
import { type Node, childOf, textOf } from './syntax';
import { NUMBER, type Value, args, int, tuple } from './value';

const FUNCTIONS: Readonly<Record<string, string>> = {
  '@': 'torch.matmul',
  '/': 'torch.div',
  '//': 'torch.floor_divide',
  '%': 'torch.remainder',
  '**': 'torch.pow',
  '&': 'torch.bitwise_and',
  '|': 'torch.bitwise_or',
  '^': 'torch.bitwise_or',
};

/** `a op b` for evaluated operands; also what an augmented assignment computes. */
export function arithmetic(first: Value, second: Value, operator: string, node: Node, frame: Frame, run: Run): Value {
  const [a, b] = [orNumber(first), orNumber(second)];
  // `dim % len(x.shape)` of an unknown rank: the same axis, counted from the back.
  const isAxis = operator === '%' && a.kind === 'int' && b.kind === 'int' && b.dim === null;
  if (isAxis && (valueOf(a.dim) ?? 0) < 0) return a;
  if (a.kind === 'int' && b.kind === 'int') return int(intArithmetic(a.dim, b.dim, operator), a.loop || b.loop);
  if (isPlainNumber(a) && isPlainNumber(b)) return NUMBER;
  // `d_model ** 0.5`: of a size, which a tensor is scaled by.
  if (operator === '**' && b.kind === 'number' && (sizeLike(a) || (frame.building && isParameter(a)))) return NUMBER;
  if (operator === '+' || operator === '*') {
    const joined = sequences(a, b, operator, frame, run);
    if (joined) return joined;
  }
  if (a.kind === 'string' || b.kind === 'string') return { kind: 'string', value: null };
  if (a.kind === 'unknown' && b.kind === 'unknown' && !(operator === '@')) {
    if (a.foreign || b.foreign) return unknown('', true);
  }
  const sizes =
    (sizeLike(a) && sizeLike(b)) ||
    (frame.building && operator === '*' && isParameter(a) && isParameter(b)) ||
    (operator === '//' && frame.building && isKept(node) && [a, b].every((v) => v.kind === 'int' || isParameter(v)));
  const left = ofNorm(asTensor(a, run), frame);
  const right = ofNorm(asTensor(b, run), frame);
  if (!left || !right) return unknown('', (a.kind === 'unknown' && a.foreign) || (b.kind === 'unknown' && b.foreign));
  const place = placeOf(node);
  // What one divides by another is no size, and may well be a time step among others.
  if (sizes && operator !== '@' && operator !== '/') {
    const dims = [a, b].map((v) =>
      v.kind === 'int' ? v.dim : v.kind === 'unknown' ? symbol(`${v.label || '?'}@${v.id}`) : null,
    );
    return int(intArithmetic(dims[0] ?? null, dims[1] ?? null, operator));
  }
  // Positions that come with a network that a constructor is handed: known when that is asked for.
  if (operator === '+' && frame.function?.owner && hides(left, right, node)) run.open(null);
  const filled = operator === '+' || operator === '*' ? filledOut(left, right, node) : null;
  if (filled) return filled;
  if (operator === '+') return linear([tableFor(left, right), tableFor(right, left)], [1, 1], place, 'addition');
  if (operator === '-') return linear([left, right], [1, -1], place, 'subtraction');
  if (operator === '*' && [a, b].some((v) => v.kind === 'int' && v.dim?.length === 0)) return NUMBER;
  if (operator === '*') return product([left, right], place);
  if ((operator === '//' || operator === '%') && left.content === 'index') return foldedIndex(left, operator, place);
  if (operator === '/' && rankOf(right.shape) === 0) return product([left, right], place);
  const row = operatorNamed(FUNCTIONS[operator] ?? '');
  if (!row) return pointwise([left, right], place, operator);
  return applyOperator({ operator: row, args: args(left, right), node, frame, run, layer: null });
}

/** What keeps a division from that by zero, `config.rms_norm_eps`. */
const orNumber = (value: Value): Value =>
  value.kind === 'unknown' && /(^|[._])eps(ilon)?$/.test(value.label) ? NUMBER : value;

/** `self.pos`, perhaps of another type or on another device: `self.pos.to(x.device)`. */
function isOwnAttribute(node: Node): boolean {
  const callee = node.kind === 'call' ? childOf(node, 'function') : null;
  const [object, name] = ['object', 'attribute'].map((field) => childOf(callee ?? node, field));
  if (!object || !name) return false;
  if (callee) return /^(type|to)$/.test(textOf(name)) && isOwnAttribute(object);
  return object.kind === 'identifier' && textOf(object) === 'self';
}

/** Copies, and an attribute of which nothing is known. */
function hides(left: Tensor, right: Tensor, node: Node): boolean {
  const isBehind = rankOf(right.shape) === null && carriesReplica(left);
  if (!isBehind && !(rankOf(left.shape) === null && carriesReplica(right))) return false;
  const hidden = childOf(node, isBehind ? 'right' : 'left');
  return hidden !== null && isOwnAttribute(hidden);
}

/**
 * A parameter of which no axis is known, added to rows that were joined: a table of positions. What is learned has no batch of its
 * own, so that copies of a token for each sample stay copies. Neither has what an axis of size 1 was put in front of.
 */
const tableFor = (t: Tensor, rows: Tensor): Tensor =>
  (isOfNoAxis(t) || isTable(t)) && rows.form?.axis === 1 && rankOf(rows.shape) === 3
    ? { ...t, shape: exactShape([freeAxis(constant(1)), freeAxis(null), freeAxis(null)]) }
    : t;

/** A parameter of which no axis is known, of a normalization: a number for each channel. */
const ofNorm = (t: Tensor | null, { function: within }: Frame): Tensor | null =>
  t && isOfNoAxis(t) && within?.owner?.name.endsWith('Norm') ? { ...t, shape: exactShape([freeAxis(null)]) } : t;

const isOfNoAxis = ({ content, shape }: Tensor): boolean => content === 'parameter' && rankOf(shape) === null;

/** `pe.unsqueeze(0)`, of an unknown rank. */
const isTable = ({ shape: { exact, head, tail } }: Tensor): boolean =>
  !exact && head.length <= 3 && tail.length <= 2 && isOne(head[0]?.dim ?? null) && !head[0]?.replica;

/** Unknown things that are multiplied with ints only are sizes; arithmetic between two unknowns is not decided here. */
const sizeLike = (v: Value): boolean =>
  v.kind === 'int' ||
  (v.kind === 'unknown' &&
    /(^|[._])(n|num|size|dim|dims|len|length|width|height|heads?|count|factor|hidden|channels?|features?|steps?|batch|ratio)(_|$)|_(size|dim|len|length|heads|count|num)$|^num_|^n_/.test(
      v.label,
    ) &&
    !/mask|emb|feat_|idx|index/.test(v.label));

/** What a constructor is given and multiplies, `heads * dh`, is the size of a layer. */
const isParameter = (v: Value): boolean => v.kind === 'unknown' && !v.foreign && /^[a-z]\w*$/.test(v.label);

/** `self.head_dim = embed_dim // num_heads` */
const isKept = ({ parent }: Node): boolean => parent?.kind === 'assignment' && textOf(parent).startsWith('self.');

const isPlainNumber = (v: Value): boolean => v.kind === 'int' || v.kind === 'number' || v.kind === 'bool';

/** `arange(n) // r`: many positions to one row. Of what was sorted or chosen by its values, as parents of beams, nothing is said. */
function foldedIndex(t: Tensor, operator: string, place: ReturnType<typeof placeOf>): Tensor {
  const map = operator === '//' ? 'blocks' : 'indexed';
  return tensor(t.shape, {
    content: 'index',
    ...(t.index.kind !== 'one-to-one' && { index: { kind: 'many-to-one', evidence: 'strong', map } }),
    place,
  });
}

function intArithmetic(a: Dim, b: Dim, operator: string): Dim {
  switch (operator) {
    case '+':
      return add(a, b);
    case '-':
      return subtract(a, b);
    case '*':
      return multiply(a, b);
    case '//': {
      const exact = divide(a, b);
      const x = valueOf(a);
      const y = valueOf(b);
      if (x !== null && y !== null && y !== 0) return constant(Math.floor(x / y));
      // Equal operands give the same size.
      return exact ?? (a && b ? symbol(`(${format(a)} // ${format(b)})@${JSON.stringify([a, b])}`) : null);
    }
    case '%': {
      const x = valueOf(a);
      const y = valueOf(b);
      return x !== null && y !== null && y !== 0 ? constant(((x % y) + y) % y) : null;
    }
    case '**': {
      const x = valueOf(a);
      const y = valueOf(b);
      if (y === 2) return multiply(a, a);
      return x !== null && y !== null && y >= 0 && y < 16 ? constant(x ** y) : null;
    }
    default:
      return null;
  }
}

/** Lists and tuples: concatenation, and multiplication by a number. */
function sequences(a: Value, b: Value, operator: string, frame: Frame, run: Run): Value | null {
  const isList = (v: Value): boolean =>
    v.kind === 'tuple' || (v.kind === 'ref' && frame.state.heap.get(v.id)?.kind === 'list') || v.kind === 'shape';
  if (operator === '+') {
    if (!isList(a) && !isList(b)) return null;
    const left = run.items(a, frame);
    const right = run.items(b, frame);
    if (left && !left.open && !right && b.kind === 'shape') return { ...tuple(left.items, true), rest: b.of };
    if (!left || !right)
      return a.kind === 'tensor' || b.kind === 'tensor' ? null : unknown(isOfSizes(a, left ?? right) ? 'shape' : '');
    const items = [...left.items, ...right.items];
    const open = left.open || right.open;
    return a.kind === 'tuple' || a.kind === 'shape'
      ? tuple(items, open)
      : allocate({ kind: 'list', items, open, tag: 'list' }, frame);
  }
  const [list, count] = isList(a) ? [a, b] : [b, a];
  if (!isList(list) || count.kind === 'tensor') return null;
  const listed = run.items(list, frame);
  const n = count.kind === 'int' ? valueOf(count.dim) : null;
  if (!listed) return unknown();
  const items =
    n !== null && n <= 16 ? Array.from({ length: Math.max(n, 0) }, () => listed.items).flat() : listed.items;
  const open = listed.open || n === null || n > 16;
  const times = !listed.open && open && listed.items.length === 1 ? asDim(count) : null;
  if (times && list.kind === 'ref') return allocate({ kind: 'list', items, open, tag: 'list', times }, frame);
  return list.kind === 'tuple' ? tuple(items, open) : allocate({ kind: 'list', items, open, tag: 'list' }, frame);
}

/** `x.shape[:-1] + (h, d)` of an unknown rank: the shape of something. */
const isOfSizes = (first: Value, listed: { readonly items: readonly Value[] } | null): boolean =>
  (first.kind === 'unknown' && first.label === 'shape') || (listed?.items.some((item) => item.kind === 'int') ?? false);

export function unary(value: Value, negative: boolean, node: Node): Value {
  if (value.kind === 'int') return negative ? int(subtract(constant(0), value.dim)) : value;
  if (value.kind === 'tensor') {
    return negative
      ? linear([value], [-1], placeOf(node), 'negation')
      : { ...pointwise([value], placeOf(node), 'not'), content: 'mask' };
  }
  return value.kind === 'number' ? NUMBER : unknown();
}
