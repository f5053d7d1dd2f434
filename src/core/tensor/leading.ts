/** Reshapes that say what the first axes become and leave the others, however many there are. */
import type { Dim } from './dim';
import { applyReshape } from './reshape';
import { exactShape, reaching, shifted } from './shape';
import type { Place, Replica, Tensor } from './value';

/** `x.reshape(-1, *x.shape[2:])`: the first `at` axes become these, those after them stay. */
export function reshapeLeading(
  t: Tensor,
  at: number,
  sizes: readonly (Dim | 'rest')[],
  place: Place | null,
  written: (replica: Replica) => Replica,
): Tensor | null {
  const shape = reaching(t, at - 1);
  if (shape.head.length < at) return null;
  const front = applyReshape({ ...t, shape: exactShape(shape.head.slice(0, at)), form: null }, sizes, place, written);
  const made = { ...shape, head: [...front.shape.head, ...shape.head.slice(at)] };
  return shifted(
    { ...front, shape: made, base: t.base ?? { id: t.id, label: t.label, front: 0, back: 0 } },
    sizes.length - at,
  );
}
