/** Calls: operators, own functions and classes, module instances and methods. */
import { atenOperator, canonicalName, operatorNamed } from '../tensor/operators';
import { UNKNOWN_SHAPE, carriesReplica, dimAt, rankOf, tensor, withoutReplicas } from '../tensor/shape';
import { type Dim, constant } from '../tensor/dim';
import { mapReplicas, writtenAt } from '../tensor/pointwise';
import type { Place, Tensor } from '../tensor/value';
import { applyView, permute } from '../tensor/views';
import { argument, asNumber, asTensor, placeOf } from './access';
import { callBuiltin, containerMethod, dictOf, isBuiltin } from './builtins';
import { FLASH_ATTENTION, attentionMethod, isAttentionMethod } from './library-attention';
import { broadcastTensors } from './disguised';
import { inPlace, leaf } from './in-place';
import { container, knownBase, subclassed } from './containers';
import { statedSize } from './casts';
import { callUnknown, givesEmbeddings, isPretrained } from './conventions';
import { carriesAny } from './held';
import { isInstance } from './instances';
import { REPEAT_KV, RETURNS_MODULE, constructLayer, isContainer, isRecurrentByName, layerOf } from './layers';
import { applyOperator } from './operators';
import { padded, sequences } from './padding';
import { endOfPairs } from './pairs';
import type { Frame, Run } from './run';
import { lift, unknown } from './state';
import { type Node, childOf, textOf } from './syntax';
import { callHanded } from './uncalled';
import { type Args, type LayerValue, NUMBER, type Value, args as argsOf, int, name as nameOf, tuple } from './value';

export function callValue(callee: Value, args: Args, node: Node, frame: Frame, run: Run): Value {
  switch (callee.kind) {
    case 'name':
      return callName(callee.path, args, node, frame, run);
    case 'function':
      return run.callFunction(callee.model, callee.self, callee.closure, args, node, frame);
    case 'class':
      return run.instantiate(callee.model, args, node, frame);
    case 'partial': {
      const keywords = new Map([...callee.args.keywords, ...args.keywords]);
      const positional = [...callee.args.positional, ...args.positional];
      return run.call(
        callee.target,
        { positional, keywords, nodes: callee.args.nodes, open: args.open || callee.args.open },
        node,
        frame,
      );
    }
    case 'layer':
      return callLayer(callee, args, node, frame, run);
    case 'ref':
      return callObject(callee, args, node, frame, run);
    case 'method':
      return callMethod(callee.owner, callee.name, args, node, frame, run);
    case 'union':
      return lift([callee], frame.state.path, ([one]) => (one ? run.call(one, args, node, frame) : unknown()));
    default:
      if (carriesAny(args, frame, run)) run.open(callee);
      callHanded(args, frame, run);
      return callUnknown(args, node, frame, run);
  }
}

function isOneOfSeveral({ positional, keywords }: Args): boolean {
  for (const value of positional) if (value.kind === 'union') return true;
  for (const value of keywords.values()) if (value.kind === 'union') return true;
  return false;
}

/** Values for which some argument is one of several: each choice apart, results joined. */
function lifted(args: Args, frame: Frame, apply: (args: Args) => Value): Value {
  if (!isOneOfSeveral(args)) return apply(args);
  const keys = [...args.keywords.keys()];
  const values = [...args.positional, ...args.keywords.values()];
  return lift(values, frame.state.path, (chosen) =>
    apply({
      ...args,
      positional: chosen.slice(0, args.positional.length),
      keywords: new Map(keys.map((key, i) => [key, chosen[args.positional.length + i] ?? unknown()])),
    }),
  );
}

/** Operators that take a list: its items may be one of several, too. */
function liftedList(args: Args, frame: Frame, run: Run, apply: (args: Args) => Value): Value {
  const [list, ...rest] = args.positional;
  const listed = list && (list.kind === 'ref' || list.kind === 'tuple') ? run.items(list, frame) : null;
  if (!listed || !listed.items.some((v) => v.kind === 'union')) return lifted(args, frame, apply);
  return lift(listed.items, frame.state.path, (items) =>
    lifted({ ...args, positional: [{ ...tuple(items, listed.open), ...timesOf(listed) }, ...rest] }, frame, apply),
  );
}

const timesOf = ({ times }: { readonly times?: Dim }): { times?: Dim } => (times === undefined ? {} : { times });

function callName(path: string, args: Args, node: Node, frame: Frame, run: Run): Value {
  const name = canonicalName(path);
  if (isBuiltin(name)) return callBuiltin(name, args, node, frame, run);
  const operator = operatorNamed(name) ?? atenOperator(path);
  if (operator && !name.startsWith('nn.')) {
    return liftedList(args, frame, run, (chosen) =>
      applyOperator({ operator, args: chosen, node, frame, run, layer: null }),
    );
  }
  if (name === 'F.pad')
    return lifted(args, frame, (chosen) => padded(chosen, node, frame, run) ?? callUnknown(chosen, node, frame, run));
  if (name === 'nn.utils.rnn.pad_sequence') {
    const joined = liftedList(args, frame, run, (chosen) => sequences(chosen, node, frame, run) ?? unknown());
    if (joined.kind !== 'unknown') return joined;
  }
  if (REPEAT_KV.test(path)) return repeatHeads(args, node, frame, run);
  if (FLASH_ATTENTION.test(path)) return attentionMethod('_flash_attention_forward', args, node, frame, run);
  if (name.startsWith('Tensor.')) return callMethodOf(name.slice(7), args, node, frame, run);
  if (/(^|\.)partial$/.test(name)) {
    const [target, ...positional] = args.positional;
    if (!target) return unknown();
    const bound = { ...args, positional, nodes: shifted(args) };
    // Made to be called: what is bound already reaches the function's sinks.
    if (carriesAny(bound, frame, run)) run.call(target, { ...bound, open: true }, node, frame);
    return { kind: 'partial', target, args: bound };
  }
  if (/(^|\.)(checkpoint|checkpoint_sequential)$/.test(name)) {
    const [target, ...positional] = args.positional;
    const keywords = new Map([...args.keywords].filter(([key]) => key !== 'use_reentrant'));
    const nodes = target?.kind === 'unknown' ? shifted(args) : new Map();
    if (target) return run.call(target, { ...args, positional, keywords, nodes }, node, frame);
  }
  if (/^nn\.(Parameter|Buffer|parameter\.Parameter)$/.test(name)) return parameter(args, run);
  if (/^torch\.(compile|jit\.(script|optimize_for_inference|freeze))$/.test(name))
    return args.positional[0] ?? unknown();
  if (/^nn\.init\.\w+_$/.test(name)) return args.positional[0] ?? unknown();
  if (/^allennlp\..*\bTimeDistributed$/.test(path))
    return args.positional[0] ?? args.keywords.get('module') ?? unknown();
  const wrapper = /^nn\.(parallel\.)?(DataParallel|DistributedDataParallel)$/.test(name)
    ? SEVERAL_DEVICES
    : /\.checkpoint_wrapper$/.test(name)
      ? 'checkpoint_wrapper'
      : null;
  if (wrapper !== null) {
    const module = args.positional[0] ?? args.keywords.get('module') ?? unknown();
    return module.kind === 'layer' ? { ...module, doubt: wrapper } : module;
  }
  if (name === 'torch.broadcast_tensors') return lifted(args, frame, (chosen) => broadcastTensors(chosen, node, run));
  if (name === 'torch.is_tensor')
    return { kind: 'bool', value: isInstance(args.positional[0] ?? unknown(), nameOf('torch.Tensor'), frame, run) };
  if (name === 'torch.meshgrid' || name === 'torch.cartesian_prod' || name === 'torch.combinations')
    return pairs(args, name === 'torch.meshgrid', placeOf(node));
  if (name === 'torch.Size') return callBuiltin('tuple', args, node, frame, run);
  if (name === 'torch.linspace')
    return tensor(UNKNOWN_SHAPE, { content: 'constant', itemSize: statedSize(args, null) });
  if (/^(copy\.)?(deepcopy|copy)$/.test(name)) return args.positional[0] ?? unknown();
  if (/^nn\.utils\.rnn\.pack_padded_sequence$/.test(name)) {
    const rows = argument(args, 0, 'input');
    const t = rows && asTensor(rows, run);
    return t ? mapReplicas(t, writtenAt(placeOf(node), 'pack_padded_sequence writes the copy', 'layout')) : unknown();
  }
  if (/^nn\.utils\.(\w+\.)?(spectral_norm|weight_norm)$/.test(name)) {
    const [layer] = args.positional;
    return layer?.kind === 'layer' ? { ...layer, doubt: name.split('.').pop() ?? null } : (layer ?? unknown());
  }
  if (/\bget_init_and_expand_reduce_stream_functions$/.test(path))
    return tuple([nameOf(AROUND_BRANCH), IDENTITY, IDENTITY]);
  if (path === AROUND_BRANCH) return args.keywords.get('branch') ?? unknown();
  if (isContainer(name)) return container(name, args, frame, run);
  const layer = layerOf(name, args, node);
  if (layer) return layer;
  if (isRecurrentByName(name, args)) return constructLayer('nn.RNN', args, node, 'chosen by its name');
  if (/^einops\.(Rearrange|Reduce)$/.test(name)) return { kind: 'layer', name, args, node, doubt: null };
  if (/^(collections|typing)\.OrderedDict$/.test(path)) return dictOf(args, frame, run);
  if (isOfNumbers(path, args)) return NUMBER;
  if (FOREIGN.test(path)) return unknown('', true);
  if (/^torch\.distributions\.(\w+\.)*[A-Z]\w*$/.test(path)) return { ...unknown(), isDistribution: true };
  return callUnknown(args, node, frame, run);
}

/**
 * Several residual streams around each branch of a model (the package hyper_connections): mixed row by row, so that a branch that
 * is called with copies gets copies.
 */
const AROUND_BRANCH = 'hyper_connections.branch';
const IDENTITY = nameOf('torch.positive');

/** Pairs of positions, `cartesian_prod(arange(n), arange(m))`: each is in many of them. Of coordinates nothing is said. */
function pairs(args: Args, isGrid: boolean, place: Place): Value {
  const lists = args.positional;
  if (
    lists.length === 0 ||
    !lists.every((v) => v.kind === 'tensor' && v.content === 'index' && v.index.kind === 'unknown')
  )
    return unknown();
  return isGrid ? tuple(lists.map(() => endOfPairs(place))) : endOfPairs(place);
}

/** `math.sqrt(dim)`, `np.sqrt(2)`: a number, by which a tensor may be scaled. */
const isOfNumbers = (path: string, { positional: [only, ...more] }: Args): boolean =>
  /^(math|np|numpy)\.(sqrt|log|log2|log10|exp|sin|cos|tan|pow|power)$/.test(path) &&
  (path.startsWith('math.') || [only, ...more].every((value) => value?.kind === 'int' || value?.kind === 'number'));

function repeatHeads(args: Args, node: Node, frame: Frame, run: Run): Value {
  const operator = operatorNamed('torch.repeat_interleave');
  const [heads, times] = [argument(args, 0, 'hidden_states'), argument(args, 1, 'n_rep')];
  if (!operator || !heads || !times) return unknown();
  return lifted(
    { ...args, positional: [heads, times], keywords: new Map([['dim', int(constant(1))]]) },
    frame,
    (chosen) => applyOperator({ operator, args: chosen, node, frame, run, layer: null }),
  );
}

export const FOREIGN =
  /^(numpy|np|tensorflow|tf|jax|jnp|pandas|pd|random|os|math|re|json|itertools|collections|sys|time|logging|scipy|cv2|PIL|cupy|mindspore|paddle|mxnet|chainer|keras)(\.|$)/;

function parameter(args: Args, run: Run): Value {
  const first = argument(args, 0, 'data');
  const t = (first && asTensor(first, run)) ?? tensor(UNKNOWN_SHAPE);
  const edges = t.index.kind === 'edge-index' ? t.index : undefined;
  const content = edges ? 'index' : 'parameter';
  return tensor(withoutReplicas(t.shape), { content, ...(edges ? { index: edges } : {}) });
}

function callLayer(layer: LayerValue, args: Args, node: Node, frame: Frame, run: Run): Value {
  if (/^einops\.Re/.test(layer.name)) {
    const operator = operatorNamed(layer.name === 'einops.Rearrange' ? 'einops.rearrange' : 'einops.reduce');
    const [value] = args.positional;
    if (!operator || !value) return unknown();
    return applyOperator({
      operator,
      args: { ...layer.args, positional: [value, ...layer.args.positional] },
      node,
      frame,
      run,
      layer: null,
    });
  }
  const operator = operatorNamed(layer.name);
  if (!operator) return tensor(UNKNOWN_SHAPE, { place: placeOf(node) });
  return lifted(args, frame, (chosen) => applyOperator({ operator, args: chosen, node, frame, run, layer }));
}

function callObject(callee: Value & { kind: 'ref' }, args: Args, node: Node, frame: Frame, run: Run): Value {
  const item = frame.state.heap.peek(callee.id);
  if (item?.kind === 'list' && item.tag === 'nn.Sequential') {
    const [first] = args.positional;
    let value = first ?? [...args.keywords.values()][0] ?? unknown();
    for (const layer of item.items)
      value = run.call(layer, { ...argsOf(value), nodes: first === value ? args.nodes : new Map() }, node, frame);
    if (item.items.length === 0) return callUnknown(args, node, frame, run);
    return value;
  }
  if (item?.kind === 'object' && item.model) {
    const forward = run.method(item.model, 'forward') ?? run.method(item.model, '__call__');
    // What transformers calls so goes into the first layer, which is far inside.
    if (givesEmbeddings(args, frame, run) && isPretrained(item.model, run)) return callUnknown(args, node, frame, run);
    if (forward) return run.callFunction(forward, callee, null, args, node, frame);
    const built = frame.state.heap.get(callee.id);
    if (built?.kind === 'object' && built.holds) return run.call(built.holds, args, node, frame);
    const base = knownBase(item.model, run, frame);
    if (base) {
      const given = built?.kind === 'object' ? built.given : undefined;
      return run.call(subclassed(base, item.model, node, given), args, node, frame);
    }
  }
  return callUnknown(args, node, frame, run);
}

function callMethodOf(name: string, args: Args, node: Node, frame: Frame, run: Run): Value {
  const [owner, ...positional] = args.positional;
  return owner ? callMethod(owner, name, { ...args, positional, nodes: shifted(args) }, node, frame, run) : unknown();
}

const shifted = (args: Args): ReadonlyMap<number | string, Node> =>
  new Map([...args.nodes].map(([key, value]) => [typeof key === 'number' ? key - 1 : key, value]));

function callMethod(
  owner: Value,
  name: string,
  args: Args,
  node: Node,
  frame: Frame,
  run: Run,
  object = objectOf(node),
): Value {
  const contained = containerMethod(owner, name, args, frame, run);
  if (contained) return contained;
  if (owner.kind === 'string') return { kind: 'string', value: null };
  if (owner.kind === 'layer') return RETURNS_MODULE.test(name) ? owner : unknown();
  if (owner.kind === 'shape' || owner.kind === 'tuple') return unknown();
  if (owner.kind === 'unknown' && owner.foreign) return unknown('', true);
  if (owner.kind !== 'tensor' && owner.kind !== 'unknown') return callUnknown(args, node, frame, run);
  if (owner.kind === 'unknown' && isAttentionMethod(name)) return attentionMethod(name, args, node, frame, run);
  if (owner.kind === 'unknown' && name === 'prepare') return prepared(args, node, frame, run);
  const t = asTensor(owner, run);
  if (!t) return unknown();
  const sized = tensorMethod(t, name, args);
  if (sized) return sized;
  if (/[a-z]_$/.test(name) && name !== 'requires_grad_') return inPlace(t, name, args, node, frame, run);
  if (name === 'requires_grad_' && carriesReplica(t)) return leaf(t, args.positional, frame);
  const operator = operatorNamed(`Tensor.${name}`);
  if (!operator) {
    // Whatever the parameters are. What a buffer samples is none of this.
    if (owner.kind === 'unknown' && owner.isDistribution && /^r?sample(_n)?$/.test(name))
      return tensor(UNKNOWN_SHAPE, { content: 'random', place: placeOf(node) });
    callHanded(args, frame, run);
    if (carriesAny(args, frame, run)) {
      run.open(owner);
      callUnknown(args, node, frame, run);
    }
    return owner.kind === 'unknown' ? unknown() : tensor(UNKNOWN_SHAPE);
  }
  // Methods that dicts, strings and numpy arrays have too, on something unknown: only with arguments that tensors take.
  if (owner.kind === 'unknown' && name === 'repeat' && args.keywords.has('axis')) return unknown('', true);
  // An axis of size 1 changes nothing of a reshape.
  if (t.raised?.as === t.id && /^(reshape|view)$/.test(name))
    return callMethod(t.raised.of, name, args, node, frame, run, null);
  const nodes = new Map<number | string, Node>(
    [...args.nodes].map(([key, value]) => [typeof key === 'number' ? key + 1 : key, value]),
  );
  if (object) nodes.set(0, object);
  const labelled = object && t.label === '' && textOf(object).length < 32 ? { ...t, label: textOf(object) } : t;
  return lifted({ ...args, positional: [labelled, ...args.positional], nodes }, frame, (chosen) =>
    applyOperator({ operator, args: chosen, node, frame, run, layer: null }),
  );
}

/** `model, optimizer = accelerator.prepare(model, optimizer)`: what is given, wrapped for several devices. */
function prepared(args: Args, node: Node, frame: Frame, run: Run): Value {
  const wrapped = args.positional.map((value) =>
    value.kind === 'layer' ? { ...value, doubt: SEVERAL_DEVICES } : value,
  );
  const [first, ...others] = wrapped;
  if (!first || args.open || !wrapped.some(({ kind }) => /^(layer|ref|union)$/.test(kind)))
    return callUnknown(args, node, frame, run);
  return others.length > 0 ? tuple(wrapped) : first;
}

const SEVERAL_DEVICES = 'a wrapper for several devices';

const objectOf = (node: Node): Node | null => {
  const callee = childOf(node, 'function');
  return callee && childOf(callee, 'object');
};

function tensorMethod(t: Tensor, name: string, args: Args): Value | null {
  switch (name) {
    case 'size': {
      const [at] = args.positional;
      if (!at && args.keywords.size === 0) return { kind: 'shape', of: t };
      const axis = asNumber(argument(args, 0, 'dim'));
      return int(axis === null ? null : dimAt(t, axis));
    }
    case 'dim':
    case 'ndimension': {
      const rank = rankOf(t.shape);
      return int(rank === null ? null : [{ coef: rank, symbols: [] }].filter((m) => m.coef !== 0));
    }
    case 'numel':
    case 'nelement':
      return int(null);
    case 'item':
      return int([{ coef: 1, symbols: [`${t.label || '?'}.item()@${t.id}`] }]);
    case 'tolist':
      return unknown();
    case 'numpy':
      return unknown('', true);
    case 't':
      return applyView(t, permute([1, 0]), t.place);
    default:
      return null;
  }
}
