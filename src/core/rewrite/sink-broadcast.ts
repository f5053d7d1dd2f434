/**
 * lin(map(x)) = map(lin(x)) for whatever works row by row: the product runs on the small tensor, and its result is
 * copied instead. IKB102.
 */
import type { Match } from '../judge/match';
import { type Node, statementOf, textOf } from '../python/syntax';
import type { Written } from './decompose';
import { requireUndisturbed } from './disturbance';
import { type Edit, flat, inOrder, lineOf, removeStatement, replace } from './edit';
import { callOf, isView, unwrap } from './expression';
import { conditionsOf, requirePlainModule } from './guards';
import { matmulOperands } from './product';
import { type Draft, draftFor, otherReader } from './producers';
import { trace } from './trace';
import { refuse } from './refusal';
import { type Replicate, agrees, replicateOf } from './replicate';

export function sinkBroadcast(match: Match): Written {
  requirePlainModule(match);
  const { node, input, kind } = match.sink;
  if (!input || (kind !== 'linear' && kind !== 'matmul')) refuse(`the result of a ${kind} is not mapped row by row`);
  const draft = draftFor(node);
  const replicate = moveSource(match, draft, input);
  if (!replicate.apply) refuse('the copies are made by a repeat along the last axis too');
  for (const argument of replicate.arguments) requireUndisturbed(argument, statementOf(replicate.node), draft.target);
  if (kind === 'matmul') requireMatrix(match);
  const copy = replicate.apply('') + (replicate.kind === 'expand' && !isAdded(node) ? '.contiguous()' : '');
  const operator = node.kind !== 'call';
  const edits = [...draft.edits, { start: node.end, end: node.end, text: `${operator ? ')' : ''}${copy}` }];
  if (operator) edits.push({ start: node.start, end: node.start, text: '(' });
  return { edits: inOrder(edits), conditions: [...conditionsOf(match), ...rowWise(match)] };
}

/** Takes the copy out from under the operators that lead to the product; all of them work row by row. */
function moveSource(match: Match, draft: Draft, operand: Node): Replicate {
  const made = trace(operand);
  const reader = made.definitions.map((definition) => otherReader(draft, definition)).find((found) => found);
  if (reader) refuse(`line ${lineOf(reader)} reads the copy too`);
  for (const definition of made.definitions) draft.gone.push(definition.statement);
  const replicate = replicateOf(made.value);
  if (replicate) {
    if (!agrees(replicate, match.replicas)) refuse('the copies are not made along rows alone');
    const [definition, ...more] = made.definitions;
    const site = definition?.statement ?? statementOf(operand);
    const named = replicate.suffix === '' && isView(replicate.source) && definition && more.length === 0;
    draft.edits.push(...(named ? byName(replicate, operand, definition.statement) : [inPlace(replicate)]));
    requireUndisturbed(replicate.source, site, statementOf(operand));
    return replicate;
  }
  const call = callOf(made.value);
  const step = match.path.find(({ node }) => node.start === made.value.start && node.end === made.value.end);
  const [argument, ...more] = call?.positional ?? [];
  if (!call || !step || !['row-wise', 'write'].includes(step.kind) || !argument || more.length > 0) {
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
  if (dims ? dims.length !== 2 : !/^self\./.test(textOf(weight)))
    refuse(`\`${flat(weight)}\` may have a batch axis of its own`);
}

const ROW_WISE = new Set(
  'Linear ReLU GELU SiLU Tanh Sigmoid LeakyReLU ELU SELU CELU Softplus Mish ReLU6 Hardswish Hardsigmoid Identity LayerNorm RMSNorm'.split(
    ' ',
  ),
);

/** What must hold for a whole Sequential to work row by row, as far as its constructor does not say so. */
function rowWise(match: Match): string[] {
  const { module } = match.sink;
  if (!module || module.index === null) return [];
  const stages = module.constructor ? callOf(unwrap(module.constructor)) : null;
  const classes = stages && !stages.splat ? stages.positional.map((stage) => callOf(stage)?.method ?? '') : [''];
  if (classes.some((name) => /Dropout/.test(name))) {
    return ['in training, all copies of a row then share one dropout mask; in evaluation nothing changes'];
  }
  const unknown = classes.find((name) => !ROW_WISE.has(name));
  return unknown === undefined ? [] : [`every stage of \`${module.text}\` works row by row (no batch statistics)`];
}
