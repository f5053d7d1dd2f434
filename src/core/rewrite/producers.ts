/**
 * What becomes of the statements that made the copy: each is removed when nothing else reads its value, turned into a
 * statement of the small tensor when that has no name of its own, or else stays.
 */
import type { Condition } from '../finding';
import { type Node, statementOf, textOf, lineOf } from '../python/syntax';
import { copyStays } from './conditions';
import { disturbance, requireUndisturbed } from './disturbance';
import { type Edit, flat, inOrder, indentOf, insertBefore, removeStatement, replace } from './edit';
import { isSimple, isView, rootName } from './expression';
import { canHoist } from './guards';
import {
  type Definition,
  isBinding,
  isMutation,
  namer,
  occurrences,
  occurrencesBetween,
  readersOf,
  visit,
} from './names';
import { refuse } from './refusal';
import { type Replicate, isLazy } from './replicate';
import type { Traced } from './trace';

/** A rewrite under construction. */
export interface Draft {
  /** The statement of the sink, in front of which new statements go. */
  readonly target: Node;
  /** The expression in whose place the new one is evaluated. */
  readonly at: Node;
  readonly edits: Edit[];
  /** Ranges that the edits take away: reads in them do not count. */
  readonly gone: Node[];
  /** Copies that stay because of another reader: a condition to print. */
  readonly stays: Condition[];
  /** Expressions that get a name in front of the statement that they stand in, in the order in which they ran. */
  readonly hoists: { readonly site: Node; readonly name: string; readonly value: string; readonly expression: Node }[];
  /** Names whose value the edits take away or change, from the statement on. */
  readonly changed: (Definition & { readonly name: string })[];
  /** Parts of the file that are written again somewhere else. */
  readonly emitted: Node[];
  /** Names for new variables: the one asked for, or with a number behind it where the file uses that one. */
  readonly fresh: (base: string) => string;
}

export const draftFor = (sink: Node): Draft => ({
  target: statementOf(sink),
  at: sink,
  edits: [],
  gone: [sink],
  stays: [],
  hoists: [],
  changed: [],
  emitted: [],
  fresh: namer(sink.file.root),
});

const inside = (node: Node, ranges: readonly Node[]): boolean =>
  ranges.some((range) => range.start <= node.start && node.end <= range.end);

/** Removes the statements of `definitions` as far as nothing else reads them; false when one stays. */
export function removeDefinitions(draft: Draft, definitions: Traced['definitions']): boolean {
  requireUnwritten(definitions, draft.at);
  for (const definition of definitions) {
    if (draft.gone.includes(definition.statement)) continue;
    const reader = otherReader(draft, definition);
    if (reader) {
      keep(draft, definition.name, reader);
      return false;
    }
    draft.edits.push(removeStatement(definition.statement));
    draft.gone.push(definition.statement);
    draft.changed.push(definition);
  }
  return true;
}

export const otherReader = (draft: Draft, definition: Definition & { readonly name: string }): Node | undefined =>
  readersOf(definition, definition.name).find((reader) => !inside(reader, draft.gone));

/**
 * Text by which the sink's statement can read the small tensor of a copy. `made` is how the operand leads to the copy.
 * `use` is the operand of the concatenation (or of the product) that reads the copy.
 */
export function sourceText(draft: Draft, replicate: Replicate, made: Traced, use: Node): string {
  const site = statementOf(use);
  const { source, suffix } = replicate;
  const [definition, ...more] = made.definitions;
  const from = made.definitions.at(-1)?.statement ?? site;
  for (const argument of replicate.arguments) requireUndisturbed(argument, from, draft.at);
  draft.emitted.push(...replicate.arguments);
  if (!definition) {
    if (!isView(source)) {
      if (!inside(use, draft.gone))
        refuse(`line ${lineOf(source)} computes the tensor that is copied inside a statement that stays`);
      return hoist(draft, source, 'rows') + suffix;
    }
    requireUndisturbed(source, site, draft.at);
    return emit(draft, source) + suffix;
  }
  requireUnwritten(made.definitions, draft.at);
  const reader = made.definitions.map((d) => otherReader(draft, d)).find((r) => r !== undefined);
  const readsItself = occurrences(source, definition.name).length > 0;
  const removable = !reader && inside(use, draft.gone);
  const stays = reader && !isLazy(replicate) ? reader : null;
  if (removable && more.length === 0 && (!isSimple(source) || disturbance(source, from, draft.at) !== null)) {
    requireBound(definition, draft.at);
    // What was a copy may now share memory with the source: nobody may write into that any more.
    requireUndisturbed(source, from, draft.at, 'writes');
    const known = draft.edits.some((edit) => edit.start === replicate.node.start && edit.text !== '');
    if (!known) draft.edits.push(replace(replicate.node, textOf(source) + suffix));
    draft.changed.push(definition);
    return definition.name;
  }
  if (!isView(source) || (readsItself && !removable)) {
    if (stays) keep(draft, definition.name, stays);
    const name = hoist(draft, source, 'rows');
    requireUndisturbed(source, from, draft.at, 'writes');
    draft.edits.push(replace(source, name));
    return name + suffix;
  }
  requireUndisturbed(source, from, draft.at);
  if (removable) removeDefinitions(draft, made.definitions);
  else if (stays) keep(draft, definition.name, stays);
  return emit(draft, source) + suffix;
}

/** The text of an expression that the sink's statement reads again. */
function emit(draft: Draft, expression: Node): string {
  draft.emitted.push(expression);
  return flat(expression);
}

/** Names an expression in front of its statement: it runs where it ran, and can be read again. */
export function hoist(draft: Draft, expression: Node, ending: string): string {
  const site = statementOf(expression);
  if (!canHoist(expression))
    refuse(`line ${lineOf(expression)} computes a tensor inside an expression; give it a name first`);
  const value = flat(expression);
  const known = draft.hoists.find((one) => one.site === site && one.value === value);
  if (known) return known.name;
  const name = draft.fresh(`${rootName(expression)}_${ending}`);
  draft.emitted.push(expression);
  draft.hoists.push({ site, name, value, expression });
  return name;
}

/** All edits of a draft and of the sink itself. Hoisted lines take the place of a statement that goes. */
export function finished(draft: Draft, edits: readonly Edit[]): readonly Edit[] {
  for (const { name, statement } of draft.changed) {
    const reader = draft.emitted.find((node) => node.start >= statement.end && occurrences(node, name).length > 0);
    if (reader) refuse(`line ${lineOf(reader)} computes with the copy \`${name}\` too`);
  }
  for (const node of draft.emitted) {
    // What is named in front of its statement is read where it was.
    if (!draft.hoists.some((one) => one.expression === node)) requireKept(draft, node);
  }
  const made = [...draft.edits];
  for (const site of new Set(draft.hoists.map((one) => one.site))) {
    const lines = draft.hoists.filter((one) => one.site === site).map(({ name, value }) => `${name} = ${value}`);
    const at = draft.gone.includes(site)
      ? made.findIndex((edit) => edit.start <= site.start && site.end <= edit.end)
      : -1;
    const insertion = insertBefore(site, lines);
    const removal = made[at];
    if (removal)
      made[at] = {
        ...removal,
        text: indentOf(site) + insertion.text.slice(0, insertion.text.length - indentOf(site).length),
      };
    else made.push(insertion);
  }
  return inOrder([...made, ...edits]);
}

/** `k = k[idx]` that stays leaves no name for the `k` that it reads. */
function requireKept(draft: Draft, node: Node): void {
  const statement = statementOf(node);
  if (statement === draft.target || draft.gone.includes(statement)) return;
  visit(node, (part) => {
    if (part.kind !== 'identifier' || part.field === 'attribute') return;
    const own = occurrences(statement, textOf(part)).find(isBinding);
    if (own)
      refuse(
        `line ${lineOf(own)} gives \`${textOf(own)}\` another value and stays, so that the one before cannot be read behind it`,
      );
  });
}

/** One reason is enough: the others follow from it. */
function keep(draft: Draft, name: string, reader: Node): void {
  if (draft.stays.length === 0) draft.stays.push(copyStays(lineOf(reader), name));
}

/** Refuses when a value on the way is written in place before the product reads it: its rows may differ then. */
export function requireUnwritten(definitions: Traced['definitions'], target: Node): void {
  for (const { name, statement } of definitions) {
    const write = occurrencesBetween(statement, target, name).find(isMutation);
    if (write) refuse(`\`${name}\` may be written into at line ${lineOf(write)}, so its rows may differ`);
  }
}

function requireBound(definition: Traced['definitions'][number], target: Node): void {
  const other = occurrencesBetween(definition.statement, target, definition.name).find(isBinding);
  if (other) refuse(`\`${definition.name}\` is bound again at line ${lineOf(other)}`);
}
