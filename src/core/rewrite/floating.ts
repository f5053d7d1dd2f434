/** Tensors that plainly hold floating-point numbers: what a layer gives, what is divided, what an annotation says. */
import { bindingsOf } from '../python/bindings';
import { tensorType } from '../python/shape-facts';
import { type Node, type SourceFile, childOf, enclosing, scopeOf, statementOf, textOf } from '../python/syntax';
import { type Call, argument, callOf, elements, unwrap } from './expression';
import { indexOf } from './file-index';
import { isBinding, occurrences, visit } from './names';
import { replicateOf } from './replicate';
import { trace } from './trace';

/** Functions and methods that give floating-point numbers, or take nothing else. */
const FLOATS = new Set(
  (
    'float half double bfloat16 softmax log_softmax sigmoid tanh gelu silu selu elu softplus leaky_relu mean std var ' +
    'norm normalize exp log sqrt rsqrt sin cos layer_norm rms_norm batch_norm linear embedding conv1d conv2d ' +
    'interpolate scaled_dot_product_attention dropout randn rand randn_like rand_like normal logit cdist'
  ).split(' '),
);
/** What makes a tensor of floats where no dtype is given. */
const FACTORIES = new Set('zeros ones empty linspace'.split(' '));
/** What keeps the type of the tensor that it works on. */
export const KEEPING: ReadonlySet<string> = new Set(
  (
    'unsqueeze squeeze view reshape flatten unflatten expand expand_as repeat repeat_interleave transpose permute contiguous ' +
    'clone detach tile index_select gather flip abs clamp mT T sum max_pool1d rearrange movedim roll masked_fill ' +
    'relu zeros_like ones_like empty_like broadcast_to cat concat stack einsum matmul bmm mm chunk split unbind requires_grad_ ' +
    'amax amin cpu cuda'
  ).split(' '),
);
/** What gives values and their positions. */
const RANKED = new Set('max min topk sort median mode kthvalue cummax cummin'.split(' '));
/** A module of a class, by its name: what it is applied to keeps its type, or becomes a floating-point one. */
const ACTIVATION = /^self\.(\w+_)?(act|act_fn|act_func|activation|activation_fn|relu|gelu|silu|nonlinearity)$/;
const FLOAT_DTYPE = /\b(torch\.)?(float(16|32|64)?|half|double|bfloat16)\b|\.dtype\b/;
const FLOAT_NAME =
  /(^|_)(emb|embs|embed|embeds|embedding|embeddings|hidden|hiddens|hidden_states?|latents?|logits|probs?)$/;
const FLOAT_MODULE =
  /^((torch\.)?nn\.)?(Linear|LazyLinear|LayerNorm|RMSNorm|BatchNorm[123]d|GroupNorm|Embedding(Bag)?|Conv[123]d|Sequential|Bilinear|(GRU|LSTM|RNN)(Cell)?|MultiheadAttention|Transformer\w*)$/;

/** How far an expression is followed. */
const DEEPEST = 8;

/** True where the text says that a tensor holds floating-point numbers; false where it does not say so. */
export function isFloating(operand: Node, depth = 0): boolean {
  if (depth > DEEPEST) return false;
  const node = unwrap(trace(operand).value);
  const inner = (one: Node | null | undefined): boolean => !!one && isFloating(one, depth + 1);
  const copied = replicateOf(node)?.source;
  if (copied) return inner(copied);
  if (node.kind === 'binary_operator') {
    const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
    const operator = textOf(childOf(node, 'operator') ?? node);
    return (
      operator === '/' ||
      (/^([-+*@]|\*\*)$/.test(operator) && [left, right].some((one) => one?.kind === 'float' || inner(one)))
    );
  }
  if (node.kind === 'unary_operator') return inner(childOf(node, 'argument'));
  if (node.kind === 'subscript') return isFloatItem(node, inner);
  if (node.kind === 'conditional_expression')
    return node.children.length === 3 && inner(node.children[0]) && inner(node.children[2]);
  if (node.kind === 'named_expression') return inner(childOf(node, 'value'));
  const call = callOf(node);
  if (call) return isFloatCall(call, inner);
  if (/^self\.\w+\.weight$/.test(textOf(node))) return true;
  if (/^self\.\w+$/.test(textOf(node)))
    return isParameter(node) || isUsedAsFloat(node) || inner(bufferOf(node)) || isAssignedFloat(node, inner);
  if (node.kind !== 'identifier') return false;
  return (
    FLOAT_NAME.test(textOf(node)) ||
    isUsedAsFloat(node) ||
    isStated(node) ||
    isAlways(node, inner) ||
    isGiven(node, inner)
  );
}

/** Rows of a tensor, the values of `x.max(dim=1)[0]`, or what `rows['user'] = self.embed(x)` put there, wherever it is put there. */
function isFloatItem(node: Node, inner: (one: Node | null | undefined) => boolean): boolean {
  const [value, at] = [childOf(node, 'value'), childOf(node, 'subscript')];
  if (at?.kind === 'string') {
    const put = value?.kind === 'identifier' ? occurrences(scopeOf(node), textOf(value)) : [];
    const made = put.filter(isBinding).map(({ parent }) => parent && childOf(parent, 'right'));
    if (made.length !== 1 || made[0]?.kind !== 'dictionary' || made[0].children.length > 0) return false;
    const values = put.flatMap(({ parent }) =>
      parent && parent.field === 'left' && textOf(parent) === textOf(node)
        ? (parent.parent && childOf(parent.parent, 'right')) || node
        : [],
    );
    return values.length > 0 && values.every((one) => callOf(one) !== null && inner(one));
  }
  const call = value && callOf(unwrap(value));
  if (call && RANKED.has(call.method))
    return at?.kind === 'integer' && textOf(at) === '0' && inner(isFree(call) ? call.positional[0] : call.receiver);
  return inner(value);
}

/** A function, no method of what stands in front of it. */
export const isFree = (call: Call): boolean =>
  /^(torch|F|nn\.functional|torch\.nn\.functional|einops)\.\w+$/.test(call.name) || call.name === call.method;

function isFloatCall(call: Call, inner: (one: Node | null | undefined) => boolean): boolean {
  const dtype = call.keywords.get('dtype') ?? (call.method === 'to' ? call.positional[0] : undefined);
  if (dtype && FLOAT_DTYPE.test(textOf(dtype))) return true;
  if (call.method === 'to') return inner(call.receiver);
  if (call.keywords.has('dtype')) return false;
  if (FLOATS.has(call.method)) return true;
  const free = isFree(call);
  if (free && FACTORIES.has(call.method)) return true;
  if (free && call.method === 'full') return argument(call, 1, 'fill_value')?.kind === 'float';
  const tensor = free ? call.positional.find(({ kind }) => kind !== 'string') : call.receiver;
  const parts = (tensor && elements(tensor)) ?? [tensor];
  // What is joined has the wider type.
  if (/^(cat|concat)$/.test(call.method)) return parts.some(inner);
  if (KEEPING.has(call.method)) return inner(parts[0]);
  return isLayer(call) || (ACTIVATION.test(call.name) && inner(call.positional[0])) || isOwnFunction(call, inner);
}

/** `self.embed(ids)` of the class around, or a function of the module, where every result is floating-point by itself. */
function isOwnFunction(call: Call, inner: (one: Node | null | undefined) => boolean): boolean {
  const isMethod = call.name === `self.${call.method}`;
  if (!isMethod && call.name !== call.method) return false;
  const owner = isMethod ? enclosing(call.node, 'class_definition') : null;
  const found = (indexOf(call.node.file).functions.get(call.method) ?? []).filter(
    (one) => enclosing(one, 'class_definition') === owner,
  );
  return found.length === 1 && found.every((one) => resultsOf(one).length > 0 && resultsOf(one).every(inner));
}

function resultsOf(callee: Node): readonly Node[] {
  const found: Node[] = [];
  visit(callee, (node) => {
    if (node.kind === 'return_statement' && scopeOf(node) === callee) found.push(node.children[0] ?? node);
  });
  return found;
}

/** A parameter of a forward that the file calls, always with floating-point numbers. */
function isGiven(node: Node, inner: (one: Node | null | undefined) => boolean): boolean {
  const callee = enclosing(node, 'function_definition');
  const owner = callee && enclosing(callee, 'class_definition');
  if (!callee || !owner || textOf(childOf(callee, 'name') ?? callee) !== 'forward') return false;
  const [name, made] = [textOf(node), textOf(childOf(owner, 'name') ?? owner)];
  const names = (childOf(callee, 'parameters')?.children ?? []).map((one) => textOf(one.children[0] ?? one));
  const position = names.indexOf(name) - 1;
  const bound = occurrences(callee, name).filter(isBinding);
  if (position < 0 || bound.length !== 1) return false;
  const given = callsOfModule(node.file, made).map((call) => call.positional[position] ?? call.keywords.get(name));
  return given.length > 0 && given.every(inner);
}

/** `self.x(..)` where `self.x = Made(..)`. */
function callsOfModule(file: SourceFile, made: string): readonly Call[] {
  const { attributes } = indexOf(file);
  return callsIn(file).filter((call) => {
    const values = call.name === `self.${call.method}` ? (attributes.get(call.method) ?? []) : [];
    return values.some((value) => callOf(unwrap(value))?.method === made);
  });
}

const calls = new WeakMap<SourceFile, readonly Call[]>();

function callsIn(file: SourceFile): readonly Call[] {
  const known = calls.get(file);
  if (known) return known;
  const found: Call[] = [];
  visit(file.root, (node) => {
    const call = callOf(node);
    if (call && /^self\.\w+$/.test(call.name)) found.push(call);
  });
  calls.set(file, found);
  return found;
}

/** `self.proj(x)` where the class makes a layer, or a module of the file. */
const isLayer = (call: Call): boolean =>
  /^self\.\w+(\[[^\]]*\])?$/.test(call.name) &&
  madeFor(call).some((value) => {
    const made = callOf(unwrap(value));
    return made !== null && (FLOAT_MODULE.test(made.name) || isModuleOfFile(made));
  });

const madeFor = (call: Call): readonly Node[] =>
  indexOf(call.node.file).attributes.get(/^self\.(\w+)/.exec(call.name)?.[1] ?? '') ?? [];

/** A module with layers of its own gives what they give. */
const isModuleOfFile = (made: Call): boolean =>
  (indexOf(made.node.file).classes.get(made.method) ?? []).some((owner) =>
    /\bnn\.(Linear|Conv[123]d|Embedding)\(/.test(textOf(owner)),
  );

/** `self.w = nn.Parameter(..)`: only floating-point numbers can be one. */
const isParameter = (node: Node): boolean => {
  const made = indexOf(node.file).attributes.get(textOf(node).slice('self.'.length)) ?? [];
  return made.length > 0 && made.every((value) => /(^|\.)Parameter$/.test(callOf(unwrap(value))?.name ?? ''));
};

/** `self.rows = self.embed(x)`, wherever it is assigned to. */
function isAssignedFloat(node: Node, inner: (one: Node | null | undefined) => boolean): boolean {
  const values = indexOf(node.file).attributes.get(textOf(node).slice('self.'.length)) ?? [];
  return values.length > 0 && values.every(inner);
}

/** What is registered as the buffer `self.rows`, if it is one and nothing else. */
function bufferOf(node: Node): Node | null {
  const name = textOf(node).slice('self.'.length);
  if (indexOf(node.file).attributes.has(name)) return null;
  const found = callsIn(node.file).filter(
    ({ method, positional }) => method === 'register_buffer' && textOf(positional[0] ?? node).slice(1, -1) === name,
  );
  return found.length === 1 ? (found[0]?.positional[1] ?? null) : null;
}

/** Every assignment to the name gives floating-point numbers: `x = self.a(x)` in one branch, `x, n = torch.rand(2), 3`. */
function isAlways(node: Node, inner: (one: Node | null | undefined) => boolean): boolean {
  const bindings = occurrences(scopeOf(node), textOf(node)).filter(isBinding);
  const whole = textOf(node);
  return bindings.length > 0 && bindings.every((binding) => inner(assignedTo(binding, whole)));
}

function assignedTo(binding: Node, name: string): Node | null {
  const { parent, field } = binding;
  if (parent?.kind === 'assignment') return field === 'left' ? computed(childOf(parent, 'right'), name) : null;
  if (parent?.kind !== 'pattern_list' || parent.parent?.kind !== 'assignment') return null;
  const right = childOf(parent.parent, 'right');
  const values = right?.kind === 'expression_list' ? right.children : [];
  return computed(values[parent.children.indexOf(binding)] ?? null, name);
}

/** A call, or another name: the own one would lead round in circles. */
const computed = (value: Node | null, name: string): Node | null => {
  const made = value && (callOf(unwrap(value)) !== null || (value.kind === 'identifier' && textOf(value) !== name));
  return made ? value : null;
};

/** `t: Float[Tensor, "b"]`, `self.proj(t)`, `t @ w`: some use of the name, or its annotation, says that it is no integer. */
function isUsedAsFloat(node: Node): boolean {
  const whole = textOf(node);
  const uses = occurrences(scopeOf(node), whole.slice(whole.lastIndexOf('.') + 1));
  /** Where it gets another value: what is read on the other side is no longer, or not yet, what `node` is. */
  const changes = uses.filter((one) => isBinding(one) && one.parent?.kind === 'assignment').map((one) => statementOf(one).end); // prettier-ignore
  return uses.some((name) => {
    if (changes.some((end) => name.start < end !== node.start < end)) return false;
    const at = whole.includes('.') ? name.parent : name;
    if (!at || textOf(at) !== whole) return false;
    const { parent, field } = at;
    if (!parent) return false;
    const type = /^typed_/.test(parent.kind) ? childOf(parent, 'type') : null;
    if (type) return /^(Float|Half|BFloat|Double)$/.test(tensorType(textOf(type))?.type ?? '') || /\b(Float|BFloat16|Half|Double)(Tensor|16|32|64)?\b/.test(textOf(type)); // prettier-ignore
    // `t * 0.5` and `t.sigmoid()` also take integers.
    if (parent.kind === 'binary_operator') return textOf(childOf(parent, 'operator') ?? parent) === '@';
    const call = parent.kind === 'argument_list' && parent.parent ? callOf(parent.parent) : null;
    if (call) return /(^|\.)(linear|layer_norm|normalize|softmax|gelu|silu)$/.test(call.name) || isReader(call);
    const method = parent.kind === 'attribute' && field === 'object' ? childOf(parent, 'attribute') : null;
    return method !== null && /^(softmax|mean|norm|is_floating_point)$/.test(textOf(method));
  });
}

/** `self.proj(x)` where the class makes a layer that takes floating-point numbers alone. */
const isReader = (call: Call): boolean =>
  call.name === `self.${call.method}` &&
  (indexOf(call.node.file).attributes.get(call.method) ?? []).some((value) =>
    /^((torch\.)?nn\.)?(Linear|LayerNorm|BatchNorm1d|Sequential\(\s*((torch\.)?nn\.)?Linear)\b/.test(textOf(value)),
  );

/** `# ikbo: user=[U, D]`, or a docstring with `user (torch.FloatTensor of shape ..)`. */
function isStated(node: Node): boolean {
  const name = textOf(node);
  if (statedIn(node.file).has(name)) return true;
  const [first] = childOf(enclosing(node, 'function_definition') ?? node, 'body')?.children ?? [];
  const [doc] = first?.kind === 'expression_statement' ? first.children : [];
  return doc?.kind === 'string' && new RegExp(`^\\s*${name}\\s*\\(\`?(torch\\.)?FloatTensor\\b`, 'm').test(textOf(doc));
}

const stated = new WeakMap<SourceFile, ReadonlySet<string>>();

function statedIn(file: SourceFile): ReadonlySet<string> {
  const known = stated.get(file);
  if (known) return known;
  const comments = [...file.text.matchAll(/#\s*ikbo:.*/g)].map(([text]) => ({ text }));
  const found = new Set(bindingsOf(comments).stated.keys());
  stated.set(file, found);
  return found;
}
