/** Which rule a replica at a sink belongs to. */
import type { Operand, SinkEvent, SinkHit } from '../python/run';
import { textOf } from '../python/syntax';
import { axesWithReplica } from '../tensor/contract';
import { isOne } from '../tensor/dim';
import { knownAxis, rankOf } from '../tensor/shape';
import type { Block, Tensor } from '../tensor/value';
import type { RuleCode } from './match';

export function classify(event: SinkEvent, operand: Operand, hit: SinkHit): RuleCode {
  const { kind } = event;
  if (kind === 'attention') return movable(hit) ? 'IKB303' : hit.axisRole === 'head' ? 'IKB202' : 'IKB201';
  if (kind === 'matmul' && !event.byWeight) return productCode(event, hit, operand);
  if (kind === 'einsum') return productCode(event, hit, operand);
  if (kind === 'multihead-attention' && operand.role === 'key' && event.keyword !== null) return 'IKB201';
  if (kind === 'multihead-attention' && hit.via === 'whole' && isMemory(event, operand, hit)) return 'IKB201';
  return linearCode(event, operand, hit);
}

/** Keys and values both: where only one of them is copied, each of its copies meets something else. */
const isMemory = ({ operands }: SinkEvent, { role }: Operand, { axis }: SinkHit): boolean =>
  role !== 'query' &&
  role !== 'input' &&
  operands.every(
    (o) => (o.role !== 'key' && o.role !== 'value') || o.hits.some((h) => h.axis === axis && h.via === 'whole'),
  );

function productCode(event: SinkEvent, hit: SinkHit, operand: Operand): RuleCode {
  if (hit.implicit) return 'IKB302';
  // Along a batch axis each copy meets another matrix: no part of the product is the same, but one copy is enough.
  if (hit.via === 'block' && hit.axisRole === 'batch') return 'IKB301';
  if (hit.via === 'block') return blockCode(operand.value, hit);
  if (hit.axisRole !== 'row' && movable(hit)) return 'IKB303';
  // Rows of nodes, two axes: what they are multiplied by has no batch axis either.
  const areRows = hit.via === 'whole' && operand.role === 'left' && !isVector(operand.value, hit);
  if (hit.replica.edges && areRows && isMatrix(event, operand)) return 'IKB304';
  if (hit.axisRole === 'head') return isAttention(event) ? 'IKB202' : 'IKB301';
  if (hit.axisRole === 'row' && hit.via === 'whole') return 'IKB102';
  return 'IKB301';
}

const isMatrix = ({ operands }: SinkEvent, operand: Operand): boolean =>
  operands.every(({ value }, i) => {
    if (operands[i] === operand) return true;
    const rank = rankOf(value.shape) ?? (value.content === 'parameter' ? null : 2);
    return rank === 2 && axesWithReplica(value).length === 0;
  });

/** `x[src].unsqueeze(1) @ m`: a vector for each edge meets a matrix of its own. */
const isVector = ({ shape }: Tensor, { axis }: SinkHit): boolean =>
  rankOf(shape) !== 2 && axis !== -2 && isOne(knownAxis(shape, axis + 1)?.dim ?? null);

/** A product among those of an attention that is written out. Groups of channels stand where heads do, too. */
const isAttention = ({ node, frame }: SinkEvent): boolean =>
  /\b(k|v|keys?|values?)(_\w+)?\b/.test(textOf(node)) ||
  (frame.function !== null && /softmax|scores|attn_/i.test(textOf(frame.function.node)));

function linearCode(event: SinkEvent, operand: Operand, hit: SinkHit): RuleCode {
  if (hit.via === 'product' || hit.via === 'picked') return 'IKB301';
  if (hit.replica.edges) return 'IKB304';
  if (hit.via !== 'block') return 'IKB102';
  return operand.role === 'right' && event.byWeight ? 'IKB103' : blockCode(operand.value, hit);
}

/** Sums, differences and products beside blocks of the same tensors: the algebra of IKB104. */
function blockCode({ form }: Tensor, { replica: { origin } }: SinkHit): RuleCode {
  const blocks = form?.blocks ?? [];
  const holds = (block: Block): boolean =>
    factorsOf(block).some((f) => [...f.shape.head, ...f.shape.tail].some((a) => a.replica?.origin === origin));
  const isMixed = ({ terms }: Block): boolean => terms.length > 1 || terms.some((t) => t.factors.length > 1);
  const meets = (block: Block): boolean =>
    blocks.some(
      (b) => b !== block && (holds(b) || factorsOf(b).some((f) => factorsOf(block).some((g) => f.id === g.id))),
    );
  return blocks.length > 1 && blocks.some((b) => isMixed(b) && holds(b) && meets(b)) ? 'IKB104' : 'IKB101';
}

const factorsOf = ({ terms }: Block): readonly Tensor[] => terms.flatMap((term) => term.factors);

/** A stride-0 view that some pointwise operator wrote, while the sink itself would have read it as it was. */
const movable = (hit: SinkHit): boolean =>
  hit.replica.map.kind === 'all' &&
  hit.replica.written !== null &&
  hit.replica.written !== hit.replica.origin &&
  !hit.copiedInside &&
  hit.replica.trail?.kind !== 'layout' &&
  hit.replica.trail?.kind !== 'concatenate';
