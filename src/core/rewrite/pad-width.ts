/**
 * A layer whose input has K columns, in half precision and K no multiple of 8: the layer gets the missing columns when it
 * is built, and zeros meet them in the concatenation, which writes its rows anyway. IKB401.
 */
import type { Match } from '../judge/match';
import { type Node, textOf, lineOf } from '../python/syntax';
import type { Written } from './decompose';
import { savedWeights } from './conditions';
import { type Edit, flat, replace } from './edit';
import { argument, callOf, elements, integer, isView } from './expression';
import { layerOf } from './layer';
import { visit } from './names';
import { parameterOf } from './pad-parameter';
import { draftFor, finished, otherReader } from './producers';
import { refuse } from './refusal';
import { trace } from './trace';

export function padWidth(match: Match): Written {
  const { module, weight } = match.sink;
  if (!module && weight !== null) return padParameter(match);
  const layer = layerOf(match);
  const made = match.sink.module?.constructor ?? null;
  const call = made && callOf(made);
  const given = call && argument(call, 0, 'in_features');
  if (!layer || !call || !given) refuse('the layer is not made in this file as an nn.Linear');
  const width = integer(given);
  const alignment = match.why?.kind === 'width' ? match.why.alignment : null;
  if (width === null || alignment === null) refuse(`the width \`${flat(given)}\` is not written as a number`);
  const missing = alignment - (width % alignment);
  if (layer.text.includes('[') || layer.stages) refuse('the layer is a stage of a container');
  requireOneUse(match, layer.text);
  const { cat, edits: padded } = paddedConcatenation(match, missing);
  const edits = [replace(given, String(width + missing)), ...padded];
  const columns = `${missing} more column${missing > 1 ? 's' : ''}`;
  return {
    edits: finished(draftFor(cat), edits),
    conditions: [savedWeights(layer.text, columns), ...layer.conditions],
  };
}

function padParameter(match: Match): Written {
  const { size, width, name, unit } = parameterOf(match);
  const alignment = match.why?.kind === 'width' ? match.why.alignment : null;
  if (alignment === null || width % alignment === 0) refuse(`\`${name}\` is as wide as it should be`);
  const missing = alignment - (width % alignment);
  const { cat, edits } = paddedConcatenation(match, missing);
  return {
    edits: finished(draftFor(cat), [replace(size, String(width + missing)), ...edits]),
    conditions: [savedWeights(name, `${missing} more ${unit}${missing > 1 ? 's' : ''}`)],
  };
}

/** Nothing but its constructor and the one call may know how wide the layer is. */
function requireOneUse({ sink }: Match, text: string): void {
  visit(sink.node.file.root, (node) => {
    if (node.kind !== 'attribute' || textOf(node) !== text) return;
    const called = node.start === sink.node.start && node.parent === sink.node;
    const assigned = node.field === 'left' && node.parent?.kind === 'assignment';
    if (!called && !assigned) refuse(`line ${lineOf(node)} uses \`${text}\` too`);
  });
}

/** The zeros that meet the new columns, joined with the rest. */
function paddedConcatenation(match: Match, missing: number): { readonly cat: Node; readonly edits: readonly Edit[] } {
  const { cat, list, block } = concatenationOf(match);
  const last = list.children.at(-1) ?? list;
  const text = `, ${block}.new_zeros(*${block}.shape[:-1], ${missing})`;
  return { cat, edits: [{ start: last.end, end: last.end, text }] };
}

function concatenationOf({ origin, sink }: Match): { readonly cat: Node; readonly list: Node; readonly block: string } {
  const call = callOf(origin);
  const list = call ? argument(call, 0, 'tensors') : null;
  const blocks = elements(list);
  if (!call || !list || !blocks) return refuse('the list that is concatenated is not written out');
  if (integer(argument(call, 1, 'dim', 'axis')) !== -1) refuse('the concatenation is not plainly on the last axis');
  if (call.keywords.has('out')) refuse('the concatenation is written into another tensor');
  const block = blocks.find(isView);
  if (!block) refuse('no block has a name');
  const made = sink.input ? trace(sink.input) : null;
  if (made?.value.start !== origin.start) refuse('something stands between the concatenation and the product');
  const draft = draftFor(sink.node);
  const reader = made.definitions.map((definition) => otherReader(draft, definition)).find((found) => found);
  if (reader) refuse(`line ${lineOf(reader)} reads the concatenation too`);
  return { cat: origin, list, block: flat(block) };
}
