/** What a replica costs, as symbolic expressions. */
import {
  type Dim,
  type Poly,
  constant,
  displayName,
  divide,
  evaluate,
  format,
  multiply,
  product,
  subtract,
} from '../tensor/dim';

/** Half precision unless known otherwise: what inference runs in. */
export const DEFAULT_ITEM_SIZE = 2;

export interface CostText {
  readonly bytes: Dim;
  readonly flops: Dim;
  readonly bytesText: string;
  readonly flopsText: string;
}

/** Bytes of a tensor of these sizes; the text keeps a `?` for each unknown size. */
export function costOf(
  dims: readonly Dim[] | null,
  itemSize: number | null,
  contracted: Dim,
  width: Dim,
  ratio: Dim,
): CostText {
  const size = constant(itemSize ?? DEFAULT_ITEM_SIZE);
  const bytes = dims ? multiply(product(dims), size) : null;
  const bytesText = dims ? factors([...dims, size]) : '?';
  const elements = dims ? product(dims) : null;
  const rows = elements && contracted ? divide(elements, contracted) : null;
  const sources = rows && ratio ? divide(rows, ratio) : null;
  const work = multiply(multiply(contracted, width), constant(2));
  const flops = sources && rows ? multiply(work, subtract(rows, sources)) : null;
  return { bytes, flops, bytesText, flopsText: flops ? format(flops, shown) : '?' };
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
  return [...dims.map((d) => (d && d.length > 1 ? `(${format(d, shown)})` : format(d, shown)))].join('*');
}

/** The value with shapes bound by displayed name. */
export function bound(dim: Dim, bindings: Readonly<Record<string, number>>): number | null {
  return evaluate(dim, (symbol) => bindings[displayName(symbol)] ?? null);
}
