/** Questions about Python expressions that need their text and shape only. */
import { type Node, childOf, textOf } from '../python/syntax';

export interface Call {
  readonly node: Node;
  readonly callee: Node;
  /** `torch.cat`, `x.repeat`; as written, on one line. */
  readonly name: string;
  /** For a method call the tensor that it is called on, else null. */
  readonly receiver: Node | null;
  /** Last part of the callee: `cat`, `repeat`. */
  readonly method: string;
  readonly positional: readonly Node[];
  readonly keywords: ReadonlyMap<string, Node>;
  /** True when `*args` or `**kwargs` hide arguments. */
  readonly splat: boolean;
}

/** A call of thousands of arguments is asked for from each of them. */
const calls = new WeakMap<Node, Call | null>();

export function callOf(node: Node): Call | null {
  if (node.kind !== 'call') return null;
  let call = calls.get(node);
  if (call === undefined) calls.set(node, (call = readCall(node)));
  return call;
}

function readCall(node: Node): Call | null {
  const callee = childOf(node, 'function');
  const args = childOf(node, 'arguments');
  if (!callee || args?.kind !== 'argument_list') return null;
  const positional: Node[] = [];
  const keywords = new Map<string, Node>();
  let splat = false;
  for (const argument of args.children) {
    if (argument.kind === 'keyword_argument') {
      const [name, value] = [childOf(argument, 'name'), childOf(argument, 'value')];
      if (name && value) keywords.set(textOf(name), value);
    } else if (argument.kind === 'list_splat' || argument.kind === 'dictionary_splat') splat = true;
    else positional.push(argument);
  }
  const receiver = callee.kind === 'attribute' ? childOf(callee, 'object') : null;
  const last = callee.kind === 'attribute' ? childOf(callee, 'attribute') : callee;
  const name = textOf(callee).replace(/\s+/g, '');
  return { node, callee, name, receiver, method: last ? textOf(last) : '', positional, keywords, splat };
}

/** `nn.ReLU(inplace=True)`, `nn.ReLU(True)`: what the module is called with is written into. */
export function isInPlaceModule({ method, keywords, positional }: Call): boolean {
  const first =
    keywords.get('inplace') ?? (/^(ReLU6?|SELU|SiLU|Mish|Hardswish)$/.test(method) ? positional[0] : undefined);
  return first !== undefined && textOf(first) !== 'False';
}

/** Argument by position or keyword. */
export const argument = (call: Call, position: number, ...names: readonly string[]): Node | null =>
  call.positional[position] ?? names.map((name) => call.keywords.get(name)).find((node) => node !== undefined) ?? null;

export function unwrap(node: Node): Node {
  let at = node;
  while (at.kind === 'parenthesized_expression' && at.children.length === 1 && at.children[0]) at = at.children[0];
  return at;
}

/** The integer that a literal stands for (`-1`, `(0)`), or null. */
export function integer(node: Node | null): number | null {
  const text = node ? textOf(unwrap(node)).replace(/[\s_]/g, '') : '';
  return /^-?\d+$/.test(text) ? Number(text) : null;
}

/** Elements of a list or tuple literal without splats, or null. */
export function elements(node: Node | null): readonly Node[] | null {
  const inner = node ? unwrap(node) : null;
  if (inner?.kind !== 'list' && inner?.kind !== 'tuple') return null;
  return inner.children.some((c) => c.kind === 'list_splat') ? null : inner.children;
}

/** Sizes given one by one or as one list: `expand(a, b)`, `expand((a, b))`. Null when they cannot be told apart. */
export function sizes(positional: readonly Node[]): readonly Node[] | null {
  const [only] = positional;
  if (positional.length !== 1 || !only) return positional.length > 1 ? positional : null;
  const listed = elements(only);
  if (listed) return listed;
  return integer(only) === null ? null : positional;
}

/** A name, or attributes and constant items of one: `user`, `self.fc.weight`, `self.mlp[0]`. Reading it costs nothing. */
export function isSimple(node: Node): boolean {
  if (node.kind === 'identifier') return true;
  if (node.kind === 'attribute') return isSimple(childOf(node, 'object') ?? node.file.root);
  if (node.kind !== 'subscript') return false;
  const [index, ...more] = node.children.filter((c) => c.field === 'subscript');
  const value = childOf(node, 'value');
  return more.length === 0 && index !== undefined && integer(index) !== null && value !== null && isSimple(value);
}

const VIEWS = new Set([
  'unsqueeze',
  'squeeze',
  'transpose',
  'permute',
  'view',
  'flatten',
  'unflatten',
  'swapaxes',
  'detach',
]);

/** A simple expression, or a view of one: evaluating it twice, or a little later, changes nothing. */
export function isView(node: Node): boolean {
  const at = unwrap(node);
  if (isSimple(at)) return true;
  const call = callOf(at);
  if (call?.receiver && VIEWS.has(call.method)) {
    return !call.splat && isView(call.receiver) && [...call.positional, ...call.keywords.values()].every(isSize);
  }
  const value = at.kind === 'subscript' ? childOf(at, 'value') : null;
  return value !== null && isView(value) && at.children.filter((c) => c.field === 'subscript').every(isPlainIndex);
}

const isPlainIndex = (node: Node): boolean =>
  node.kind === 'none' || node.kind === 'ellipsis' || node.kind === 'slice' ? node.children.every(isSize) : false;

/** Arithmetic over numbers, names and shapes: `-1`, `x.shape[0]`, `b * n`, `x.size(1)`, `len(x)`. */
export function isSize(node: Node): boolean {
  const at = unwrap(node);
  if (['integer', 'none', 'ellipsis', 'true', 'false'].includes(at.kind) || isSimple(at)) return true;
  if (at.kind === 'binary_operator' || at.kind === 'unary_operator' || at.kind === 'tuple' || at.kind === 'list') {
    return at.children.filter((c) => c.field !== 'operator').every(isSize);
  }
  const call = callOf(at);
  if (!call || call.splat) return false;
  const known = call.name === 'len' || call.name === 'int' || call.name === 'min' || call.name === 'max';
  if (!known && (call.method !== 'size' || !call.receiver || !isSimple(call.receiver))) return false;
  return [...call.positional, ...call.keywords.values()].every(isSize);
}

/** A name for what an expression holds: `user` of `user.unsqueeze(1)`, `pos` of `self.pos[0]`, `tower` of `self.tower(x)`. */
export function rootName(node: Node): string {
  const at = unwrap(node);
  if (at.kind === 'identifier') return textOf(at);
  const call = callOf(at);
  const owner = call ? call.receiver : childOf(at, 'object');
  if (call && /^(torch|F|nn|einops)\./.test(call.name)) return call.positional[0] ? rootName(call.positional[0]) : 'x';
  if (call && !owner) return /^[a-z_]\w*$/.test(call.method) ? call.method : 'x';
  if (owner && textOf(owner) !== 'self') return rootName(owner);
  if (owner) return call ? call.method : textOf(childOf(at, 'attribute') ?? owner);
  const inner = childOf(at, 'value') ?? childOf(at, 'left') ?? childOf(at, 'argument');
  return inner ? rootName(inner) : 'x';
}

/** An expression of the same shape that costs less to write again: `user` of `user.bfloat16()`, `q` of `q.float()`. */
export const shapedLike = (text: string): string =>
  /^([\w.]+(?:\[[\w-]+\])*?)(?:\.(?:float|half|double|bfloat16|contiguous|clone|detach|relu|sigmoid|tanh|to|type_as)\([^()]*\))+$/.exec(
    text,
  )?.[1] ?? text;
