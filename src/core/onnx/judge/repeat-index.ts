/**
 * Rows repeated by counts, as the exporter of torch 2 writes repeat_interleave with a tensor: position j reads row
 * sum over i of (j < cumsum(counts)[i]), subtracted from the number of rows. However often the counts say, this copies.
 */
import type { Value } from '../graph';

/** Views, and the lookup in a range that turns a position into a row. */
const STEPS = /^(?:Cast|Reshape|Unsqueeze|Squeeze|Identity|Flatten|Gather|GatherND|Sub|Add)$/;
const MAX_STEPS = 16;

export function isRepeatIndex(index: Value): boolean {
  let at: Value | null | undefined = index;
  for (let step = 0; step < MAX_STEPS; step++) {
    const producer: Value['producer'] = at?.producer ?? null;
    if (!producer || producer.node.domain !== '') return false;
    const inputs: readonly (Value | null)[] = producer.inputs;
    if (producer.node.op === 'ReduceSum') return comparesCounts(inputs[0]);
    if (!STEPS.test(producer.node.op)) return false;
    if (producer.node.op.startsWith('Gather')) {
      if (!comesFrom(inputs[0], 'Range')) return false;
      at = inputs[1];
    } else at = inputs.find((input) => !isSize(input)) ?? null;
  }
  return false;
}

/** `Cast(Less(Range, CumSum(counts)))`, in either order. */
function comparesCounts(value: Value | null | undefined): boolean {
  const compared = through(value);
  if (!/^(?:Less|Greater|LessOrEqual|GreaterOrEqual)$/.test(compared?.node.op ?? '')) return false;
  const [a, b] = compared?.inputs ?? [];
  return (comesFrom(a, 'Range') && comesFrom(b, 'CumSum')) || (comesFrom(a, 'CumSum') && comesFrom(b, 'Range'));
}

const comesFrom = (value: Value | null | undefined, op: string): boolean => through(value)?.node.op === op;

/** The operator behind casts and views. */
function through(value: Value | null | undefined): Value['producer'] {
  let producer = value?.producer ?? null;
  for (let step = 0; step < 4 && /^(?:Cast|Reshape|Unsqueeze|Squeeze|Identity)$/.test(producer?.node.op ?? ''); step++)
    producer = producer?.inputs[0]?.producer ?? null;
  return producer;
}

/** A size or a constant: what a position is subtracted from. */
const isSize = (value: Value | null | undefined): boolean =>
  !value || value.initializer !== null || /^(?:Shape|Size|Constant)$/.test(through(value)?.node.op ?? '');
