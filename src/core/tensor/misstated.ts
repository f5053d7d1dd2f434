/** Shapes that a docstring states and that cannot be. */
import type { Tensor } from './value';

/** A text states axes of both that do not meet: the same first one, and more of them for one. What it leaves out is not known. */
export function isMisstated(values: readonly Tensor[]): boolean {
  const [a = [], b = []] = values.map(({ shape: { head } }) => {
    const symbols = head.length > 1 ? (head[0]?.dim ?? []).flatMap((monomial) => monomial.symbols) : [];
    return symbols.filter((symbol) => STATED.test(symbol));
  });
  return a.some((symbol) => b.includes(symbol));
}

const STATED = /@d\d+$/;
