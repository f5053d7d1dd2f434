/** Other names of a tensor, or of a view of it: what is written into them is written into it. */
import { type Node, childOf, enclosing, textOf } from '../python/syntax';
import { callOf, unwrap } from './expression';
import { visit } from './names';

/** They give a view, some only where nothing must be copied. */
const VIEWS =
  /^(view|reshape|contiguous|(un)?squeeze|(un)?flatten|transpose|permute|swap(axes|dims)|movedim|t|expand|expand_as|broadcast_to|view_as|reshape_as|narrow|select|split|chunk|unbind|detach|to|float|double|half|bfloat16|type|type_as)$/;
const VIEWED = /^(T|mT|data)$/;
const PLAIN = /^(slice|integer|none|ellipsis|unary_operator)$/;

/** The variables of a function that may share memory with `root`, itself not among them. */
export function aliasesOf(root: string, scope: Node): readonly string[] {
  const names = new Set([root]);
  const assignments = assignmentsIn(scope);
  for (let size = 0; size < names.size;) {
    size = names.size;
    for (const { left, of } of assignments) if (names.has(of)) for (const name of left) names.add(name);
  }
  names.delete(root);
  return [...names];
}

/** Is a name that is bound there a variable, or a view of one? */
export function isOfView(binding: Node): boolean {
  const assignment = enclosing(binding, 'assignment');
  const right = assignment && childOf(assignment, 'right');
  return right !== null && viewed(right) !== null;
}

interface Assignment {
  readonly left: readonly string[];
  readonly of: string;
}

const known = new WeakMap<Node, readonly Assignment[]>();

function assignmentsIn(scope: Node): readonly Assignment[] {
  const before = known.get(scope);
  if (before) return before;
  const found: Assignment[] = [];
  visit(scope, (node) => {
    if (node.kind !== 'assignment') return;
    const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
    const of = right && viewed(right);
    if (left && of) found.push({ left: namesIn(left), of: textOf(of) });
  });
  known.set(scope, found);
  return found;
}

const namesIn = (target: Node): readonly string[] =>
  target.kind === 'identifier'
    ? [textOf(target)]
    : /_(list|pattern)$/.test(target.kind)
      ? target.children.flatMap(namesIn)
      : [];

/** The variable that an expression is, or is a view of. */
function viewed(expression: Node): Node | null {
  const node = unwrap(expression);
  if (node.kind === 'identifier') return node;
  const call = callOf(node);
  if (call) return call.receiver && VIEWS.test(call.method) ? viewed(call.receiver) : null;
  if (node.kind === 'subscript') {
    const value = childOf(node, 'value');
    return value && node.children.every((part) => part.field !== 'subscript' || PLAIN.test(part.kind))
      ? viewed(value)
      : null;
  }
  const [object, attribute] = [childOf(node, 'object'), childOf(node, 'attribute')];
  return object && attribute && VIEWED.test(textOf(attribute)) ? viewed(object) : null;
}
