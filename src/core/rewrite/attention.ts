/**
 * Keys and values that are copied over the batch (per candidate, prompt, beam): the queries that share them are folded
 * into one longer query axis, or ikbo_lens.attention is given the map. IKB201.
 */
import type { AttentionOperand, Match } from '../judge/match';
import { type Node, childOf, enclosing, scopeOf, textOf } from '../python/syntax';
import type { Written } from './decompose';
import { requireUndisturbed } from './disturbance';
import { flat, insertBefore, replace } from './edit';
import { type Call, argument, callOf, integer, isSimple, unwrap } from './expression';
import type { Condition } from '../finding';
import { once, otherDraws } from './conditions';
import { canHoist, conditionsOf, conditionsOfMap } from './guards';
import { isBinding, occurrences } from './names';
import { conditionsOfIkbo, importIkbo } from './imports';
import { type Draft, draftFor, finished, removeDefinitions, sourceText } from './producers';
import { conditionsOfAttentionRank } from './ranks';
import { trace } from './trace';
import { refuse } from './refusal';
import { type RowMap, mapText } from './replica';
import { type Replicate, agrees, ownReplicas, replicateOf } from './replicate';

interface Operands {
  readonly call: Call;
  readonly query: Node;
  readonly key: string;
  readonly value: string;
  readonly copy: Replicate;
  /** What key and value share. */
  readonly map: RowMap;
  readonly conditions: readonly Condition[];
}

/** `ikbo_lens.attention(q, k, v, map)`. */
export function mappedAttention(match: Match): Written {
  const draft = draftFor(match.sink.node);
  const { call, query, key, value, map, conditions } = readAttention(match, draft);
  const ikbo = importIkbo(match.sink.node);
  const first = [flat(query), key, value, `${ikbo.name}.${mapText(map)}`];
  const rest = [...call.positional.slice(3).map(flat), ...keywordTexts(call)];
  const text = `${ikbo.name}.attention(${[...first, ...rest].join(', ')})`;
  const edits = [replace(match.sink.node, text), ...(ikbo.edit ? [ikbo.edit] : [])];
  return {
    edits: finished(draft, edits),
    conditions: [...conditionsOfIkbo(match.sink.node.file.root), ...conditions, ...conditionsOf(match), ...draft.stays],
  };
}

/** [U * n, H, L, D] queries become [U, H, n * L, D]; only equal groups can be folded so. */
export function foldedAttention(match: Match): Written {
  const { node } = match.sink;
  const draft = draftFor(node);
  const { call, query, key, value, copy, map, conditions } = readAttention(match, draft);
  const [count] = copy.arguments;
  const repeats = map.kind === 'repeats' && count !== undefined;
  const expand = map.kind === 'expand';
  if (!repeats && !expand) refuse('only groups of equal size, one after the other, can be folded into the query axis');
  if (repeats && !isInteger(count)) refuse(`\`${flat(count)}\` may be a tensor of counts: groups of different sizes`);
  const rank = match.attention?.query.dims?.length ?? null;
  if (rank !== 4) refuse('the query is not known to have the four axes [B, H, L, D]');
  if (
    call.positional.length > 3 ||
    keywordNames(call).some((name) => !['scale', 'dropout_p', 'enable_gqa'].includes(name))
  ) {
    refuse('a mask or causal order does not fold into the query axis; ikbo_lens.attention takes them');
  }
  if (!canHoist(node)) refuse('the attention stands inside an expression; give it a statement of its own first');
  const lines: string[] = [];
  let q = flat(query);
  if (!isSimple(query)) {
    q = draft.fresh('q');
    lines.push(`${q} = ${flat(query)}`);
  }
  const users = `${key}.shape[0]`;
  // An expand may also meet a batch of keys that has all rows already.
  const rows = repeats ? flat(count) : `${q}.shape[0] // ${key}.shape[0]`;
  const folded = draft.fresh('folded');
  lines.push(`${folded} = ${q}.unflatten(0, (${users}, ${rows})).transpose(1, 2).flatten(2, 3)`);
  lines.push(`${folded} = ${[`${textOf(call.callee)}(${folded}`, key, value, ...keywordTexts(call)].join(', ')})`);
  const text = `${folded}.unflatten(2, (${rows}, ${q}.shape[2])).transpose(1, 2).flatten(0, 1).contiguous()`;
  const edits = [insertBefore(draft.target, lines), replace(node, text)];
  return { edits: finished(draft, edits), conditions: [...conditions, ...conditionsOf(match), ...draft.stays] };
}

function readAttention(match: Match, draft: Draft): Operands {
  const { attention, sink } = match;
  const call = callOf(sink.node);
  if (!attention || !call || call.splat) refuse('the operands of the attention are not written out');
  if (call.method !== 'scaled_dot_product_attention')
    refuse(`only F.scaled_dot_product_attention is rewritten, not ${call.name}`);
  const query = argument(call, 0, 'query');
  const [key, value] = [argument(call, 1, 'key'), argument(call, 2, 'value')];
  if (!query || !key || !value) refuse('the operands of the attention are not written out');
  const k = copied(draft, key, attention.key);
  const v = copied(draft, value, attention.value);
  const [ofKey, ofValue] = [mapText(k.map), mapText(v.map)];
  if (ofKey !== ofValue) refuse(`key and value are copied differently: ${ofKey} and ${ofValue}`);
  if (k.map.axis !== 0) refuse('the copies are not made along the batch axis');
  const kept = keywordNames(call).flatMap((name) => call.keywords.get(name) ?? []);
  draft.emitted.push(query, ...call.positional.slice(3), ...kept);
  const conditions = [
    ...conditionsOfMap(k.copy, attention.key.replicas),
    ...conditionsOfMap(v.copy, attention.value.replicas),
    ...conditionsOfDropout(call),
    ...conditionsOfAttentionRank(attention, k.text),
  ];
  return { call, query, key: k.text, value: v.text, copy: k.copy, map: k.map, conditions: once(conditions) };
}

export function conditionsOfDropout(call: Call): readonly Condition[] {
  const rate = argument(call, 4, 'dropout_p');
  if (!rate || /^0(\.0*)?$/.test(textOf(rate))) return [];
  return [otherDraws(flat(rate))];
}

interface CopiedOperand {
  readonly text: string;
  readonly copy: Replicate;
  readonly map: RowMap;
}

/** Views behind the copy that leave the batch axis alone: they apply to the small tensor as they are. */
function copied(draft: Draft, operand: Node, facts: AttentionOperand): CopiedOperand {
  const made = trace(operand);
  const view = callOf(made.value);
  const direct = replicateOf(made.value);
  if (!direct && view?.receiver && keepsBatch(view)) {
    removeDefinitions(draft, made.definitions);
    for (const definition of made.definitions) requireUndisturbed(made.value, definition.statement, draft.at);
    const inner = copied(draft, view.receiver, facts);
    const tail = made.value.file.text.slice(view.receiver.end, made.value.end).replace(/\s+/g, ' ');
    return { ...inner, text: inner.text + tail };
  }
  if (!direct || !agrees(direct, facts.replicas))
    refuse(`the copy of \`${flat(operand)}\` is not made in a form that is known`);
  const map = direct.map(ownReplicas(direct, facts.replicas));
  if (!map) refuse('the copies are made along several axes');
  return { text: sourceText(draft, direct, made, operand), copy: direct, map };
}

function keepsBatch(call: Call): boolean {
  const axes = call.positional.map(integer);
  if (call.keywords.size > 0 || call.splat) return false;
  if (call.method === 'contiguous') return call.positional.length === 0;
  if (call.method === 'transpose')
    return axes.every((axis) => axis !== null && axis > 0) || axes.every((axis) => axis === -1 || axis === -2);
  if (call.method === 'permute') return axes[0] === 0;
  return call.method === 'unflatten' && axes[0] !== null && axes[0] !== undefined && (axes[0] > 0 || axes[0] === -1);
}

const keywordNames = (call: Call): string[] =>
  [...call.keywords.keys()].filter((name) => !['query', 'key', 'value'].includes(name));
const keywordTexts = (call: Call): string[] =>
  keywordNames(call).map((name) => `${name}=${flat(call.keywords.get(name) ?? call.node)}`);

/** An int for certain: a literal, a size (also one unpacked from a shape), arithmetic over them. */
export function isInteger(node: Node): boolean {
  const at = unwrap(node);
  if (integer(at) !== null) return true;
  if (at.kind === 'subscript') return /\.shape\[-?\d+\]$/.test(textOf(at).replace(/\s+/g, ''));
  if (at.kind === 'binary_operator') return at.children.filter((c) => c.field !== 'operator').every(isInteger);
  const call = callOf(at);
  if (call) {
    const ofIntegers = ['min', 'max'].includes(call.name) && !call.splat && call.positional.every(isInteger);
    return ofIntegers || ['len', 'int'].includes(call.name) || (call.method === 'size' && call.positional.length === 1);
  }
  if (at.kind !== 'identifier') return false;
  const { value } = trace(at);
  return value === at ? isUnpackedSize(at) : isInteger(value);
}

/** `b, n, d = x.shape`, `n: int`: every binding of the name is of such a form. */
function isUnpackedSize(name: Node): boolean {
  const bindings = occurrences(scopeOf(name), textOf(name)).filter(isBinding);
  return (
    bindings.length > 0 &&
    bindings.every((binding) => {
      const { parent } = binding;
      if (parent && /^typed_(default_)?parameter$/.test(parent.kind))
        return textOf(childOf(parent, 'type') ?? name) === 'int';
      const assignment = enclosing(binding, 'assignment');
      const right = assignment && childOf(assignment, 'right');
      return parent?.kind === 'pattern_list' && right != null && /\.(shape|size\(\))$/.test(textOf(right));
    })
  );
}
