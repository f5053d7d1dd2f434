/** Calls that run between the copy and the place where the new text reads: what they do to what it reads. */
import type { Condition } from '../finding';
import type { Match } from '../judge/match';
import { type Node, childOf, scopeOf, textOf, lineOf } from '../python/syntax';
import { doingsOf } from './callees';
import { doesNotWrite, leavesAttribute, once } from './conditions';
import { type Edit, shortly } from './edit';
import { type Call, callOf } from './expression';
import { refuse } from './refusal';
import { DIGIT, EDGE, LETTER, patternOf } from '../python/words';

/**
 * Conditions for the calls that stand between the copies (or the first edit) and the last edit of the function around the
 * sink, and stay there.
 * Refuses where one of them writes into tensors, or sets a name that the new text reads.
 */
export function conditionsOfCalls(match: Match, edits: readonly Edit[]): readonly Condition[] {
  const { node: sink } = match.sink;
  const scope = scopeOf(sink);
  const inner = edits.filter((edit) => scope.start <= edit.start && edit.end <= scope.end);
  const made = originsOf(match).filter((origin) => origin.file === sink.file && scopeOf(origin) === scope);
  const from = Math.min(sink.start, ...[...inner, ...made].map(({ start }) => start));
  const to = Math.max(sink.end, ...inner.map((edit) => edit.end));
  const names = namesIn(inner, sink, from);
  const conditions: Condition[] = [];
  visitBetween(scope, from, to, (node) => {
    if (node.kind === 'await' || node.kind === 'yield')
      refuse(`line ${lineOf(node)} hands over to other code between the copy and the product`);
    const call = callOf(node);
    if (!call || sink.start <= node.start) return;
    if (inner.some((edit) => edit.start <= node.start && node.end <= edit.end)) return;
    const condition = conditionOf(call, names, sink);
    if (condition !== null) conditions.push(condition);
  });
  return once(conditions);
}

/** Where the copies are made that reach the sink: one that stays has no edit. */
export function originsOf({ origin, form, attention, product }: Match): readonly Node[] {
  const atoms = form?.blocks.flatMap((block) => block.terms.flatMap((term) => term.factors)) ?? [];
  const operands = [...(attention ? [attention.key, attention.value] : []), ...(product?.operands ?? [])];
  return [origin, ...[...atoms, ...operands].flatMap(({ replicas }) => replicas.map((replica) => replica.origin))];
}

/** Names that the new text reads, each with the place from which on the old text had read it. */
interface Names {
  readonly variables: ReadonlyMap<string, number>;
  readonly attributes: ReadonlyMap<string, number>;
  /** Those of `self`. */
  readonly own: ReadonlySet<string>;
}

/** Behind what: `self.`, another dot, or nothing. */
const NAMES = patternOf(`(${EDGE}(?:self)?\\.\\s*)?${EDGE}(?!${DIGIT})(${LETTER}+)`, 'gu');

/** The layer that the sink calls is read where it was. */
function namesIn(edits: readonly Edit[], sink: Node, from: number): Names {
  const variables = new Map<string, number>();
  const attributes = new Map<string, number>();
  const own = new Set<string>();
  const callee = childOf(sink, 'function');
  const layer = new Set(callee ? textOf(callee).split('.') : []);
  const before = firstPlaces(edits, sink.file.text);
  for (const edit of edits) {
    for (const [, dot, name] of edit.text.matchAll(NAMES(edit.text))) {
      if (name === undefined || (dot && layer.has(name))) continue;
      const map = dot ? attributes : variables;
      if (dot?.startsWith('self')) own.add(name);
      if (!map.has(name)) map.set(name, before.get(name) ?? from);
    }
  }
  return { variables, attributes, own };
}

const WORDS = patternOf(`${LETTER}+`, 'gu');

/** Of each word in what is replaced. */
function firstPlaces(edits: readonly Edit[], text: string): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const { start, end } of edits) {
    const old = text.slice(start, end);
    for (const { 0: word, index } of old.matchAll(WORDS(old)))
      places.set(word, Math.min(places.get(word) ?? Infinity, start + index));
  }
  return places;
}

function visitBetween(node: Node, from: number, to: number, see: (node: Node) => void): void {
  for (const child of node.children) {
    if (child.end <= from || child.start >= to) continue;
    if (child.kind === 'function_definition' || child.kind === 'lambda' || child.kind === 'class_definition') continue;
    if (child.start >= from) see(child);
    visitBetween(child, from, to, see);
  }
}

function conditionOf(call: Call, names: Names, sink: Node): Condition | null {
  const { writes, sets, unknown } = doingsOf(call);
  const line = lineOf(call.node);
  const reads = (map: ReadonlyMap<string, number>, name: string): boolean =>
    (map.get(name) ?? Infinity) < call.node.end;
  const isRead = (name: string): boolean => reads(names.variables, name) || reads(names.attributes, name);
  if (writes) {
    refuse(`line ${line}: \`${shortly(call.callee)}\` may write into tensors in place (line ${lineOf(writes)})`);
  }
  const set = [...sets].find(isRead);
  if (set !== undefined) refuse(`line ${line}: \`${shortly(call.callee)}\` may set \`${set}\` before it is read`);
  if (!unknown) return null;
  const given = [...(call.receiver ? [call.receiver] : []), ...call.positional, ...call.keywords.values()];
  // What the sink reads is not handed on to a call around it, which gets what the sink made.
  const name = given
    .flatMap((one) => identifiersIn(one, sink))
    .find((one) => one !== 'self' && reads(names.variables, one));
  if (name !== undefined) return doesNotWrite(shortly(call.callee), line, name);
  // A method that is not in the file may set what is read of `self`.
  const inherited = /^(self|super\(.*\))\.\w+$/.test(call.name);
  const attribute = inherited ? [...names.own].find((one) => reads(names.attributes, one)) : undefined;
  return attribute !== undefined ? leavesAttribute(shortly(call.callee), line, attribute) : null;
}

/** The variables in `node`, but for those in `except`. */
function identifiersIn(node: Node, except: Node): readonly string[] {
  if (node === except) return [];
  if (node.kind === 'identifier') return node.field === 'attribute' ? [] : [textOf(node)];
  return node.children.flatMap((child) => identifiersIn(child, except));
}
