/** Writes of one number where a test of the values themselves says so: `x[x < 0] = 0`. Equal rows stay equal. */
import { pointwise } from '../tensor/pointwise';
import { carriesReplica } from '../tensor/shape';
import { placeOf } from './access';
import { overwrite } from './in-place';
import type { Frame } from './run';
import { possible } from './state';
import { type Node, textOf } from './syntax';
import type { Value } from './value';

const NUMBER = String.raw`[-+]?(?:[\d.]+(?:e[-+]?\d+)?|(?:math|np|numpy|torch)\.(?:inf|nan)|float\(\s*['"][-+]?(?:inf|nan)['"]\s*\))`;
const TEST = String.raw`is(?:nan|inf|finite|neginf|posinf)`;

/** True where that was done, to all that `owner` may be. */
export function writtenByTest(container: Node, index: Node, owner: Value, value: Value, frame: Frame): boolean {
  if (container.kind !== 'identifier' || !/^(int|number)$/.test(value.kind)) return false;
  const tensors = possible(owner, frame.state.path).flatMap((option) =>
    option.value.kind === 'tensor' && carriesReplica(option.value) ? [option.value] : [],
  );
  if (tensors.length === 0 || !isTestOf(textOf(container), textOf(index))) return false;
  for (const t of tensors) {
    const { label, storage } = t;
    overwrite(t, { ...pointwise([t], placeOf(index), 'a write by a test of its own values'), label, storage }, frame);
  }
  return true;
}

const isTestOf = (name: string, text: string): boolean =>
  new RegExp(
    `^(?:${name}\\s*(?:[<>]=?|[!=]=)\\s*(?:${name}|${NUMBER})|[~]?(?:torch\\.${TEST}\\(${name}\\)|${name}\\.${TEST}\\(\\)))$`,
  ).test(text);
