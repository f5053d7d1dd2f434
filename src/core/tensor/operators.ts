/** The operator table. What effects mean is in views, reshape, pointwise and contract; here is only who has which. */
import { type Effect, type Operator, PRODUCTS } from './operator';

/**
 * `torch` in short: `m` a method of Tensor, `t` torch.<name>, `f` torch.nn.functional.<name>; `n:X` the module nn.X.
 * Most operators exist as method and function, some as more.
 */
function row(effect: Effect, spellings: string, names: string, params: string): Operator[] {
  return names.split(' ').map((name) => ({
    name,
    effect,
    torch: spellings.split(' ').flatMap((s) => spell(s, name)),
    params: params ? params.split(' ') : [],
  }));
}

function spell(spelling: string, name: string): string[] {
  if (spelling.startsWith('n:')) return [`nn.${spelling.slice(2)}`];
  if (spelling.includes('.')) return [spelling];
  return [...spelling].map((c) => (c === 'm' ? `Tensor.${name}` : c === 'f' ? `F.${name}` : `torch.${name}`));
}

const UNARY =
  'abs acos arctan asin atan ceil clamp clip cos cosh deg2rad elu erf erfc exp expm1 floor frac gelu hardsigmoid hardswish ' +
  'hardtanh leaky_relu log log10 log1p log2 log_sigmoid logit logsigmoid mish nan_to_num neg negative pow reciprocal relu ' +
  'relu6 round rsqrt selu sigmoid sign silu sin sinh softplus softsign sqrt square tan tanh tanhshrink threshold trunc';

export const OPERATORS: readonly Operator[] = [
  ...row('pointwise', 'mtf', UNARY, 'input'),
  ...row('pointwise', 'm', 'float half bfloat16 double type type_as to cpu cuda npu xpu', 'input *args'),
  ...row(
    'pointwise',
    'n:ReLU n:GELU n:SiLU n:Sigmoid n:Tanh n:ELU n:LeakyReLU n:PReLU n:Softplus n:Hardswish n:Mish n:ReLU6 n:SELU n:Hardtanh n:Hardsigmoid n:QuickGELU n:Swish',
    'activation',
    'input',
  ),
  ...row(
    'pointwise',
    'mt',
    'div divide true_divide maximum minimum remainder fmod atan2 lerp addcmul addcdiv floor_divide',
    'input other',
  ),
  ...row('pointwise', 'mt', 'masked_fill where', 'input mask value'),
  ...row('add', 'mt', 'add', 'input other'),
  ...row('subtract', 'mt', 'sub subtract', 'input other'),
  ...row('multiply', 'mt', 'mul multiply', 'input other'),
  ...row('copy', 'mt', 'clone contiguous', 'input'),
  ...row('same', 'mt', 'detach requires_grad_ pin_memory positive', 'input'),
  ...row(
    'same',
    'f n:Dropout n:Dropout1d n:Dropout2d n:AlphaDropout n:Identity n:DropPath n:StochasticDepth',
    'dropout',
    'input',
  ),
  ...row('same', 'm', 'view_as_real cuda_ data', 'input'),
  ...row('expand', 'm', 'expand', 'input *size'),
  ...row('expand', 'tm', 'broadcast_to', 'input size'),
  ...row('expand-as', 'm', 'expand_as', 'input other'),
  ...row('repeat', 'm', 'repeat', 'input *repeats'),
  ...row('repeat', 'tm', 'tile', 'input *dims'),
  ...row('repeat-interleave', 'tm', 'repeat_interleave', 'input repeats dim'),
  ...row('reshape', 'm', 'reshape', 'input *shape'),
  ...row('reshape', 't', 'reshape', 'input shape'),
  ...row('reshape', 'm', 'reshape_as view_as', 'input other'),
  ...row('view', 'm', 'view', 'input *shape'),
  ...row('flatten', 'tm n:Flatten', 'flatten', 'input start_dim end_dim'),
  ...row('unflatten', 'tm', 'unflatten', 'input dim sizes'),
  ...row('unsqueeze', 'tm', 'unsqueeze', 'input dim'),
  ...row('squeeze', 'tm', 'squeeze', 'input dim'),
  ...row('transpose', 'tm', 'transpose swapaxes swapdims', 'input dim0 dim1'),
  ...row('permute', 'm', 'permute', 'input *dims'),
  ...row('permute', 't', 'permute', 'input dims'),
  ...row('movedim', 'tm', 'movedim moveaxis', 'input source destination'),
  ...row('narrow', 'tm', 'narrow', 'input dim start length'),
  ...row('chunk', 'tm', 'chunk tensor_split', 'input chunks dim'),
  ...row('chunk', 'tm', 'split', 'input split_size_or_sections dim'),
  ...row('unbind', 'tm', 'unbind', 'input dim'),
  ...row('einops-repeat', 'einops.repeat', 'repeat', 'tensor pattern'),
  ...row('einops-rearrange', 'einops.rearrange', 'rearrange', 'tensor pattern'),
  ...row('einops-reduce', 'einops.reduce', 'reduce', 'tensor pattern reduction'),
  ...row('einops-pack', 'einops.pack', 'pack', 'tensors pattern'),
  ...row('einops-unpack', 'einops.unpack', 'unpack', 'tensor packed_shapes pattern'),
  ...row('concatenate', 't', 'cat concat concatenate', 'tensors dim'),
  ...row('concatenate-last', 't', 'hstack column_stack', 'tensors'),
  ...row('concatenate-rows', 't', 'vstack row_stack', 'tensors'),
  ...row('stack', 't', 'stack', 'tensors dim'),
  ...row('index-select', 'tm', 'index_select', 'input dim index'),
  ...row('gather', 'tm', 'gather take_along_dim take', 'input dim index'),
  ...row('softmax', 'tmf', 'softmax log_softmax', 'input dim'),
  ...row('softmax', 'f', 'normalize', 'input p dim'),
  ...row('layer-norm', 'f n:LayerNorm n:RMSNorm n:T5LayerNorm n:LlamaRMSNorm', 'layer_norm', 'input'),
  ...row(
    'batch-norm',
    'f n:BatchNorm1d n:BatchNorm2d n:SyncBatchNorm n:GroupNorm n:InstanceNorm1d n:InstanceNorm2d',
    'batch_norm',
    'input',
  ),
  ...row(
    'reduce',
    'tm',
    'sum mean max min amax amin logsumexp prod norm std var argmax argmin all any median cumsum cumprod',
    'input dim keepdim',
  ),
  ...['1d', '2d', '3d'].flatMap((n) =>
    ['Avg', 'Max'].flatMap((kind) =>
      row(
        'adaptive-pool',
        `f n:Adaptive${kind}Pool${n}`,
        `adaptive_${kind.toLowerCase()}_pool${n}`,
        'input output_size',
      ),
    ),
  ),
  ...row('resize', 'f n:Upsample n:UpsamplingBilinear2d n:UpsamplingNearest2d', 'interpolate', 'input size'),
  ...row('resize', 'f', 'upsample', 'input size'),
  ...row('linear', 'f n:Linear n:LazyLinear n:NonDynamicallyQuantizableLinear', 'linear', 'input weight bias'),
  ...row('matmul', 'tm', 'matmul mm bmm _scaled_mm', 'input other'),
  ...row('matmul', 'operator.matmul', 'matmul', 'input other'),
  ...row('matmul-add', 'tm', 'addmm baddbmm', 'bias input other'),
  ...row('einsum', 't', 'einsum', 'equation *operands'),
  ...row('einsum', 'einops.einsum', 'einops_einsum', '*operands'),
  ...row('convolution', 'n:Conv1d n:Conv2d n:Conv3d n:ConvModule', 'conv', 'input'),
  ...row('functional-convolution', 'f', 'conv1d conv2d conv3d', 'input weight bias stride padding'),
  ...row('bilinear', 'f n:Bilinear', 'bilinear', 'input1 input2'),
  ...row('recurrent', 'n:GRU n:LSTM n:RNN', 'rnn', 'input hx'),
  ...row('recurrent-cell', 'n:GRUCell n:LSTMCell n:RNNCell', 'rnn_cell', 'input hx'),
  ...row(
    'attention',
    'f',
    'scaled_dot_product_attention',
    'query key value attn_mask dropout_p is_causal scale enable_gqa',
  ),
  ...row(
    'attention',
    'xformers.memory_efficient_attention',
    'memory_efficient_attention',
    'query key value attn_bias p scale',
  ),
  ...row(
    'attention',
    'flash_attn.flash_attn_func',
    'flash_attn_func',
    'query key value dropout_p softmax_scale causal',
  ),
  ...row('attention', 'sageattention.sageattn', 'sageattn', 'query key value tensor_layout is_causal'),
  ...['flash_attn_varlen_func', 'flash_attn_with_kvcache'].flatMap((name) =>
    row('attention', `flash_attn.${name}`, name, 'query key value'),
  ),
  ...['flash_attn_kvpacked_func', 'flash_attn_varlen_kvpacked_func'].flatMap((name) =>
    row('attention', `flash_attn.${name}`, name, 'query kv'),
  ),
  ...['flash_attn_qkvpacked_func', 'flash_attn_varlen_qkvpacked_func', 'flash_attn_unpadded_qkvpacked_func'].flatMap(
    (name) => row('packed-attention', `flash_attn.${name}`, name, 'qkv'),
  ),
  ...row(
    'attention',
    'torch.flex_attention',
    'flex_attention',
    'query key value score_mod block_mask scale enable_gqa',
  ),
  ...row('multihead-attention', 'n:MultiheadAttention', 'multihead_attention', 'query key value'),
  ...row('transformer-layer', 'n:TransformerEncoderLayer n:TransformerEncoder', 'transformer_encoder', 'src'),
  ...row(
    'transformer-decoder',
    'n:TransformerDecoderLayer n:TransformerDecoder n:Transformer',
    'transformer_decoder',
    'tgt memory',
  ),
  ...row(
    'create',
    't',
    'Tensor FloatTensor LongTensor IntTensor zeros ones empty full zeros_like ones_like empty_like full_like eye tensor as_tensor from_numpy',
    '*size',
  ),
  ...row('create', 'm', 'new_zeros new_ones new_empty new_full new_tensor', 'input *size'),
  ...row(
    'create-random',
    't',
    'rand randn randint randperm rand_like randn_like bernoulli multinomial normal randint_like',
    '*size',
  ),
  ...row('create-random', 'm', 'normal_ uniform_ bernoulli random_', 'input'),
  ...row('create-index', 't', 'arange range', '*size'),
  ...row('create-edges', 't', 'triu_indices tril_indices combinations', '*size'),
  ...row('create-edges', 'm', 'indices _indices', 'input'),
  ...row('search', 'tm', 'searchsorted bucketize', 'input *args'),
  ...row(
    'mask',
    'tm',
    'eq ne lt le gt ge logical_and logical_or logical_not isnan isin bitwise_and bitwise_or tril triu one_hot_mask',
    'input other',
  ),
  ...row('ids', 'm', 'long int bool', 'input'),
  ...row('opaque-index', 'tm', 'argsort sort topk nonzero unique', 'input *args'),
  ...row('embedding', 'f n:Embedding n:EmbeddingBag', 'embedding', 'input'),
  ...row('one-hot', 'f', 'one_hot', 'input num_classes'),
];

const byName = new Map<string, Operator>(OPERATORS.flatMap((o) => o.torch.map((name) => [name, o] as const)));

const PRODUCT_EFFECTS: ReadonlySet<Effect> = new Set(PRODUCTS);

/** What products are called, without the module that they are of: `Linear`, `matmul`, `scaled_dot_product_attention`. */
export const PRODUCT_NAMES: readonly string[] = [
  ...new Set(
    OPERATORS.flatMap(({ effect, torch }) =>
      PRODUCT_EFFECTS.has(effect) ? torch.map((name) => name.slice(name.lastIndexOf('.') + 1)) : [],
    ),
  ),
];

/** The operator behind a canonical name: `torch.cat`, `Tensor.repeat`, `F.linear`, `nn.Linear`, `einops.repeat`. */
export const operatorNamed = (name: string): Operator | null => byName.get(name) ?? null;

/** `torch.ops.aten.repeat` exists where `torch.repeat` does not: it is the method. */
export const atenOperator = (path: string): Operator | null =>
  path.startsWith('torch.ops.aten.') ? operatorNamed(canonicalName(path).replace(/^torch\./, 'Tensor.')) : null;

const PREFIXES: readonly (readonly [RegExp, string])[] = [
  [/^torch\.nn\.functional\./, 'F.'],
  [/^torch\.nn\.modules\.(\w+\.)?(?=[A-Z]\w*$)/, 'nn.'],
  [/^torch\.nn\.modules\.\w+\./, 'nn.'],
  [/^torch\.nn\.attention\.flex_attention\./, 'torch.'],
  [/^torch\.nn\./, 'nn.'],
  [/^torch\.(ops\.aten|_C\._nn|linalg|special|functional)\./, 'torch.'],
  [/^torch\.Tensor\./, 'Tensor.'],
  [/^torch\.torch\./, 'torch.'],
  [/^einops\.(einops|layers\.torch)\./, 'einops.'],
  [/^xformers\.ops\.(fmha\.)?/, 'xformers.'],
  [/^(\w+\.)+(?=flash_attn_((varlen_|unpadded_)?(q?kvpacked_)?func|with_kvcache)$)/, 'flash_attn.'],
];

/** `torch.nn.functional.linear` -> `F.linear`, `torch.ops.aten.cat.default` -> `torch.cat`. */
export function canonicalName(path: string): string {
  const whole = path.replace(/^(torch\.ops\.aten\.\w+)\.\w+$/, '$1');
  for (const [pattern, short] of PREFIXES) if (pattern.test(whole)) return whole.replace(pattern, short);
  return whole;
}
