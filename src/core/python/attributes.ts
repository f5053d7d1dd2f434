/** `value.name`: shapes and views of tensors, attributes of objects, members of modules. */
import { rankOf, tensor, UNKNOWN_SHAPE, exactShape, freeAxis, mapAxes } from '../tensor/shape';
import { constant, isOne, symbol } from '../tensor/dim';
import type { Tensor } from '../tensor/value';
import { applyView, permute, transpose } from '../tensor/views';
import { allocate, argument, asDim, asTensor, placeOf } from './access';
import { outside } from './constants';
import { isConstructor } from './constructors';
import { MODULES, derivesFrom, inheritedLayer, knownBase, subclassed } from './containers';
import { mayInherit, settingOf } from './inherited';
import { ATTENTION_CLASS, isAttentionMethod } from './library-attention';
import { RETURNS_MODULE } from './layers';
import type { ClassModel, FunctionModel } from './model';
import type { Frame, Run } from './run';
import { unknown } from './state';
import { type Node, textOf } from './syntax';
import { type Value, int, TRUTH } from './value';
import { LETTER, patternOf } from './words';

export function attributeOf(value: Value, name: string, node: Node, frame: Frame, run: Run): Value {
  switch (value.kind) {
    case 'name':
      return outside(`${value.path}.${name}`);
    case 'module':
      return run.global(name, value.file, frame) ?? unknown(name);
    case 'tensor':
      return tensorAttribute(value, name, node);
    case 'ref':
      return objectAttribute(value, name, node, frame, run);
    case 'class': {
      const method = run.method(value.model, name);
      if (method) return { kind: 'function', model: method, self: isClassMethod(method) ? value : null, closure: null };
      return run.classValue(value.model, name, frame) ?? unknown(name);
    }
    case 'super': {
      const method = superMethod(value, name, run);
      if (method) return { kind: 'function', model: method, self: value.self, closure: null };
      if (name === 'forward') return inheritedForward(value, node, frame, run);
      return { kind: 'method', owner: isConstructor(name) ? value.self : unknown(), name };
    }
    case 'layer':
      return layerAttribute(value, name);
    case 'unknown':
      return unknownAttribute(value, name, node, run);
    case 'tuple': {
      // Of max, min, median, sort, topk.
      const at = value.items.length === 2 ? ['values', 'indices'].indexOf(name) : -1;
      return value.items[at] ?? { kind: 'method', owner: value, name };
    }
    case 'string':
    case 'shape':
    case 'partial':
      return { kind: 'method', owner: value, name };
    default:
      return unknown();
  }
}

const isClassMethod = (model: FunctionModel): boolean => model.decorators.some((d) => /^classmethod\b/.test(d));

/** The method of a base class: what the class itself has is left out. */
const superMethod = (value: Value & { kind: 'super' }, name: string, run: Run): FunctionModel | null =>
  run.method({ ...value.after, methods: new Map() }, name);

/** `super().forward` of a class that derives from what torch brings. */
function inheritedForward({ self, after }: Value & { kind: 'super' }, node: Node, frame: Frame, run: Run): Value {
  const item = frame.state.heap.get(self.id);
  if (item?.kind === 'object' && item.holds) return item.holds;
  const base = knownBase(after, run, frame);
  const given = item?.kind === 'object' ? item.given : undefined;
  return base ? subclassed(base, after, node, given) : { kind: 'method', owner: unknown(), name: 'forward' };
}

const VIEW_ATTRIBUTES: Readonly<Record<string, (t: Tensor, node: Node) => Value>> = {
  shape: (t) => ({ kind: 'shape', of: t }),
  T: (t, node) => reversed(t, node),
  mT: (t, node) => applyView(t, transpose(-1, -2), placeOf(node)),
  H: (t, node) => reversed(t, node),
  data: (t) => t,
  real: (t) => t,
  values: (t) => t,
  ndim: (t) => int(rankOf(t.shape) === null ? null : constant(rankOf(t.shape) ?? 0)),
  is_cuda: () => TRUTH,
  requires_grad: () => TRUTH,
};

function tensorAttribute(t: Tensor, name: string, node: Node): Value {
  const known = VIEW_ATTRIBUTES[name];
  if (known) return known(t, node);
  if (/^(device|dtype|layout|grad|is_sparse)$/.test(name)) return unknown(`${t.label}.${name}`, true);
  // What is moved like a tensor and has other fields is a batch of several.
  return isCalled(node) ? { kind: 'method', owner: t, name } : unknown(t.label ? `${t.label}.${name}` : name);
}

const isCalled = (node: Node): boolean => node.parent?.kind === 'call' && node.field === 'function';

function reversed(t: Tensor, node: Node): Tensor {
  const rank = rankOf(t.shape) ?? 2;
  return applyView(t, permute(Array.from({ length: rank }, (_, i) => rank - 1 - i)), placeOf(node));
}

function objectAttribute(value: Value & { kind: 'ref' }, name: string, node: Node, frame: Frame, run: Run): Value {
  const item = frame.state.heap.get(value.id);
  if (!item) return unknown();
  if (name === MODULES && item.kind === 'list') {
    const entries = new Map(item.items.map((layer, i) => [String(i), layer]));
    return allocate({ kind: 'dict', entries, open: item.open, tag: MODULES }, frame);
  }
  if (item.kind !== 'object') {
    if (item.kind === 'dict' && item.entries.has(name)) return item.entries.get(name) ?? unknown();
    return { kind: 'method', owner: value, name };
  }
  const own = item.attributes.get(name);
  if (own?.kind === 'tensor' && own.content === 'constant' && item.model && isSetLater(name, item.model, frame))
    return tensor(
      mapAxes(own.shape, () => freeAxis(null)),
      { content: own.content, label: own.label },
    );
  // `self.views = 1`, until a method says how many there are.
  const isOpen = own?.kind === 'int' && isOne(own.dim) && item.model && isSetLater(name, item.model, frame);
  if (isOpen) return int(symbol(`self.${name}@${value.id}`));
  if (own) return own;
  if (!item.model) return unknown(name);
  if (name === '__class__') return { kind: 'class', model: item.model };
  if (item.inherits && mayInherit(item.inherits, name, run)) {
    const part = settingOf(item.inherits, name, run);
    frame.state.heap.inherit(value.id, part);
    const now = part ? frame.state.heap.peek(value.id) : undefined;
    if (now?.kind === 'object' && !now.attributes.has(name)) frame.state.heap.inherit(value.id, null);
    return objectAttribute(value, name, node, frame, run);
  }
  const method = run.method(item.model, name);
  if (method) {
    const self: Value = isClassMethod(method) ? { kind: 'class', model: item.model } : value;
    const bound: Value = { kind: 'function', model: method, self, closure: null };
    return method.decorators.some((d) => /property$/.test(d))
      ? run.call(bound, { positional: [], keywords: new Map(), nodes: new Map(), open: false }, node, frame)
      : bound;
  }
  if (REGISTERS.test(name) || (item.holds && GROWS.test(name))) return { kind: 'method', owner: value, name };
  if (RETURNS_MODULE.test(name) && isCalled(node) && run.isModule(item.model))
    return { kind: 'method', owner: value, name };
  if (name === MODULES && item.holds?.kind === 'ref') return objectAttribute(item.holds, name, node, frame, run);
  if (name === MODULES && run.isModule(item.model))
    return allocate({ kind: 'dict', entries: item.attributes, open: true, tag: MODULES }, frame);
  // Of a wrapper for several devices, which is taken for what it wraps.
  if (name === 'module' && run.isModule(item.model)) return value;
  const classLevel = item.model.attributes.get(name);
  if (classLevel && /^(none|true|false|integer|string)$/.test(classLevel.kind)) return unknown(name);
  if (name === 'training') return TRUTH;
  const shared = run.classValue(item.model, name, frame);
  if (shared) return shared;
  if (!frame.building) {
    run.buildLate(value, item.model, name, node, frame);
    const late = frame.state.heap.get(value.id);
    const built = late?.kind === 'object' ? late.attributes.get(name) : undefined;
    if (built) return built;
  }
  if (isAttentionMethod(name) && derivesFrom(ATTENTION_CLASS, item.model, run, frame))
    return { kind: 'method', owner: unknown(), name };
  // The same unknown attribute is the same thing each time.
  const text = textOf(node);
  const made = inheritedLayer(item.model, name, node, run, frame) ?? unknown(text.length <= 40 ? text : name);
  const now = frame.state.heap.get(value.id) ?? item;
  if (now.kind === 'object')
    frame.state.heap.set(value.id, { ...now, attributes: new Map(now.attributes).set(name, made) });
  return made;
}

/** Methods of nn.Module that make an attribute of what they are given; of pipelines, attributes of all that they are given. */
const REGISTERS = /^(register_buffer|register_parameter|register_modules?|add_module)$/;

const GROWS = /^(append|extend|insert)$/;

const setLater = new WeakMap<ClassModel, ReadonlySet<string>>();

/** An attribute that a method of the class replaces by another value: it is not always what the constructor gave it. */
export function isSetLater(name: string, model: ClassModel, frame: Frame): boolean {
  if (frame.building || isConstructor(frame.function?.name ?? '')) return false;
  const known = setLater.get(model) ?? new Set(laterIn(model));
  setLater.set(model, known);
  return known.has(name);
}

const ASSIGNED = patternOf(`\\bself\\.(${LETTER}+)\\s*(?::[^=\\n]+)?=(?!=)`, 'gu');

const laterIn = (model: ClassModel): readonly string[] =>
  [...model.methods.values()]
    .filter((method) => !isConstructor(method.name))
    .map(({ node }) => textOf(node))
    .flatMap((text) => [...text.matchAll(ASSIGNED(text))].map((found) => found[1] ?? ''));

/** `self.fc.weight`: a parameter of known shape. */
function layerAttribute(layer: Value & { kind: 'layer' }, name: string): Value {
  const dim = (at: number, keyword: string) => freeAxis(asDim(argument(layer.args, at, keyword)));
  if (name === 'weight') {
    if (layer.name === 'nn.Linear')
      return tensor(exactShape([dim(1, 'out_features'), dim(0, 'in_features')]), { content: 'parameter' });
    if (layer.name === 'nn.Embedding')
      return tensor(exactShape([dim(0, 'num_embeddings'), dim(1, 'embedding_dim')]), { content: 'parameter' });
    return tensor(UNKNOWN_SHAPE, { content: 'parameter' });
  }
  if (name === 'bias') return tensor(UNKNOWN_SHAPE, { content: 'parameter' });
  if (name === 'forward' || name === '__call__') return layer;
  if (layer.name === 'nn.Transformer' && (name === 'encoder' || name === 'decoder'))
    return { ...layer, name: name === 'encoder' ? 'nn.TransformerEncoder' : 'nn.TransformerDecoder' };
  const keyword = layer.args.keywords.get(name);
  if (keyword) return keyword;
  return { kind: 'method', owner: layer, name };
}

const attributesOfUnknown = new WeakMap<Value, Map<string, Value>>();

function unknownAttribute(value: Value & { kind: 'unknown' }, name: string, node: Node, run: Run): Value {
  if (value.foreign) return unknown(name, true);
  const t = asTensor(value, run);
  if (t && (name === 'shape' || name === 'T' || name === 'mT')) return tensorAttribute(t, name, node);
  if (/^(device|dtype)$/.test(name)) return unknown(name, true);
  if (isCalled(node)) return { kind: 'method', owner: value, name };
  if (name === 'ndim') return int(null);
  const known = attributesOfUnknown.get(value) ?? new Map<string, Value>();
  attributesOfUnknown.set(value, known);
  const label = value.label ? `${value.label}.${name}` : name;
  const made = known.get(name) ?? unknown(label);
  known.set(name, made);
  return made;
}
