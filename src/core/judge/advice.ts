/** Matches without a replica: a product that runs slower than it needs to for another reason. */
import type { SinkEvent } from '../python/run';
import { type Dim, ZERO } from '../tensor/dim';
import { attentionOf, sinkOf } from './facts';
import type { Match } from './match';

const ALIGNMENT = 8;

export function adviceMatch(
  event: SinkEvent,
  size: (dim: Dim) => number | null,
  bindings: Readonly<Record<string, number>>,
): Match | null {
  const { advice, node } = event;
  const [operand] = event.operands;
  if (!advice || !operand) return null;
  const width = advice.code === 'IKB401' ? size(advice.size) : null;
  if (advice.code === 'IKB401' && (width === null || width % ALIGNMENT === 0)) return null;
  const origin = advice.code === 'IKB401' ? advice.concatenation : node;
  const why = advice.code === 'IKB203' ? advice.why : `${width} is not a multiple of ${ALIGNMENT}`;
  return {
    code: advice.code,
    origin,
    // The math path repeats the heads itself; a width costs no copy, and is said as a hint only.
    written: advice.code === 'IKB203' ? node : null,
    sink: sinkOf(event, operand),
    path: [{ node: origin, what: why, kind: 'origin' }],
    replicas: [],
    form: null,
    attention: event.kind === 'attention' ? attentionOf(event) : null,
    product: null,
    why,
    cost: { bytes: null, flops: ZERO, bytesText: '?', flopsText: '0', itemSize: null, ratio: null },
    facts: {
      rebound: [],
      readers: {},
      inPlace: [],
      effects: [],
      syntaxErrors: [],
      apart: null,
      assumptions: [],
      blockedBy: null,
    },
    when: [],
    bindings,
    size,
    via: null,
    local: true,
    minor: false,
  };
}
