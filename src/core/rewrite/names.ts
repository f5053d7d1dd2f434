/**
 * What a name means where: its definition, who reads it, whether it still holds the same value further down. All answers
 * are conservative: a binding or a write that might take part counts.
 */
import { type Node, childOf, enclosing, scopeOf, statementOf, textOf } from '../python/syntax';
import { hasWord } from '../python/words';
import { type Call, callOf, isInPlaceModule } from './expression';
import { VIEWS } from './shared-memory';

/** Every use of a name as a variable inside `within` (nested functions included), in the order of the text. */
export function occurrences(within: Node, name: string): readonly Node[] {
  return variablesOf(within).get(name) ?? [];
}

/** Several rewrites of one file ask about the same scopes: each scope is walked once. */
const variables = new WeakMap<Node, ReadonlyMap<string, readonly Node[]>>();

function variablesOf(within: Node): ReadonlyMap<string, readonly Node[]> {
  const known = variables.get(within);
  if (known) return known;
  const found = new Map<string, Node[]>();
  visit(within, (node) => {
    if (node.kind !== 'identifier' || isLabel(node)) return;
    const name = textOf(node);
    const list = found.get(name);
    if (list) list.push(node);
    else found.set(name, [node]);
  });
  variables.set(within, found);
  return found;
}

export function visit(node: Node, see: (node: Node) => void): void {
  see(node);
  for (const child of node.children) visit(child, see);
}

/** Attribute names and keywords are no variables. */
const isLabel = (node: Node): boolean =>
  (node.field === 'attribute' && node.parent?.kind === 'attribute') ||
  (node.field === 'name' && node.parent?.kind === 'keyword_argument');

const PATTERNS = new Set([
  'pattern_list',
  'tuple_pattern',
  'list_pattern',
  'list_splat_pattern',
  'dictionary_splat_pattern',
  'tuple',
  'list',
  'expression_list',
]);

/** True when the occurrence gives the name a (new) meaning, or takes it away. */
export function isBinding(occurrence: Node): boolean {
  let at = occurrence;
  while (at.parent && PATTERNS.has(at.parent.kind)) at = at.parent;
  const { parent, field } = at;
  if (!parent) return false;
  switch (parent.kind) {
    case 'assignment':
    case 'augmented_assignment':
    case 'for_statement':
    case 'for_in_clause':
      return field === 'left';
    case 'named_expression':
    case 'function_definition':
    case 'class_definition':
      return field === 'name';
    case 'aliased_import':
      return field === 'alias';
    case 'as_pattern_target':
    case 'global_statement':
    case 'nonlocal_statement':
    case 'delete_statement':
    case 'parameters':
    case 'lambda_parameters':
    case 'typed_parameter':
    case 'import_statement':
    case 'import_from_statement':
    case 'except_clause':
    case 'case_pattern':
      return true;
    case 'default_parameter':
    case 'typed_default_parameter':
      return field === 'name';
    case 'dotted_name':
      return (
        parent.parent?.kind === 'import_statement' ||
        parent.parent?.kind === 'import_from_statement' ||
        parent.parent?.kind === 'case_pattern'
      );
    default:
      return false;
  }
}

/** Where `inplace` stands among the arguments of functions of torch.nn.functional. */
const INPLACE_POSITION: ReadonlyMap<string, number> = new Map([
  ...['relu', 'relu6', 'selu', 'silu', 'mish', 'hardswish', 'hardsigmoid'].map((name) => [name, 1] as const),
  ...['elu', 'celu', 'leaky_relu'].map((name) => [name, 2] as const),
  ...['dropout', 'alpha_dropout', 'threshold', 'hardtanh'].map((name) => [name, 3] as const),
  ['rrelu', 4] as const,
]);

/** `x.add_(..)`, `x.__iadd__(..)`, `torch._foreach_add_(..)`, `operator.iadd(x, ..)` */
export const isInPlace = (name: string, method: string): boolean =>
  /[^_]_$/.test(method) ||
  /^__(setitem|delitem|i(add|sub|mul|truediv|floordiv|mod|pow|and|or|xor))__$/.test(method) ||
  /^operator\.(setitem|delitem|i(add|sub|mul|truediv|floordiv|mod|pow|and_|or_|xor|concat))$/.test(name);

/** `getattr(x, 'add_')` */
const getsInPlace = ({ name, positional: [, member] }: Call): boolean =>
  name === 'getattr' && member !== undefined && /[^_]_['"]$/.test(textOf(member));

/** Methods of tensors that write into them, as values: `f = x.add_`. */
const IN_PLACE =
  /^(add|sub|mul|div|pow|copy|zero|fill|clamp|clip|relu|sigmoid|tanh|exp|log|neg|abs|sqrt|normal|uniform|(masked|index)_(fill|copy|add|put|scatter)|scatter(_add)?|set|resize)_$/;

/** Is what stands around a value a part or a view of it: `x[i]`, `x.a`, `x.detach()`? */
function isPartOf(value: Node): boolean {
  const { parent, field } = value;
  if (parent?.kind === 'call' && field === 'function' && value.kind === 'attribute')
    return VIEWS.test(textOf(childOf(value, 'attribute') ?? value)) && /^(value|object)$/.test(parent.field ?? '');
  return (parent?.kind === 'subscript' || parent?.kind === 'attribute') && field !== 'subscript';
}

/** `x[i] = ..`, `x.a = ..`, `x += ..`, `x.add_(..)`, `f(out=x)`, `relu_(x)`, `f(x, inplace=True)`: the value may change. */
export function isMutation(occurrence: Node): boolean {
  let at = occurrence;
  while (at.parent && isPartOf(at)) at = at.parent;
  const { parent } = at;
  if (!parent) return false;
  if (parent.kind === 'augmented_assignment' && at.field === 'left') return true;
  const member = at.kind === 'attribute' && parent.kind !== 'call' ? childOf(at, 'attribute') : null;
  if (member && IN_PLACE.test(textOf(member))) return true;
  if (at !== occurrence) {
    let target = at;
    while (target.parent && PATTERNS.has(target.parent.kind)) target = target.parent;
    if (target.parent?.kind === 'delete_statement') return true;
    if (target.field === 'left' && target.parent?.kind === 'assignment') return true;
  }
  return isWrittenAround(occurrence);
}

/** A statement may hold thousands of names: what stands around them is looked at once. */
const writtenAround = new WeakMap<Node, boolean>();

/** Does a call around the node, within its statement, write into what it is given? */
function isWrittenAround(node: Node): boolean {
  const passed: Node[] = [];
  let found = false;
  for (
    let at = node;
    !found && at.parent && at.parent.kind !== 'block' && at.parent.kind !== 'module';
    at = at.parent
  ) {
    const known = writtenAround.get(at);
    found = known ?? (isOut(at) || writesArguments(at.parent));
    if (known !== undefined) break;
    passed.push(at);
  }
  for (const one of passed) writtenAround.set(one, found);
  return found;
}

/** `x` of `f(.., out=x)` */
const isOut = ({ parent, field }: Node): boolean =>
  parent?.kind === 'keyword_argument' && field === 'value' && textOf(childOf(parent, 'name') ?? parent) === 'out';

function writesArguments(node: Node): boolean {
  const call = callOf(node);
  if (!call) return false;
  const { name, method, callee, positional, keywords } = call;
  if (isInPlace(name, method) || name === 'setattr' || name === 'exec') return true;
  const made = callee.kind === 'call' ? callOf(callee) : null;
  if (made && (isInPlaceModule(made) || getsInPlace(made))) return true;
  // `map(torch.relu_, [x])`
  if (positional.some((given) => /^([\w.]*\.)?[a-z]\w*[a-z0-9]_$/.test(textOf(given)))) return true;
  const inplace = keywords.get('inplace');
  if (inplace && textOf(inplace) !== 'False') return true;
  const place = INPLACE_POSITION.get(method);
  const flag = place !== undefined ? positional[place] : undefined;
  return flag !== undefined && textOf(flag) !== 'False' && /^(torch|F|nn)\b/.test(name);
}

export const loopsAround = (node: Node): readonly Node[] => {
  const loops: Node[] = [];
  const scope = scopeOf(node);
  for (let at = node.parent; at && at !== scope; at = at.parent) {
    if (at.kind === 'for_statement' || at.kind === 'while_statement') loops.push(at);
  }
  return loops;
};

export const within = (outer: Node, node: Node): boolean => outer.start <= node.start && node.end <= outer.end;

/** True for what an assignment around `to` assigns to: it is evaluated after `to`. */
export function isTargetAround(occurrence: Node, to: Node): boolean {
  for (let at: Node | null = to; at && at !== statementOf(to).parent; at = at.parent) {
    const left = /^(augmented_)?assignment$|^for_/.test(at.kind) ? childOf(at, 'left') : null;
    if (left && within(left, occurrence)) return true;
  }
  return false;
}

/** The occurrences of `name` that may run after `from` and before `to`, two statements of one function, or parts of such. */
export function occurrencesBetween(from: Node, to: Node, name: string): readonly Node[] {
  const loop = loopsAround(to)
    .filter((l) => !within(l, from))
    .at(-1);
  return occurrences(scopeOf(to), name).filter(
    (o) =>
      (o.start >= from.end && o.end <= to.start && !isTargetAround(o, to)) ||
      (loop !== undefined && within(loop, o) && !within(to, o)),
  );
}

/** The block that a statement is in. */
const blockOf = (statement: Node): Node | null => statement.parent;

/** True when `statement` has run, once, whenever `other` runs: it stands earlier, in the same block or an outer one. */
export function dominates(statement: Node, other: Node): boolean {
  const block = blockOf(statement);
  return (
    block !== null && statement.end <= other.start && within(block, other) && scopeOf(statement) === scopeOf(other)
  );
}

export interface Definition {
  /** The whole statement `name = value`. */
  readonly statement: Node;
  readonly value: Node;
}

/** The one plain assignment whose value a name holds at this use, or null when there may be another. */
export function definitionOf(use: Node): Definition | null {
  const name = textOf(use);
  const scope = scopeOf(use);
  if (
    (scope.kind !== 'function_definition' && scope.kind !== 'module') ||
    enclosing(use, 'list_comprehension', 'generator_expression', 'set_comprehension', 'dictionary_comprehension')
  ) {
    return null;
  }
  const here = statementOf(use);
  const bindings = occurrences(scope, name).filter(isBinding);
  const before = bindings.filter((b) => statementOf(b).end <= here.start);
  const last = before.at(-1);
  const target = last?.parent;
  if (!last || target?.kind !== 'assignment' || last.field !== 'left') return null;
  const value = childOf(target, 'right');
  const statement = statementOf(last);
  if (!value || value.kind === 'assignment' || target.parent !== statement || !dominates(statement, here)) return null;
  const others = bindings.filter(
    (b) => b !== last && ['global_statement', 'nonlocal_statement'].includes(b.parent?.kind ?? ''),
  );
  if (others.length > 0 || occurrencesBetween(statement, here, name).some(isBinding)) return null;
  return { statement, value };
}

/** The reads that may see the value assigned by `definition`, nested functions included. */
export function readersOf(definition: Definition, name: string): readonly Node[] {
  const { statement } = definition;
  const all = occurrences(scopeOf(statement), name);
  const reads = all.filter(
    (o) => !isBinding(o) || o.parent?.kind === 'augmented_assignment' || statementOf(o).kind === 'delete_statement',
  );
  // An assignment in the same block ends the life of the value: what stands behind it reads another one. Not so in a
  // `try`, which may leave the block in between.
  const end = enclosing(statement, 'try_statement')
    ? undefined
    : all
        .filter((o) => isBinding(o) && o.field === 'left' && o.parent?.kind === 'assignment')
        .map(statementOf)
        .find((s) => s.start >= statement.end && s.parent === statement.parent);
  const loop = loopsAround(statement).at(-1);
  return reads.filter((read) => {
    if (within(statement, read)) return loop !== undefined && !end;
    if (scopeOf(read) !== scopeOf(statement)) return true;
    if (end && !(loop && escapes(loop))) return read.start >= statement.end && read.end <= end.end;
    return read.start >= statement.end || (loop !== undefined && within(loop, read));
  });
}

/** A `continue`, `break` or handler may leave a block before a later assignment in it runs. */
function escapes(loop: Node): boolean {
  let found = false;
  visit(loop, (node) => {
    if (['continue_statement', 'break_statement', 'try_statement'].includes(node.kind)) found = true;
  });
  return found;
}

/**
 * Gives names close to the ones asked for that the file does not use, each once. Most are not in its text at all, and its functions
 * are not parsed to see where they are used.
 */
export function namer(file: Node): (base: string) => string {
  const used = new Set<string>();
  const isTaken = (name: string): boolean => hasWord(textOf(file), name) && variablesOf(file).has(name);
  return (base) => {
    const stem = base.replace(/^_+/, '') || 'x';
    let name = stem;
    for (let n = 2; used.has(name) || isTaken(name); n++) name = `${stem}_${n}`;
    used.add(name);
    return name;
  };
}
