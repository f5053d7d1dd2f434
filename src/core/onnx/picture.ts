/** The way from a source tensor over its copies to the product that reads them, as boxes for a picture. */
import { constant, multiply, product, type Dim } from '../tensor/dim';
import { analyse } from './analyse';
import { elementBytes } from './data';
import type { Operator, Value } from './graph';
import { asMade, findingOf, shapeText, wayBetween, type ReportContext } from './judge/report';
import type { Event } from './judge/events';
import type { Finding } from '../finding';
import type { Model } from './model';
import type { ModelText } from './text';

export interface PictureBox {
  readonly role: 'source' | 'replica' | 'step' | 'sink';
  readonly title: string;
  readonly shape: string;
  /** Bytes of the tensor, symbolic; null where not known. */
  readonly bytes: Dim;
  readonly line: number | null;
}

export interface Picture {
  readonly finding: Finding;
  readonly rows: readonly (readonly PictureBox[])[];
}

const MOST_ROWS = 4;

/** The picture of the finding of a rule on a line of the text; null when there is none. */
export function pictureOf(model: Model, text: ModelText, path: string, rule: string, line: number): Picture | null {
  const { program, spread, matches } = analyse(model);
  const context: ReportContext = { path, program, spread, text, shapes: {} };
  for (const match of matches) {
    const finding = findingOf(context, match);
    if (finding.rule !== rule || finding.line !== line) continue;
    return { finding, rows: match.events.slice(0, MOST_ROWS).map((event) => rowOf(context, event)) };
  }
  return null;
}

function rowOf(context: ReportContext, event: Event): PictureBox[] {
  const { program, spread } = context;
  const [replica] = event.replicas;
  const { origin } = replica ? asMade(spread, replica) : { origin: null };
  const sink = boxOf(context, 'sink', event.sink, event.sink.outputs[0]);
  if (!origin) return [{ ...sink, role: 'replica' }, sink];
  const way = wayBetween(origin.operator, event.operand);
  return [
    {
      role: 'source',
      title: origin.data.name,
      shape: shapeText(program, origin.data),
      bytes: bytesOf(context, origin.data),
      line: lineOf(context, origin.data),
    },
    boxOf(context, 'replica', origin.operator, origin.operator.outputs[0]),
    ...way.map((op) => boxOf(context, 'step', op, op.outputs[0])),
    sink,
  ];
}

function boxOf(
  context: ReportContext,
  role: PictureBox['role'],
  op: Operator,
  out: Value | null | undefined,
): PictureBox {
  const line = context.text.nodes.get(op.call ?? op.node)?.first ?? null;
  return { role, title: op.node.op, shape: shapeText(context.program, out), bytes: bytesOf(context, out), line };
}

function lineOf({ text }: ReportContext, { name, producer }: Value): number | null {
  const range = producer ? text.nodes.get(producer.call ?? producer.node) : text.declarations.get(name);
  return range?.first ?? null;
}

function bytesOf({ program }: ReportContext, value: Value | null | undefined): Dim {
  const info = value && program.infer.of(value);
  return info?.shape ? multiply(product(info.shape), constant(elementBytes(info.element) ?? 4)) : null;
}
