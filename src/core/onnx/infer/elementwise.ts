/** Operators that work element by element, with data propagation for the integer arithmetic of shapes. */
import { add, constant, divide, equal, isOne, multiply, scale, subtract, valueOf, type Dim } from '../../tensor/dim';
import { intOf } from '../attributes';
import { broadcastShapes, countOf, filled, opaque, quotient, tensor, UNKNOWN, type Info } from './info';
import type { Rule } from './rule';

const BOOL = 9;
const FLOAT = 1;

/** Keeps shape and type; values are not followed. */
export const unary: Rule = (_op, [data]) => [tensor(data?.element ?? 0, data?.shape ?? null)];

export const identity: Rule = (_op, [data]) => [data ?? UNKNOWN];

/** An operator on every element of data that is followed. */
const mapped =
  (each: (item: Dim) => Dim): Rule =>
  (_op, [data]) => {
    if (!data) return [UNKNOWN];
    const fill = data.fill && each(data.fill);
    return [{ ...tensor(data.element, data.shape, data.data?.map(each) ?? null), fill }];
  };

export const negative = mapped((item) => scale(item, -1));
export const floor = mapped((item) => (whole(item) ? item : numberOr(item, Math.floor)));
export const ceil = mapped((item) => (whole(item) ? item : numberOr(item, Math.ceil)));

const whole = (item: Dim): boolean => item !== null && item.every(({ coef }) => Number.isInteger(coef));
const numberOr = (item: Dim, f: (value: number) => number): Dim => {
  const value = valueOf(item);
  return value === null ? null : constant(f(value));
};

const INTEGER_TYPES = new Set([2, 3, 4, 5, 6, 7, 9, 12, 13]);

export const cast: Rule = (op, [data]) => {
  const element = intOf(op, 'to', 0);
  if (!data) return [UNKNOWN];
  const each = (item: Dim): Dim => {
    if (element === BOOL) return numberOr(item, (value) => (value === 0 ? 0 : 1));
    return INTEGER_TYPES.has(element) && !whole(item) ? numberOr(item, Math.trunc) : item;
  };
  const fill = data.fill && each(data.fill);
  return [{ ...tensor(element, data.shape, data.data?.map(each) ?? null), fill }];
};

export const castLike: Rule = (_op, [data, like]) => [tensor(like?.element ?? 0, data?.shape ?? null)];

/** A binary operator with broadcasting; `each` computes one element. `result` is the element type, 0 for the input's. */
export const binary =
  (each: (a: Dim, b: Dim, integer: boolean) => Dim, result = 0): Rule =>
  (_op, inputs) => {
    const present = inputs.filter((info) => info !== null);
    const shape = broadcastShapes(present.map((info) => info.shape));
    const element = result || (present.find((info) => info.element)?.element ?? 0);
    const integer = INTEGER_TYPES.has(present[0]?.element ?? 0);
    const fills = present.map((info) => info.fill);
    if (fills.every((fill) => fill !== null)) {
      const fill =
        fills.reduce<Dim | undefined>((a, b) => (a === undefined ? b : each(a, b, integer)), undefined) ?? null;
      if (fill) return [filled(element, shape, fill)];
    }
    return [
      tensor(
        element,
        shape,
        elementwise(present, shape, (items) => items.reduce((a, b) => each(a, b, integer))),
      ),
    ];
  };

/** Applies `f` to corresponding elements of 0-D and 1-D operands. */
function elementwise(infos: readonly Info[], shape: readonly Dim[] | null, f: (items: Dim[]) => Dim): Dim[] | null {
  const count = shape && shape.length <= 1 ? countOf(shape) : null;
  if (count === null) return null;
  if (infos.some((info) => !info.data && !info.fill)) return null;
  return Array.from({ length: count }, (_, i) =>
    f(infos.map((info) => info.data?.[info.data.length === 1 ? 0 : i] ?? info.fill)),
  );
}

export const sum = binary(add);
export const difference = binary(subtract);
export const mul = binary(multiply);
export const quotientRule = binary((a, b, integer) => {
  if (integer) return quotient(a, b);
  const [x, y] = [valueOf(a), valueOf(b)];
  if (y !== null && y !== 0) return x === null ? scale(a, 1 / y) : constant(x / y);
  return divide(a, b);
});

const numbers =
  (f: (a: number, b: number) => number) =>
  (a: Dim, b: Dim): Dim => {
    const [x, y] = [valueOf(a), valueOf(b)];
    return x === null || y === null ? null : constant(f(x, y));
  };

export const modulo = binary((a, b) => {
  const y = valueOf(b);
  if (y !== null && y !== 0 && divide(a, b)) return constant(0);
  return numbers((p, q) => (q === 0 ? NaN : p - Math.floor(p / q) * q))(a, b) ?? opaque('mod', a, b);
});
export const power = binary((a, b) => {
  const times = valueOf(b);
  if (times === 1) return a;
  return times === 2 ? multiply(a, a) : numbers((x, y) => x ** y)(a, b);
});
export const minimum = binary((a, b) => (equal(a, b) === true ? a : (numbers(Math.min)(a, b) ?? opaque('min', a, b))));
export const maximum = binary((a, b) => (equal(a, b) === true ? a : (numbers(Math.max)(a, b) ?? opaque('max', a, b))));

const truth = (value: boolean | null): Dim => (value === null ? null : constant(value ? 1 : 0));

/** A size is never negative: that settles the comparison with -1 that exporters write for "keep this size". */
const equalTo = (a: Dim, b: Dim): Dim => {
  const known = equal(a, b);
  if (known !== null) return truth(known);
  const other =
    valueOf(a) !== null && (valueOf(a) ?? 0) < 0 ? b : valueOf(b) !== null && (valueOf(b) ?? 0) < 0 ? a : null;
  return other && other.every(({ coef }) => coef >= 0) ? truth(false) : null;
};

export const equals = binary(equalTo, BOOL);
export const compare = (f: (a: number, b: number) => boolean): Rule =>
  binary((a, b) => numbers((x, y) => (f(x, y) ? 1 : 0))(a, b), BOOL);
export const logic = binary(() => null, BOOL);
export const not: Rule = (_op, [data]) => [
  tensor(BOOL, data?.shape ?? null, data?.data?.map((item) => numberOr(item, (value) => (value ? 0 : 1))) ?? null),
];

export const where: Rule = (_op, [condition, yes, no]) => {
  if (!condition || !yes || !no) return [UNKNOWN];
  const shape = broadcastShapes([condition.shape, yes.shape, no.shape]);
  const pick = (c: Dim, a: Dim, b: Dim): Dim => {
    const value = valueOf(c);
    if (value !== null) return value ? a : b;
    return equal(a, b) === true ? a : null;
  };
  const data = elementwise([condition, yes, no], shape, ([c, a, b]) => pick(c ?? null, a ?? null, b ?? null));
  const element = yes.element || no.element;
  const known = data ?? (condition.fill ? wholeBranch(isOne(condition.fill) ? yes : no, shape) : null);
  return [tensor(element, shape, known)];
};

/** A branch that is taken for every element, where no broadcasting changes it. */
function wholeBranch(branch: Info, shape: readonly Dim[] | null): readonly Dim[] | null {
  return branch.data &&
    shape?.length === branch.shape?.length &&
    shape?.every((dim, i) => equal(dim, branch.shape?.[i] ?? null) === true)
    ? branch.data
    : null;
}

export const toFloat: Rule = (_op, [data]) => [tensor(FLOAT, data?.shape ?? null)];
export const toBool: Rule = (_op, [data]) => [tensor(BOOL, data?.shape ?? null)];

/** Two outputs of the input's shape: the second is a mask. */
export const dropout: Rule = (_op, [data]) => [data ?? UNKNOWN, tensor(BOOL, data?.shape ?? null)];
