/** The product that a sink computes, written for a slice of its weight. */
import type { Condition } from '../finding';
import type { Match } from '../judge/match';
import { type Node, childOf, textOf } from '../python/syntax';
import type { Edit } from './edit';
import { argument, callOf, integer, unwrap } from './expression';
import { importFunctional } from './imports';
import { type Layer, layerOf } from './layer';
import { parameterRank } from './ranks';
import { refuse } from './refusal';
import { trace } from './trace';

export interface Product {
  readonly weight: string;
  /** Bias text, null when there is none. */
  readonly bias: string | null;
  /** Axis of an operand along which the blocks lie, as written in `x.shape[-1]`. */
  readonly axis: number;
  readonly of: (x: string, weight: string, bias: string | null) => string;
  /** The part of the weight from `start` to `end`; empty for the ends. */
  readonly slice: (start: string, end: string) => string;
  /** Axis of the weight for `split`. */
  readonly weightAxis: number;
  readonly imports: readonly Edit[];
  /** What the sink does to the product: the later stages of a Sequential. */
  readonly after: (value: string) => string;
  readonly conditions: readonly Condition[];
}

export function productOf(match: Match): Product {
  const { sink } = match;
  const layer = layerOf(match);
  const weight = layer?.weight ?? sink.weight;
  const bias = layer ? layer.bias : sink.bias === 'none' ? null : sink.bias;
  const splits = sink.kind === 'linear' || sink.kind === 'convolution' || matmulOperands(sink.node) !== null;
  if (!splits)
    refuse(`only linear layers, convolutions and products of two tensors are split, not \`${calledAt(sink.node)}\``);
  if (!weight) refuse('the weight that the product reads has no name here');
  if (!/^[\w.[\]]+$/.test(weight)) refuse(`the weight \`${weight}\` is an expression; give it a name first`);
  const behind = behindOf(match);
  if (sink.kind === 'linear') {
    requireMatrix(match, weight);
    const functional = importFunctional(sink.node);
    return {
      weight,
      bias,
      axis: -1,
      of: (x, w, b) => `${functional.name}.linear(${[x, w, ...(b ? [b] : [])].join(', ')})`,
      slice: (start, end) => `${weight}[:, ${start}:${end}]`,
      weightAxis: 1,
      imports: functional.edit ? [functional.edit] : [],
      after: (value) => behind(afterFirstStage(layer, value)),
      conditions: layer?.conditions ?? [],
    };
  }
  if (sink.kind === 'matmul') return matmul(match, weight);
  if (sink.kind === 'convolution' && layer) return convolution(match, layer);
  return refuse('the convolution is not plainly an nn.Conv1d or nn.Conv2d');
}

const calledAt = (node: Node): string => callOf(node)?.name ?? textOf(node);

/** `F.linear(x, v)` also takes a vector, which has no columns to slice. */
function requireMatrix({ sink }: Match, weight: string): void {
  const call = callOf(sink.node);
  const given = sink.module || !call ? null : argument(call, 1, 'weight');
  const rank = given ? parameterRank(unwrap(trace(given).value)) : null;
  if (rank !== null && rank !== 2) refuse(`\`${weight}\` is no matrix`);
}

/** The rest of a Sequential applied to what its first stage gives. */
function afterFirstStage(layer: Layer | null, value: string): string {
  const more = layer?.stages === 'listed' || (layer?.stages?.length ?? 0) > 1;
  return layer && more ? `${layer.text}[1:](${value})` : value;
}

/** What the module of a lifted sink does behind its product. */
const behindOf =
  ({ sink }: Match) =>
  (value: string): string =>
    sink.behind ? sink.behind.written(value) : value;

/** With a batch axis, a weight would meet other rows than its own where the product is taken before the copy. */
export function requireTwoAxes(dims: readonly unknown[] | null | undefined, weight: string): void {
  if (dims ? dims.length === 2 : /^self\./.test(weight)) return;
  if (dims) refuse(`\`${weight}\` has ${dims.length === 1 ? 'one axis' : `${dims.length} axes`}, a matrix two`);
  const comment = /^\w+$/.test(weight) ? `; a comment can say that it has none: \`# ikbo: ${weight}=[K, N]\`` : '';
  refuse(`\`${weight}\` may have a batch axis of its own${comment}`);
}

function matmul(match: Match, weight: string): Product {
  const { sink, product } = match;
  const dims = product?.operands.find((_, i) => i !== product.replicated)?.dims;
  requireTwoAxes(dims, weight);
  if (sink.behind) refuse('the product is in a module that does more');
  const right = sink.side === 'right';
  return {
    weight,
    bias: null,
    axis: right ? -2 : -1,
    of: (x, w) => (right ? `${w} @ ${x}` : `${x} @ ${w}`),
    slice: (start, end) => (right ? `${weight}[:, ${start}:${end}]` : `${weight}[${start}:${end}]`),
    weightAxis: right ? 1 : 0,
    imports: [],
    after: (value) => value,
    conditions: [],
  };
}

/** Only a kernel of 1 without stride, padding or groups is a matrix product over the channels. */
function convolution(match: Match, layer: Layer): Product {
  const { module, node } = match.sink;
  const { weight, bias } = layer;
  const behind = behindOf(match);
  const made = module?.constructor ? callOf(module.constructor) : null;
  const name = module?.kind?.replace(/^.*\./, '').toLowerCase() ?? '';
  if (!made || !/^conv[12]d$/.test(name)) refuse('the convolution is not plainly an nn.Conv1d or nn.Conv2d');
  const kernel = made.positional[2] ?? made.keywords.get('kernel_size') ?? null;
  const others = [...made.keywords.keys()].filter(
    (key) => !['in_channels', 'out_channels', 'kernel_size', 'bias'].includes(key),
  );
  if (integer(kernel) !== 1 || made.splat || made.positional.length > 3 || others.length > 0) {
    refuse('the convolution has a kernel above 1, a stride, padding or groups');
  }
  const functional = importFunctional(node);
  return {
    weight,
    bias,
    axis: 1,
    of: (x, w, b) => `${functional.name}.${name}(${[x, w, ...(b ? [b] : [])].join(', ')})`,
    slice: (start, end) => `${weight}[:, ${start}:${end}]`,
    weightAxis: 1,
    imports: functional.edit ? [functional.edit] : [],
    after: (value) => behind(afterFirstStage(layer, value)),
    conditions: layer.conditions,
  };
}

/** The two operands of `a @ b`, `torch.matmul(a, b)`, `a.mm(b)`. */
export function matmulOperands(node: Node): readonly [Node, Node] | null {
  if (node.kind === 'binary_operator') {
    const [left, right, operator] = [childOf(node, 'left'), childOf(node, 'right'), childOf(node, 'operator')];
    return left && right && operator && textOf(operator) === '@' ? [left, right] : null;
  }
  const call = callOf(node);
  if (!call || call.splat || !['matmul', 'mm', 'bmm'].includes(call.method)) return null;
  const operands = call.name.startsWith('torch.') ? call.positional : [call.receiver, ...call.positional];
  const [left, right, ...more] = operands;
  return left && right && more.length === 0 && call.keywords.size === 0 ? [left, right] : null;
}
