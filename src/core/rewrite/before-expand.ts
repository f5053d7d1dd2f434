/** `x.expand(..).float()` becomes `x.float().expand(..)`: the operator runs once per source row. IKB303. */
import type { Match } from '../judge/match';
import { type Node, childOf, lineOf, statementOf, textOf } from '../python/syntax';
import type { Written } from './decompose';
import { replace } from './edit';
import { type Call, callOf } from './expression';
import { GRADIENT_OF_CAST } from './conditions';
import { conditionsOf } from './guards';
import { readersOf } from './names';
import { draftFor, finished, sourceText } from './producers';
import { refuse } from './refusal';
import { replicateOf } from './replicate';
import { FUNCTIONS, constructorOf, isRowWiseModule } from './row-wise';
import { trace } from './trace';

const CASTS = new Set(['float', 'half', 'bfloat16', 'double', 'to', 'type_as']);
const OTHERS = new Set([...FUNCTIONS, 'neg', 'abs', 'exp', 'log', 'sqrt', 'rsqrt', 'square', 'sin', 'cos']);

export function beforeExpand(match: Match): Written {
  const written = match.written ? callOf(match.written) : null;
  if (!written) refuse('what writes the copies is no call');
  const operand = operandOf(written, match);
  const made = trace(operand);
  const replicate = replicateOf(made.value);
  if (replicate?.kind !== 'expand' || replicate.suffix !== '' || !replicate.apply)
    refuse('the operator does not stand directly behind the expand');
  requireOnlyReader(match, written.node);
  const draft = draftFor(written.node);
  draft.gone.splice(0, draft.gone.length, operand);
  const { file, start, end } = written.node;
  const small = sourceText(draft, replicate, made, operand);
  const text = replicate.apply(file.text.slice(start, operand.start) + small + file.text.slice(operand.end, end));
  return {
    edits: finished(draft, [replace(written.node, text)]),
    conditions: [...(CASTS.has(written.method) ? [GRADIENT_OF_CAST] : []), ...conditionsOf(match), ...draft.stays],
  };
}

/** What the operator works on, where it works element by element, or on the last axis alone. */
function operandOf(call: Call, { replicas }: Match): Node {
  const [first, ...more] = call.positional;
  if (call.splat || more.length > 0) refuse(`\`${call.name}\` is not known to work element by element`);
  const free = /^(torch|F|nn\.functional|torch\.nn\.functional)\.\w+$/.test(call.name);
  if (free && first && OTHERS.has(call.method) && call.keywords.size === 0) return first;
  if (!free && call.receiver && (CASTS.has(call.method) || (OTHERS.has(call.method) && !first))) return call.receiver;
  const made = /^self\.\w+$/.test(call.name) && call.keywords.size === 0 ? constructorOf(call.node, call.name) : null;
  const last = replicas.some(({ axis, rank }) => axis === -1 || axis === (rank ?? 0) - 1);
  if (first && made && isRowWiseModule(made) && !last) return first;
  return refuse(`\`${call.name}\` is not known to work element by element`);
}

/** Nobody else may meet the view that takes the place of what the operator wrote: it cannot be written into. */
function requireOnlyReader({ sink }: Match, written: Node): void {
  const { parent } = written;
  const target = parent?.kind === 'assignment' ? childOf(parent, 'left') : null;
  if (target?.kind !== 'identifier') return;
  const definition = { statement: statementOf(written), value: written };
  const reader = readersOf(definition, textOf(target)).find((r) => r.start < sink.node.start || sink.node.end < r.end);
  if (reader) refuse(`line ${lineOf(reader)} reads \`${textOf(target)}\` too, and may need it written out`);
}
