/** What a parameter is where nothing is given for it. */
import type { FunctionModel } from './model';
import { Names } from './names';
import type { Frame, Run } from './run';
import { unknown } from './state';
import { type Node, textOf } from './syntax';
import type { Value } from './value';

/** Defaults are literals nearly always, or names of the module: classes of layers, functions. Anything else is not evaluated. */
export function defaultValue(node: Node, model: FunctionModel, frame: Frame, run: Run): Value {
  if (/^(integer|float|none|true|false|string|unary_operator|tuple|list)$/.test(node.kind))
    return run.evaluate(node, frame);
  return /^(identifier|attribute)$/.test(node.kind) || isPartial(node)
    ? moduleValue(node, model, frame, run)
    : unknown();
}

/** `norm_layer=partial(nn.LayerNorm, eps=1e-6)`. */
const isPartial = (node: Node): boolean => node.kind === 'call' && /^(functools\.)?partial\(/.test(textOf(node));

/** What layers a model is made of unless something else is asked for, perhaps in a `**kwargs`: what its code is written for. */
export function layersByDefault(fallback: Node | null, model: FunctionModel, frame: Frame, run: Run): Value | null {
  if (!frame.building || !fallback) return null;
  if (!/^(identifier|attribute)$/.test(fallback.kind) && !isPartial(fallback)) return null;
  const value = moduleValue(fallback, model, frame, run);
  const layers = value.kind === 'partial' ? value.target : value;
  return layers.kind === 'class' || (layers.kind === 'name' && /(^|\.)nn\.[A-Z]\w*$/.test(layers.path)) ? value : null;
}

function moduleValue(node: Node, { file }: FunctionModel, frame: Frame, run: Run): Value {
  const state = { ...frame.state, names: new Names() };
  return run.evaluate(node, { ...frame, file, function: null, closure: null, state });
}
