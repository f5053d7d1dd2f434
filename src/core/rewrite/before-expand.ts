/** `x.expand(..).float()` becomes `x.float().expand(..)`: the operator runs once per source row. IKB303. */
import type { Match } from '../judge/match';
import { type Node, childOf, textOf } from '../python/syntax';
import type { Written } from './decompose';
import { replace } from './edit';
import { callOf, unwrap } from './expression';
import { conditionsOf } from './guards';
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
  const text = chain(written.node, view, replicate.source);
  const gradient =
    'no gradient flows through the cast, or its sum over the copies may be taken in the type after the cast';
  return { edits: [replace(written.node, text)], conditions: [...(cast ? [gradient] : []), ...conditionsOf(match)] };
}

/** source + operator + expand, each as it is written. */
function chain(whole: Node, view: Node, source: Node): string {
  const operator = whole.file.text
    .slice((childOf(whole, 'function') ?? whole).start, whole.end)
    .slice(textOf(view).length);
  const expand = whole.file.text.slice(source.end, view.end);
  return `${textOf(source)}${operator}${expand}`;
}
