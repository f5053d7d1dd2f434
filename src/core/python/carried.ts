/** What a loop carries from pass to pass: copies that only the first pass finds there. */
import { carriesReplica } from '../tensor/shape';
import { mapReplicas } from '../tensor/pointwise';
import { asDim } from './access';
import type { Frame, Run } from './run';
import { type Node, childOf, textOf } from './syntax';
import type { Value } from './value';

/** The size of an axis of a tensor, as shapes call it. */
const OF_AXIS = /@\d+_-?\d+$/;

/**
 * A state that starts as copies of one row and that each step of time makes anew, `h = cell(x[:, t], h)`, and rows that each
 * pass writes to, `xs[i, at] = ..`: from the second pass on they differ.
 */
export function startState(over: Node, values: readonly Value[], body: Node, frame: Frame, run: Run): void {
  const copied = [...frame.state.names.all()].filter(([, value]) => isCopied(value));
  if (copied.length === 0) return;
  // On a branch it may be something else that is made or written to.
  const statements = body.children.map(textOf);
  const isTime = isOverTime(over, values, frame, run);
  for (const [name, value] of copied) {
    const made = new RegExp(`^(?:\\w+, *)?${name}\\b(?:, *\\w+)? *=[^=]`);
    const filled = new RegExp(`^${name}\\[[^\\n=]*\\] *=[^=]`);
    if (statements.some((text) => filled.test(text) || (isTime && made.test(text))))
      frame.state.names.set(name, single(value));
  }
}

/** As a tensor, or one of several. */
function isCopied(value: Value): boolean {
  if (value.kind === 'union') return value.options.some((option) => isCopied(option.value));
  return value.kind === 'tensor' && carriesReplica(value);
}

function single(value: Value): Value {
  if (value.kind === 'union')
    return {
      ...value,
      options: value.options.map((option) => ({
        ...option,
        value: single(option.value),
      })),
    };
  return value.kind === 'tensor' ? mapReplicas(value, () => null) : value;
}

function isOverTime(over: Node, values: readonly Value[], frame: Frame, run: Run): boolean {
  if (values.some((value) => value.kind === 'tensor')) return true;
  if (!textOf(over).startsWith('range(')) return false;
  const stop = childOf(over, 'arguments')?.children.slice(0, 2).at(-1);
  const size = stop ? asDim(run.evaluate(stop, frame)) : null;
  return size?.some(({ symbols }) => symbols.some((symbol) => OF_AXIS.test(symbol))) ?? false;
}
