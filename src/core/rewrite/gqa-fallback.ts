/** `enable_gqa=True` that no fused kernel takes: the queries fold, or the cast goes behind, or the heads are repeated. IKB203. */
import type { Match } from '../judge/match';
import { type Node, textOf } from '../python/syntax';
import { conditionsOfDropout } from './attention';
import type { Written } from './decompose';
import { flat, insertBefore, replace } from './edit';
import { type Call, argument, callOf, isSimple, isView, shapedLike, unwrap } from './expression';
import { NO_FOLD, foldedQueries, withoutArgument } from './grouped-heads';
import { ON_CUDA, inHalfPrecision } from './conditions';
import { canHoist, conditionsOf } from './guards';
import { draftFor, finished } from './producers';
import { refuse } from './refusal';

interface Operands {
  readonly call: Call;
  readonly query: Node;
  readonly key: Node;
  readonly value: Node;
  /** The argument `enable_gqa=True`. */
  readonly flag: Node;
}

/** Without mask or order no kernel needs to know of groups: [B, Hkv, n * L, D] queries, keys as they are. */
export function foldShared(match: Match): Written {
  const draft = draftFor(match.sink.node);
  const { call, query, key, value } = operandsOf(match);
  if (match.attention?.mask || call.positional.length > 3) refuse(NO_FOLD);
  if (!isCheap(key)) refuse('the key is an expression; give it a name first');
  draft.emitted.push(query, key, value);
  const [k, v] = [key, value].map((argument) => ({ argument, text: flat(argument) }));
  const edits = k && v ? foldedQueries(draft, call, query, k, v, null) : [];
  return { edits: finished(draft, edits), conditions: [...conditionsOfDropout(call), ...conditionsOf(match)] };
}

/** `sdpa(q.float(), k.float(), v.float())` becomes `sdpa(q, k, v).float()`. */
export function castBehind(match: Match): Written {
  const draft = draftFor(match.sink.node);
  const { call, query, key, value } = operandsOf(match);
  const bare = [query, key, value].map((operand) => castOf(operand));
  if (match.attention?.mask) refuse('the mask would have to be in the type of the query');
  const edits = [query, key, value].map((operand, i) => replace(operand, flat(bare[i] ?? operand)));
  const names = [...new Set(bare.map(flat))];
  return {
    edits: finished(draft, [...edits, { start: call.node.end, end: call.node.end, text: '.float()' }]),
    conditions: [inHalfPrecision(names), ...conditionsOf(match)],
  };
}

/** With a mask the heads are best repeated by hand: fused kernels take that. IKB202 is told so in the line. */
export function repeatHeads(match: Match): Written {
  const { sink } = match;
  const draft = draftFor(sink.node);
  const { query, key, value, flag } = operandsOf(match);
  if (![query, key, value].every(isCheap)) refuse('an operand is an expression; give it a name first');
  if (!canHoist(sink.node)) refuse('the attention stands inside an expression; give it a statement of its own first');
  draft.emitted.push(query, key, value);
  const q = shapedLike(flat(query));
  const names = [draft.fresh('keys'), draft.fresh('values')];
  const lines = [key, value].map((operand, i) => {
    const x = flat(operand);
    return `${names[i]} = ${x}.repeat_interleave(${q}.shape[-3] // ${shapedLike(x)}.shape[-3], dim=-3)  # ikbo: ignore[IKB202]`;
  });
  const edits = [
    insertBefore(draft.target, lines),
    ...[key, value].map((operand, i) => replace(operand, names[i] ?? '')),
    withoutArgument(flag),
  ];
  return {
    edits: finished(draft, edits),
    conditions: [ON_CUDA, ...conditionsOf(match)],
  };
}

function operandsOf({ sink }: Match): Operands {
  const call = callOf(sink.node);
  const [query, key, value] = ['query', 'key', 'value'].map((name, i) => (call ? argument(call, i, name) : null));
  const flag = call?.keywords.get('enable_gqa')?.parent;
  if (!call || call.splat || !query || !key || !value || !flag) {
    return refuse('the operands of the attention are not written out');
  }
  return { call, query, key, value, flag };
}

/** The receiver of a cast to single precision. */
function castOf(operand: Node): Node {
  const call = callOf(unwrap(operand));
  const cast =
    call?.receiver &&
    /^(float|to)$/.test(call.method) &&
    /\.(float\(\)|to\(torch\.float(32)?\))$/.test(textOf(call.node));
  return cast && call.receiver && isView(call.receiver)
    ? call.receiver
    : refuse('query, key and value are not all cast to single precision in the call');
}

/** May be written twice. */
const isCheap = (node: Node): boolean => isSimple(node) || isView(node) || /^[\w.]+$/.test(shapedLike(textOf(node)));
