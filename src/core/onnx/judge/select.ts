/** From events to matches: one per attention or sink, the most telling rule of several, and no echoes downstream. */
import type { Operator } from '../graph';
import type { Event } from './events';
import type { Replica } from './state';

/** What is reported as one finding: events of the same attention or sink. */
export interface OnnxMatch {
  readonly events: readonly [Event, ...Event[]];
}

export function selectMatches(events: readonly Event[]): OnnxMatch[] {
  const first = events.filter((event) => !isEcho(event));
  // Keys and values that were projected on the way: the attention is what to speak of, not the projections.
  const projections = new Set(first.filter(isKeyValue).flatMap(({ replicas }) => replicas.flatMap(({ sunk }) => sunk)));
  const kept = first.filter((event) => isKeyValue(event) || !projections.has(event.sink));
  const groups = new Map<string, Event[]>();
  for (const event of kept) {
    const key = keyOf(event);
    const group = groups.get(key);
    if (group) group.push(event);
    else groups.set(key, [event]);
  }
  return [...groups.values()].flatMap(([head, ...rest]) => (head ? [{ events: [head, ...rest] as const }] : []));
}

/** One finding per attention, per product of a concatenation, and per copy that goes into products as it is. */
function keyOf({ code, attention, sink, replicas }: Event): string {
  const origin = replicas[0]?.origin?.operator.id ?? -1;
  if (code === 'IKB102') return `copy:${origin}`;
  return `${code === 'IKB202' ? 'heads' : 'rows'}:${(attention ?? sink).id}`;
}

const isKeyValue = ({ code }: Event): boolean => code === 'IKB201' || code === 'IKB202';

/** A replica that has already gone through a product that is reported; keys and values may have gone through one. */
function isEcho(event: Event): boolean {
  const most = Math.max(...event.replicas.map(({ sunk }) => sunk.length));
  return isKeyValue(event) ? most > 1 : Math.min(...event.replicas.map(({ sunk }) => sunk.length)) > 0;
}

/** The replicas of a match, one per operator that copies. */
export function originsOf({ events }: OnnxMatch): readonly Replica[] {
  const seen = new Set<Operator>();
  return events.flatMap(({ replicas }) =>
    replicas.filter(({ origin }) => {
      if (!origin || seen.has(origin.operator)) return false;
      seen.add(origin.operator);
      return true;
    }),
  );
}
