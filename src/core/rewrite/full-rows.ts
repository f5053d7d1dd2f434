/** Whether the size to which a tensor is copied is that of a named tensor, so that adding the two broadcasts to it. */
import type { ReplicaFact } from '../judge/match';
import { type Node, childOf, enclosing, scopeOf, textOf } from '../python/syntax';
import { isBinding, occurrences } from './names';
import { type Replicate, ownReplicas } from './replicate';
import { trace } from './trace';

/** True when every copied axis of `replicate` has the size of that axis of one of `tensors`, as the text says. */
export function hasSizesOf(
  replicate: Replicate,
  replicas: readonly ReplicaFact[],
  tensors: readonly string[],
): boolean {
  const own = ownReplicas(replicate, replicas);
  const [only] = replicate.arguments;
  if (/\.expand_as\(/.test(textOf(replicate.node))) return only !== undefined && tensors.includes(textOf(only));
  return (
    own.length > 0 &&
    own.every(({ axis }) => {
      const size = replicate.arguments.at(axis);
      return size !== undefined && tensors.some((tensor) => isSizeOf(size, tensor, axis));
    })
  );
}

/** Whether `source` is repeated `full.shape[k] // source.shape[k]` times along axis k, for one of `tensors`. */
export function isShareOf(replicate: Replicate, source: string, tensors: readonly string[]): boolean {
  const [count] = replicate.arguments;
  const { axis } = replicate;
  const value = count ? trace(count).value : null;
  const [left, right] = value?.kind === 'binary_operator' ? [childOf(value, 'left'), childOf(value, 'right')] : [];
  if (axis === null || !value || !left || !right || textOf(childOf(value, 'operator') ?? value) !== '//') return false;
  return isSizeOf(right, source, axis) && tensors.some((tensor) => isSizeOf(left, tensor, axis));
}

/** `x.shape[1]`, `x.size(1)`, or a name for it: `t = x.shape[1]`, `b, t, d = x.shape`. */
export function isSizeOf(size: Node, tensor: string, axis: number): boolean {
  const { value } = trace(size);
  const text = textOf(value).replace(/\s+/g, '');
  if (text === `${tensor}.shape[${axis}]` || text === `${tensor}.size(${axis})`) return true;
  if (value.kind !== 'identifier') return false;
  const bindings = occurrences(scopeOf(value), textOf(value)).filter(isBinding);
  return (
    bindings.length > 0 &&
    bindings.every((binding) => {
      const assignment = enclosing(binding, 'assignment');
      const right = assignment && childOf(assignment, 'right');
      const whole = right ? textOf(right).replace(/\s+/g, '') : '';
      const names = binding.parent?.kind === 'pattern_list' ? binding.parent.children : [];
      return [`${tensor}.shape`, `${tensor}.size()`].includes(whole) && names.indexOf(binding) === axis;
    })
  );
}
