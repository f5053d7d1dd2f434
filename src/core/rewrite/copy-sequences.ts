/**
 * A module that treats the sequences of a batch one by one (recurrent layers, encoder layers, attention of a tensor with
 * itself), given copies of sequences: it runs on the small batch, and what it gives is copied. IKB102.
 */
import type { Match } from '../judge/match';
import { type Node, childOf, scopeOf, statementOf, textOf, lineOf } from '../python/syntax';
import type { Written } from './decompose';
import { requireUndisturbed } from './disturbance';
import { type Edit, flat, indentOf, lineEnd, replace } from './edit';
import { type Call, callOf, integer, isView } from './expression';
import { hasThreeAxes, sharedDraw } from './conditions';
import { conditionsOf } from './guards';
import { notLinear, wrappers } from './layer';
import { definitionOf, isMutation, occurrences, readersOf } from './names';
import { refuse } from './refusal';
import { agrees, replicateOf } from './replicate';
import { requireUntouched } from './surgery';
import { torchName } from './torch-name';

const SEQUENCES = /^(GRU|LSTM|RNN|TransformerEncoderLayer|MultiheadAttention)$/;

/** Is the sink the call of such a module? */
export function isOfSequences({ sink }: Match): boolean {
  const made = sink.module?.constructor ? callOf(sink.module.constructor) : null;
  return made !== null && SEQUENCES.test(torchName(made));
}

export function copySequences(match: Match): Written {
  const { node, input, module } = match.sink;
  const call = callOf(node);
  const made = module?.constructor ? callOf(module.constructor) : null;
  if (!call || !made || !input || !module || module.doubt) return refuse('the layer is not plainly what its name says');
  const name = torchName(made);
  const reason = notLinear(module.text, made.name);
  const definition = input.kind === 'identifier' ? definitionOf(input) : null;
  const replicate = definition && replicateOf(definition.value);
  if (!/^self\.\w+$/.test(module.text) || !definition || !replicate?.apply || !agrees(replicate, match.replicas))
    refuse(reason);
  requireGivenAlone(call, name, input, reason);
  const [replica, ...more] = match.replicas;
  const axis = batchAxis(made);
  if (!replica || more.length > 0 || replica.axis !== axis || (replica.rank ?? 3) !== 3) refuse(reason);
  const copied = textOf(input);
  const reader = readersOf(definition, copied).find((one) => one.start < node.start || node.end < one.end);
  if (reader) refuse(`line ${lineOf(reader)} reads the copy too`);
  if (occurrences(scopeOf(node), copied).some(isMutation)) refuse(`\`${copied}\` may be written into`);
  const result = resultOf(node, name) ?? refuse(reason);
  if (!isView(replicate.source)) refuse(reason);
  requireUndisturbed(replicate.source, definition.statement, node, 'writes');
  for (const one of replicate.arguments) requireUndisturbed(one, definition.statement, node);
  // A view of stride 0 is not what the module gave: whoever writes into one copy would write into all.
  const apply = (x: string): string =>
    `${replicate.apply?.(x) ?? refuse(reason)}${replicate.kind === 'expand' ? '.contiguous()' : ''}`;
  const owners = [made.node, node].flatMap((one) => classAround(one) ?? []);
  requireUntouched(node.file, '', module.text, owners);
  return {
    edits: [replace(replicate.node, textOf(replicate.source) + replicate.suffix), result(apply)],
    conditions: [
      ...(replica.rank === null ? [hasThreeAxes(flat(replicate.source))] : []),
      ...(drawsAtRandom(made, name) ? [sharedDraw('all copies', 'dropout')] : []),
      ...wrappers(node.file, '', module.text, made.node),
      ...conditionsOf(match),
    ],
  };
}

function classAround(node: Node): Node | null {
  let at: Node | null = node;
  while (at && at.kind !== 'class_definition') at = at.parent;
  return at;
}

/** The axis of the sequences, null where the constructor does not plainly say it. */
function batchAxis(made: Call): number | null {
  const given = made.keywords.get('batch_first');
  // Behind two sizes (three of a recurrent layer) it may stand without its name.
  if (made.splat || made.positional.length > 3 || (given && !/^(True|False)$/.test(textOf(given)))) return null;
  return given && textOf(given) === 'True' ? 0 : 1;
}

/** Masks, lengths and states have rows of their own. */
function requireGivenAlone(call: Call, name: string, input: Node, reason: string): void {
  const count = name === 'MultiheadAttention' ? 3 : 1;
  const others = [...call.keywords.keys()].filter((key) => key !== 'need_weights');
  const same = call.positional.every((given) => textOf(given) === textOf(input));
  if (call.splat || call.positional.length !== count || !same || others.length > 0) refuse(reason);
}

/** Encoder layers drop by default. */
function drawsAtRandom(made: Call, name: string): boolean {
  const given = made.keywords.get('dropout');
  if (name === 'TransformerEncoderLayer') return !given || integer(given) !== 0;
  return given !== undefined || made.positional.length > 2;
}

/** How the copies are made of what the call gives; null where more of it is read than the sequences. */
function resultOf(node: Node, name: string): ((apply: (x: string) => string) => Edit) | null {
  const { parent } = node;
  if (name === 'TransformerEncoderLayer') return (apply) => ({ start: node.end, end: node.end, text: apply('') });
  if (parent?.kind === 'subscript' && textOf(parent).endsWith('[0]') && childOf(parent, 'value') === node)
    return (apply) => ({ start: parent.end, end: parent.end, text: apply('') });
  const targets = parent?.kind === 'assignment' ? childOf(parent, 'left') : null;
  const [first, second, ...more] = targets?.kind === 'pattern_list' ? targets.children : [];
  const statement = statementOf(node);
  if (!parent || !first || !second || more.length > 0 || first.kind !== 'identifier' || parent.parent !== statement)
    return null;
  const unread = second.kind === 'identifier' && readersOf({ statement, value: node }, textOf(second)).length === 0;
  if (!unread || textOf(first) === textOf(second)) return null;
  const { text } = node.file;
  const rest = /^[ \t\f]*(#[^\r\n]*)?(?=\r|\n|$)/.exec(text.slice(statement.end));
  if (!rest) return null;
  const end = statement.end + rest[0].length;
  const line = lineEnd(text) + indentOf(statement);
  return (apply) => ({ start: end, end, text: `${line}${textOf(first)} = ${apply(textOf(first))}` });
}
