/**
 * A dimension: an integer polynomial over named symbols, or `null` when nothing is known. A symbol stands for one size
 * (>= 0) of one program; what follows an `@` in it makes it unique and is not shown.
 */
export interface Monomial {
  readonly coef: number;
  /** Sorted, with repetition: `B*B*H` is ['B', 'B', 'H']. Empty for the constant. */
  readonly symbols: readonly string[];
}

/** Sorted by symbols, no zero coefficients, so that equal polynomials are equal arrays. Zero is the empty array. */
export type Poly = readonly Monomial[];
export type Dim = Poly | null;

const keyOf = (monomial: Monomial): string => monomial.symbols.join('*');

function normal(monomials: readonly Monomial[]): Poly {
  const byKey = new Map<string, Monomial>();
  for (const monomial of monomials) {
    const key = keyOf(monomial);
    const before = byKey.get(key);
    byKey.set(key, before ? { coef: before.coef + monomial.coef, symbols: monomial.symbols } : monomial);
  }
  return [...byKey.entries()]
    .filter(([, monomial]) => monomial.coef !== 0)
    .sort(([a], [b]) => (a === b ? 0 : a === '' ? 1 : b === '' ? -1 : a < b ? -1 : 1))
    .map(([, monomial]) => monomial);
}

export const constant = (value: number): Poly => (value === 0 ? [] : [{ coef: value, symbols: [] }]);
export const symbol = (name: string): Poly => [{ coef: 1, symbols: [name] }];

export const ZERO: Poly = constant(0);
export const ONE: Poly = constant(1);

export function add(a: Dim, b: Dim): Dim {
  return a && b && normal([...a, ...b]);
}

/** The sum of all, `null` as soon as one is unknown. */
export function sum(dims: readonly Dim[]): Dim {
  return dims.includes(null) ? null : normal(dims.flatMap((dim) => dim ?? []));
}

export function scale(a: Dim, factor: number): Dim {
  return a && normal(a.map((m) => ({ coef: m.coef * factor, symbols: m.symbols })));
}

export function subtract(a: Dim, b: Dim): Dim {
  return add(a, scale(b, -1));
}

export function multiply(a: Dim, b: Dim): Dim {
  if (!a || !b) return null;
  return normal(
    a.flatMap((x) => b.map((y) => ({ coef: x.coef * y.coef, symbols: [...x.symbols, ...y.symbols].sort() }))),
  );
}

/** The product of all, `null` as soon as one is unknown. */
export function product(dims: readonly Dim[]): Dim {
  return dims.reduce<Dim>(multiply, ONE);
}

/** a / b when it divides exactly as polynomials (b a single monomial, or the quotient one), else null. */
export function divide(a: Dim, b: Dim): Dim {
  if (!a || !b || b.length === 0) return null;
  if (a.length === 0) return ZERO;
  const [divisor] = b;
  if (!divisor) return null;
  if (b.length > 1) {
    // One of the terms is what the divisor's first term became.
    for (const term of a) {
      const quotient = term.coef % divisor.coef === 0 ? withoutSymbols(term, divisor) : null;
      const whole = quotient && multiply([quotient], b);
      if (whole && equal(whole, a) === true) return [quotient];
    }
    return null;
  }
  const parts: Monomial[] = [];
  for (const monomial of a) {
    const part = monomial.coef % divisor.coef === 0 ? withoutSymbols(monomial, divisor) : null;
    if (!part) return null;
    parts.push(part);
  }
  return normal(parts);
}

/** `b * n` of `b`, for an `n` that is not one. */
export function isMultiple(size: Dim, of: Dim): boolean {
  const quotient = divide(size, of);
  return quotient !== null && !isOne(quotient);
}

function withoutSymbols(monomial: Monomial, divisor: Monomial): Monomial | null {
  const symbols = [...monomial.symbols];
  for (const name of divisor.symbols) {
    const at = symbols.indexOf(name);
    if (at < 0) return null;
    symbols.splice(at, 1);
  }
  return { coef: monomial.coef / divisor.coef, symbols };
}

/** The constant value, or null. */
export function valueOf(a: Dim): number | null {
  if (!a) return null;
  if (a.length === 0) return 0;
  const [only] = a;
  return a.length === 1 && only && only.symbols.length === 0 ? only.coef : null;
}

/**
 * true: equal for all sizes; false: different for all sizes; null: depends, or not known. Symbols are sizes (>= 0), so
 * `B + 1` differs from `0` but `2*B` may equal `B`.
 */
export function equal(a: Dim, b: Dim): boolean | null {
  const difference = subtract(a, b);
  if (!difference) return null;
  if (difference.length === 0) return true;
  const constantPart = difference.find((m) => m.symbols.length === 0)?.coef ?? 0;
  if (constantPart === 0) return null;
  return difference.every((m) => Math.sign(m.coef) === Math.sign(constantPart)) ? false : null;
}

export const isOne = (a: Dim): boolean => valueOf(a) === 1;

/** Replaces symbols by numbers; null when a symbol has none. */
export function evaluate(a: Dim, bindings: (symbol: string) => number | null): number | null {
  if (!a) return null;
  let sum = 0;
  for (const { coef, symbols } of a) {
    let term = coef;
    for (const name of symbols) {
      const value = bindings(name);
      if (value === null) return null;
      term *= value;
    }
    sum += term;
  }
  return sum;
}

export const symbolsOf = (a: Dim): readonly string[] => [...new Set((a ?? []).flatMap((m) => m.symbols))];

/** The part of a symbol that is shown. */
export const displayName = (name: string): string => {
  const at = name.indexOf('@');
  return at < 0 ? name : name.slice(0, at);
};

/** The symbol of a size that is one symbol. */
export function onlySymbol(dim: Dim): string | null {
  const [only] = dim ?? [];
  return dim?.length === 1 && only?.coef === 1 && only.symbols.length === 1 ? (only.symbols[0] ?? null) : null;
}

/** `4*H + 1`; `?` for unknown. `show` names a symbol. */
export function format(a: Dim, show: (symbol: string) => string = displayName): string {
  if (!a) return '?';
  if (a.length === 0) return '0';
  const factors = ({ coef, symbols }: Monomial): string => {
    const names = symbols.map(show);
    const size = Math.abs(coef);
    return (size === 1 && names.length > 0 ? names : [String(size), ...names]).join('*');
  };
  return a.map((m, i) => (i === 0 ? (m.coef < 0 ? '-' : '') : m.coef < 0 ? ' - ' : ' + ') + factors(m)).join('');
}
