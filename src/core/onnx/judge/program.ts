/** What every part of the judge asks: shapes, constants, and where an index comes from. */
import { divide, equal, isOne, valueOf, type Dim } from '../../tensor/dim';
import { elementCount, readValues } from '../data';
import { tensorOf } from '../attributes';
import type { GraphModel, Operator, Value } from '../graph';
import type { Inference } from '../infer';

export interface Program {
  readonly graph: GraphModel;
  readonly shape: (value: Value) => readonly Dim[] | null;
  readonly infer: Inference;
  /** True for initializers and everything computed from them alone: weights, tables, masks baked in. */
  readonly isConstant: (value: Value) => boolean;
}

const RANDOM = /^(Random|Multinomial|Bernoulli)/;

export function programOf(graph: GraphModel, infer: Inference): Program {
  const constants = new Map<Value, boolean>();
  const isConstant = (value: Value): boolean => {
    const known = constants.get(value);
    if (known !== undefined) return known;
    const { producer } = value;
    // Operators come in order, so that the inputs are decided before: this never recurses deeply.
    const result = producer
      ? producer.bodies.length === 0 &&
        !RANDOM.test(producer.node.op) &&
        producer.inputs.every((input) => !input || constants.get(input) === true)
      : value.initializer !== null;
    constants.set(value, result);
    return result;
  };
  for (const value of graph.values) if (!value.producer) isConstant(value);
  for (const op of graph.operators) op.outputs.forEach((value) => value && isConstant(value));
  return { graph, infer, isConstant, shape: (value) => infer.of(value).shape };
}

/** Most elements of a constant that are read to see whether all are equal. */
const MAX_FILL = 1 << 16;

/** The number that every element of the value is, or null. Reads the constant if it is not small. */
export function fillNumber(program: Program, value: Value): number | null {
  const known = valueOf(program.infer.of(value).fill);
  if (known !== null) return known;
  const constant =
    value.initializer ?? (value.producer?.node.op === 'Constant' ? tensorOf(value.producer, 'value') : null);
  if (!constant || elementCount(constant.dims) > MAX_FILL) return null;
  const values = readValues(program.graph.model.source, constant, MAX_FILL);
  const [first] = values ?? [];
  return first !== undefined && values?.every((item) => item === first) ? first : null;
}

/** The operators that may stand between an index and where it comes from without making it one-to-one. */
const INDEX_STEPS = new Set(
  'Cast Reshape Unsqueeze Squeeze Identity Flatten Transpose Gather Add Sub Mul Div Mod Floor Where Less Equal Expand Concat Slice Clip Max Min'.split(
    ' ',
  ),
);

const SELECTIONS = /beam|order|perm|sort|shuffle|last|pos|select|mask|keep|valid|token|top|neg/i;

/**
 * True when the index may well send many positions to one: it comes from an input of the model, or it is arithmetic on a
 * range. Results of sorting, of a top-k, of a selection are one-to-one or filters, whatever their size.
 */
export function isMappingIndex(index: Value, certain: boolean): boolean {
  const seen = new Set<Value>();
  let found = false;
  const walk = (value: Value, depth: number): boolean => {
    if (seen.has(value)) return true;
    seen.add(value);
    const { producer } = value;
    if (!producer) {
      if (!value.initializer) found = true;
      // Where the sizes do not say it, a name that speaks of choosing or of order is taken at its word.
      return certain || !SELECTIONS.test(value.name);
    }
    const { op } = producer.node;
    if (op === 'Constant' || op === 'Shape' || op === 'ConstantOfShape' || op === 'Size') return true;
    if (op === 'Range') return true;
    if (depth > 24 || !INDEX_STEPS.has(op) || producer.node.domain !== '') return false;
    // Of a gather, what is looked up decides; the shape arithmetic of Reshape, Expand and Slice does not.
    const data = /^(Reshape|Expand|Slice|Unsqueeze|Squeeze)$/.test(op) ? producer.inputs.slice(0, 1) : producer.inputs;
    if (op === 'Div' || op === 'Floor') found ||= data.some((input) => input?.producer?.node.op === 'Range');
    return data.every((input) => !input || walk(input, depth + 1));
  };
  return walk(index, 0) && found;
}

/**
 * Whether `count` positions that read from `size` rows are copies. Sizes named by different symbols are independent, and
 * a lookup from one into the other is how candidates find their user; a size that is a part of the other is a selection.
 */
export function isManyToOne(size: Dim, count: Dim): 'yes' | 'likely' | 'no' {
  if (isOne(size)) return isOne(count) ? 'no' : count ? 'yes' : 'likely';
  const [s, n] = [valueOf(size), valueOf(count)];
  if (s !== null && n !== null) return n > s ? 'yes' : 'no';
  if (!size || !count || equal(size, count) === true) return 'no';
  if (divide(count, size)) return 'yes';
  if (divide(size, count)) return 'no';
  // Rows of several axes flattened into one are chosen from, not copied.
  const [term] = size;
  const simple = size.length === 1 && term?.coef === 1 && term.symbols.length === 1;
  const symbols = new Set(simple ? term.symbols : []);
  return symbols.size > 0 &&
    count.some((term) => term.symbols.length > 0) &&
    !count.some((term) => term.symbols.some((s) => symbols.has(s)))
    ? 'likely'
    : 'no';
}

/** Attention's softmax, reached from a product through scaling, masking and views; null when there is none. */
export function softmaxAfter(value: Value): Operator | null {
  return search(
    value,
    (at) => at.uses.map(({ operator }) => operator),
    (op) => op.outputs,
  );
}

export function softmaxBefore(value: Value): Operator | null {
  if (value.producer && isSoftmax(value.producer)) return value.producer;
  return search(
    value,
    (at) => (at.producer ? [at.producer] : []),
    (op) => op.inputs.slice(0, 1),
  );
}

const isSoftmax = ({ node }: Operator): boolean => node.op === 'Softmax' && node.domain === '';
const AROUND_SOFTMAX = new Set(
  'Mul Div Add Sub Where Reshape Cast Identity Clip Unsqueeze Squeeze Dropout Transpose Min Max IsNaN MaskedFill'.split(
    ' ',
  ),
);

function search(
  start: Value,
  operators: (value: Value) => readonly Operator[],
  values: (op: Operator) => readonly (Value | null)[],
): Operator | null {
  let edge: readonly Value[] = [start];
  const seen = new Set<Operator>();
  for (let step = 0; step < 8 && edge.length > 0; step++) {
    const next: Value[] = [];
    for (const value of edge) {
      for (const op of operators(value)) {
        if (isSoftmax(op)) return op;
        if (seen.has(op) || !AROUND_SOFTMAX.has(op.node.op)) continue;
        seen.add(op);
        for (const other of values(op)) if (other) next.push(other);
      }
    }
    edge = next;
  }
  return null;
}
