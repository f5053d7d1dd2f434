/** An operator with its evaluated arguments, and how a sink says what it read. */
import type { Hit } from '../tensor/contract';
import type { Operator } from '../tensor/operator';
import type { Frame, Operand, Run, SinkEvent, SinkHit } from './run';
import type { Node } from './syntax';
import type { Args, LayerValue } from './value';

export interface Applied {
  readonly operator: Operator;
  readonly args: Args;
  readonly node: Node;
  readonly frame: Frame;
  readonly run: Run;
  /** The module instance whose call this is. */
  readonly layer: LayerValue | null;
}

/** Masks, ids and tables of constants are never worth a word. */
const counts = (hit: Hit): boolean =>
  hit.carrier.content !== 'mask' &&
  hit.carrier.content !== 'index' &&
  hit.replica.of.content !== 'mask' &&
  !/mask$/i.test(hit.replica.of.label) &&
  hit.replica.of.content !== 'index';

export const asHits = (
  hits: readonly Hit[],
  role: (hit: Hit) => SinkHit['axisRole'],
  copiedInside: (hit: Hit) => boolean,
): readonly SinkHit[] =>
  hits.filter(counts).map((hit) => ({
    ...hit,
    axisRole: role(hit), // Only the operand itself can be a view that the sink copies: terms of a sum have been added up before.
    copiedInside: hit.via === 'whole' && copiedInside(hit),
  }));

export function emit(
  applied: Applied,
  kind: SinkEvent['kind'],
  operands: readonly Operand[],
  more: Partial<SinkEvent> = {},
): void {
  if (operands.every((o) => o.hits.length === 0) && !more.advice) return;
  const { layer, node, frame, run, args, operator } = applied;
  run.sink({
    kind,
    callee: layer ? layer.name : operator.name,
    node,
    frame,
    operands,
    contracted: -1,
    layer,
    outWidth: null,
    args,
    keyword: null,
    byWeight: false,
    advice: null,
    ...more,
  });
}
