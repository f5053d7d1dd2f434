/**
 * What becomes of the statements that made the copy: each is removed when nothing else reads its value, turned into a
 * statement of the small tensor when that has no name of its own, or else stays.
 */
import { type Node, statementOf, textOf } from '../python/syntax';
import { disturbance, requireUndisturbed } from './disturbance';
import { type Edit, flat, lineOf, removeStatement, replace } from './edit';
import { isSimple, isView } from './expression';
import { type Definition, isBinding, isMutation, namer, occurrences, occurrencesBetween, readersOf } from './names';
import { refuse } from './refusal';
import type { Replicate } from './replicate';
import type { Traced } from './trace';

/** A rewrite under construction. */
export interface Draft {
  /** The statement of the sink, in front of which new statements go. */
  readonly target: Node;
  readonly edits: Edit[];
  /** Ranges that the edits take away: reads in them do not count. */
  readonly gone: Node[];
  /** Copies that stay because of another reader: a condition to print. */
  readonly stays: string[];
  /** Names for new variables: the one asked for, or with a number behind it where the file uses that one. */
  readonly fresh: (base: string) => string;
}

export const draftFor = (sink: Node): Draft => ({
  target: statementOf(sink),
  edits: [],
  gone: [sink],
  stays: [],
  fresh: namer(sink.file.root),
});

const inside = (node: Node, ranges: readonly Node[]): boolean =>
  ranges.some((range) => range.start <= node.start && node.end <= range.end);

/** Removes the statements of `definitions` as far as nothing else reads them; false when one stays. */
export function removeDefinitions(draft: Draft, definitions: Traced['definitions']): boolean {
  requireUnwritten(definitions, draft.target);
  for (const definition of definitions) {
    if (draft.gone.includes(definition.statement)) continue;
    const reader = otherReader(draft, definition);
    if (reader) {
      keep(draft, definition.name, reader);
      return false;
    }
    draft.edits.push(removeStatement(definition.statement));
    draft.gone.push(definition.statement);
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
  for (const argument of replicate.arguments) requireUndisturbed(argument, from, draft.target);
  if (!definition) {
    if (!isView(source)) refuse(`the tensor that is copied at line ${lineOf(source)} has no name; give it one first`);
    requireUndisturbed(source, site, draft.target);
    return flat(source) + suffix;
  }
  requireUnwritten(made.definitions, draft.target);
  const reader = made.definitions.map((d) => otherReader(draft, d)).find((r) => r !== undefined);
  const readsItself = occurrences(source, definition.name).length > 0;
  const removable = !reader && inside(use, draft.gone);
  if (removable && more.length === 0 && (!isSimple(source) || disturbance(source, from, draft.target) !== null)) {
    requireBound(definition, draft.target);
    // What was a copy may now share memory with the source: nobody may write into that any more.
    requireUndisturbed(source, from, draft.target, 'writes');
    const known = draft.edits.some((edit) => edit.start === replicate.node.start && edit.text !== '');
    if (!known) draft.edits.push(replace(replicate.node, textOf(source) + suffix));
    return definition.name;
  }
  if (!isView(source) || (readsItself && !removable)) {
    const why = reader ? `line ${lineOf(reader)} reads the copy \`${definition.name}\` too` : 'it is read again later';
    refuse(`the tensor that is copied at line ${lineOf(source)} has no name of its own, and ${why}`);
  }
  requireUndisturbed(source, from, draft.target);
  if (removable) removeDefinitions(draft, made.definitions);
  else if (reader) keep(draft, definition.name, reader);
  return flat(source) + suffix;
}

/** One reason is enough: the others follow from it. */
function keep(draft: Draft, name: string, reader: Node): void {
  if (draft.stays.length === 0)
    draft.stays.push(`the copy stays, because line ${lineOf(reader)} reads \`${name}\` too`);
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
