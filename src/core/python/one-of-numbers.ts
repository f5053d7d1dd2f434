/** A number that is one of two, by the branch that is taken. */
import { type Dim, equal, symbol, valueOf } from '../tensor/dim';
import { freshId } from '../tensor/shape';
import { type IntValue, int } from './value';

/** How the symbol of a number begins that is 0 on one branch. */
const OR_ZERO = '?or0';

export function oneOfNumbers(a: IntValue, b: IntValue): IntValue {
  if (equal(a.dim, b.dim) === true) return a;
  const isZero = valueOf(a.dim) === 0 || valueOf(b.dim) === 0;
  return int(symbol(`${isZero ? OR_ZERO : '?'}@${freshId()}`));
}

/** `start = cache.shape[2] if cache is not None else 0`. */
export function mayBeZero(dim: Dim): boolean {
  const [only] = dim?.length === 1 ? (dim[0]?.symbols ?? []) : [];
  return dim?.[0]?.symbols.length === 1 && (only?.startsWith(OR_ZERO) ?? false);
}
