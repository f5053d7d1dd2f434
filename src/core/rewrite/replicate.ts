/**
 * Expressions that replicate rows, taken apart: the small tensor, the map, and how both are written. The judge proves
 * that an expression is a replica and along which axis; here its text is read, and the two must agree.
 */
import type { ReplicaFact } from '../judge/match';
import { type Node, childOf, textOf } from '../python/syntax';
import { flat } from './edit';
import { einopsRepeat } from './einops';
import type { Replicate, RowMap } from './replica';
import { listedCopies } from './listed-copies';
import { trace } from './trace';
import { isRaised } from './ranks';
import { refuse } from './refusal';
import { type Call, argument, callOf, elements, integer, isView, sizes, unwrap } from './expression';

export type { Replicate };

/** Reads one replicating expression. Null when its form is not known. */
export function replicateOf(expression: Node): Replicate | null {
  const node = unwrap(expression);
  if (node.kind === 'subscript') return indexed(node);
  const call = callOf(node);
  if (call?.splat && call.receiver && call.method === 'expand') return spread(node, call.receiver);
  if (!call || call.splat || /^(np|numpy|tf|jnp|F|nn)\./.test(call.name)) return null;
  if (call.method === 'repeat' && (call.name === 'einops.repeat' || !call.receiver)) return einopsRepeat(call);
  const free = /^(torch|einops)\.\w+$/.test(call.name) || !call.receiver;
  const tensor = free ? call.positional[0] : call.receiver;
  if (!tensor) return null;
  const at = free ? 1 : 0;
  const shared = { node, source: tensor, suffix: '' };
  switch (call.method) {
    case 'repeat_interleave': {
      const count = argument(call, at, 'repeats');
      const dim = integer(argument(call, at + 1, 'dim'));
      const size = call.keywords.get('output_size');
      if (!count || dim === null || (free && call.name !== 'torch.repeat_interleave')) return null;
      const output = size ? `, output_size=${flat(size)}` : '';
      return {
        ...shared,
        kind: 'blocks',
        arguments: size ? [count, size] : [count],
        apply: (x) => `${x}.repeat_interleave(${flat(count)}, dim=${dim}${output})`,
        axis: dim,
        map: () => ({ kind: 'repeats', count: flat(count), axis: dim }),
      };
    }
    case 'index_select': {
      const dim = integer(argument(call, at, 'dim'));
      const index = argument(call, at + 1, 'index');
      if (!index || dim === null) return null;
      return {
        ...shared,
        kind: 'index',
        arguments: [index],
        apply: (x) => `${x}.index_select(${dim}, ${flat(index)})`,
        axis: dim,
        map: (replicas) => indexMap(index, dim, replicas),
      };
    }
    case 'expand':
    case 'broadcast_to': {
      const list = free ? elements(call.positional[1] ?? null) : sizes(call.positional);
      return list ? expanded(shared, list) : null;
    }
    case 'expand_as': {
      const other = argument(call, 0, 'other');
      if (!other || free) return null;
      return {
        ...shared,
        kind: 'expand',
        arguments: [other],
        apply: (x) => `${x}.expand(*${flat(other)}.shape[:-1], -1)`,
        axis: null,
        map: (replicas) => expandMap(replicas, (axis) => `${flat(other)}.shape[${axis}]`),
      };
    }
    case 'repeat':
    case 'tile': {
      if (free && call.method === 'repeat') return null;
      const list = free ? elements(call.positional[1] ?? null) : sizes(call.positional);
      return list ? repeated(shared, list) : null;
    }
    case 'reshape':
    case 'view':
    case 'flatten':
      return merged(call);
    case 'stack':
    case 'cat':
    case 'concat':
    case 'concatenate':
      return listedCopies(call);
    default:
      return free ? null : followed(call);
  }
}

type Shared = Pick<Replicate, 'node' | 'source' | 'suffix'>;

function expanded(shared: Shared, list: readonly Node[]): Replicate {
  const leading = list.slice(0, -1).map(flat);
  return {
    ...shared,
    kind: 'expand',
    arguments: list,
    // The last size is the width of the source; the other tensor keeps its own.
    apply: (x) => `${x}.expand(${[...leading, '-1'].join(', ')})`,
    axis: null,
    map: (replicas) => expandMap(replicas, (axis) => (list.length > axis ? flatOrNull(list[axis]) : null), list.length),
  };
}

function repeated(shared: Shared, list: readonly Node[]): Replicate {
  const texts = list.map(flat);
  const lastIsOne = integer(list.at(-1) ?? null) === 1;
  return {
    ...shared,
    kind: 'repeat',
    arguments: list,
    apply: lastIsOne ? (x) => `${x}.repeat(${texts.join(', ')})` : null,
    axis: null,
    map: (replicas) => {
      const [replica, ...more] = replicas;
      const axis = replica ? frontAxis(replica, list.length) : null;
      const count = axis === null ? undefined : texts[axis];
      if (more.length > 0 || !replica || axis === null || count === undefined) return null;
      // A repeat that adds axes is no map of an axis of the source.
      if (!hasRank(shared.source, list.length) && replica.map.kind !== 'cycle') return null;
      return { kind: replica.map.kind === 'all' ? 'expand' : 'tile', count, axis };
    },
  };
}

function indexed(node: Node): Replicate | null {
  const value = childOf(node, 'value');
  const parts = node.children.filter((c) => c.field === 'subscript');
  if (!value || parts.length === 0) return null;
  const dim = parts.findIndex((part) => part.kind !== 'slice' || part.children.length > 0);
  const index = parts[dim];
  const rest = parts.slice(dim + 1).every((part) => part.kind === 'slice' && part.children.length === 0);
  if (
    !index ||
    !rest ||
    isEndOfEdge(node) ||
    ['slice', 'none', 'ellipsis', 'tuple', 'list', 'string'].includes(index.kind)
  )
    return null;
  if (integer(index) !== null) return null;
  const key = [...parts.slice(0, dim).map(() => ':'), flat(index)].join(', ');
  return {
    node,
    source: value,
    suffix: '',
    kind: 'index',
    arguments: [index],
    apply: (x) => `${x}[${key}]`,
    axis: dim,
    map: (replicas) => indexMap(index, dim, replicas),
  };
}

/** `edges.src[key]` of what a graph library hands over for each edge: `key` names a feature. */
export function isEndOfEdge(node: Node): boolean {
  const value = node.kind === 'subscript' ? childOf(node, 'value') : null;
  return value !== null && /(^|\.)edges\.(src|dst)$/.test(textOf(value));
}

function indexMap(index: Node, axis: number, replicas: readonly ReplicaFact[]): RowMap {
  if (replicas.some(({ map }) => map.kind === 'indexed' && map.isList))
    refuse('the index is a list of numbers, where ikbo_lens takes a tensor');
  return { kind: 'index', count: flat(index), axis };
}

function expandMap(
  replicas: readonly ReplicaFact[],
  size: (axis: number) => string | null,
  rank: number | null = null,
): RowMap | null {
  const [replica, ...more] = replicas;
  if (!replica || more.length > 0) return null;
  const axis = frontAxis(replica, rank);
  const text = axis === null ? null : size(axis);
  return axis === null || text === null || text === '-1' ? null : { kind: 'expand', count: text, axis };
}

function frontAxis(replica: ReplicaFact, rank: number | null): number | null {
  if (replica.axis >= 0) return replica.axis;
  const known = replica.rank ?? rank;
  return known === null ? null : replica.axis + known;
}

const flatOrNull = (node: Node | undefined): string | null => (node ? flat(node) : null);

/** True when the source plainly has `rank` axes already: an axis was put in for the copies. */
function hasRank(source: Node, rank: number): boolean {
  const at = unwrap(source);
  const call = callOf(at);
  if (call?.method === 'unsqueeze') return true;
  const parts = at.kind === 'subscript' ? at.children.filter((c) => c.field === 'subscript') : [];
  return parts.length === rank && isView(at) && parts.some((part) => part.kind === 'none');
}

/** `x.expand(n, *x.shape[1:])`: sizes that are not written out, so that only broadcasting can take their place. */
const spread = (node: Node, source: Node): Replicate => ({
  node,
  source,
  suffix: '',
  kind: 'expand',
  arguments: [],
  apply: null,
  axis: null,
  map: () => null,
});

/** Element by element and without arguments: what may follow the copy and then follows the source instead. */
const POINTWISE = new Set(['float', 'half', 'bfloat16', 'double', 'to', 'type_as', 'relu', 'sigmoid', 'tanh']);

/** `replicate.contiguous()`, `replicate.float()`: the operator moves to the source, a mere copy falls away. */
function followed(call: Call): Replicate | null {
  const inner = call.receiver ? replicateOf(call.receiver) : null;
  if (!inner) return null;
  if (['contiguous', 'clone', 'detach'].includes(call.method) && call.positional.length === 0) {
    return { ...inner, node: call.node, suffix: inner.suffix + (call.method === 'detach' ? '.detach()' : '') };
  }
  if (!POINTWISE.has(call.method)) return null;
  const args = childOf(call.node, 'arguments');
  return args && { ...inner, node: call.node, suffix: `${inner.suffix}.${call.method}${flat(args)}` };
}

/** `x.unsqueeze(k).expand(.., n, ..)` with the new axis merged into the one before it: `repeat_interleave(n, k - 1)`. */
function merged(call: Call): Replicate | null {
  const copy = call.receiver ? callOf(trace(call.receiver).value) : null;
  if (!copy?.receiver || copy.splat || !['expand', 'repeat'].includes(copy.method)) return null;
  const list = sizes(copy.positional);
  const raised = trace(copy.receiver).value;
  const [source, axis] = newAxis(raised);
  const count = list && axis !== null ? list[axis] : undefined;
  if (!source || axis === null || axis < 1 || !list || !count || integer(count) === -1) return null;
  const others = list.every((size, i) => i === axis || copy.method === 'expand' || integer(size) === 1);
  if (!others) return null;
  return {
    node: call.node,
    source,
    suffix: '',
    kind: 'blocks',
    rank: list.length - 1,
    arguments: [count],
    apply: (x) => `${x}.repeat_interleave(${flat(count)}, dim=${axis - 1})`,
    axis: axis - 1,
    map: () => ({ kind: 'repeats', count: flat(count), axis: axis - 1 }),
  };
}

/** The tensor and the place of the axis that `x.unsqueeze(k)` or `x[:, None, :]` puts in. */
function newAxis(node: Node): readonly [Node | null, number | null] {
  const call = callOf(node);
  if (call?.method === 'unsqueeze' && call.receiver) return [call.receiver, integer(argument(call, 0, 'dim'))];
  if (node.kind !== 'subscript') return [null, null];
  const parts = node.children.filter((c) => c.field === 'subscript');
  const axis = parts.findIndex((part) => part.kind === 'none');
  const plain = parts.every((part, i) => i === axis || (part.kind === 'slice' && part.children.length === 0));
  return plain && axis >= 0 ? [childOf(node, 'value'), axis] : [null, null];
}

/**
 * True when what the judge proved of the copy is what its text says. Where its rows are `merged` with others afterwards, the
 * facts are about the result, and the text has to say by itself that an axis of size 1 is expanded.
 */
export function agrees(replicate: Replicate, replicas: readonly ReplicaFact[], merged = false): boolean {
  const own = ownReplicas(replicate, replicas);
  if (merged) return own.length > 0 && replicate.kind === 'expand' && isRaised(unwrap(trace(replicate.source).value));
  const kinds: Readonly<Record<Replicate['kind'], readonly string[]>> = {
    blocks: ['blocks', 'indexed', 'all'],
    index: ['indexed', 'blocks'],
    expand: ['all'],
    // A repeat of an axis of unknown size is one of the two; written as a repeat again it does not matter which.
    repeat: replicate.apply ? ['all', 'cycle', 'other'] : ['all'],
  };
  const rank = replicate.rank ?? null;
  return (
    own.length > 0 &&
    own.every((r) => kinds[replicate.kind].includes(r.map.kind)) &&
    (rank === null || own.every((r) => r.rank === rank))
  );
}

export const ownReplicas = (replicate: Replicate, replicas: readonly ReplicaFact[]): readonly ReplicaFact[] =>
  replicas.filter((r) => replicate.node.start <= r.origin.start && r.origin.end <= replicate.node.end);

/** True when adding the source's product to a full-size one broadcasts by itself: every copied axis has size 1. */
export const broadcasts = (replicate: Replicate, replicas: readonly ReplicaFact[]): boolean =>
  replicate.kind === 'expand' ||
  (replicate.kind === 'repeat' && ownReplicas(replicate, replicas).every((r) => r.map.kind === 'all'));

/** A view of stride 0, which costs nothing where it stays. */
export const isLazy = ({ kind, node }: Replicate): boolean =>
  kind === 'expand' && ['expand', 'expand_as', 'broadcast_to', 'repeat'].includes(callOf(node)?.method ?? '');
