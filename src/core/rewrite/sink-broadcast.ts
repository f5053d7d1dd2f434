/**
 * lin(map(x)) = map(lin(x)) for whatever works row by row: the product runs on the small tensor, and its result is
 * copied instead. IKB102.
 */
import type { Condition } from '../finding';
import type { Match } from '../judge/match';
import { type Node, statementOf, textOf, lineOf } from '../python/syntax';
import type { Written } from './decompose';
import { disturbance, requireUndisturbed } from './disturbance';
import { type Edit, flat, removeStatement, replace, shortly } from './edit';
import { callOf, isView } from './expression';
import { rowByRow } from './conditions';
import { conditionsOf } from './guards';
import { type Layer, layerOf } from './layer';
import { matmulOperands, requireTwoAxes } from './product';
import { type Draft, draftFor, finished, otherReader, requireUnwritten } from './producers';
import { trace } from './trace';
import { refuse } from './refusal';
import { type Replicate, agrees, replicateOf } from './replicate';
import { lastRowWise, stageConditions, takesRowsTogether } from './row-wise';

export function sinkBroadcast(match: Match): Written {
  const layer = layerOf(match);
  const { node, input, kind } = match.sink;
  if (kind === 'multihead-attention' || kind === 'attention')
    refuse('attention takes rows together: what it gives for equal queries is not copied from one');
  if (!input || (kind !== 'linear' && kind !== 'matmul')) refuse(`the result of a ${kind} is not mapped row by row`);
  const last = lastRowWise(node);
  const draft = { ...draftFor(node), target: statementOf(last), at: last };
  const replicate = moveSource(match, draft, input);
  if (!replicate.apply) refuse('the copy is not written so that it could be made of a result of another width');
  for (const argument of replicate.arguments) requireUndisturbed(argument, statementOf(replicate.node), draft.at);
  draft.emitted.push(...replicate.arguments, ...besides(node, input));
  if (kind === 'matmul') requireMatrix(match);
  const copy = replicate.apply('') + (replicate.kind === 'expand' && !isAdded(last) ? '.contiguous()' : '');
  const operator = last.kind !== 'call';
  const edits = [{ start: last.end, end: last.end, text: `${operator ? ')' : ''}${copy}` }];
  if (operator) edits.push({ start: last.start, end: last.start, text: '(' });
  return {
    edits: finished(draft, edits),
    conditions: [...(layer?.conditions ?? []), ...conditionsOf(match), ...rowWise(layer)],
  };
}

/** What the product reads beside its input, which stays as it is written: a weight, a bias, the layer. */
function besides(node: Node, input: Node): readonly Node[] {
  if (node === input || input.start < node.start || node.end < input.end) return [];
  const within = node.children.find((child) => child.start <= input.start && input.end <= child.end);
  return [...node.children.filter((child) => child !== within), ...(within ? besides(within, input) : [])];
}

/** Takes the copy out from under the operators that lead to the product; all of them work row by row. */
function moveSource(match: Match, draft: Draft, operand: Node): Replicate {
  const made = trace(operand);
  const reader = made.definitions.map((definition) => otherReader(draft, definition)).find((found) => found);
  if (reader) refuse(`line ${lineOf(reader)} reads the copy too`);
  requireUnwritten(made.definitions, draft.at);
  for (const definition of made.definitions) draft.gone.push(definition.statement);
  const replicate = replicateOf(made.value);
  if (replicate) {
    if (!agrees(replicate, match.replicas)) refuse('the copies are not made along rows alone');
    const [definition, ...more] = made.definitions;
    const site = definition?.statement ?? statementOf(operand);
    const to = statementOf(operand);
    const named = definition && more.length === 0 && isView(replicate.source) && replicate.suffix === '';
    if (named && disturbance(replicate.source, site, to) === null) {
      draft.edits.push(...byName(replicate, operand, definition.statement));
      draft.changed.push(definition);
    } else {
      // What was a copy may now share memory with the source: nobody may write into that any more.
      requireUndisturbed(replicate.source, site, draft.at, 'writes');
      draft.edits.push(inPlace(replicate));
      draft.changed.push(...made.definitions);
    }
    return replicate;
  }
  const call = callOf(made.value);
  const step = match.path.find(({ node }) => node.start === made.value.start && node.end === made.value.end);
  const [argument, ...more] = call?.positional ?? [];
  if (!call || !step || !['write', 'draw', 'call'].includes(step.kind) || !argument || more.length > 0) {
    if (made.value.kind === 'identifier')
      refuse(
        `\`${textOf(made.value)}\` (line ${lineOf(made.value)}) does not get its copies by a statement of its own`,
      );
    if (call && /^(stack|cat|concat|concatenate)$/.test(call.method) && made.value.start === match.origin.start)
      refuse(`line ${lineOf(made.value)} joins what a list holds several times, and the list is made elsewhere`);
    refuse(`line ${lineOf(made.value)} stands between the copy and the product, and is not known to work row by row`);
  }
  return moveSource(match, draft, argument);
}

/** `rows = user.repeat(..)` and `f(rows)` become `f(user)`. */
function byName(replicate: Replicate, use: Node, statement: Node): readonly Edit[] {
  return [removeStatement(statement), replace(use, flat(replicate.source))];
}

const inPlace = (replicate: Replicate): Edit => replace(replicate.node, textOf(replicate.source) + replicate.suffix);

/** The operand of an addition or a product may stay a view of stride 0: nothing can write into it there. */
const isAdded = (node: Node): boolean => node.parent?.kind === 'binary_operator';

function requireMatrix(match: Match): void {
  const { product, sink } = match;
  const operands = matmulOperands(sink.node);
  const dims = product?.operands.find((_, i) => i !== product.replicated)?.dims;
  const weight = operands?.[1];
  if (sink.side !== 'left' || !weight) refuse('the copy is not the left operand of the product');
  requireTwoAxes(dims, flat(weight));
}

/** What must hold for a whole Sequential to work row by row, as far as its stages do not say so. */
export function rowWise(layer: Layer | null): readonly Condition[] {
  if (!layer?.stages) return [];
  if (layer.stages === 'listed') return [rowByRow(layer.text)];
  const taking = layer.stages.find(takesRowsTogether);
  if (taking) refuse(`\`${shortly(taking)}\` takes rows together`);
  return stageConditions(layer.stages, layer.text) ?? [];
}
