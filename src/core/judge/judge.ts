/** Collects what reaches sinks and keeps, for each broadcast, the one finding that matters. */
import { bound, costOf, factors, renamed } from '../cost/cost';
import { nodeAt } from '../python/access';
import type { Operand, SinkEvent, SinkHit } from '../python/run';
import { conditionText } from '../python/state';
import { type Node, scopeOf } from '../python/syntax';
import { type Dim, isOne, product, valueOf } from '../tensor/dim';
import { axesWithReplica } from '../tensor/contract';
import { axisAt, knownAxis, rankOf } from '../tensor/shape';
import type { Replica, StepKind, Tensor, Trail } from '../tensor/value';
import { adviceMatch } from './advice';
import { classify } from './classify';
import {
  aroundMaking,
  assertedLengths,
  between,
  callsBetween,
  choices,
  common,
  independent,
  isFirstPass,
  isLeftBefore,
  needed,
  plain,
  standing,
  withoutPasses,
} from './conditions';
import { attentionOf, formOf, productOf, replicaFact, sinkOf } from './facts';
import { guardsOf } from './guards';
import type { LinearForm, Match, PathStep, ReplicaFact, RuleCode } from './match';
import { type DimNames, namesAt } from './names';
import { mayBeMiniBatch, meetsOtherEnd, meetsOwnMatrix } from './picked-rows';
import { isProjectedSum } from './projected';
import { createWays } from './ways';
import { contractedSize, workOf } from './work';

export interface Judge {
  collect(event: SinkEvent): void;
  /** `names`: what the source calls a dimension's symbol. */
  matches(bindings: Readonly<Record<string, number>>, names: DimNames): readonly Match[];
}

/** Columns below which a copied block is hardly worth a product of its own: coordinates, a time, a flag. */
const NARROW = 5;

interface Candidate {
  readonly event: SinkEvent;
  readonly operand: Operand;
  readonly hit: SinkHit;
  readonly materialized: boolean;
  /** What must hold for the copy to be there and to reach this product. */
  readonly when: readonly string[];
  /** And what other functions on the way there ask, in their own words. */
  readonly inner: readonly string[];
  /** The product stands on a branch of its function. */
  readonly guarded: boolean;
}

export function createJudge(): Judge {
  const byOrigin = new Map<string, Candidate>();
  const ways = createWays();
  const advised = new Map<Node, SinkEvent>();
  return {
    collect(event) {
      if (event.advice && !advised.has(event.node)) advised.set(event.node, event);
      for (const operand of event.operands) {
        for (const hit of operand.hits) {
          const { origin } = hit.replica;
          const { when, inner } = conditionsOf(event, hit);
          const key = `${origin.path}:${origin.start}:${origin.end}`;
          const materialized = hit.replica.written !== null || hit.copiedInside;
          const candidate = {
            event,
            operand,
            hit,
            materialized,
            when,
            inner,
            guarded: isGuarded(event),
          };
          const before = byOrigin.get(key);
          if (!before || better(candidate, before)) byOrigin.set(key, candidate);
          ways.add(key, candidate);
        }
      }
    },
    matches: (bindings, names) =>
      [
        ...[...byOrigin].flatMap(([key, c]) => matchOf(c, ways.of(key, c), bindings, names) ?? []),
        ...[...advised.values()].flatMap(
          (event) => adviceMatch(event, sizer(event.node, bindings, names), bindings) ?? [],
        ),
      ].sort((a, b) =>
        a.origin.file.path < b.origin.file.path
          ? -1
          : a.origin.file.path > b.origin.file.path
            ? 1
            : a.origin.start - b.origin.start,
      ),
  };
}

const rank = ({ event, hit, materialized, when, guarded }: Candidate): number => {
  const isPart = isPartOfActivations(event, hit);
  return (
    (materialized ? 32 : 0) +
    (hit.via === 'rows' || isPart ? 0 : 16) +
    (isLocal(event, hit) ? 8 : 0) +
    (when.length === 0 ? 4 : 0) +
    (guarded ? 0 : 2) +
    (isPart ? 0 : 1)
  );
};

/** Of what two activations hold together, copies are some rows among others. */
const isPartOfActivations = ({ kind, byWeight }: SinkEvent, { via }: SinkHit): boolean =>
  via === 'block' && !byWeight && (kind === 'matmul' || kind === 'einsum');

/**
 * The first sink that a replica reaches counts, unless a later one says more. One in the same function says more only
 * if it is reached as often: behind `if .. elif ..` without an `else` stands what is left when neither ran.
 */
const better = (a: Candidate, b: Candidate): boolean =>
  rank(a) > rank(b) && !(sameKind(a, b) && (a.when.length > b.when.length || isLess(a, b)));

/** What reaches one product as it is and another one as a part of something else is said of the first. */
const isLess = (a: Candidate, b: Candidate): boolean => a.hit.via === 'block' && b.hit.via === 'whole';

const sameKind = (a: Candidate, b: Candidate): boolean =>
  a.materialized === b.materialized && (a.hit.via === 'rows') === (b.hit.via === 'rows');

/**
 * Those of the copy, those under which its function comes from it to the product, or to the call that leads there, and
 * those of the functions in between.
 */
function conditionsOf(event: SinkEvent, hit: SinkHit): Pick<Candidate, 'when' | 'inner'> {
  const { when } = hit.replica;
  const { path } = event.frame.state;
  const origin = path.length > 0 ? nodeAt(hit.replica.origin) : null;
  if (!origin) return { when, inner: [] };
  const texts = path.map(conditionText);
  const [own, ...others] = callsBetween(origin, event.node, event.frame);
  // What is handed in as copies is there before all branches.
  const from = origin.kind === 'identifier' ? scopeOf(origin) : origin;
  const asked = own ? between(texts, from, own).filter((text) => !when.includes(text)) : [];
  const around = own === event.node ? asked : choices(asked, [own ?? null]);
  const making = own ? [] : aroundMaking(origin, others);
  const known = [...when, ...around, ...making];
  const inner = choices(texts, others).filter((text) => !known.includes(text));
  return { when: [...when, ...around], inner };
}

const isGuarded = ({ node, frame }: SinkEvent): boolean =>
  standing(frame.state.path.map(conditionText), [node]).length > 0;

function isLocal(event: SinkEvent, hit: SinkHit): boolean {
  const origin = nodeAt(hit.replica.origin);
  return origin !== null && origin.file === event.node.file && scopeOf(origin) === scopeOf(event.node);
}

function matchOf(
  candidate: Candidate,
  ways: readonly (readonly string[])[],
  bindings: Readonly<Record<string, number>>,
  names: DimNames,
): Match | null {
  const { event, operand, hit, materialized } = candidate;
  const { replica } = hit;
  const origin = nodeAt(replica.origin);
  if (!origin) return null;
  const written = replica.written ? nodeAt(replica.written) : materialized ? event.node : null;
  const path = pathOf(origin, written, replica.trail, event);
  const first = replicaFact(hit.axis, hit.carrier, hit.replica, event);
  const attention = event.kind === 'attention' || event.kind === 'multihead-attention' ? attentionOf(event) : null;
  const count = { dim: first.ratio, text: first.mapText };
  const source = { text: first.sourceExpression?.text ?? null, of: replica.of };
  const local = isLocal(event, hit);
  const sizes = isAmbiguous(replica) ? null : dimsOf(hit.carrier);
  const called = namesAt(origin, bindings, names, count, source, local ? [] : (sizes ?? []));
  const name = (dim: Dim): Dim => renamed(dim, called);
  const contracted = contractedSize(event, operand, hit.carrier);
  const code = classify(event, operand, hit);
  const along = copiedAlong(hit, event);
  const axes = along.length > 0 ? along.map(({ axis }) => axis) : [hit.axis];
  const work = workOf(event, operand, hit, axes, code);
  const ratio = along.length > 0 ? product(along.map((fact) => fact.ratio)) : first.ratio;
  const itemSize = replica.itemSize === undefined ? hit.carrier.itemSize : replica.itemSize;
  const cost = costOf(
    sizes?.map(name) ?? null,
    itemSize,
    work && { contracted: name(work.contracted), width: name(work.width) },
    name(ratio),
  );
  const isWhole = event.kind !== 'attention' && event.kind !== 'recurrent' && !hit.nested;
  const form = isWhole ? formOf(event, operand) : null;
  if (code === 'IKB101' && isStream(form)) return null;
  if (code === 'IKB304' && (isAddedToEdges(form) || isAddedInBlock(hit, operand))) return null;
  if ((code === 'IKB101' && isProjectedSum(form)) || mayBeMiniBatch(replica, form) || meetsOwnMatrix(replica, code))
    return null;
  if (meetsOtherEnd(replica, event.kind)) return null;
  if (code === 'IKB301' && isInitial(replica.of)) return null;
  const isNarrow = valueOf(contracted) === null ? isPlace(first) : (valueOf(contracted) ?? Infinity) < NARROW;
  if (isNarrow && isAddend(hit, operand)) return null;
  const [call = null, ...within] = callsBetween(origin, event.node, event.frame);
  const when = withoutPasses(independent(needed([...candidate.when, ...candidate.inner], ways)), within);
  // What is copied in training alone, and dropped from there, is equal nowhere.
  if (when.includes('self.training') && path.some(({ kind }) => kind === 'draw')) return null;
  const asserted = assertedLengths(origin, event.node);
  const stated = standing(
    plain(common(when, ways)).filter((text) => !candidate.inner.includes(text)),
    [...path.map((step) => step.node), call],
  );
  const takenOut = code === 'IKB102' && isToken(hit);
  return {
    code,
    origin,
    written,
    sink: sinkOf(event, operand, candidate.when),
    path,
    replicas: [first],
    form,
    attention,
    product: event.kind === 'matmul' || event.kind === 'einsum' ? productOf(event, operand) : null,
    why: null,
    cost: { ...cost, itemSize, ratio, contracted },
    facts: { ...guardsOf(event.node, origin), assumptions: replica.assumptions },
    when: [...asserted, ...stated],
    partly: stated.length < when.length || [...path.map(({ node }) => node), call].some((at) => at && isLeftBefore(at)),
    first: [replica, ...replica.also].some((r) => isFirst(r, event.node)),
    bindings,
    size: (dim) => bound(name(dim), bindings),
    named: name,
    via: viaOf(replica.trail),
    scaled: replica.scaled !== null,
    local,
    times: along.map((fact) => timesOf(fact, name)),
    minor:
      (hit.via === 'rows' && !isBatched(hit, operand, code)) ||
      (event.keyword !== null && code !== 'IKB201') ||
      (/IKB[12]01/.test(code) && bound(name(ratio), bindings) === 2) ||
      (code === 'IKB101' && hit.via === 'block' && (valueOf(contracted) ?? Infinity) < NARROW) ||
      hit.implicit === 'matrix' ||
      takenOut ||
      (code === 'IKB301' && isVector(hit, operand, event)) ||
      // A block of rows that each meet a weight of their own: the concatenation writes them anyway.
      (hit.via === 'picked' && (rankOf(hit.carrier.shape) === 1 || (form?.blocks.length ?? 0) > 1)) ||
      // Nothing broadcasts by an index: only a kernel of its own could look the rows up.
      (code === 'IKB301' && replica.map.kind === 'indexed') ||
      isAppended(event, hit, code, form),
    takenOut,
  };
}

function isFirst({ origin }: Replica, sink: Node): boolean {
  const at = nodeAt(origin);
  return at !== null && isFirstPass(at, sink);
}

/** The axes over which the same copy runs, where they are several: `x.expand(b, t, -1)`. */
function copiedAlong({ replica: { origin }, carrier }: SinkHit, event: SinkEvent): readonly ReplicaFact[] {
  const same = axesWithReplica(carrier).filter(
    ({ replica }) => replica.origin.start === origin.start && replica.origin.path === origin.path,
  );
  return same.length < 2 ? [] : same.map(({ axis, replica }) => replicaFact(axis, carrier, replica, event));
}

/** How often along one of several axes; null where that is not known. */
function timesOf({ mapText, ratio }: ReplicaFact, name: (dim: Dim) => Dim): string | null {
  const text = mapText ?? factors([name(ratio)]);
  return text.includes('?') ? null : text;
}

/** A class token that was put in front of other rows and taken apart again. */
function isToken({ replica, via }: SinkHit): boolean {
  if (via !== 'whole' || replica.of.content !== 'parameter') return false;
  for (let step = replica.trail; step; step = step.before) if (step.kind === 'concatenate') return true;
  return false;
}

/** A vector for each matrix that it meets: its copies are as nothing beside those. */
function isVector({ carrier, via }: SinkHit, operand: Operand, { kind, operands }: SinkEvent): boolean {
  if (via !== 'whole' || kind !== 'matmul' || (operand.role !== 'left' && operand.role !== 'right')) return false;
  const [own, others] = operand.role === 'left' ? [-2, -1] : [-1, -2];
  const other = operands.find((o) => o !== operand);
  const single = (t: Tensor | undefined, axis: number): boolean => isOne((t && knownAxis(t.shape, axis)?.dim) ?? null);
  return single(carrier, own) && !single(other?.value, others);
}

/** Whole sets of keys and values that were joined along the batch, as for guidance: no few rows among others. */
const isBatched = (hit: SinkHit, { value }: Operand, code: RuleCode): boolean =>
  code === 'IKB201' && value.form?.axis === hit.axis;

/** An origin to which directions are added, a centre: of a few columns, it is part of coordinates that differ from row to row. */
const isAddend = ({ carrier, via }: SinkHit, { value }: Operand): boolean =>
  via === 'block' &&
  (value.form?.blocks.some(({ terms }) => terms.length > 1 && terms.some((t) => t.factors.includes(carrier))) ?? false);

/** What each edge has of its own is projected edge by edge anyway. */
const isAddedToEdges = (form: LinearForm | null): boolean =>
  form?.blocks.length === 1 && form.blocks.some(({ terms }) => terms.some((term) => !term.replicated));

/** And so are the columns of a concatenation in which both are added up. */
const isAddedInBlock = ({ carrier }: SinkHit, { value }: Operand): boolean => {
  const terms = value.form?.blocks.find((b) => b.terms.some((t) => t.factors.includes(carrier)))?.terms ?? [];
  return terms.some(({ factors }) => !factors.includes(carrier) && !factors.some((f) => axesWithReplica(f).length > 0));
};

/** More is what a residual stream gathers on its way through layers, each of which works on all of it. */
const MOST_ADDENDS = 5;
const isStream = (form: LinearForm | null): boolean =>
  form?.blocks.some(({ terms }) => terms.length > MOST_ADDENDS && terms.some((term) => term.replicated)) ?? false;

/** Identities and zeros that products begin with. */
const isInitial = ({ uniform, content }: Tensor): boolean => uniform || content === 'identity';

/** Coordinates by their name. */
const isPlace = ({ sourceExpression }: ReplicaFact): boolean =>
  sourceExpression !== null &&
  /(^|[._])(\w*xyz|coords?|cent(er|re|roid)s?)(?![a-z0-9]|_(feat|emb))/.test(sourceExpression.text);

/** Rows put behind those of another operand of activations, such as a bias key: few, as class tokens are. */
const isAppended = (event: SinkEvent, hit: SinkHit, code: RuleCode, form: LinearForm | null): boolean =>
  code === 'IKB301' &&
  hit.via === 'block' &&
  // A sum has rows of its own, for which the product is due anyway.
  (form?.axis === null || event.operands.every((o) => o.value.content !== 'parameter'));

const sizer =
  (at: Node, bindings: Readonly<Record<string, number>>, names: DimNames) =>
  (dim: Dim): number | null =>
    bound(renamed(dim, namesAt(at, bindings, names, { dim: null, text: null }, { text: null, of: null })), bindings);

/**
 * `x.repeat(n, 1, 1)` of unknown rank: which axis of x is the second one there depends on the rank. And a view that is
 * taken to keep its axes, since their sizes cannot be compared, may have others.
 */
const isAmbiguous = ({ of, map, argument, assumptions }: Replica): boolean =>
  (map.kind === 'other' && argument === 0 && rankOf(of.shape) === null) || assumptions.includes('order-of-axes');

/** Sizes of the carrier, where the rank is known. A copied axis of unknown size has no name in what was copied. */
function dimsOf(t: Tensor) {
  const n = rankOf(t.shape);
  return n === null ? null : t.shape.head.map((axis, i) => (axis.replica ? axis.dim : axisAt(t, i).dim));
}

/** The call through which a part made in another file came. */
function viaOf(trail: Trail | null): Node | null {
  for (let at = trail; at; at = at.before) if (at.kind === 'call') return nodeAt(at.place);
  return null;
}

const PATH_KINDS: Readonly<Record<StepKind, PathStep['kind']>> = {
  concatenate: 'concatenate',
  layout: 'write',
  work: 'write',
  draw: 'draw',
  call: 'call',
};

function pathOf(
  origin: Node,
  written: Node | null,
  trail: Trail | null,
  { node: sink, layer, callee: operator, keyword }: SinkEvent,
): readonly PathStep[] {
  const steps: PathStep[] = [];
  for (let at = trail; at; at = at.before) {
    const node = nodeAt(at.place);
    // What writes its copies as it makes them says so as the origin.
    if (node && node !== origin) steps.unshift({ node, what: at.what, kind: PATH_KINDS[at.kind] });
  }
  // Of a parameter, `x_j` of a message function: whoever calls it has made the copies.
  const what =
    origin.kind === 'identifier'
      ? 'holds rows that were gathered before'
      : written === origin
        ? 'replicates and writes every copy'
        : 'replicates as a view';
  const callee = layer?.called ?? operator;
  const last =
    keyword !== null
      ? `${callee} takes the copies as ${keyword}`
      : written === sink
        ? `${callee} copies the view and contracts it`
        : `${callee} reads every copy`;
  return [{ node: origin, what, kind: 'origin' }, ...steps, { node: sink, what: last, kind: 'sink' }];
}
