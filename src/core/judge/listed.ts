/** The same tensor several times in a list that is joined: what it is, and how often, as the text says. */
import { type Node, childOf, enclosing, innermostAt, scopeOf, statementOf, textOf } from '../python/syntax';
import { hasWord, placesOf } from '../python/words';

/** What is listed, and `n` of `[x] * n`; each null where the text does not plainly say so. */
export interface Listed {
  readonly text: string | null;
  readonly times: string | null;
  /** Other things may be listed beside it, or in each pass of a loop. */
  readonly isOneOfMany: boolean;
}

const NOTHING: Listed = { text: null, times: null, isOneOfMany: true };

/** Of `torch.stack(..)` and its like; null for any other expression. */
export function listedIn(origin: Node): Listed | null {
  const fn = origin.kind === 'call' ? childOf(origin, 'function') : null;
  if (!fn || !/(^|\.)(cat|concat|concatenate|[vh]?stack|row_stack|column_stack)$/.test(textOf(fn))) return null;
  const given = childOf(origin, 'arguments')?.children[0];
  return !given ? NOTHING : given.kind === 'identifier' ? fromName(given) : fromList(given);
}

/** `[x, x]`, `[x] * n`, `[x for _ in range(n)]`; of `[x] * n + [x[:m]]` what stands first. */
function fromList(given: Node): Listed {
  const [left, right] = [childOf(given, 'left'), childOf(given, 'right')];
  if (given.kind !== 'binary_operator' || !left || !right) {
    const first = /^(list|tuple)/.test(given.kind) ? given.children[0] : undefined;
    return { text: first ? nameOf(first) : null, times: null, isOneOfMany: false };
  }
  const operator = given.children.find((c) => c.field === 'operator');
  if (operator && textOf(operator) === '+') return { ...fromList(left), times: null, isOneOfMany: true };
  const [list, count] = /^(list|tuple)$/.test(right.kind) ? [right, left] : [left, right];
  return { ...fromList(list), times: list.children.length === 1 ? textOf(count) : null };
}

/** A list that one statement fills: what it adds, several times at once or in a pass of a loop each. */
function fromName(name: Node): Listed {
  const [fill, ...others] = fillsOf(name);
  if (!fill || others.length > 0) return NOTHING;
  const { text, times } = fill.isItem ? { text: nameOf(fill.value), times: null } : fromList(fill.value);
  // What is the same in each pass of a loop is there more often than one of them says.
  const loop = enclosing(fill.value, 'for_statement', 'while_statement');
  const variables = loop?.kind === 'for_statement' ? (childOf(loop, 'left') ?? null) : null;
  const isOwn = text !== null && variables !== null && namesIn(variables).some((variable) => hasWord(text, variable));
  return { text, times: !loop || isOwn ? times : null, isOneOfMany: loop !== null };
}

const namesIn = (node: Node): readonly string[] =>
  node.kind === 'identifier' ? [textOf(node)] : node.children.flatMap(namesIn);

const nameOf = (value: Node): string | null =>
  /^(identifier|attribute|subscript)$/.test(value.kind) ? textOf(value) : null;

interface Fill {
  readonly value: Node;
  /** One item, no list of them. */
  readonly isItem: boolean;
}

/** `rows = [x] * n`, `rows += [x]`, `rows.append(x)` in front of a use of the list; an empty list is none. */
function fillsOf(use: Node): readonly Fill[] {
  const scope = scopeOf(use);
  const own = statementOf(use);
  const before = use.file.text.slice(scope.start, own.start);
  return placesOf(before, textOf(use)).flatMap((at) => fillAt(innermostAt(use.file.root, scope.start + at)) ?? []);
}

function fillAt(name: Node): Fill | null {
  const { parent } = name;
  if (name.kind !== 'identifier' || !parent) return null;
  if (/assignment$/.test(parent.kind) && name.field === 'left') {
    const value = childOf(parent, 'right');
    return value && !/^(\[\s*\]|list\(\))$/.test(textOf(value)) ? { value, isItem: false } : null;
  }
  const call = parent.kind === 'attribute' && name.field === 'object' ? parent.parent : null;
  const method = /\.(append|extend|insert)$/.exec(textOf(parent))?.[1];
  const value = call?.kind === 'call' ? childOf(call, 'arguments')?.children.at(-1) : null;
  return value && method ? { value, isItem: method !== 'extend' } : null;
}
