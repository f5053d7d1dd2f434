/**
 * Raising the version of the standard operators that a model imports. Only where every node means the same in both: what
 * changed between the versions is listed here, from ONNX's own change log.
 */
import type { Graph, Model, Node } from '../model';
import type { Splice } from '../splice';
import { encodeOpset } from '../encode';
import { refuse } from './builder';

/** The newest version whose changes are listed. */
const NEWEST = 25;
/** Older models write axes and sizes as attributes in many operators. */
const OLDEST = 13;

interface Change {
  /** The version that changed it. */
  readonly since: number;
  readonly what: string;
  /** True for nodes that the change concerns; all by default. */
  readonly concerns?: (node: Node) => boolean;
}

const has = (name: string) => (node: Node) => node.attributes.some((attribute) => attribute.name === name);
const reduction: Change = { since: 18, what: 'takes its axes as an input', concerns: has('axes') };

const CHANGES = new Map<string, Change>([
  ...'ReduceMax ReduceMean ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare'
    .split(' ')
    .map((name) => [name, reduction] as const),
  ['Split', { since: 18, what: 'wants the number of its outputs', concerns: ({ inputs }) => !inputs[1] }],
  ['BatchNormalization', { since: 14, what: 'has other outputs', concerns: ({ outputs }) => outputs.length > 1 }],
  ['GridSample', { since: 20, what: 'calls its modes otherwise' }],
  ['GroupNormalization', { since: 21, what: 'has a scale for each channel' }],
  ['Resize', { since: 18, what: 'fills its borders otherwise' }],
  ['Upsample', { since: 10, what: 'is gone' }],
  ['Scatter', { since: 11, what: 'is gone' }],
  ['Attention', { since: 25, what: 'aligns its causal mask otherwise', concerns: has('is_causal') }],
]);

/** Refuses, with the operator and the reason. Functions of the model keep the version that they import. */
export function raisedOpset({ graph, opsets }: Model, to: number): number {
  const from = opsets.find(({ domain }) => domain === '')?.version ?? 1;
  if (from === to) return from;
  if (from > to) refuse(`the model is of opset ${from}, which is not lowered to ${to}`);
  if (from < OLDEST) refuse(`models below opset ${OLDEST} are not raised, and this is ${from}`);
  if (to > NEWEST) refuse(`opset ${to} is newer than what is known, ${NEWEST}`);
  const visit = ({ nodes }: Graph): void => {
    for (const node of nodes) {
      const change = node.domain === '' ? CHANGES.get(node.op) : undefined;
      if (change && from < change.since && change.since <= to && (change.concerns?.(node) ?? true))
        refuse(`${node.op} ${change.what} since opset ${change.since}: export the model at opset ${to} instead`);
      for (const { g, graphs } of node.attributes) for (const inner of g ? [g, ...graphs] : graphs) visit(inner);
    }
  };
  visit(graph);
  return to;
}

/** The import with the new version, in the place of the old one. */
export function opsetEdits({ opsets }: Model, version: number): Splice[] {
  return opsets
    .filter((own) => own.domain === '' && own.version !== version)
    .map(({ span }) => ({ ...span, within: null, bytes: encodeOpset('', version) }));
}
