/** What must hold for a suggestion to be right: every condition of a rewrite in its words, and of which kind it is. */
import type { Condition } from '../finding';
import type { Assumption } from '../tensor/value';

const listed = (names: readonly string[]): string =>
  [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((text) => text !== '').join(' and ');

/** The conditions as one sentence; null where there is none. Each is said once. */
export const sentenceOf = (conditions: readonly Condition[]): string | null =>
  conditions.length > 0 ? sentence(once(conditions).map(({ text }) => text).join('; ')) : null; // prettier-ignore

export const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** Conditions of the same words are one. */
export const once = (conditions: readonly Condition[]): readonly Condition[] => [
  ...new Map(conditions.map((condition) => [condition.text, condition])).values(),
];

// Gradients

export const GRADIENT_OF_CAST: Condition = {
  kind: 'gradient',
  text: 'no gradient flows through the cast, or its sum over the copies may be taken in the type after the cast',
};

/** `sure`: false where a call may do it. */
export const gradientBehindWrite = (line: number, path: string, sure: boolean): Condition => ({
  kind: 'gradient',
  text: `no gradient is taken through the product, behind which line ${line} ${sure ? 'writes' : 'may write'} into \`${path}\``,
});

// Random numbers and statistics

/** `copies`: of what a draw is shared. `drawn`: by what. */
export const sharedDraw = (copies: string, drawn: string): Condition => ({
  kind: 'shared-draw',
  text: `in training, ${copies} then share one draw of ${drawn}; in evaluation nothing changes`,
});

/** Dropout draws per query and key: another layout of the same attention meets other draws. */
export const otherDraws = (rate: string): Condition => ({
  kind: 'other-draws',
  text: `\`dropout_p=${rate}\` is 0, or other random draws in training are fine`,
});

export const EVALUATION: Condition = {
  kind: 'batch-statistics',
  text: 'the model is in evaluation mode: in training, batch statistics would count each row once and not its copies',
};

export const rowByRow = (stages: string): Condition => ({
  kind: 'row-wise',
  text: `every stage of \`${stages}\` works row by row`,
});

// Layers and weights

export const plainLayer = (layer: string): Condition => ({
  kind: 'layer',
  text: `\`${layer}\` is a plain linear layer`,
});

/** `nn.Linear(..).double()`: a concatenation may be what brings its operands to that type. */
export const plainTypedLayer = (layer: string): Condition => ({
  kind: 'layer',
  text: `\`${layer}\` is a plain linear layer, and what is concatenated has its dtype`,
});

export const withoutHooks = (layer: string): Condition => ({
  kind: 'layer',
  text: `\`${layer}\` is a plain linear layer without hooks`,
});

/** `of`: the file of the line, where it is another one. */
export const isLayerOf = (layer: string, what: 'linear layer' | 'Sequential', line: number, of: string): Condition => ({
  kind: 'layer',
  text: `\`${layer}\` is the ${what} of line ${line}${of}`,
});

export const beginsWithLayer = (layer: string, line: number, of: string): Condition => ({
  kind: 'layer',
  text: `\`${layer}\` begins with the linear layer of line ${line}${of}`,
});

/** The list of layers is not empty. */
export const holdsLayer = (list: string): Condition => ({ kind: 'layer', text: `\`${list}\` holds a layer` });

export const elsewhereWrapped = (line: number, of: string, word: string, layer: string): Condition => ({
  kind: 'layer',
  text: `what line ${line}${of} does (\`${word}\`) does not concern \`${layer}\``,
});

export const savedWeights = (layer: string, columns: string): Condition => ({
  kind: 'saved-weights',
  text: `saved weights of \`${layer}\` are loaded with ${columns}, of any value: they meet zeros`,
});

// Types and rounding

export const ROUNDING: Condition = {
  kind: 'rounding',
  text: 'the sums of weights round once more than the products did, which half precision may notice',
};

export const inHalfPrecision = (names: readonly string[]): Condition => ({
  kind: 'rounding',
  text: `${names.map((name) => `\`${name}\``).join(', ')} are in half precision, and a result that is rounded to it is good enough`,
});

export const inSinglePrecision = (block: string): Condition => ({
  kind: 'dtype',
  text: `the layer is in single precision, as \`${block}\` is`,
});

export const holdFloats = (names: readonly string[]): Condition => ({
  kind: 'dtype',
  text: `${listed(names.map((name) => `\`${name}\``))} ${names.length > 1 ? 'hold' : 'holds'} floating-point numbers of the weight's precision`,
});

// Axes and sizes

const VIEWS: Readonly<Record<Assumption, string>> = {
  'first-axes': 'the view keeps the first axes',
  'last-axes': 'the view keeps the last axes',
  'last-axis': 'the view keeps the last axis',
  'first-and-last-axis': 'the view keeps the first and the last axis',
  'order-of-axes': 'the view keeps the order of the axes',
  'rows-of-copies': 'the view makes rows of the copies',
  'width-before-repeat': 'the view ends in the width before the repeat',
  'expand-keeps-first': 'the expand keeps the size of the first axis',
  'joined-along-last': 'the concatenation is along the last axis',
};

/** What the evaluation assumed on the way of a copy. */
export const assumed = (assumption: Assumption): Condition => ({ kind: 'shape', text: VIEWS[assumption] });

/** `name`: null where the copy has none. */
const calledCopy = (name: string | null): string => (name === null ? 'the copy' : `\`${name}\``);

export const hasThreeAxes = (name: string | null): Condition => ({
  kind: 'shape',
  text: `${calledCopy(name)} has three axes`,
});

/** Of three, the second one would be of tokens and not of heads. */
export const hasFourAxes = (heads: string): Condition => ({ kind: 'shape', text: `\`${heads}\` has four axes` });

/** `axes`: null for as many as the copy has. */
export const hasAxesBefore = (tensor: string, axes: number | null): Condition => ({
  kind: 'shape',
  text: `\`${tensor}\` has ${axes === null ? 'all axes of the copy' : `${axes} axes`} before it is copied`,
});

export const asWide = (tensor: string): Condition => ({
  kind: 'shape',
  text: `\`${tensor}\` is as wide as what it is expanded to`,
});

export const hasAsManyRows = (others: readonly string[], copy: string): Condition => ({
  kind: 'shape',
  text: `\`${others.join('` or `')}\` has as many rows as \`${copy}\``,
});

export const OTHERS_HAVE_ALL_ROWS: Condition = {
  kind: 'shape',
  text: 'the tensors beside the copies have all their rows',
};

/** An axis of size 1 is broadcast by the copy, and by nothing once it is gone. */
export const anotherHasRows = (letter: string): Condition => ({
  kind: 'shape',
  text: `another operand has more than one row along \`${letter}\``,
});

// What is copied, and how often

export const manyMoreEntries = (index: string): Condition => ({
  kind: 'ratio',
  text: `\`${index}\` has many more entries than the indexed tensor has rows`,
});

export const MANY_EDGES: Condition = {
  kind: 'ratio',
  text: 'there are at least about three times as many edges as nodes',
};

export const holdsRowNumbers = (index: string): Condition => ({
  kind: 'map',
  text: `\`${index}\` holds row numbers as int64, and is no mask`,
});

/** A tensor of counts could stand there. */
export const isNumber = (count: string): Condition => ({ kind: 'map', text: `\`${count}\` is a number` });

export const holdsEachHead = (heads: string, count: string): Condition => ({
  kind: 'map',
  text: `\`${heads}\` holds each head ${count} times in a row and nothing else`,
});

export const headsRepeated = (heads: string, count: string): Condition => ({
  kind: 'map',
  text: `\`${heads}\` is repeated ${count} times, each head in a row`,
});

// What other code does

export const doesNotWrite = (callee: string, line: number, name: string): Condition => ({
  kind: 'writes',
  text: `\`${callee}\` at line ${line} does not write into \`${name}\``,
});

export const leavesAttribute = (callee: string, line: number, attribute: string): Condition => ({
  kind: 'writes',
  text: `\`${callee}\` at line ${line} leaves \`self.${attribute}\` as it is`,
});

export const nobodyWrites = (name: string | null): Condition => ({
  kind: 'writes',
  text: `nothing that is given ${calledCopy(name)} writes into it, or calls \`view\` across its copies`,
});

export const nobodyReads = (names: readonly string[]): Condition => ({
  kind: 'names',
  text: `nothing outside of this file reads ${names.map((name) => `\`${name}\``).join(', ')}`,
});

/** What a concatenation refuses, a sum may broadcast. */
export const expectsNoError = (word: string, line: number): Condition => ({
  kind: 'errors',
  text: `the \`${word}\` of line ${line} does not wait for sizes that do not match`,
});

export const NO_TORCHSCRIPT: Condition = {
  kind: 'compiler',
  text: 'the model is not compiled by TorchScript, which cannot compile ikbo_lens',
};

export const NO_TRACE: Condition = {
  kind: 'compiler',
  text: 'the model is not traced by torch.fx, which cannot follow ikbo_lens',
};

// What it is good for

const FUSED =
  'on CUDA (compute capability 8.0 or newer), the dtype is half or bfloat16 with heads of at most 256: elsewhere enable_gqa takes the math path, which is ' +
  'slower than repeating';

/** `torch`: the release that brought enable_gqa, where the project may run on an older one. */
export const fusedKernel = (torch: string | null): Condition => ({
  kind: 'kernel',
  text: torch === null ? FUSED : `torch is ${torch} or newer and, ${FUSED}`,
});

export const ON_CUDA: Condition = {
  kind: 'kernel',
  text: 'the model runs on CUDA, where a fused kernel then takes the call: the copies of the heads are written',
};

/** `name`: of a copy, or of what is made of it. */
export const copyStays = (line: number, name: string): Condition => ({
  kind: 'stays',
  text: `\`${name}\` is still made, because line ${line} reads it too`,
});
