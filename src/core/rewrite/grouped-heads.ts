/** Key and value heads that are repeated to meet the query's (`repeat_kv`): attention reads them as they are. IKB202. */
import type { TorchVersion } from '../engine';
import type { Condition } from '../finding';
import type { AttentionOperand, Match } from '../judge/match';
import { type Node, enclosing, lineOf, statementOf, textOf } from '../python/syntax';
import type { Written } from './decompose';
import { requireUndisturbed } from './disturbance';
import { conditionsOfDropout } from './attention';
import { type Edit, flat, insertBefore, replace } from './edit';
import { type Call, argument, callOf, isSimple, shapedLike } from './expression';
import { fusedKernel, holdsEachHead } from './conditions';
import { canHoist, conditionsOf } from './guards';
import { helperCopy } from './helper';
import { type Draft, draftFor, finished, removeDefinitions } from './producers';
import { conditionsOfAttentionRank } from './ranks';
import { refuse } from './refusal';
import { replicateOf } from './replicate';
import { trace } from './trace';

interface Heads {
  readonly call: Call;
  readonly query: Node;
  readonly key: Head;
  readonly value: Head;
}

interface Head {
  readonly argument: Node;
  /** The heads before they are repeated. */
  readonly text: string;
  readonly count: string;
  /** True when the repetition is read in this file, false when only its name says what it does. */
  readonly proved: boolean;
}

/** The release that brought enable_gqa. */
export const GQA_TORCH: TorchVersion = [2, 5];

export function enableGqa(match: Match, torch: TorchVersion | null): Written {
  const draft = draftFor(match.sink.node);
  const { call, key, value } = readHeads(match, draft);
  if (match.attention?.mask)
    refuse('with a mask no fused kernel takes enable_gqa, and the math path is slower than repeating');
  requireFused(match);
  const wide = [call.positional[0], key.argument, value.argument].find((node) => node && isWide(node));
  if (wide) refuse(`\`${flat(wide)}\` is in single precision, in which enable_gqa takes the math path`);
  const flag = call.keywords.get('enable_gqa');
  if (flag && textOf(flag) !== 'True') refuse(`\`enable_gqa=${flat(flag)}\` is set already`);
  const [last] = [...call.positional, ...call.keywords.values()].sort((a, b) => b.end - a.end);
  const end = last ? (last.parent?.kind === 'keyword_argument' ? last.parent.end : last.end) : call.node.end - 1;
  const edits: Edit[] = [
    replace(key.argument, key.text),
    replace(value.argument, value.text),
    // Set already, it shares the heads that are not repeated any more, too.
    ...(flag ? [] : [{ start: end, end, text: ', enable_gqa=True' }]),
  ];
  return {
    edits: finished(draft, edits),
    conditions: [
      fusedKernel(torch ? null : GQA_TORCH.join('.')),
      ...unproved(key, value),
      ...untoldRank(match, key),
      ...conditionsOf(match),
      ...draft.stays,
    ],
  };
}

/** Refuses where the text says that no fused kernel takes shared heads: another one is asked for, or the heads are too large. */
function requireFused({ attention, sink, size }: Match): void {
  for (let at = enclosing(sink.node, 'with_statement'); at; at = at.parent && enclosing(at.parent, 'with_statement')) {
    const clause = at.children.find((c) => c.kind === 'with_clause');
    if (clause && /\bsdp(a)?_kernel\(/.test(textOf(clause)))
      refuse(`line ${lineOf(at)} says which kernels may run: with enable_gqa none of them may be left`);
  }
  const set = /\benable_\w*sdp\(\s*False/.exec(sink.node.file.text)?.[0];
  if (set) refuse(`\`${set})\` of this file takes kernels away: with enable_gqa none may be left`);
  const [q, k, v] = [attention?.query, attention?.key, attention?.value].map((o) => size(o?.dims?.at(-1) ?? null));
  const widths = [q, k, v].filter((n) => typeof n === 'number');
  const large = widths.find((n) => n > 256);
  if (large !== undefined) refuse(`no fused kernel takes heads of ${large}, above 256`);
  const other = widths.find((n) => n !== widths[0]);
  if (other !== undefined)
    refuse(`no fused kernel takes keys and values of different widths, ${widths[0]} and ${other}`);
}

/** [.., Hkv * n, L, D] queries become [.., Hkv, n * L, D]: no copy, any dtype, any release. */
export function foldHeads(match: Match): Written {
  const draft = draftFor(match.sink.node);
  const { call, query, key, value } = readHeads(match, draft);
  if (match.attention?.mask || call.positional.length > 3) refuse(NO_FOLD);
  // With enable_gqa already, the repeated heads are still fewer than the query's.
  const count = call.keywords.has('enable_gqa') ? null : key.count;
  const edits = foldedQueries(draft, call, query, key, value, count);
  return {
    edits: finished(draft, edits),
    conditions: [
      ...conditionsOfDropout(call),
      ...unproved(key, value),
      ...untoldRank(match, key),
      ...conditionsOf(match),
      ...draft.stays,
    ],
  };
}

export const NO_FOLD = 'a mask or causal order does not fold into the query axis';

interface Operand {
  readonly argument: Node;
  readonly text: string;
}

/** Edits that let the queries that share a head attend as one longer query; `count` of them do, null for all there are. */
export function foldedQueries(
  draft: Draft,
  call: Call,
  query: Node,
  key: Operand,
  value: Operand,
  count: string | null,
): readonly Edit[] {
  const others = [...call.keywords.keys()].filter(
    (name) => !/^(query|key|value|dropout_p|scale|enable_gqa)$/.test(name),
  );
  if (others.length > 0) refuse(NO_FOLD);
  const flag = call.keywords.get('enable_gqa')?.parent;
  const hoist = canHoist(call.node);
  const lines: string[] = [];
  let q = flat(query);
  if (!isSimple(query)) {
    if (!hoist) refuse('the query is an expression; give it a name first');
    q = draft.fresh('query');
    lines.push(`${q} = ${flat(query)}`);
  }
  const heads = `${shapedLike(key.text)}.shape[-3]`;
  let n = count ?? `${q}.shape[-3] // ${heads}`;
  if (count === null && hoist) {
    const shared = draft.fresh('shared');
    lines.push(`${shared} = ${n}`);
    n = shared;
  }
  const folded = `${q}.unflatten(-3, (${heads}, ${n})).flatten(-3, -2)`;
  const name = hoist ? draft.fresh('folded') : folded;
  if (hoist) lines.push(`${name} = ${folded}`);
  return [
    replace(query, name),
    replace(key.argument, key.text),
    replace(value.argument, value.text),
    ...(flag ? [withoutArgument(flag)] : []),
    { start: call.node.end, end: call.node.end, text: `.unflatten(-2, (${n}, ${q}.shape[-2])).flatten(-4, -3)` },
    ...(hoist ? [insertBefore(draft.target, lines)] : []),
  ];
}

/** Takes a keyword argument away, with the comma in front of it, or behind it where it is the first. */
export function withoutArgument(argument: Node): Edit {
  const { text } = argument.file;
  const before = /,\s*$/.exec(text.slice(0, argument.start));
  const after = before ? null : /^\s*,\s*/.exec(text.slice(argument.end));
  const start = argument.start - (before?.[0].length ?? 0);
  return { start, end: argument.end + (after?.[0].length ?? 0), text: '' };
}

/** Plainly in single or double precision. */
const isWide = (node: Node): boolean =>
  /\.(float|double)\(\)$|\.to\((dtype=)?torch\.float(32|64)?\)$/.test(textOf(trace(node).value));

const unproved = (...heads: readonly Head[]): readonly Condition[] => {
  const unknown = heads.find((head) => !head.proved);
  return unknown ? [holdsEachHead(flat(unknown.argument), unknown.count)] : [];
};

/** What no name calls heads could be tokens, of three axes. */
const untoldRank = ({ attention }: Match, key: Head): readonly Condition[] =>
  key.proved ? conditionsOfAttentionRank(attention, key.text) : [];

function readHeads(match: Match, draft: Draft): Heads {
  const { attention, sink } = match;
  const call = callOf(sink.node);
  if (!attention || !call || call.splat || call.method !== 'scaled_dot_product_attention') {
    refuse('only a call of F.scaled_dot_product_attention with its arguments written out is rewritten');
  }
  if (attention.layout !== 'bhsd') refuse('the heads are not on axis 1');
  const query = argument(call, 0, 'query');
  const [key, value] = [argument(call, 1, 'key'), argument(call, 2, 'value')];
  if (!query || !key || !value) refuse('the operands of the attention are not written out');
  // `scale=1 / k.shape[1]` would read the heads as they are.
  const others = [...call.keywords].flatMap(([name, given]) => (/^(query|key|value)$/.test(name) ? [] : [given]));
  draft.emitted.push(query, ...call.positional.slice(3), ...others);
  const heads = { key: head(draft, key, attention.key), value: head(draft, value, attention.value) };
  if (heads.key.count !== heads.value.count) refuse('key and value heads are repeated differently');
  return { call, query, ...heads };
}

function head(draft: Draft, operand: Node, facts: AttentionOperand): Head {
  const onHeads = facts.replicas.filter(
    (r) => r.axis === 1 || (r.axis < 0 && r.rank !== null && r.axis + r.rank === 1),
  );
  if (
    onHeads.length === 0 ||
    onHeads.length !== facts.replicas.length ||
    onHeads.some((r) => r.map.kind !== 'blocks')
  ) {
    refuse('the heads are not repeated each in a row, as grouped attention needs it');
  }
  const made = trace(operand);
  const direct = replicateOf(made.value);
  const copy = direct
    ? {
        source: direct.source,
        count: direct.arguments[0] ?? operand,
        proved: direct.kind === 'blocks' && direct.suffix === '',
      }
    : helperCopy(made.value);
  if (!copy && made.value.kind === 'identifier')
    refuse(`\`${flat(made.value)}\` gets its value in several places, so that its repetition cannot be followed`);
  if (!copy || (direct && !copy.proved)) refuse(`the way in which \`${flat(operand)}\` repeats its heads is not known`);
  const from = made.definitions.at(-1)?.statement ?? statementOf(operand);
  requireUndisturbed(copy.count, from, draft.at);
  if (!isSimple(copy.source)) refuse(`the heads that \`${flat(operand)}\` repeats have no name; give them one first`);
  draft.emitted.push(copy.source, copy.count);
  removeDefinitions(draft, made.definitions);
  requireUndisturbed(copy.source, from, draft.at);
  return { argument: operand, text: flat(copy.source), count: flat(copy.count), proved: copy.proved };
}
