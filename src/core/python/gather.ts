/** Rows and elements picked by an index tensor: a replica only where the index is known to be many-to-one. */
import { type Dim, ONE, constant, isOne } from '../tensor/dim';
import { gatherRows, reordered } from '../tensor/replicate';
import { mapReplicas } from '../tensor/pointwise';
import { UNKNOWN_SHAPE, axisAt, carriesReplica, freeAxis, mapAxes, position, rankOf, tensor } from '../tensor/shape';
import type { Place, Tensor } from '../tensor/value';
import { applyView, narrow } from '../tensor/views';
import { asNumber, asTensor } from './access';
import { LOADS_SEEDS } from './index-names';
import { repeatedAlong } from './combine';
import type { FileModel } from './model';
import { endOfPairs, listsPairs } from './pairs';
import type { Frame, Run } from './run';
import { type Node, textOf } from './syntax';
import { type Value } from './value';

/** A tensor without a name is called as the expression that it is read from. */
export const named = (t: Tensor, node: Node | null): Tensor =>
  t.label === '' && node !== null && node.end - node.start < 32 ? { ...t, label: textOf(node) } : t;

/** The same function sums rows by this index: then many rows share one of its values. */
const scattered = new WeakMap<Node, Set<string>>();

/** With parentheses in what is given, three levels deep. */
const SUMS =
  /\b(?:scatter\w*|segment_\w+|index_add_?|global_\w+_pool)\(((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*)/g;

function scattersBy(index: string, frame: Frame): boolean {
  const node = frame.function?.node;
  if (!node) return false;
  let names = scattered.get(node);
  if (!names) {
    const calls = textOf(node).matchAll(SUMS);
    // What stands in parentheses of its own is computed there, as is what is summed.
    const given = [...calls].map(([, list = '']) => [1, 2, 3].reduce((text) => text.replace(/\([^()]*\)/g, ''), list));
    names = new Set(given.flatMap((text) => text.match(/\w+/g) ?? []));
    scattered.set(node, names);
  }
  return names.has(index);
}

/** Names of the ends of edges: other indices that sums are taken by are of graphs, of segments or of triplets. */
const END_OF_EDGE = /(^|[._])(i|j|src|dst|rows?|cols?|sources?|targets?|senders?|receivers?)$/;

const BOTH_ENDS =
  /(^|[._])(i|j|src|dst|rows?|cols?|sources?|targets?|senders?|receivers?)(_?(idx|index|inds?|ids?))?$|^idx_[st]$/;
const bothEnds = new WeakMap<Node, ReadonlySet<string>>();

/** `cat([x[i], x[j], ..])` on graphs, or of what these were assigned to: features of nodes, gathered for both ends of each edge. */
export function joinsBothEnds(rows: string, index: string, { file, function: model }: Frame): boolean {
  if (!model || !BOTH_ENDS.test(index) || !isOfGraphs(file)) return false;
  let known = bothEnds.get(model.node);
  if (!known) {
    const text = textOf(model.node);
    const areSeeds = text.includes('edge_label_index') && LOADS_SEEDS.test(file.file.text);
    bothEnds.set(model.node, (known = new Set(areSeeds ? [] : endsJoinedIn(text))));
  }
  return known.has(`${rows}[${index}]`);
}

function endsJoinedIn(text: string): readonly string[] {
  const assigned = [...text.matchAll(/^[ \t]*(\w+)[ \t]*=[ \t]*(([\w.]+)\[(\w+)\])[ \t]*(?:#.*)?$/gm)].flatMap(
    ([, name = '', ...end]) => (BOTH_ENDS.test(end[2] ?? '') ? [{ name, end }] : []),
  );
  const ends = [...text.matchAll(/\b(?:cat|concat)\(\s*[[(]([^\n]*\n?)/g)].flatMap(([, list = '']) => {
    const direct = [...list.matchAll(/\b(([\w.]+)\[(\w+)\])/g)].map(([, ...end]) => end);
    const named = assigned.flatMap(({ name, end }) => (new RegExp(`\\b${name}\\b`).test(list) ? [end] : []));
    const found = [...direct, ...named].filter(([, , by = '']) => BOTH_ENDS.test(by));
    return found.filter(([, of, by]) => found.some(([, other, end]) => other === of && end !== by));
  });
  return ends.flatMap(([whole = '', of = '', by = '']) => (isDictionary(of) || holdsOne(by).test(text) ? [] : [whole]));
}

/** `x_dict[src]`: by the name of a kind of nodes. */
const isDictionary = (name: string): boolean => /dict$/i.test(name);

/** An end that a loop goes through, is declared as a name or a number, or is a part of a key, `src, kind, dst = key`: it picks one thing. */
const holdsOne = (end: string): RegExp =>
  new RegExp(
    `\\bfor\\b[^\\n:]*\\b${end}\\b[^\\n:]*\\bin\\b|\\b${end} *: *(?:str|int)\\b|` +
      `^[ \\t]*\\(?(?:${end} *, *\\w+ *, *\\w+|\\w+ *, *\\w+ *, *${end}) *\\)? *= *[\\w.]+(?:\\[[^\\]\\n]*\\])?[ \\t]*(?:#.*)?$`,
    'm',
  );

/** `batch` of a graph library: for each node the graph that it is in. Elsewhere it picks the rows of a mini-batch. */
export const GRAPH_OF_NODE = /(^|\.)(batch|batch_\w+|\w+_batch|node2graph|node_to_graph|n2g)$/;
const GRAPHS =
  /\b(edge_index|torch_geometric|torch_scatter|scatter_\w+|global_\w+_pool|radius_graph|knn_graph|node2graph|nEdges|num_edges|n_edges)\b/;
const onGraphs = new WeakMap<FileModel, boolean>();

function isOfGraphs(file: FileModel): boolean {
  const known = onGraphs.get(file) ?? GRAPHS.test(file.file.text);
  onGraphs.set(file, known);
  return known;
}

const OF_USER = /(^|[._])(user|session|request|query)_(idx|index|indices)$/;
const OF_ITEM = /\[[\w.]*(item|pos|neg)s?_(idx|index|indices)\]/;

/** `user_emb[user_idx]` beside `item_emb[item_idx]`: rows of two tables, for the pairs of a mini-batch. */
const isOfPairs = (index: string, { function: model }: Frame): boolean =>
  OF_USER.test(index) && model !== null && OF_ITEM.test(textOf(model.node));

const RELATION = /(^|[._])(edge_types?|etypes?|rel(ation)?s?(_types?|_ids?)?)$|(^|\.)edges\.data\[['"]\w*type['"]\]$/;

/** A type that a loop goes through, or that is unpacked, `_, etype, _ = key`: a key of a dictionary. */
const isKey = (name: string, { function: model }: Frame): boolean =>
  model !== null &&
  /^\w+$/.test(name) &&
  new RegExp(`\\bfor\\b[^\\n:]*\\b${name}\\b[^\\n:]*\\bin\\b|^[ \\t]*\\(?\\w+, *${name}, *\\w+\\)? *=(?!=)`, 'm').test(
    textOf(model.node),
  );

/** `first_idx = first_idx[batch]`: an index that was itself picked by one of many rows. */
const isGathered = (by: Tensor): boolean => axisAt(by, 0).replica?.map.kind === 'indexed';
const OF_INDEX = /(^|[._])(idx|index|indices|inds?)(_|$)/;

/** `[-1]`, `[2, 1, 0]`, `[0] * n`: how many positions a list of numbers holds, and whether all are the same one. */
function positionsIn(index: Value, frame: Frame, run: Run): { readonly count: Dim; readonly isOne: boolean } | null {
  const list = index.kind === 'ref' ? run.items(index, frame) : null;
  const at = list?.items.map(asNumber) ?? [];
  const [first] = at;
  if (!list || first === undefined || at.includes(null)) return null;
  const count = list.open ? (list.times ?? null) : constant(at.length);
  return count && { count, isOne: at.every((one) => one === first) };
}

/** Rows of `t` picked by `index` along one axis: a replica only if the index is known to be many-to-one. */
export function gathered(
  t: Tensor,
  dim: number,
  index: Value,
  indexText: string,
  place: Place,
  run: Run,
  frame: Frame,
): Tensor {
  const ofPairs = index.kind === 'ref' && listsPairs(indexText, frame) ? endOfPairs(place, true) : null;
  const by = ofPairs ?? asTensor(index, run);
  const listed = by ? null : positionsIn(index, frame, run);
  if (listed?.isOne) {
    const row = applyView(t, narrow(dim, ONE), place);
    return isOne(listed.count) ? row : repeatedAlong(row, dim, listed.count, place);
  }
  const extent = by ? axisAt(by, 0) : freeAxis(listed?.count ?? null);
  const free = (): Tensor => {
    const picked = applyView(t, narrow(dim, extent.dim), place);
    const shape = mapAxes(picked.shape, (axis, i) =>
      i === (position(picked.shape, dim) ?? dim) ? freeAxis(extent.dim) : axis,
    );
    const fresh = tensor(shape);
    return { ...picked, id: fresh.id, storage: fresh.id, shape };
  };
  if (!by || by.index.kind === 'one-to-one') return free();
  const parameter = t.content === 'parameter' || /(^|[._])(weight|w)$/i.test(t.label);
  const relation =
    (RELATION.test(by.label) || RELATION.test(indexText)) && (index.kind === 'tensor' || !isKey(indexText, frame));
  if (t.content === 'parameter' || (parameter && relation)) {
    const matrices = (rankOf(t.shape) ?? 3) >= 3;
    return matrices && relation ? gatherRows(t, dim, by, indexText, 'named', false, place) : free();
  }
  const kind =
    by.content === 'index' && carriesReplica(by)
      ? ({ kind: 'many-to-one', evidence: 'strong', edges: false } as const)
      : by.index.kind === 'unknown' && isGathered(by) && OF_INDEX.test(indexText)
        ? ({ kind: 'many-to-one', evidence: 'named', edges: false } as const)
        : by.index;
  if (kind.kind === 'many-to-one' && kind.evidence === 'named' && isOfPairs(indexText, frame)) return free();
  const copied = axisAt(t, dim).replica;
  // Copies put in another order, by an index that no input decides, are still copies.
  if (copied && by.content === 'constant') return reordered(t, dim, extent.dim, place);
  if (kind.kind !== 'many-to-one') {
    const graph = t.content === 'data' && GRAPH_OF_NODE.test(indexText) && isOfGraphs(frame.file);
    const joined = t.content === 'data' && joinsBothEnds(t.label, indexText, frame);
    if (!graph && !joined && !scattersBy(indexText, frame)) return free();
    const edges = joined || (END_OF_EDGE.test(indexText) && !/edge/i.test(t.label));
    return gatherRows(t, dim, by, indexText, 'named', edges, place);
  }
  return gatherRows(t, dim, by, indexText, kind.evidence, ('edges' in kind && kind.edges) ?? false, place);
}

/** Features of nodes as a graph library hands them over for each edge, already gathered by one of its ends. */
export function gatheredAlongEdges(label: string, end: string, place: Place): Tensor {
  const nodes = tensor({ exact: false, head: [freeAxis(null)], tail: [] }, { label });
  const rows = gatherRows(nodes, 0, tensor(UNKNOWN_SHAPE), end, 'strong', true, place);
  return mapReplicas({ ...rows, place, label }, (replica) => ({ ...replica, helper: { source: place } }));
}
