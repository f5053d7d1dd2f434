/** Blocks whose elements are plainly no floating-point numbers: `cat` converts them, a product does not. */
import { type Node, childOf, textOf } from '../python/syntax';
import { type Call, callOf, isSimple, unwrap } from './expression';
import { trace } from './trace';

const FLOATS = new Set(['float', 'half', 'double', 'bfloat16', 'type_as', 'to', 'softmax', 'sigmoid', 'tanh', 'mean']);
const WHOLE = new Set(
  (
    'long int short bool byte char argmax argmin argsort eq ne lt gt le ge logical_not logical_and logical_or isnan ' +
    'isinf isfinite one_hot arange randint nonzero bincount'
  ).split(' '),
);
/** What keeps the type of the tensor that it works on. */
const KEEPING = new Set(
  (
    'unsqueeze squeeze view reshape flatten unflatten expand repeat repeat_interleave transpose permute contiguous clone ' +
    'detach tile index_select flip abs clamp'
  ).split(' '),
);
const WHOLE_DTYPE = /\b(torch\.)?(u?int(8|16|32|64)?|long|short|bool|uint8)\b/;
const NAMES = /(^|_)(ids?|idx|index|indices|mask|masks|labels?)$/;

/** True when the tensor is plainly of integers or booleans, or is named as such tensors are. */
export function isWhole(operand: Node): boolean {
  const node = unwrap(trace(operand).value);
  if (node.kind === 'comparison_operator' || node.kind === 'not_operator') return true;
  if (node.kind === 'unary_operator') {
    const inner = childOf(node, 'argument');
    return textOf(node).startsWith('~') || (inner !== null && isWhole(inner));
  }
  if (node.kind === 'subscript') {
    const value = childOf(node, 'value');
    return value !== null && isWhole(value);
  }
  const call = callOf(node);
  if (call) return isWholeCall(call);
  return isSimple(node) && NAMES.test(textOf(node));
}

function isWholeCall(call: Call): boolean {
  const dtype = call.keywords.get('dtype') ?? (call.method === 'to' ? call.positional[0] : undefined);
  if (dtype) return WHOLE_DTYPE.test(textOf(dtype));
  if (FLOATS.has(call.method)) return false;
  if (WHOLE.has(call.method)) return true;
  const free = /^torch\.\w+$/.test(call.name);
  const tensor = free ? call.positional[0] : call.receiver;
  return KEEPING.has(call.method) && tensor !== undefined && tensor !== null && isWhole(tensor);
}
