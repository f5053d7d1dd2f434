/**
 * Operators of the domain `ai.ikbo`: one node where the standard target makes several. Each comes with its definition as
 * a model-local function, so that every runtime runs the model; a runtime with a kernel of that name takes the node over.
 * Documented in docs/onnx-operators.md.
 */
import { floatOf, intOf } from '../attributes';
import type { NewFunction, NewNode } from '../encode';
import type { Event } from '../judge/events';
import { addNode, madeOf, refuse, type Builder, type Linear, type Made, type Place } from './builder';
import type { Shrunk } from './shrink';
import { indexVector } from './spread-back';

export const DOMAIN = 'ai.ikbo';
export const VERSION = 1;

const node = (op: string, inputs: readonly string[], output: string, attributes?: NewNode['attributes']): NewNode => ({
  op,
  name: output,
  inputs,
  outputs: [output],
  ...(attributes ? { attributes } : {}),
});

type Definition = Pick<NewFunction, 'inputs' | 'attributes' | 'nodes' | 'documentation'>;

const LINEAR_INPUTS = ['user', 'candidate', 'index', 'user_weight', 'candidate_weight'];
const LINEAR_NODES = [
  node('MatMul', ['user', 'user_weight'], 'shared'),
  node('Gather', ['shared', 'index'], 'looked_up', { axis: 0n }),
  node('MatMul', ['candidate', 'candidate_weight'], 'own'),
];

const DEFINITIONS: Readonly<Record<string, Definition>> = {
  BroadcastLinear: {
    inputs: LINEAR_INPUTS,
    attributes: [],
    nodes: [...LINEAR_NODES, node('Add', ['own', 'looked_up'], 'y')],
    documentation:
      'y = user[index] @ user_weight + candidate @ candidate_weight. user [U, Ku], candidate [B, Kc], index int64 [B] in [-U, U), user_weight [Ku, M], candidate_weight [Kc, M], y [B, M].',
  },
  BroadcastLinearBias: {
    inputs: [...LINEAR_INPUTS, 'bias'],
    attributes: [],
    nodes: [...LINEAR_NODES, node('Add', ['own', 'looked_up'], 'sum'), node('Add', ['sum', 'bias'], 'y')],
    documentation: 'BroadcastLinear + bias, bias [M] or [1, M].',
  },
  BroadcastCompression: {
    inputs: LINEAR_INPUTS,
    attributes: [],
    nodes: [
      node('MatMul', ['user_weight', 'user'], 'shared'),
      node('Gather', ['shared', 'index'], 'looked_up', { axis: 0n }),
      node('MatMul', ['candidate_weight', 'candidate'], 'own'),
      node('Add', ['own', 'looked_up'], 'y'),
    ],
    documentation:
      'y[b] = user_weight @ user[index[b]] + candidate_weight @ candidate[b]. user [U, Ku, N], candidate [B, Kc, N], index int64 [B], user_weight [M, Ku], candidate_weight [M, Kc], y [B, M, N].',
  },
  BroadcastAttention: {
    inputs: ['query', 'key', 'value', 'index', 'scale'],
    attributes: [],
    nodes: [
      node('Gather', ['key', 'index'], 'keys', { axis: 0n }),
      node('Gather', ['value', 'index'], 'values', { axis: 0n }),
      node('Transpose', ['keys'], 'turned', { perm: [0n, 1n, 3n, 2n] }),
      node('MatMul', ['query', 'turned'], 'products'),
      node('Mul', ['products', 'scale'], 'scores'),
      node('Softmax', ['scores'], 'weights', { axis: -1n }),
      node('MatMul', ['weights', 'values'], 'y'),
    ],
    documentation:
      'y[b] = softmax(scale * query[b] @ key[index[b]]^T) @ value[index[b]] per head. query [B, H, Q, D], key [U, H, S, D], value [U, H, S, E], index int64 [B], scale a scalar, y [B, H, Q, E].',
  },
};

export function definitionOf(builder: Builder, name: string): NewFunction {
  const definition = DEFINITIONS[name] ?? refuse(`${name} is not defined`);
  return { ...definition, name, domain: DOMAIN, outputs: ['y'], opsets: [{ domain: '', version: builder.opset }] };
}

export function addOperator(place: Place, name: string, inputs: readonly string[], output: string): void {
  if (place.builder.program.graph.model.irVersion < 8) refuse('operators with a definition need IR version 8');
  place.builder.functions.add(name);
  addNode(place, name, inputs, { domain: DOMAIN, outputs: [output] });
}

/** One node for a split product with one looked-up part; false where no operator fits. */
export function broadcastLinear(
  place: Place,
  event: Event,
  linear: Linear,
  small: readonly { back: Shrunk['back']; made: Made; weight: string }[],
  kept: { made: Made; weight: string } | null,
): boolean {
  const { builder } = place;
  const { op } = linear;
  const out = op.outputs[0];
  const [shared] = small;
  if (builder.target !== 'ikbo' || !out || !kept || !shared || small.length !== 1 || shared.back.kind === 'all')
    return false;
  const rank = shared.made.shape.length;
  const compression = op.node.op === 'MatMul' && linear.operandIndex === 1 && rank === 3 && event.axis === 0;
  const product = linear.operandIndex === 0 && rank === 2 && /^(MatMul|Gemm)$/.test(op.node.op);
  if (!compression && !product) return false;
  if (
    op.node.op === 'Gemm' &&
    (floatOf(op, 'alpha', 1) !== 1 || (linear.bias !== null && floatOf(op, 'beta', 1) !== 1))
  )
    return false;
  const extent = madeOf(builder, event.operand).shape[event.axis] ?? null;
  const index = indexVector(place, shared, event.axis, extent, { of: kept.made.name, axis: event.axis });
  const turned = op.node.op === 'Gemm' && intOf(op, 'transB', 0) === 1;
  const weight = (name: string): string =>
    turned ? addNode(place, 'Transpose', [name], { attributes: { perm: [1n, 0n] } }) : name;
  const inputs = [shared.made.name, kept.made.name, index, weight(shared.weight), weight(kept.weight)];
  builder.replaced.add(op.node);
  if (compression) addOperator(place, 'BroadcastCompression', inputs, out.name);
  else if (linear.bias) addOperator(place, 'BroadcastLinearBias', [...inputs, linear.bias], out.name);
  else addOperator(place, 'BroadcastLinear', inputs, out.name);
  return true;
}
