/** einsum: letters say which axes are contracted, shared, or belong to one operand alone. */
import { type Hit, hitsOf } from '../tensor/contract';
import { isOne } from '../tensor/dim';
import { multiply } from '../tensor/pointwise';
import { UNKNOWN_SHAPE, exactShape, freeAxis, knownAxis, position, rankOf, tensor, withRank } from '../tensor/shape';
import type { Axis, Block, Tensor } from '../tensor/value';
import { type View, applyView } from '../tensor/views';
import { argument, argumentNode, asString, asTensor, placeOf } from './access';
import { type Applied, asHits, emit } from './applied';
import type { Operand, SinkHit } from './run';
import type { Args, Value } from './value';

/** `einops.einsum(a, b, 'batch i, j i -> batch j')`: the pattern last, and words for letters. */
function einopsCall({ args }: Applied): Args | null {
  const pattern = args.positional.length > 1 ? asString(args.positional[args.positional.length - 1]) : null;
  if (pattern === null) return null;
  const names = new Map<string, string>();
  const letter = (name: string): string => {
    const known = names.get(name) ?? String.fromCharCode((names.size < 26 ? 97 : 39) + names.size);
    names.set(name, known);
    return known;
  };
  const equation = pattern.replace(/\s*(\w+)\s*/g, (_, name: string) => letter(name));
  const nodes = new Map([...args.nodes].map(([key, at]) => [typeof key === 'number' ? key + 1 : key, at] as const));
  return { ...args, positional: [{ kind: 'string', value: equation }, ...args.positional.slice(0, -1)], nodes };
}

const SPARE = 'ZYXWVU';

/** `...` as letters of its own: as many as the operand of known rank has axes in front, or behind. */
function withoutDots(equation: string, args: Args): string | null {
  const terms = equation.split('->')[0]?.split(',') ?? [];
  const counts = terms.flatMap((term, i) => {
    const value = args.positional[i + 1];
    const rank = term.includes('...') && value?.kind === 'tensor' ? rankOf(value.shape) : null;
    return rank === null ? [] : [rank - term.replace('...', '').length];
  });
  const [count, ...more] = counts;
  if (count === undefined || count < 0 || count > SPARE.length || more.some((n) => n !== count)) return null;
  const letters = SPARE.slice(0, count);
  return /[U-Z]/.test(equation) ? null : equation.replaceAll('...', letters);
}

export function einsum(called: Applied): Value {
  const rearranged = called.operator.name === 'einops_einsum' ? einopsCall(called) : called.args;
  const { node, run } = called;
  const place = placeOf(node);
  if (!rearranged) return tensor(UNKNOWN_SHAPE, { place });
  const applied = { ...called, args: rearranged };
  const { args } = applied;
  const equation = asString(argument(args, 0, 'equation'))?.replace(/\s/g, '') ?? null;
  const written = equation?.includes('...') === true ? withoutDots(equation, args) : equation;
  const parsed = written === null ? null : /^([a-zA-Z,]+)->([a-zA-Z]*)$/.exec(written);
  if (!parsed) return tensor(UNKNOWN_SHAPE, { place });
  const inputs = (parsed[1] ?? '').split(',');
  const output = parsed[2] ?? '';
  const values = inputs.map((letters, i) => {
    const value = args.positional[i + 1];
    const t = value ? asTensor(value, run) : null;
    return t ? { ...t, shape: withRank(t, letters.length) ?? t.shape } : null;
  });
  const axisOf = (letter: string): Axis => {
    for (const [i, letters] of inputs.entries()) {
      const value = values[i];
      const axis = value && letters.includes(letter) ? knownAxis(value.shape, letters.indexOf(letter)) : null;
      if (axis) return freeAxis(axis.dim);
    }
    return freeAxis(null);
  };
  const shape = exactShape([...output].map(axisOf));
  const shared = (letter: string): boolean => inputs.filter((letters) => letters.includes(letter)).length > 1;
  const contracted = (letter: string): boolean => !output.includes(letter) && shared(letter);
  if (inputs.length < 2 || !inputs.some((letters) => [...letters].some(contracted)))
    return outer(values, inputs, output, shape, place);
  const operands = values.map((t, i): Operand => {
    const letters = inputs[i] ?? '';
    const own = [...letters];
    // What was joined along one of several contracted letters is seen in blocks along that one.
    const joined = t?.form?.axis == null ? null : position(t.shape, t.form.axis);
    const sum = own.find((letter, at) => at === joined && contracted(letter)) ?? own.find(contracted) ?? '';
    const hits = t && own.length === (rankOf(t.shape) ?? -1) ? hitsOf(t, letters.indexOf(sum)) : [];
    const letterOf = (h: Hit): string => own[h.axis] ?? '';
    const kept = hits.filter(
      (h) =>
        h.via !== 'rows' &&
        (h.via === 'product' || !contracted(letterOf(h))) &&
        !(h.replica.scaled && shared(letterOf(h))),
    );
    // Letters that the operands share are made one axis: that is a copy where only some of them are expanded.
    const isSpread = (letter: string): boolean => {
      const axis = t && knownAxis(t.shape, own.indexOf(letter));
      return axis?.replica?.map.kind === 'all' && axis.replica.written === null;
    };
    const together = own.filter((letter) => shared(letter) && output.includes(letter));
    const isPartly = !together.every((letter) => isSpread(letter) || isOne(axisOf(letter).dim));
    const role = (h: Hit): SinkHit['axisRole'] =>
      h.via === 'product' ? 'contracted' : shared(letterOf(h)) ? (isHead(h, own.length) ? 'head' : 'batch') : 'row';
    return {
      role: 'operand',
      value: t ?? tensor(UNKNOWN_SHAPE),
      node: argumentNode(args, i + 1),
      hits: asHits(kept, role, (h) => !shared(letterOf(h)) || isPartly),
    };
  });
  emit(applied, 'einsum', operands);
  return tensor(shape, { place });
}

const isHead = (h: Hit, rank: number): boolean =>
  rank === 4 && (h.axis === 1 || h.axis === 2) && h.replica.map.kind === 'blocks';

/** Without a contraction an einsum multiplies: operands are laid out like the output and make a product. */
function outer(
  values: readonly (Tensor | null)[],
  inputs: readonly string[],
  output: string,
  shape: ReturnType<typeof exactShape>,
  place: ReturnType<typeof placeOf>,
): Tensor {
  const plain = tensor(shape, { place });
  if (values.length !== 2 || values.some((v) => v === null)) return plain;
  const factors = values.flatMap((v, i) => (v ? [laidOut(v, inputs[i] ?? '', output)] : []));
  const product = multiply(factors, place);
  const blocks: Block[] = product.form?.blocks.length
    ? [...product.form.blocks]
    : [{ width: null, terms: [{ coefficient: 1, factors }], place }];
  return { ...plain, form: { axis: null, blocks, place, after: [] } };
}

function laidOut(t: Tensor, letters: string, output: string): Tensor {
  const view: View = {
    shape: (v) =>
      exactShape(
        [...output].map((l) =>
          letters.includes(l)
            ? (knownAxis(v.shape, letters.indexOf(l)) ?? freeAxis(null))
            : freeAxis([{ coef: 1, symbols: [] }]),
        ),
      ),
    axis: (at) => {
      const to = output.indexOf(letters[at] ?? '?');
      return to < 0 ? null : to;
    },
  };
  return applyView(t, view, t.place);
}
