/** Which rule infers which operator. What is not here has unknown outputs, or those that the file declares. */
import * as contractions from './contractions';
import * as control from './control';
import * as elementwise from './elementwise';
import type { Rule } from './rule';
import * as shapes from './shapes';
import * as windows from './windows';

const all = (rule: Rule, names: string): [string, Rule][] => names.split(' ').map((name) => [name, rule]);

const STANDARD = new Map<string, Rule>([
  ...all(
    elementwise.unary,
    'Relu Sigmoid Tanh Softmax LogSoftmax LeakyRelu Elu Selu Celu Gelu Mish HardSigmoid HardSwish Swish Softplus Softsign ' +
      'ThresholdedRelu Clip Sqrt Exp Log Erf Abs Sign Reciprocal Cos Sin Tan Acos Asin Atan Cosh Sinh Acosh Asinh Atanh ' +
      'Round CumSum Hardmax Trilu BatchNormalization InstanceNormalization GroupNormalization LpNormalization LRN ' +
      'MeanVarianceNormalization ScatterND ScatterElements Scatter Shrink RotaryEmbedding TensorScatter ReverseSequence ' +
      'EyeLike Bernoulli RandomNormalLike RandomUniformLike',
  ),
  ...all(elementwise.identity, 'Identity'),
  ...all(elementwise.negative, 'Neg'),
  ...all(elementwise.floor, 'Floor'),
  ...all(elementwise.ceil, 'Ceil'),
  ...all(elementwise.cast, 'Cast'),
  ...all(elementwise.castLike, 'CastLike'),
  ...all(elementwise.sum, 'Add Sum'),
  ...all(elementwise.difference, 'Sub'),
  ...all(elementwise.mul, 'Mul'),
  ...all(elementwise.quotientRule, 'Div'),
  ...all(elementwise.modulo, 'Mod'),
  ...all(elementwise.power, 'Pow'),
  ...all(elementwise.minimum, 'Min'),
  ...all(elementwise.maximum, 'Max'),
  ...all(
    elementwise.binary(() => null),
    'PRelu Mean BitwiseAnd BitwiseOr BitwiseXor BitShift',
  ),
  ...all(elementwise.equals, 'Equal'),
  ...all(
    elementwise.compare((a, b) => a < b),
    'Less',
  ),
  ...all(
    elementwise.compare((a, b) => a <= b),
    'LessOrEqual',
  ),
  ...all(
    elementwise.compare((a, b) => a > b),
    'Greater',
  ),
  ...all(
    elementwise.compare((a, b) => a >= b),
    'GreaterOrEqual',
  ),
  ...all(elementwise.logic, 'And Or Xor'),
  ...all(elementwise.not, 'Not'),
  ...all(elementwise.where, 'Where'),
  ...all(elementwise.toBool, 'IsNaN IsInf'),
  ...all(elementwise.dropout, 'Dropout'),
  ...all(elementwise.toFloat, 'DequantizeLinear'),
  ...all(elementwise.unary, 'QuantizeLinear DynamicQuantizeLinear'),
  ...all(shapes.reshape, 'Reshape'),
  ...all(shapes.flatten, 'Flatten'),
  ...all(shapes.transpose, 'Transpose'),
  ...all(shapes.unsqueeze, 'Unsqueeze'),
  ...all(shapes.squeeze, 'Squeeze'),
  ...all(shapes.shape, 'Shape'),
  ...all(shapes.size, 'Size'),
  ...all(shapes.expand, 'Expand'),
  ...all(shapes.tile, 'Tile'),
  ...all(shapes.concat, 'Concat'),
  ...all(shapes.slice, 'Slice'),
  ...all(shapes.split, 'Split'),
  ...all(shapes.gather, 'Gather'),
  ...all(shapes.gatherNd, 'GatherND'),
  ...all(shapes.gatherElements, 'GatherElements'),
  ...all(shapes.constantOfShape, 'ConstantOfShape'),
  ...all(shapes.constantNode, 'Constant'),
  ...all(shapes.range, 'Range'),
  ...all(shapes.pad, 'Pad'),
  ...all(contractions.matmul, 'MatMul'),
  ...all(contractions.matmulInteger, 'MatMulInteger'),
  ...all(contractions.qlinearMatmul, 'QLinearMatMul'),
  ...all(contractions.gemm, 'Gemm'),
  ...all(contractions.einsum, 'Einsum'),
  ...all(contractions.attention, 'Attention'),
  ...all(contractions.recurrent, 'RNN GRU LSTM'),
  ...all(contractions.oneHot, 'OneHot'),
  ...all(contractions.topK, 'TopK'),
  ...all(contractions.nonZero, 'NonZero'),
  ...all(windows.conv, 'Conv ConvInteger'),
  ...all(windows.convTranspose, 'ConvTranspose'),
  ...all(windows.pool, 'MaxPool AveragePool LpPool'),
  ...all(windows.globalPool, 'GlobalAveragePool GlobalMaxPool'),
  ...all(
    windows.reduce,
    'ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare',
  ),
  ...all(windows.argReduce, 'ArgMax ArgMin'),
  ...all(windows.resize, 'Resize Upsample'),
  ...all(
    windows.normalization,
    'LayerNormalization RMSNormalization SimplifiedLayerNormalization SkipLayerNormalization',
  ),
  ...all(control.sequenceEmpty, 'SequenceEmpty'),
  ...all(control.sequenceConstruct, 'SequenceConstruct'),
  ...all(control.sequenceInsert, 'SequenceInsert'),
  ...all(control.sequenceAt, 'SequenceAt'),
  ...all(control.sequenceLength, 'SequenceLength'),
  ...all(control.splitToSequence, 'SplitToSequence'),
  ...all(control.concatFromSequence, 'ConcatFromSequence'),
]);

const MICROSOFT = new Map<string, Rule>([
  ...all(contractions.fusedMatmul, 'FusedMatMul'),
  ...all(contractions.gemm, 'FusedGemm'),
  ...all(contractions.packedAttention, 'Attention'),
  ...all(contractions.queryLike, 'MultiHeadAttention GroupQueryAttention'),
  ...all(contractions.embedding, 'EmbedLayerNormalization'),
  ...all(windows.normalization, 'SkipLayerNormalization SkipSimplifiedLayerNormalization SimplifiedLayerNormalization'),
  ...all(
    elementwise.binary(() => null),
    'BiasGelu BiasSoftmax',
  ),
  ...all(elementwise.unary, 'Gelu FastGelu QuickGelu RotaryEmbedding QuantizeLinear'),
  ...all(elementwise.toFloat, 'DequantizeLinear'),
]);

const OWN = new Map<string, Rule>([
  ...all(contractions.broadcastLinear, 'BroadcastLinear BroadcastLinearBias'),
  ...all(contractions.broadcastCompression, 'BroadcastCompression'),
  ...all(contractions.attention, 'BroadcastAttention'),
]);

const DOMAINS = new Map([
  ['', STANDARD],
  ['com.microsoft', MICROSOFT],
  ['ai.ikbo', OWN],
]);

/** The rule of an operator, or undefined for those of other domains and those not known. */
export function ruleOf(domain: string, op: string): Rule | undefined {
  return DOMAINS.get(domain)?.get(op);
}
