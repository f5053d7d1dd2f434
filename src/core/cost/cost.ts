/** What a replica costs, as symbolic expressions. */
import {
  type Dim,
  ONE,
  type Poly,
  ZERO,
  add,
  constant,
  displayName,
  divide,
  evaluate,
  format,
  isOne,
  multiply,
  product,
  subtract,
  symbol,
} from '../tensor/dim';
import { operandsOf } from '../tensor/quotient';

/** Half precision unless known otherwise: what inference runs in. */
export const DEFAULT_ITEM_SIZE = 2;

export interface CostText {
  readonly bytes: Dim;
  readonly flops: Dim;
  readonly bytesText: string;
  readonly flopsText: string;
}

/** What the sink does with the copies. */
export interface Work {
  /** Size of the contracted axis and of the axis that the weight makes; null where not known. */
  readonly contracted: Dim;
  readonly width: Dim;
}

/**
 * Bytes written: the sizes of the copy times the size of an element. Operations: `2 * K * N` for each row that is a
 * copy, so for (ratio - 1) of ratio rows; none where each copy is used in a product of its own (`work` null).
 */
export function costOf(dims: readonly Dim[] | null, itemSize: number | null, work: Work | null, ratio: Dim): CostText {
  const size = constant(itemSize ?? DEFAULT_ITEM_SIZE);
  const bytes = dims ? multiply(product(dims), size) : null;
  const text = bytes ? factors([...(dims ?? []), size]) : '?';
  // Of sizes none of which has a name, nothing can be said.
  const bytesText = text.includes('?') && !/[^\d?*.]/.test(text) ? '?' : text;
  if (!work) return { bytes, flops: ZERO, bytesText, flopsText: '0' };
  const rows = dims ? divide(product(dims), work.contracted) : null;
  const sources = rows && ratio ? divide(rows, ratio) : null;
  const copies = subtract(ratio, ONE);
  const parts = [sources, copies, work.contracted, work.width, constant(2)];
  const flops = product(parts);
  return { bytes, flops, bytesText, flopsText: flops ? factors(parts) : '?' };
}

/** Dimensions called by the names that the source gives them. */
export function renamed(dim: Dim, names: (symbol: string) => string | null): Dim {
  if (!dim) return null;
  return dim.reduce<Dim>((sum, { coef, symbols }) => {
    const monomial = symbols.reduce<Dim>((m, s) => multiply(m, symbol(names(s) ?? s)), constant(coef));
    return add(sum, monomial);
  }, ZERO);
}

const shown = (symbol: string): string => displayName(symbol);

/** A product written factor by factor, numbers last. */
export function factors(dims: readonly Dim[]): string {
  const unknown = dims.filter((d) => d === null).length;
  const known = product(dims.filter((d): d is Poly => d !== null));
  const single = known && known.length === 1 ? known[0] : null;
  if (single) {
    const names = single.symbols.map(shown);
    const parts = [
      ...names,
      ...Array.from({ length: unknown }, () => '?'),
      ...(single.coef === 1 && names.length + unknown > 0 ? [] : [String(single.coef)]),
    ];
    return parts.join('*');
  }
  return dims
    .filter((d) => !isOne(d))
    .map((d) => (d && d.length > 1 ? `(${format(d, shown)})` : format(d, shown)))
    .join('*');
}

/** The value with shapes bound by displayed name. */
export function bound(dim: Dim, bindings: Readonly<Record<string, number>>): number | null {
  return evaluate(dim, (symbol) => lookUp(displayName(symbol), bindings) ?? quotient(symbol, bindings));
}

function quotient(symbol: string, bindings: Readonly<Record<string, number>>): number | null {
  const operands = operandsOf(symbol);
  if (!operands) return null;
  const [a, b] = operands;
  const above = bound(a, bindings);
  const below = bound(b, bindings);
  return above === null || below === null || below === 0 ? null : Math.floor(above / below);
}

/** By the whole name, or by the last part of an attribute: `self.num_heads` is bound by `num_heads`. */
const lookUp = (name: string, bindings: Readonly<Record<string, number>>): number | null =>
  bindings[name] ?? bindings[/(?<!\w)[A-Za-z_]\w*$/.exec(name)?.[0] ?? ''] ?? null;
