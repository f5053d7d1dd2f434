/** Matches without a replica: a product that runs slower than it needs to for another reason. */
import type { SinkEvent } from '../python/run';
import { type Node, enclosing, lineOf, textOf } from '../python/syntax';
import { type Dim, ZERO } from '../tensor/dim';
import { isOnOwnBranch } from './conditions';
import { attentionOf, isHanded, sinkOf } from './facts';
import type { Match, Why } from './match';

/** Elements that tensor cores read at a time: 16 bytes. */
const ALIGNMENT = 8;
const ALIGNMENT_TF32 = 4;

/** The product runs in half precision, as the text says: its input is, or it stands under autocast. */
function isHalf(node: Node, itemSize: number | null): boolean {
  if (itemSize !== null) return itemSize === 2;
  for (let at = enclosing(node, 'with_statement'); at; at = at.parent && enclosing(at.parent, 'with_statement')) {
    const clause = at.children.find((c) => c.kind === 'with_clause');
    if (clause && /\bautocast\(/.test(textOf(clause))) return !/enabled\s*=\s*False/.test(textOf(clause));
  }
  return false;
}

export function adviceMatch(
  event: SinkEvent,
  size: (dim: Dim) => number | null,
  bindings: Readonly<Record<string, number>>,
): Match | null {
  const { advice, node } = event;
  const [operand] = event.operands;
  if (!advice || !operand) return null;
  const width = advice.code === 'IKB401' ? size(advice.size) : null;
  const { itemSize } = operand.value;
  const alignment = (itemSize ?? 2) >= 4 ? ALIGNMENT_TF32 : ALIGNMENT;
  if (advice.code === 'IKB401' && (width === null || width % alignment === 0)) return null;
  const half = isHalf(node, itemSize) || (itemSize === null && advice.code === 'IKB401' && advice.half);
  const origin = advice.code === 'IKB401' ? advice.concatenation : node;
  // Of a network that is handed in, another one may be as wide as it should.
  const handed = operand.hits.flatMap(({ replica }) => replica.when).filter(isHanded);
  // One as narrow may be there for what the other branch leaves.
  if (advice.code === 'IKB401' && !advice.counted && handed.length > 0 && isOnOwnBranch(origin, event)) return null;
  const why: Why =
    advice.code === 'IKB203'
      ? advice.why
      : { kind: 'width', alignment, text: `${width}${madeAt(event)} is not a multiple of ${alignment}` };
  return {
    code: advice.code,
    origin,
    // The math path repeats the heads itself. A width matters in half precision; without a word of that it is a hint only.
    written: advice.code === 'IKB203' ? node : half ? origin : null,
    sink: sinkOf(event, operand, handed),
    path: [{ node: origin, what: why.text, kind: 'origin' }],
    replicas: [],
    form: null,
    attention: event.kind === 'attention' ? attentionOf(event) : null,
    product: null,
    why,
    cost: { bytes: null, flops: ZERO, bytesText: '?', flopsText: '0', itemSize: null, ratio: null, contracted: null },
    facts: {
      inPlace: [],
      effects: [],
      syntaxErrors: [],
      apart: null,
      assumptions: [],
    },
    when: [],
    partly: handed.length > 0,
    first: false,
    bindings,
    size,
    named: (dim) => dim,
    via: null,
    local: true,
    times: [],
    minor: false,
    takenOut: false,
  };
}

/** Where a layer of another file got its width: a network that is handed in may be as wide as it should elsewhere. */
function madeAt({ node, layer: made, advice }: SinkEvent): string {
  const layer = made?.node;
  if (!layer || layer.file === node.file || advice?.code !== 'IKB401' || advice.counted) return '';
  return ` (line ${lineOf(layer)} of ${layer.file.path})`;
}
