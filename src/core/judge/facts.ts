/** Turns what the evaluation saw at a sink into facts about text. */
import { argumentNode, nodeAt } from '../python/access';
import type { Operand, SinkEvent } from '../python/run';
import { factors } from '../cost/cost';
import { type Node, childOf, statementOf, textOf } from '../python/syntax';
import { axesWithReplica } from '../tensor/contract';
import { divide, isOne } from '../tensor/dim';
import { axisAt, rankOf } from '../tensor/shape';
import type { Block, Replica, Tensor } from '../tensor/value';
import { listedIn } from './listed';
import type {
  Atom,
  AttentionFacts,
  AttentionOperand,
  Expression,
  FormBlock,
  LinearForm,
  ProductFacts,
  ReplicaFact,
  Sink,
} from './match';
import { contractedSize } from './work';

const PURE = new Set([
  'identifier',
  'attribute',
  'subscript',
  'integer',
  'float',
  'none',
  'true',
  'false',
  'string',
  'slice',
  'ellipsis',
  'tuple',
  'binary_operator',
  'unary_operator',
  'parenthesized_expression',
  'argument_list',
  'keyword_argument',
  'string_start',
  'string_content',
  'string_end',
]);
const PURE_METHODS =
  /^(size|dim|view|reshape|unsqueeze|squeeze|transpose|permute|t|flatten|expand|expand_as|contiguous|detach|repeat|repeat_interleave|index_select|tile|chunk|split|narrow|to|float|half|numel)$/;

export function isPure(node: Node): boolean {
  if (node.kind === 'call') {
    const fn = childOf(node, 'function');
    const name = fn?.kind === 'attribute' ? childOf(fn, 'attribute') : null;
    const pureName = name !== null && PURE_METHODS.test(textOf(name));
    return pureName && node.children.every((c) => (c === fn ? fn.children.every(isPure) : isPure(c)));
  }
  if (!PURE.has(node.kind)) return node.field === 'operator';
  return node.children.every(isPure);
}

export function replicaFact(axis: number, carrier: Tensor, replica: Replica, event: SinkEvent): ReplicaFact {
  const origin = nodeAt(replica.origin) ?? event.node;
  return {
    axis,
    rank: rankOf(carrier.shape),
    map: replica.map,
    source: replica.source,
    extent: replica.extent,
    ratio: isOne(replica.source) ? replica.extent : divide(replica.extent, replica.source),
    mapText: mapText(origin, replica),
    origin,
    sourceExpression: sourceOf(origin, replica, event),
    listed: listedIn(origin),
    helper: replica.helper && calleeOf(origin),
    evidence: replica.evidence,
  };
}

/** The repeats, the expanded size or the index as written. */
function mapText(origin: Node, replica: Replica): string | null {
  const { map } = replica;
  if (listedIn(origin)) return null;
  if (replica.helper) return argumentOf(origin, replica);
  if (map.kind === 'indexed') return map.index;
  const list = origin.kind === 'call' ? childOf(origin, 'arguments') : null;
  if (list?.children.some((c) => c.kind === 'string')) return sizeOfPattern(list);
  const given =
    list?.children.filter(
      (c) => c.kind !== 'keyword_argument' || /^(repeats|size|dims)$/.test(textOf(childOf(c, 'name') ?? c)),
    ) ?? [];
  const method = list && childOf(origin, 'function');
  const values = given
    .slice(isLibrary(method) && given.length > 1 ? 1 : 0)
    .map((c) => (c.kind === 'keyword_argument' ? (childOf(c, 'value') ?? c) : c))
    .flatMap((c) => (c.kind === 'tuple' || c.kind === 'list' ? c.children : [c]))
    .filter((c) => c.kind !== 'string');
  const name = method ? textOf(method).split('.').pop() : '';
  if (name === 'repeat_interleave') return values[0] ? textOf(values[0]) : null;
  if (name === 'expand_as' || /\.(shape|size\(\))$/.test(values.length === 1 && values[0] ? textOf(values[0]) : '')) {
    const like = values[0] ? textOf(values[0]).replace(/\.(shape|size\(\))$/, '') : '';
    const plain = /^[\w.]+$/.test(like) && replica.argument !== null;
    return plain ? `${like}.shape[${replica.argument}]` : null;
  }
  // Sizes that are put together (`(b, n) + x.shape[1:]`), or under one name for several axes, are no count.
  const areSeveral = values.some((value) => value.kind === 'binary_operator' && /[,:]/.test(textOf(value)));
  if (areSeveral || (values.length === 1 && (replica.argument ?? 0) > 0)) return null;
  // What is unpacked may be any number of sizes: which axis those behind it are for is not known.
  const unpacked = values.findIndex(({ kind }) => kind === 'list_splat');
  if (unpacked >= 0 && (replica.argument ?? unpacked) >= unpacked) return null;
  const chosen = replica.argument === null ? undefined : values[replica.argument];
  if (chosen && !/^(-1$|\*)/.test(textOf(chosen))) return textOf(chosen);
  const sized = values.filter((v) => !/^(-1$|1$|\*)/.test(textOf(v)));
  const [only] = sized;
  return only && sized.length === 1 ? textOf(only) : null;
}

/** `repeat(x, 'd -> b d', b=n)`: the only size that such a call gives. */
function sizeOfPattern(list: Node): string | null {
  const sizes = list.children.filter((c) => c.kind === 'keyword_argument');
  const node = sizes.length === 1 && sizes[0] ? childOf(sizes[0], 'value') : null;
  return node && textOf(node);
}

/** The argument of a function of another file that says how often it copies. */
function argumentOf(origin: Node, { source, extent, map }: Replica): string | null {
  const ratio = isOne(source) ? extent : divide(extent, source);
  const times = map.kind === 'indexed' ? map.index : ratio ? factors([ratio]) : null;
  const given = childOf(origin, 'arguments')?.children ?? [];
  const values = given.map((node) => (node.kind === 'keyword_argument' ? (childOf(node, 'value') ?? node) : node));
  const node = values.find((value) => textOf(value) === times || textOf(value).split('.').pop() === times);
  return node ? textOf(node) : map.kind === 'indexed' ? map.index : null;
}

/** `torch.tile(x, ..)`, whose first argument is what `x.tile(..)` has in front. */
const isLibrary = (fn: Node | null): boolean => {
  const object = fn?.kind === 'attribute' ? childOf(fn, 'object') : null;
  return fn !== null && (!object || /^(torch|F|einops|np)$/.test(textOf(object)));
};

const calleeOf = (call: Node): string | null => {
  const fn = childOf(call, 'function');
  return fn && textOf(fn);
};

/** What was replicated: the receiver of a method, the first argument of a function, the subscripted value. */
function sourceOf(origin: Node, replica: Replica, event: SinkEvent): Expression | null {
  if (listedIn(origin)) return null;
  let node = replica.helper?.source ? nodeAt(replica.helper.source) : null;
  const own = origin === event.node && replica.argument !== null ? event.operands[replica.argument] : undefined;
  if (replica.helper) {
    if (!node) return null;
  } else if (own) node = own.node;
  else if (origin.kind === 'subscript') node = childOf(origin, 'value');
  else if (origin.kind === 'call') {
    const fn = childOf(origin, 'function');
    const object = fn?.kind === 'attribute' ? childOf(fn, 'object') : null;
    node = isLibrary(fn) ? (childOf(origin, 'arguments')?.children[0] ?? null) : object;
  }
  if (!node) return null;
  return { node, text: textOf(node) };
}

/** `when`: the conditions that lead there; one of several networks that are handed in is not plainly that one. */
export function sinkOf(event: SinkEvent, operand: Operand, when: readonly string[] = []): Sink {
  const { node, layer, args } = event;
  const functional = event.callee === 'linear' && !layer ? argumentNode(args, 1, 'weight') : null;
  const bias = functional ? argumentNode(args, 2, 'bias') : null;
  const fn = node.kind === 'call' ? childOf(node, 'function') : null;
  const module = layer && fn && isPure(fn) ? textOf(fn) : null;
  const noBias = layer !== null && /\bbias\s*=\s*False\b/.test(textOf(layer.node));
  const other = event.byWeight ? event.operands.find((o) => o !== operand)?.node : null;
  return {
    kind: event.kind,
    node,
    input: operand.node,
    weight: functional ? textOf(functional) : module ? `${module}.weight` : other ? textOf(other) : null,
    bias: functional
      ? bias
        ? textOf(bias)
        : 'none'
      : layer
        ? noBias
          ? 'none'
          : module
            ? `${module}.bias`
            : null
        : 'none',
    module: layer
      ? {
          text: fn ? textOf(fn) : '',
          kind: layer.name,
          doubt: layer.doubt ?? (when.some(isHanded) ? 'what is handed in is not always that' : null),
          constructor: layer.node,
        }
      : null,
    side: operand.role === 'left' || operand.role === 'right' ? operand.role : null,
    outWidth: event.outWidth,
    keyword: event.keyword,
  };
}

/** `net is a Critic`, as no test of a source is written. */
export const isHanded = (text: string): boolean => /^\w+ is an? \S+$/.test(text);

export function formOf(event: SinkEvent, operand: Operand): LinearForm | null {
  const { value } = operand;
  const { form } = value;
  if (!form) {
    const place = value.place;
    const node = operand.node ?? (place ? nodeAt(place) : null);
    if (!node) return null;
    const block: Block = {
      width: contractedSize(event, operand, value),
      terms: [{ coefficient: 1, factors: [value] }],
      place: place ?? { path: '', start: 0, end: 0, line: 0 },
    };
    return { node: null, axis: null, blocks: [blockOf(block, event)], between: [] };
  }
  const node = nodeAt(form.place);
  return {
    node,
    axis: form.axis,
    blocks: form.blocks.flatMap((block) => (nodeAt(block.place) ? [blockOf(block, event)] : [])),
    between: form.after.flatMap((place) => nodeAt(place) ?? []),
  };
}

function blockOf(block: Block, event: SinkEvent): FormBlock {
  return {
    width: block.width,
    terms: block.terms.map((term) => {
      const factors = term.factors.map((t) => atomOf(t, event));
      return { coefficient: term.coefficient, factors, replicated: factors.every((f) => f.replicas.length > 0) };
    }),
  };
}

const atomOf = (t: Tensor, event: SinkEvent): Atom => ({
  replicas: axesWithReplica(t).map(({ axis, replica }) => replicaFact(axis, t, replica, event)),
});

export function attentionOf(event: SinkEvent): AttentionFacts | null {
  const operand = (role: string): AttentionOperand => {
    const found = event.operands.find((o) => o.role === role);
    return found ? operandFact(found, event) : { replicas: [], dims: null };
  };
  const maskNode = argumentNode(event.args, 3, 'attn_mask', 'attn_bias', 'mask');
  return {
    query: operand('query'),
    key: operand('key'),
    value: operand('value'),
    mask: maskNode && maskNode.kind !== 'none' ? maskNode : null,
    layout: event.kind !== 'attention' ? null : /scaled_dot_product|flex/.test(event.callee) ? 'bhsd' : 'bshd',
  };
}

function operandFact(operand: Operand, event: SinkEvent): AttentionOperand {
  const { value } = operand;
  const n = rankOf(value.shape);
  return {
    replicas: axesWithReplica(value).map(({ axis, replica }) => replicaFact(axis, value, replica, event)),
    dims: n === null ? null : value.shape.head.map((_, i) => axisAt(value, i).dim),
    assumedRank: operand.assumedRank ?? false,
  };
}

export function productOf(event: SinkEvent, operand: Operand): ProductFacts {
  return {
    operands: event.operands.map((o) => operandFact(o, event)),
    replicated: event.operands.indexOf(operand),
  };
}

export { statementOf };
