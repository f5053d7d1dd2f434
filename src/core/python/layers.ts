/** Known module classes by their canonical names, and what other libraries call the same things. */
import { canonicalName, operatorNamed } from '../tensor/operators';
import { type Node, textOf } from './syntax';
import { type Args, NO_ARGS, type Value, name as nameOf } from './value';

const CONTAINERS = new Set(['nn.Sequential', 'nn.ModuleList', 'nn.ModuleDict', 'nn.ParameterList', 'nn.ParameterDict']);
export const isContainer = (name: string): boolean => CONTAINERS.has(name);

/**
 * The row of the operator table that a class name stands for. A `Linear` of another library is a Linear for the
 * finding; the rewriter sees from `Match.sink.module.doubt` that it is not proven to be torch's.
 */
export function layerName(name: string): string | null {
  if (operatorNamed(name)?.torch.includes(name) && name.startsWith('nn.')) return name;
  const last = name.split('.').pop() ?? '';
  if (
    /^(Linear|(Merged)?ColumnParallelLinear|QKVParallelLinear|RowParallelLinear|ReplicatedLinear|QuantLinear|Linear8bitLt|Linear4bit)$/.test(
      last,
    )
  )
    return 'nn.Linear';
  if (last === 'ConvModule') return 'nn.ConvModule';
  // Linear layers one after the other, with an activation each.
  if (/^allennlp\.modules\b/.test(name) && last === 'FeedForward') return 'nn.Linear';
  // Wherever they come from, they normalize rows.
  const norm = /^(?:Mixed)?(?:Fused|Fast|Triton)?(RMSNorm|LayerNorm)$/.exec(last)?.[1];
  if (norm !== undefined && name.includes('.')) return `nn.${norm}`;
  // Blocks of transformers as the model zoo of images has them: rows in, rows out.
  if (/^timm\.(models|layers)\b/.test(name) && /^(Block|Attention)$/.test(last)) return 'nn.TransformerEncoderLayer';
  return null;
}

/** A class of `torch.nn` that a variable names. */
const NAMED_BY_VARIABLE = 'nn.getattr';

/** `getattr(nn, self.activation)`, `getattr(nn, self.kind)`: what an activation is called by, or any other class. */
export function layerByName(of: string, by: Node | undefined): Value | null {
  if (!/^(torch\.)?nn$/.test(of)) return null;
  return nameOf(by && /act|nonlin/i.test(textOf(by)) ? 'nn.ReLU' : NAMED_BY_VARIABLE);
}

/** Of classes of `torch.nn` only recurrent layers know these arguments. */
export const isRecurrentByName = (name: string, { keywords }: Args): boolean =>
  name === NAMED_BY_VARIABLE &&
  ['batch_first', 'bidirectional', 'hidden_size', 'num_layers'].some((keyword) => keywords.has(keyword));

/** The helper of transformers that other projects import: heads, the second axis of four, are repeated. */
export const REPEAT_KV = /^transformers\.([\w.]+\.)?repeat_kv$/;

/** Of the names that `from module import *` may bring, those that mean something here. */
export const isKnownOutside = (path: string): boolean => {
  const name = canonicalName(path);
  return REPEAT_KV.test(path) || operatorNamed(name) !== null || isContainer(name);
};

/** Classes that are modules, those of other libraries by what they are called. */
export const isModuleOutside = (name: string): boolean =>
  /(Module|PreTrainedModel|ModelMixin)$|^nn\.[A-Z]\w*$/.test(name);

export function constructLayer(name: string, args: Args, node: Node, doubt: string | null = null): Value {
  return { kind: 'layer', name, args, node, doubt };
}

/** `nn.LayerNorm.load(prefix=.., weights=..)`, which servers of models add to the class. */
const LOADED_NORM = /^(nn\.\w*Norm)\.load\w*$/;

/** A class that is known by what it does is called what its own library calls it. */
export function layerOf(path: string, args: Args, node: Node): Value | null {
  const [, norm] = LOADED_NORM.exec(path) ?? [];
  if (norm !== undefined) return constructLayer(norm, { ...NO_ARGS, open: true }, node, 'loaded');
  const name = layerName(path);
  if (name === null) return null;
  return {
    kind: 'layer',
    name,
    args,
    node,
    doubt: null,
    ...(name === path ? {} : { called: path.replace(/.*\./, '') }),
  };
}

/** Methods of nn.Module that hand back the module itself. */
export const RETURNS_MODULE =
  /^(to|cuda|cpu|xpu|half|float|double|bfloat16|type|eval|train|apply|requires_grad_|share_memory|to_empty)$/;
