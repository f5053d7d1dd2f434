/** Which rewrite fits a match, whether it pays, and why not where it does not. */
import type { Condition } from '../../finding';
import { valueOf } from '../../tensor/dim';
import type { GraphModel } from '../graph';
import type { Event } from '../judge/events';
import { ratioOf } from '../judge/layout';
import type { OnnxMatch } from '../judge/select';
import { originsOf } from '../judge/select';
import type { Spread } from '../judge/spread';
import { splitAlgebra } from './algebra';
import { foldBatchAttention, isAttentionOperator } from './batch-attention';
import { foldProduct } from './attention';
import { fork, Refusal, refuse, type Builder } from './builder';
import { splitLinear } from './linear';
import { lookupAttention } from './lookup-attention';
import { nativeHeads } from './native-heads';
import { sinkBroadcast } from './sink';

export interface RewriteKind {
  readonly id: string;
  readonly title: string;
  /** `others`: further events of the same product. */
  readonly build: (builder: Builder, spread: Spread, event: Event, others: readonly Event[]) => void;
}

const SPLIT: RewriteKind = {
  id: 'decompose',
  title: 'Split the product and compute the shared part once',
  build: splitLinear,
};
const ALGEBRA: RewriteKind = {
  id: 'algebra',
  title: 'Split the product by exact algebra and compute the shared part once',
  build: splitAlgebra,
};
const SINK: RewriteKind = {
  id: 'sink',
  title: 'Copy after the last row-wise operator instead of before the first',
  build: sinkBroadcast,
};
const FOLD: RewriteKind = { id: 'fold', title: 'Fold the copies into the rows of the product', build: foldProduct };
const DROP: RewriteKind = {
  id: 'drop-expand',
  title: 'Drop the copy and let the product broadcast',
  build: foldProduct,
};

/** What is made instead of a fold where the run decides which copy reads what. */
const PROJECT: RewriteKind = {
  id: 'project-first',
  title: 'Project once per source row and look up afterwards',
  build: foldProduct,
};
const NATIVE = { id: 'native', title: 'Share key and value heads inside the standard Attention' };
const LOOKUP = { id: 'ikbo', title: 'Look keys and values up inside one operator of ai.ikbo' };

export function kindOf(match: OnnxMatch): RewriteKind {
  switch (match.events[0].code) {
    case 'IKB101':
    case 'IKB103':
      return match.events[0].form.blocks.length > 1 ? SPLIT : SINK;
    case 'IKB102':
      return SINK;
    case 'IKB104':
      return ALGEBRA;
    case 'IKB201':
    case 'IKB202':
      return isProjectedLookup(match) ? PROJECT : FOLD;
    case 'IKB301':
      return DROP;
  }
}

const isProjectedLookup = ({ events }: OnnxMatch): boolean =>
  events.every(({ replicas }) =>
    replicas.every(({ mapped, sunk }) => mapped.map.kind === 'indexed' && sunk.length > 0),
  );

/** Below so many copies per source row a split product is no faster: the sums cost what the products save. */
const LEAST_COPIES = 3;

/** Why the rewrite would not pay, or null. Unknown ratios are let pass: the report says what they depend on. */
export function costObjection(match: OnnxMatch): string | null {
  if (kindOf(match) !== SPLIT && kindOf(match) !== ALGEBRA) return null;
  const ratios = originsOf(match).map(({ mapped }) => ratioOf(mapped));
  if (ratios.some((ratio) => ratio === null)) return null;
  const best = Math.max(...ratios.map((ratio) => ratio ?? 0));
  return best < LEAST_COPIES ? `${Number(best.toFixed(2))} copies per row do not pay for splitting the product` : null;
}

export interface Planned {
  readonly kind: Pick<RewriteKind, 'id' | 'title'>;
  /** Under what condition the result is the same; null for always. */
  readonly condition: Condition | null;
  /** The builder with the match rewritten, or the reason why not. Nothing half done stays behind. */
  readonly result: Builder | string;
}

export function planMatch(builder: Builder, spread: Spread, match: OnnxMatch, force: boolean): Planned {
  const kind = kindOf(match);
  const objection = objectionTo(builder, match, force);
  if (objection !== null) return { kind, condition: null, result: objection };
  const whole = attempt(builder, (next) => lookupAttention(next, spread, match));
  if (typeof whole !== 'string') return { kind: LOOKUP, condition: null, result: whole };
  const shared = attempt(builder, (next) => nativeHeads(next, spread, match));
  if (typeof shared !== 'string') return { kind: NATIVE, condition: conditionOf(builder, match), result: shared };
  const folded = attempt(builder, (next) => foldBatchAttention(next, spread, match));
  if (typeof folded !== 'string') return { kind: FOLD, condition: conditionOf(builder, match), result: folded };
  const result = attempt(builder, (next) =>
    bySink(match.events).forEach(([event, ...others]) => event && kind.build(next, spread, event, others)),
  );
  if (typeof result === 'string' && match.events[0].code === 'IKB201' && isAttentionOperator(match.events[0].sink))
    return { kind: FOLD, condition: null, result: folded };
  return { kind, condition: conditionOf(builder, match), result };
}

/** A product is rewritten once. The standard Attention takes keys and values one after the other. */
function bySink(events: readonly Event[]): Event[][] {
  const groups = new Map<string, Event[]>();
  for (const event of events) {
    const operand = event.sink.node.op === 'Attention' ? event.operandIndex : 0;
    const key = `${event.sink.id}:${operand}`;
    groups.set(key, [...(groups.get(key) ?? []), event]);
  }
  return [...groups.values()];
}

/** A product that broadcasts, and a reshape with an open size, fail in runtimes where an axis has no rows at all. */
function conditionOf(builder: Builder, match: OnnxMatch): Condition | null {
  const kind = kindOf(match);
  if (kind !== FOLD && kind !== DROP) return null;
  const values = match.events.flatMap(({ sink }) => sink.inputs);
  const fixed = values.every((value) => !value || builder.program.shape(value)?.every((dim) => valueOf(dim) !== null));
  return fixed ? null : { kind: 'shape', text: 'correct where no size of the product is 0' };
}

function objectionTo(builder: Builder, match: OnnxMatch, force: boolean): string | null {
  const { graph } = builder.program;
  // Before version 4 every initializer had to be an input of the graph as well.
  if (graph.model.irVersion < 4) return 'models before IR version 4 are not rewritten';
  if (match.events.some(({ sink }) => sink.scope !== graph.main) && hasTwins(graph))
    return 'it is inside a subgraph, and names mean different values in different subgraphs';
  if (match.events.some(({ sink }) => builder.replaced.has(sink.node)))
    return 'the rewrite of another finding takes its place';
  return force ? null : costObjection(match);
}

/** True where two nodes call their results alike: what is read by name could then be either. */
function hasTwins({ operators }: GraphModel): boolean {
  const names = operators.filter(({ call }) => call === null).flatMap(({ node }) => node.outputs.filter(Boolean));
  return new Set(names).size < names.length;
}

function attempt(builder: Builder, build: (next: Builder) => void): Builder | string {
  const next = fork(builder);
  try {
    build(next);
    for (const { node } of next.placed.slice(builder.placed.length))
      for (const name of node.inputs)
        if (!next.readable.has(name) && !next.named.has(name)) refuse(`'${name}' is known inside a function only`);
    return next;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
