/** `x.expand(..).float()` becomes `x.float().expand(..)`: the operator runs once per source row. IKB303. */
import type { Match } from '../judge/match';
import { type Node, childOf, statementOf, textOf, lineOf } from '../python/syntax';
import type { Written } from './decompose';
import { replace } from './edit';
import { callOf, unwrap } from './expression';
import { conditionsOf } from './guards';
import { readersOf } from './names';
import { refuse } from './refusal';
import { replicateOf } from './replicate';

const CASTS = new Set(['float', 'half', 'bfloat16', 'double', 'to', 'type_as']);
const OTHERS = new Set(['relu', 'sigmoid', 'tanh', 'neg', 'abs', 'exp']);

export function beforeExpand(match: Match): Written {
  const written = match.written ? callOf(match.written) : null;
  const view = written?.receiver ? unwrap(written.receiver) : null;
  const replicate = view ? replicateOf(view) : null;
  if (!written || !view || replicate?.kind !== 'expand' || replicate.suffix !== '') {
    refuse('the operator does not stand directly behind the expand');
  }
  const cast = CASTS.has(written.method);
  if (!cast && !OTHERS.has(written.method)) refuse(`\`${written.method}\` is not known to work element by element`);
  requireOnlyReader(match, written.node);
  const text = chain(written.node, view, replicate.source);
  const gradient =
    'no gradient flows through the cast, or its sum over the copies may be taken in the type after the cast';
  return { edits: [replace(written.node, text)], conditions: [...(cast ? [gradient] : []), ...conditionsOf(match)] };
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

/** source + operator + expand, each as it is written. */
function chain(whole: Node, view: Node, source: Node): string {
  const operator = whole.file.text
    .slice((childOf(whole, 'function') ?? whole).start, whole.end)
    .slice(textOf(view).length);
  const expand = whole.file.text.slice(source.end, view.end);
  return `${textOf(source)}${operator}${expand}`;
}
