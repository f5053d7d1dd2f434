/** Calls that may do more than give a value: those cannot run later than they did, or twice. */
import { type Node, childOf, textOf } from '../python/syntax';
import { type Call, callOf } from './expression';
import { indexOf } from './file-index';
import { visit } from './names';

const BUILTINS = new Set('len int float bool min max sum abs round range tuple list sorted divmod'.split(' '));

const METHODS = new Set(
  (
    'size numel dim ndimension stride element_size item tolist long int short bool float half double bfloat16 to type ' +
    'type_as cpu cuda view view_as reshape reshape_as flatten unflatten unsqueeze squeeze transpose permute expand ' +
    'expand_as repeat repeat_interleave contiguous detach clone sum mean max min argmax argmin amax amin prod cumsum ' +
    'clamp floor ceil round abs floor_divide div mul add sub remainder nonzero unique flip roll sort argsort gather ' +
    'index_select narrow split chunk unbind diff bincount searchsorted eq ne lt gt le ge any all softmax log_softmax ' +
    'sigmoid tanh relu exp log sqrt rsqrt pow square masked_fill where matmul bmm mm tril triu'
  ).split(' '),
);

/** The first part of an expression that may have an effect, or null. */
export function effectIn(expression: Node): Node | null {
  let found: Node | null = null;
  visit(expression, (node) => {
    if (found) return;
    const call = callOf(node);
    const effect = call ? !isPure(call) : isEffect(node);
    if (effect || (node.kind === 'call' && !call)) found = node;
  });
  return found;
}

const isEffect = (node: Node): boolean =>
  ['named_expression', 'await', 'yield'].includes(node.kind) || isComputed(node);

/** `self.user` where the file defines a property of that name: a call in disguise. */
function isComputed(node: Node): boolean {
  const name = node.kind === 'attribute' ? childOf(node, 'attribute') : null;
  return name !== null && indexOf(node.file).properties.has(textOf(name));
}

/** A builtin, a function of torch or a method of tensors that only gives a value. */
export function isPure({ name, method, receiver }: Call): boolean {
  if (!receiver) return BUILTINS.has(name);
  if (/^torch\.\w+$/.test(name))
    return !/^(rand|bernoulli|multinomial|normal|poisson|empty|manual_seed|set_)|_$/.test(method);
  // `self.flip()` is a method of the model, whatever tensors have by that name.
  return METHODS.has(method) && textOf(receiver) !== 'self';
}
