/** Findings in the public form: the model's text lines are the source, nodes are the sites. */
import type { ChainStep, Finding, Level, Site, BenchHint } from '../../finding';
import { equal, evaluate, format, isOne, product, valueOf, type Dim } from '../../tensor/dim';
import type { Operator, Value } from '../graph';
import type { Node } from '../model';
import type { ModelText } from '../text';
import type { Event } from './events';
import { costOf, report } from './cost';
import type { Program } from './program';
import { isShared } from './sinks';
import { originsOf, type OnnxMatch } from './select';
import type { Spread } from './spread';
import { collapse, type Replica } from './state';

export interface ReportContext {
  readonly path: string;
  readonly program: Program;
  readonly spread: Spread;
  readonly text: ModelText;
  readonly shapes: Readonly<Record<string, number>>;
}

export function findingOf(context: ReportContext, match: OnnxMatch): Finding {
  const [event] = match.events;
  const origin = event.replicas[0]?.origin?.operator ?? event.sink;
  const broadcast = siteOf(context, origin);
  const rule = isBaked(context.program, match) ? 'IKB501' : event.code;
  return {
    ...broadcast,
    rule,
    level: levelOf(context.program, match, rule),
    materialized: true,
    message: messageOf(context, match, rule),
    broadcast,
    written: broadcast,
    consumer: siteOf(context, event.sink),
    chain: chainOf(context, origin, event),
    cost: report(costOf(context.program, context.spread, match), context.shapes),
    rewrites: [],
    bench: benchOf(context, match),
  };
}

export function siteOf({ path, text }: ReportContext, op: Operator): Site {
  const range = text.nodes.get(op.call ?? op.node);
  if (!range) return { path, line: 1, column: 1, endLine: 1, endColumn: 1 };
  return { path, line: range.first, column: range.column, endLine: range.first, endColumn: range.endColumn };
}

/** A constant copied to constant sizes in a model whose own sizes are free: the copy could as well not be there. */
function isBaked(program: Program, match: OnnxMatch): boolean {
  const dynamic = program.graph.main.inputs.some(
    (value) => value.isInput && program.shape(value)?.some((dim) => valueOf(dim) === null),
  );
  return (
    dynamic &&
    originsOf(match).every(
      ({ origin, mapped }) => origin && program.isConstant(origin.data) && valueOf(mapped.extent) !== null,
    )
  );
}

function levelOf(program: Program, match: OnnxMatch, rule: string): Level {
  if (rule === 'IKB501') return 'information';
  // Learned queries and class tokens: the copy is real and seldom large.
  return originsOf(match).every(({ origin }) => origin && isLearned(program, origin.data)) ? 'information' : 'warning';
}

/** A constant, through the views that exporters put before a copy. */
function isLearned(program: Program, value: Value): boolean {
  if (program.isConstant(value)) return true;
  const { producer } = value;
  const view = /^(Expand|Identity|Unsqueeze|Squeeze|Reshape|Transpose|Cast)$/.test(producer?.node.op ?? '');
  const data = producer?.inputs[0];
  return view && data ? isLearned(program, data) : false;
}

export const shapeText = (program: Program, value: Value | null | undefined): string => {
  const shape = value && program.shape(value);
  return shape ? `[${shape.map((dim) => format(dim)).join(', ')}]` : '[?]';
};

/** `B times`, `from U to B rows`, and where rows are already copies: how many differ. */
function ratioText(program: Program, { mapped, origin }: Replica): string {
  if (!mapped.extent)
    return isOne(mapped.source) ? 'an unknown number of times' : 'row by row, as often as the counts say';
  const at = origin ? origin.axis - origin.rank + (program.shape(origin.data)?.length ?? 0) : -1;
  const read = (origin && program.shape(origin.data)?.[at]) ?? mapped.source;
  const [from, extent] = [valueOf(read), valueOf(mapped.extent)];
  const direct = equal(read, mapped.source) === true;
  const differ = direct ? '' : `, of which ${format(mapped.source)} differ`;
  if (from !== null && extent !== null && from > 0) return `${Number((extent / from).toFixed(2))} times${differ}`;
  if (isOne(read)) return `${format(mapped.extent)} times`;
  return `from ${format(read)} to ${format(mapped.extent)} rows${differ}`;
}

/** The replica as its operator writes it, before views merge or split its axis. */
export function asMade(spread: Spread, replica: Replica): Replica {
  const { origin } = replica;
  const out = origin?.operator.outputs[0];
  const state = out && spread.stateOf(out);
  const found = state && origin ? collapse(state)[origin.axis] : null;
  return found?.kind === 'replica' ? found : replica;
}

function copyText(program: Program, replica: Replica): string {
  const { origin } = replica;
  if (!origin) return 'a broadcast';
  const made = shapeText(program, origin.operator.outputs[0]);
  return `${origin.operator.node.op} copies '${origin.data.name}' ${shapeText(program, origin.data)} to ${made}, ${ratioText(program, replica)}`;
}

function messageOf({ program, spread }: ReportContext, match: OnnxMatch, rule: string): string {
  const [event] = match.events;
  const origins = originsOf(match).map((replica) => asMade(spread, replica));
  const copies = origins.map((replica) => copyText(program, replica)).join('; ');
  const sink = event.sink.node.op;
  switch (rule) {
    case 'IKB101':
      return `${copies}, concatenates it and multiplies in ${sink}: the copied columns give the same product for every copy`;
    case 'IKB102':
      return `${copies}, and multiplies every copy in ${sink}: one product per source row is enough`;
    case 'IKB103':
      return `${copies}, and compresses every copy in ${sink}: the product with the weight is the same for every copy`;
    case 'IKB104':
      return `${copies}, and puts it with differences and products into ${sink}: the weight can be split so that the copied part is multiplied once`;
    case 'IKB201':
      return `${copies}, as keys and values of an attention: every copy is written and read again`;
    case 'IKB202':
      return `${copies}: key and value heads are repeated before the attention, which can share them`;
    case 'IKB301':
      return origins.every(({ mapped }) => mapped.map.kind === 'all')
        ? `${copies}, before ${sink}, which broadcasts by itself`
        : `${copies}, as an operand of ${sink}, which could read each row where it is`;
    default:
      return `${copies}: a constant is copied to a fixed size before ${sink}, which needs no copy`;
  }
}

/** The operators from the copy to the product, shortest way. */
function chainOf(context: ReportContext, origin: Operator, event: Event): ChainStep[] {
  const way = wayBetween(origin, event.operand);
  const { path, text } = context;
  const line = (node: Node): number => text.nodes.get(node)?.first ?? 1;
  const steps = [origin, ...way, event.sink].map((op, i, all): ChainStep => {
    const shape = shapeText(context.program, op.outputs[0]);
    const what =
      i === 0 ? `writes the copy ${shape}` : i === all.length - 1 ? `reads it as input ${event.operandIndex}` : shape;
    return { path, line: line(op.call ?? op.node), what: `${op.node.op} ${what}` };
  });
  return steps;
}

export function wayBetween(from: Operator, to: Value): Operator[] {
  const next = new Map<Operator, Operator | null>();
  if (!to.producer || to.producer === from) return [];
  next.set(to.producer, null);
  let edge = [to.producer];
  while (edge.length > 0) {
    const before: Operator[] = [];
    for (const op of edge) {
      for (const input of op.inputs) {
        const producer = input?.producer;
        if (!producer || next.has(producer)) continue;
        next.set(producer, op);
        if (producer === from) {
          const way: Operator[] = [];
          for (let at = next.get(from); at; at = next.get(at)) way.push(at);
          return way;
        }
        before.push(producer);
      }
    }
    edge = before;
  }
  return [];
}

/** Sizes by the benchmark's names. */
function benchOf({ program, spread, shapes }: ReportContext, match: OnnxMatch): BenchHint | null {
  const [event] = match.events;
  const [first] = originsOf(match);
  const replica = first && asMade(spread, first);
  const shape = program.shape(event.operand);
  const out = event.sink.outputs[0] && program.shape(event.sink.outputs[0]);
  if (!replica || !shape || !out) return null;
  const number = (dim: Dim): number | null => evaluate(dim, (name) => shapes[name] ?? null);
  const widths = (shared: boolean): number | null =>
    sum(
      event.form.blocks
        .filter(({ terms }) => terms.every((term) => isShared(term, event.axis)) === shared)
        .map(({ width }) => number(width)),
    );
  const rows = { B: number(replica.mapped.extent), U: number(replica.mapped.source) };
  const whole = number(shape[event.contracted] ?? null);
  const blocks = event.form.blocks.length > 1 ? { Ku: widths(true), Kc: widths(false) } : { Ku: whole, Kc: 0 };
  switch (event.code) {
    case 'IKB101':
    case 'IKB102':
    case 'IKB104':
      return { op: 'concat-linear', dims: { ...rows, ...blocks, M: number(out.at(-1) ?? null) } };
    case 'IKB103':
      return {
        op: 'linear-compression',
        dims: { ...rows, ...blocks, M: number(out.at(-2) ?? null), N: number(out.at(-1) ?? null) },
      };
    case 'IKB201':
    case 'IKB202':
      return attentionBench(program, event, rows, number);
    default:
      return null;
  }
}

const sum = (values: readonly (number | null)[]): number | null =>
  values.reduce<number | null>((total, value) => (total === null || value === null ? null : total + value), 0);

function attentionBench(
  program: Program,
  event: Event,
  rows: { B: number | null; U: number | null },
  number: (dim: Dim) => number | null,
): BenchHint | null {
  const scores = event.sink.outputs[0] && program.shape(event.sink.outputs[0]);
  const shape = program.shape(event.operand);
  if (!scores || !shape || shape.length < 3) return null;
  // Merged with the batch, the heads are what the copies cycle through.
  const merged = event.replicas[0]?.mapped;
  const merging = merged?.map.kind === 'cycle' ? number(merged.source) : 1;
  const heads = shape.length >= 4 ? number(shape[shape.length - 3] ?? null) : merging;
  const batch = number(product(scores.slice(0, -3)));
  const dims = {
    Q: number(scores.at(-2) ?? null),
    S: number(scores.at(-1) ?? null),
    H: heads,
    D: number(shape[event.contracted] ?? null),
  };
  if (event.code === 'IKB202') {
    const shared = { H: number(merged?.extent ?? null), Hkv: number(merged?.source ?? null) };
    return { op: 'attention', dims: { ...dims, ...shared, B: batch, U: batch } };
  }
  return { op: 'attention', dims: { ...dims, ...rows, Hkv: heads } };
}
