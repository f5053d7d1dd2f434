/** Blocks whose elements are plainly no floating-point numbers: `cat` converts them, a product does not. */
import type { Condition } from '../finding';
import { type Node, childOf, enclosing, scopeOf, statementOf, textOf } from '../python/syntax';
import { holdFloats, inSinglePrecision } from './conditions';
import { shortly } from './edit';
import { type Call, callOf, elements, isSimple, unwrap } from './expression';
import { indexOf } from './file-index';
import { KEEPING, isFloating, isFree } from './floating';
import { isBinding, occurrences } from './names';
import { replicateOf } from './replicate';
import { trace } from './trace';

const FLOATS = new Set(['float', 'half', 'double', 'bfloat16', 'type_as', 'to', 'softmax', 'sigmoid', 'tanh', 'mean']);
const WHOLE = new Set(
  (
    'long int short bool byte char argmax argmin argsort eq ne lt gt le ge logical_not logical_and logical_or isnan ' +
    'isinf isfinite one_hot arange randint nonzero bincount'
  ).split(' '),
);
const WHOLE_DTYPE = /\b(torch\.)?(u?int(8|16|32|64)?|long|short|bool|uint8)\b/;
const NAMES =
  /(^|_)(ids?|idx|index|indices|masks?|labels?|len|lens|lengths?|nums?|counts?|flags?|codes?|bins?|buckets?|timesteps?|categor(y|ies)|onehot|one_hot)$/;
const WHOLE_ANNOTATION = /\b(Long|Int|Short|Char|Byte|Bool)Tensor\b|(^|[^\w])(U?Int\d*|Bool|Integer)\[/;

/** True when the tensor is plainly of integers or booleans, or is named as such tensors are. */
export function isWhole(operand: Node): boolean {
  const node = unwrap(trace(operand).value);
  if (node.kind === 'comparison_operator' || node.kind === 'not_operator') return true;
  if (node.kind === 'unary_operator') {
    const inner = childOf(node, 'argument');
    return textOf(node).startsWith('~') || (inner !== null && isWhole(inner));
  }
  if (node.kind === 'binary_operator') return isWholeResult(node);
  if (node.kind === 'subscript') {
    const value = childOf(node, 'value');
    return value !== null && isWhole(value);
  }
  const call = callOf(node);
  if (call) return isWholeCall(call);
  return isSimple(node) && (NAMES.test(textOf(node)) || isAnnotatedWhole(node) || isLookedUpWith(node));
}

/** `a & b`, and what whole numbers give: `(x > 0) * 2`, but not a quotient. */
function isWholeResult(node: Node): boolean {
  const [left, right, operator] = [childOf(node, 'left'), childOf(node, 'right'), childOf(node, 'operator')];
  if (!left || !right || !operator) return false;
  if (/^([&|^]|<<|>>)$/.test(textOf(operator))) return true;
  const stays = (operand: Node): boolean => operand.kind === 'integer' || isWhole(operand);
  return /^([-+*%]|\/\/|\*\*)$/.test(textOf(operator)) && stays(left) && stays(right);
}

/** `item: torch.LongTensor`, `flags: Bool[Tensor, "b k"]` */
function isAnnotatedWhole(node: Node): boolean {
  return occurrences(scopeOf(node), textOf(node)).some((name) => {
    const type = /^typed_/.test(name.parent?.kind ?? '') && name.parent ? childOf(name.parent, 'type') : null;
    return type !== null && WHOLE_ANNOTATION.test(textOf(type));
  });
}

/** The function also gives it to an embedding, or uses it as an index: `self.embed(item)`, `table[item]`. */
function isLookedUpWith(node: Node): boolean {
  if (node.kind !== 'identifier') return false;
  return occurrences(scopeOf(node), textOf(node)).some((name) => {
    if (name.parent?.kind === 'subscript' && name.field === 'subscript') return true;
    const call = name.parent?.kind === 'argument_list' && name.parent.parent ? callOf(name.parent.parent) : null;
    if (!call || call.positional[0] !== name) return false;
    if (/(^|\.)(embedding|one_hot)$/.test(call.name)) return true;
    const made = call.name === `self.${call.method}` ? (indexOf(node.file).attributes.get(call.method) ?? []) : [];
    return made.some((value) => /^(torch\.)?(nn\.)?Embedding(Bag)?\(/.test(textOf(value)));
  });
}

function isWholeCall(call: Call): boolean {
  const dtype = call.keywords.get('dtype') ?? (call.method === 'to' ? call.positional[0] : undefined);
  if (dtype) return WHOLE_DTYPE.test(textOf(dtype));
  if (FLOATS.has(call.method)) return false;
  if (WHOLE.has(call.method)) return true;
  if (/^torch\.(tensor|full)$/.test(call.name))
    return !/[.a-z]/i.test(call.positional.at(-1) ? textOf(call.positional.at(-1) ?? call.node) : '.');
  if (/^torch\.(cat|concat|stack)$/.test(call.name)) return (elements(call.positional[0] ?? null) ?? []).some(isWhole);
  const free = /^torch\.\w+$/.test(call.name);
  const tensor = free ? call.positional[0] : call.receiver;
  return KEEPING.has(call.method) && tensor !== undefined && tensor !== null && isWhole(tensor);
}

const PRECISION =
  /\.(half|bfloat16|double)\(\)|\.(?:to|type)\((?:[^()]*, *)?(?:dtype=)?(torch\.(?:half|float16|bfloat16|double|float64))\b|\bdtype=(torch\.(?:half|float16|bfloat16|double|float64))\b/;
const PRECISE_TENSOR = /\b(Half|BFloat16|Double)Tensor\b/;

/** Two blocks of which one is cast to another precision than single and the other is not: `cat` brings them to one type. */
export function mixedPrecision(operands: readonly Node[]): readonly [Node, Node] | null {
  const cast = operands.find((operand) => precisionOf(operand) !== null);
  if (!cast) return null;
  const other = operands.find((operand) => precisionOf(operand) !== precisionOf(cast));
  return other ? [cast, other] : null;
}

/** To which precision a block, or the tensor that it copies, is cast. */
function precisionOf(operand: Node): string | null {
  const { value } = trace(operand);
  const copied = replicateOf(value)?.source;
  const source = copied ? trace(copied).value : value;
  const [, ...found] = PRECISION.exec(textOf(value)) ?? PRECISION.exec(textOf(source)) ?? [];
  return found.find((one) => one !== undefined)?.replace('torch.', '') ?? statedPrecision(source);
}

/** `item: torch.HalfTensor` */
function statedPrecision(node: Node): string | null {
  if (node.kind !== 'identifier') return null;
  const types = occurrences(scopeOf(node), textOf(node)).flatMap(({ parent }) =>
    parent && /^typed_/.test(parent.kind) ? (childOf(parent, 'type') ?? []) : [],
  );
  return types.map((type) => PRECISE_TENSOR.exec(textOf(type))?.[1]?.toLowerCase()).find(Boolean) ?? null;
}

const SINGLE =
  /\.float\(\)|\.(to|type)\((dtype=)?torch\.float(32)?\)|\bdtype=torch\.float(32)?\b|^torch\.(randn?|zeros|ones|empty|full)\((?!.*dtype)/;
const DOUBLE = /\.double\(|\bfloat64\b|\btorch\.double\b|\bDoubleTensor\b/;

/** A block that is made in single precision, where the file has a word of double: its model may be widened, and `cat` with it. */
function singleAmongDouble(operands: readonly Node[]): Node | undefined {
  const [first] = operands;
  if (!first || !DOUBLE.test(first.file.text)) return undefined;
  const isSingle = (operand: Node): boolean => {
    const { value } = trace(operand);
    const copied = replicateOf(value)?.source;
    return [value, ...(copied ? [trace(copied).value] : [])].some((node) => SINGLE.test(textOf(node)));
  };
  return operands.every(isSingle) ? undefined : operands.find(isSingle);
}

/** The condition for blocks whose type nothing in the text tells: a concatenation would convert integers among them. */
export function conditionsOfDtypes(operands: readonly Node[]): readonly Condition[] {
  const single = singleAmongDouble(operands);
  const untold = untoldDtypes(operands);
  return [...(single ? [inSinglePrecision(shortly(single))] : []), ...(untold.length > 0 ? [holdFloats(untold)] : [])];
}

function untoldDtypes(operands: readonly Node[]): readonly string[] {
  const roots = operands.map((operand) => ({ operand, root: shortly(rootOf(operand)) }));
  // Parts of one tensor have one type.
  if (new Set(roots.map(({ root }) => root)).size === 1) return [];
  const untold = roots.filter(({ operand }) => !isFloating(operand) || isCastAround(operand));
  return [...new Set(untold.map(({ root }) => root))];
}

/** What is made under `autocast` and read outside of it, or made outside and read where it is off, may have another precision. */
function isCastAround(operand: Node): boolean {
  if (!operand.file.text.includes('autocast')) return false;
  const value = rootOf(operand);
  const read = autocastAround(operand);
  if (read !== null && !/\benabled *= *False\b/.test(textOf(read))) return false;
  const bindings = value.kind === 'identifier' ? occurrences(scopeOf(value), textOf(value)).filter(isBinding) : [];
  return (bindings.length > 0 ? bindings : [value]).some(
    (made) => autocastAround(made) !== read && !isSaidSingle(made),
  );
}

/** `x: torch.FloatTensor`, `x = y.float()` */
const isSaidSingle = (made: Node): boolean =>
  made.parent && /^typed_/.test(made.parent.kind)
    ? /\bFloatTensor\b|\bFloat(32)?\[/.test(textOf(made.parent))
    : SINGLE.test(textOf(statementOf(made)));

/** The clause of the innermost `with autocast(..)` around a node. */
function autocastAround(node: Node): Node | null {
  for (let at = enclosing(node, 'with_statement'); at; at = at.parent && enclosing(at.parent, 'with_statement')) {
    const clause = at.children.find((one) => one.kind === 'with_clause');
    if (clause && /\bautocast\(/.test(textOf(clause))) return clause;
  }
  return null;
}

/** The tensor that an operand is a view or a copy of. */
function rootOf(operand: Node): Node {
  const source = unwrap(trace(replicateOf(trace(operand).value)?.source ?? operand).value);
  const call = callOf(source);
  const of = call && (isFree(call) ? call.positional[0] : call.receiver);
  if (call && of && elements(of) === null && KEEPING.has(call.method)) return rootOf(of);
  const value =
    source.kind === 'subscript' &&
    !/^\[(['"])/.test(textOf(source).slice(textOf(childOf(source, 'value') ?? source).length))
      ? childOf(source, 'value')
      : null;
  return value ? rootOf(value) : source;
}
