/** The blocks of a concatenation as a rewrite sees them: free ones by their text, copied ones by source and map. */
import type { Condition } from '../finding';
import type { Match, ReplicaFact } from '../judge/match';
import { type Node, scopeOf, statementOf, lineOf } from '../python/syntax';
import { requireUndisturbed } from './disturbance';
import { MOST_BLOCKS } from '../rules/bench-hint';
import { worksBetween } from './draws';
import { conditionsOfDtypes, isWhole, mixedPrecision } from './dtypes';
import { flat, shortly } from './edit';
import { type Call, callOf, elements, isView, rootName } from './expression';
import { tracedRows } from './merged-rows';
import { type Draft, hoist, removeDefinitions, sourceText } from './producers';
import { trace } from './trace';
import { refuse } from './refusal';
import { type Replicate, agrees, replicateOf } from './replicate';

export interface Part {
  /** Usable in front of the sink's statement. */
  readonly text: string;
  /** For names of new variables. */
  readonly base: string;
  readonly copy: { readonly replicate: Replicate; readonly replicas: readonly ReplicaFact[] } | null;
  /** It may have fewer rows than the others, so that it is not concatenated to any. */
  readonly alone?: boolean;
}

export interface Concatenation {
  readonly call: Call;
  readonly parts: readonly Part[];
  /** What of the concatenation follows its list: `, dim=-1`. */
  readonly tail: string;
  /** What has to follow the product of the whole: `.flatten(0, -2)` for a view of rows, mostly nothing. */
  readonly merge: string;
  /** What must hold of blocks that may hold integers. */
  readonly conditions: readonly Condition[];
}

/** Reads the concatenation that feeds the sink, and puts into the draft what becomes of the statements that made it. */
export function readConcatenation(match: Match, draft: Draft): Concatenation {
  const { form, call, operands, made, site, gone } = readOperands(match, draft);
  const parts = operands.map((operand, i) => {
    const [term, ...more] = form.blocks[i]?.terms ?? [];
    const [atom, ...factors] = term?.factors ?? [];
    if (!term || !atom || more.length > 0 || factors.length > 0 || term.coefficient !== 1) {
      refuse('a block is a sum or a product of tensors');
    }
    const copy = term.replicated ? copied(draft, operand, atom.replicas, made.merge !== '') : null;
    if (copy) return copy;
    // Copies of another block may stay as they are.
    if (atom.replicas.some(({ origin }) => origin === match.origin)) refuseForm(operand);
    return free(draft, operand, site, gone);
  });
  return { call, parts, tail: tailOf(call), merge: made.merge, conditions: conditionsOfDtypes(operands) };
}

/** The same with every block as it stands, whether it is a copy or not. */
export function readFree(
  match: Match,
  draft: Draft,
): { readonly concatenation: Concatenation; readonly operands: readonly Node[] } {
  const { call, operands, made, site, gone } = readOperands(match, draft);
  if (!gone || made.merge !== '') refuse('the concatenation is read elsewhere too');
  const parts = operands.map((operand) => free(draft, operand, site, gone));
  return {
    operands,
    concatenation: { call, parts, tail: tailOf(call), merge: '', conditions: conditionsOfDtypes(operands) },
  };
}

/** What follows the list: `, dim=-1`. */
const tailOf = ({ node, positional, keywords }: Call): string =>
  node.file.text
    .slice((positional[0] ?? keywords.get('tensors') ?? node).end, node.end - 1)
    .replace(/\s+/g, ' ')
    .replace(/,? ?$/, '');

function readOperands(match: Match, draft: Draft) {
  const { form, sink } = match;
  const [between] = form?.between ?? [];
  if (between && !sink.input) refuse(worksBetween(between));
  if (!form?.node || !sink.input) refuse('the blocks that are concatenated are not known');
  const made = tracedRows(match, sink.input);
  const call = callOf(made.value);
  if (!call || !['cat', 'concat', 'concatenate'].includes(call.method) || call.keywords.has('out')) {
    const { file } = form.node;
    const line = `line ${lineOf(form.node)}${file === sink.node.file ? '' : ` of ${file.path}`}`;
    if (scopeOf(form.node) !== scopeOf(sink.node))
      refuse(`the concatenation of ${line} is not made beside the product`);
    const what =
      made.value.kind === 'identifier'
        ? 'does not get the concatenation by one statement that runs on every path to the product'
        : 'stands between the concatenation and the product';
    refuse(`\`${shortly(made.value)}\` (line ${lineOf(made.value)}) ${what}`);
  }
  const list = call.positional[0] ?? call.keywords.get('tensors') ?? null;
  const operands = sink.operands ?? elements(list);
  if (!list || !operands) refuse(`the list that line ${lineOf(call.node)} concatenates is not written out there`);
  if (operands.length !== form.blocks.length) refuse('the concatenation is nested in another one');
  if (operands.length > MOST_BLOCKS) refuse(`the concatenation has more than ${MOST_BLOCKS} blocks`);

  const whole = operands.find(isWhole);
  if (whole) refuse(`\`${shortly(whole)}\` may hold integers or booleans, which only the concatenation converts`);
  const mixed = mixedPrecision(operands);
  if (mixed)
    refuse(
      `\`${shortly(mixed[0])}\` is of another precision than \`${shortly(mixed[1])}\`: the concatenation brings both to one type`,
    );
  // What the module that is called concatenates itself stays where it is.
  const site = statementOf(sink.operands ? sink.node : call.node);
  const gone = sink.operands ? true : removeDefinitions(draft, made.definitions);
  return { form, call, operands, made, site, gone };
}

/** Null where the form of the copy is not known. */
function copied(draft: Draft, operand: Node, replicas: readonly ReplicaFact[], merged: boolean): Part | null {
  const made = trace(operand);
  const replicate = replicateOf(made.value);
  if (!replicate || !agrees(replicate, replicas, merged)) return null;
  const text = sourceText(draft, replicate, made, operand);
  const base = /^\w+$/.test(text) ? text : rootName(replicate.source);
  return { text, base, copy: { replicate, replicas } };
}

function refuseForm(operand: Node): never {
  const { value } = trace(operand);
  const what =
    value.kind === 'identifier'
      ? 'does not get its copies by a statement of its own'
      : 'is not a copy in a form that is known';
  refuse(`\`${shortly(value)}\` (line ${lineOf(value)}) ${what}`);
}

function free(draft: Draft, operand: Node, site: Node, gone: boolean): Part {
  const base = rootName(operand);
  if (isView(operand)) {
    requireUndisturbed(operand, site, draft.at);
    draft.emitted.push(operand);
    return { text: flat(operand), base, copy: null };
  }
  // Something is computed here: it keeps its place, under a name.
  if (!gone) refuse(`line ${lineOf(operand)} computes a block inside the concatenation, which stays; name it first`);
  return { text: hoist(draft, operand, 'block'), base, copy: null };
}

export type CopiedPart = Part & { readonly copy: NonNullable<Part['copy']> };

export const isCopied = (part: Part): part is CopiedPart => part.copy !== null;
