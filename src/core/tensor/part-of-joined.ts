/** `x[:, :1]`, `x[:, 0]` of what was joined along that axis: some of its parts, where it is known which. */
import { type Dim, ZERO, add, equal, subtract, valueOf } from './dim';
import { atomOf } from './pointwise';
import { position } from './shape';
import type { Form, Place, Tensor } from './value';
import { applyView, narrow, select } from './views';

/** From `start` to `stop` (null: the ends) where parts begin and end there; null where they do not, as far as is known. */
export function partOfJoined(t: Tensor, axis: number, start: Dim, stop: Dim, place: Place): Tensor | null {
  const form = formAlong(t, axis);
  if (!form) return null;
  const find = (bound: Dim): number => ends(form, bound).findIndex((at) => equal(at, bound) === true);
  const from = start === null ? 0 : find(start);
  const to = stop === null ? form.blocks.length : find(stop);
  return from < 0 || to <= from || (from === 0 && to === form.blocks.length)
    ? null
    : parts(t, form, axis, from, to, place);
}

/** One position of what is joined: of the part that holds it, where the sizes of those before say which that is. */
export function positionOfJoined(t: Tensor, axis: number, at: Dim, place: Place): Tensor | null {
  const form = formAlong(t, axis);
  const wanted = valueOf(at);
  if (!form || wanted === null || form.blocks.length < 2) return null;
  const bounds = ends(form, at).map(valueOf);
  const i = bounds.findIndex((from, b) => {
    const to = bounds[b + 1] ?? null;
    // Of a part whose size is not known, the first row is there.
    return (
      from !== null && b < form.blocks.length && (from === wanted || (from < wanted && to !== null && wanted < to))
    );
  });
  return i < 0 ? null : applyView(parts(t, form, axis, i, i + 1, place), select(axis), place);
}

function formAlong({ form, shape }: Tensor, axis: number): Form | null {
  if (!form || form.axis === null) return null;
  return (position(shape, form.axis) ?? form.axis) === (position(shape, axis) ?? axis) ? form : null;
}

/** Where the parts begin, and where the last one ends: counted from the front, or from the back as the bound is. */
function ends({ blocks }: Form, bound: Dim): readonly Dim[] {
  const fronts: Dim[] = [ZERO];
  for (const { width } of blocks) fronts.push(add(fronts.at(-1) ?? null, width));
  if ((valueOf(bound) ?? 0) >= 0) return fronts;
  const backs: Dim[] = [ZERO];
  for (const { width } of [...blocks].reverse()) backs.unshift(subtract(backs[0] ?? null, width));
  return backs;
}

function parts(t: Tensor, form: Form, axis: number, from: number, to: number, place: Place): Tensor {
  const blocks = form.blocks.slice(from, to);
  const [only] = blocks;
  const width = blocks.reduce<Dim>((sum, block) => add(sum, block.width), ZERO);
  const whole = applyView(t, narrow(axis, width), place);
  const after = [...form.after, place];
  if (!only || blocks.length > 1) return { ...whole, form: { ...form, blocks, after } };
  const atom = atomOf(only, whole);
  const isWhole = only.terms.flatMap((term) => term.factors).length === 1;
  const shape = atom.shape.exact || !whole.shape.exact ? atom.shape : whole.shape;
  return { ...whole, shape, form: isWhole ? atom.form : { axis: null, blocks, place: form.place, after } };
}
