/** Sizes that are whole quotients: `(n // 4)` is a symbol that carries its operands behind the `@`. */
import { type Dim, type Monomial, type Poly, divide, multiply } from './dim';

/** The operands of such a symbol; null for any other, such as a size that is only named after such a text. */
export function operandsOf(symbol: string): readonly [Poly, Poly] | null {
  const at = symbol.indexOf('@[');
  return at < 0 || !symbol.includes(' // ') ? null : (JSON.parse(symbol.slice(at + 1)) as [Poly, Poly]);
}

/** `4 * (n // 4)` is n where the quotient leaves no rest, as it does where a view of such sizes fits. */
export function undivided(dim: Dim): Dim {
  const [only, ...more] = dim ?? [];
  if (!only || more.length > 0) return dim;
  for (const [i, symbol] of only.symbols.entries()) {
    const operands = operandsOf(symbol);
    const rest: Monomial = { coef: only.coef, symbols: only.symbols.filter((_, k) => k !== i) };
    const factor = operands && divide([rest], operands[1]);
    if (operands && factor) return undivided(multiply(factor, operands[0]));
  }
  return dim;
}
