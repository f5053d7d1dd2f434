/** `repeat_interleave`: each row as often as a number, or as a list of counts says; of counts alone, the index that does so. */
import { repeatInterleave } from '../tensor/replicate';
import { UNKNOWN_SHAPE, exactShape, freeAxis, rankOf, tensor } from '../tensor/shape';
import type { Place, Tensor } from '../tensor/value';
import { argument, argumentNode, asDim, asNumber, opaque } from './access';
import { textOf } from './syntax';
import type { Args, Value } from './value';

export function interleave(t: Tensor, args: Args, place: Place): Value {
  const repeats = argument(args, 1, 'repeats');
  const dim = asNumber(argument(args, 2, 'dim', 'axis'));
  const node = argumentNode(args, 1, 'repeats');
  const text = node ? textOf(node) : '';
  const isCounts = repeats?.kind === 'tensor' || repeats?.kind === 'ref' || repeats?.kind === 'tuple';
  const given = argument(args, 2, 'dim', 'axis');
  if (!repeats && !isCounts) {
    // repeat_interleave(counts): the index itself.
    return tensor(UNKNOWN_SHAPE, {
      content: 'index',
      index: { kind: 'many-to-one', evidence: 'strong', map: 'indexed' },
      place,
    });
  }
  const rank = rankOf(t.shape);
  if (dim === null && given && given.kind !== 'none') return opaque(place);
  const flat = dim === null && rank !== 1 ? { ...t, shape: exactShape([freeAxis(null)]) } : t;
  const result = repeatInterleave(flat, isCounts ? 'counts' : asDim(repeats), dim ?? 0, text, place);
  const known =
    result.content === 'index'
      ? { ...result, index: { kind: 'many-to-one' as const, evidence: 'strong' as const, map: 'blocks' as const } }
      : result;
  return known;
}
