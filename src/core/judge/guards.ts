/** What a rewrite must not overlook: rebound names, other readers, writes, effects and errors on the way. */
import { type Node, childOf, enclosing, scopeOf, statementOf, textOf, lineOf } from '../python/syntax';
import type { Facts, LinearForm, NameAt, PathStep } from './match';

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const child of node.children) walk(child, visit);
}

const bodyOf = (scope: Node): Node => childOf(scope, 'body') ?? scope;

/** Names that are assigned, with the place of the assignment, in a scope. */
const assigned = new WeakMap<Node, readonly Assigned[]>();

function assignments(scope: Node): readonly Assigned[] {
  const known = assigned.get(scope) ?? findAssignments(scope);
  assigned.set(scope, known);
  return known;
}

interface Assigned {
  readonly name: string;
  readonly node: Node;
}

function findAssignments(scope: Node): readonly Assigned[] {
  const found: { name: string; node: Node }[] = [];
  walk(bodyOf(scope), (node) => {
    const target =
      node.kind === 'assignment' ||
      node.kind === 'augmented_assignment' ||
      node.kind === 'for_statement' ||
      node.kind === 'named_expression'
        ? (childOf(node, 'left') ?? childOf(node, 'name'))
        : null;
    if (!target) return;
    walk(target, (part) => {
      if (
        part.kind === 'identifier' &&
        (part === target || /_pattern$|pattern_list|tuple|list/.test(part.parent?.kind ?? ''))
      )
        found.push({ name: textOf(part), node });
      if (part.kind === 'attribute' && part === target) found.push({ name: textOf(part), node });
    });
  });
  return found;
}

/** Names read by an expression. */
function namesIn(node: Node): Set<string> {
  const names = new Set<string>();
  walk(node, (part) => {
    if (
      part.kind === 'identifier' &&
      part.field !== 'attribute' &&
      !(part.field === 'name' && part.parent?.kind === 'keyword_argument')
    )
      names.add(textOf(part));
    if (part.kind === 'attribute') names.add(textOf(part));
  });
  return names;
}

/** Names that `expression` reads and that are assigned after it and before `sink`. */
export function reboundBetween(expression: Node, sink: Node): readonly NameAt[] {
  if (expression.file !== sink.file) return [];
  const scope = scopeOf(expression);
  if (scope !== scopeOf(sink)) return [];
  const names = namesIn(expression);
  const from = expression.start;
  return assignments(scope)
    .filter(
      ({ name, node }) =>
        names.has(name) &&
        node.end > from &&
        node.start < sink.start &&
        !(node.start > sink.end) &&
        after(node, expression),
    )
    .map(({ name, node }) => ({ name, line: lineOf(node) }));
}

/** The assignment takes effect after the expression was evaluated: also when the expression is its right side. */
const after = (assignment: Node, expression: Node): boolean => assignment.end >= expression.end;

export function guardsOf(sink: Node, origin: Node, form: LinearForm | null, path: readonly PathStep[]): Facts {
  const scope = scopeOf(origin);
  const sameScope = origin.file === sink.file && scope === scopeOf(sink);
  const rebound = new Map<string, NameAt>();
  const add = (list: readonly NameAt[]): void => list.forEach((n) => rebound.set(`${n.name}:${n.line}`, n));
  for (const block of form?.blocks ?? []) {
    for (const term of block.terms) for (const atom of term.factors) add(atom.expression.rebound);
  }
  return {
    rebound: [...rebound.values()],
    readers: sameScope ? readersOf(path, scope) : {},
    inPlace: sameScope ? inPlaceBetween(origin, sink, scope) : [],
    effects: sameScope ? effectsBetween(origin, sink, scope) : [],
    syntaxErrors: sameScope ? [...statementsBetween(origin, sink, scope)].filter((s) => s.broken).map(lineOf) : [],
    apart: sameScope ? apart(origin, sink) : 'function',
    assumptions: [],
    blockedBy: null,
  };
}

const named = new WeakMap<Node, ReadonlyMap<string, readonly Node[]>>();

/** Identifiers of a scope by name, in order. */
function identifiers(scope: Node): ReadonlyMap<string, readonly Node[]> {
  const known = named.get(scope);
  if (known) return known;
  const found = new Map<string, Node[]>();
  walk(bodyOf(scope), (part) => {
    if (part.kind !== 'identifier') return;
    const name = textOf(part);
    const list = found.get(name);
    if (list) list.push(part);
    else found.set(name, [part]);
  });
  named.set(scope, found);
  return found;
}

/** Where the names that hold the replica or the concatenation are read, apart from the path itself. */
function readersOf(path: readonly PathStep[], scope: Node): Record<string, number[]> {
  const readers: Record<string, number[]> = {};
  const onPath = path.map((step) => step.node);
  for (const { node } of path.slice(0, -1)) {
    const assignment = enclosing(node, 'assignment');
    const left = assignment && childOf(assignment, 'left');
    if (!assignment || left?.kind !== 'identifier') continue;
    const name = textOf(left);
    const lines: number[] = [];
    for (const part of identifiers(scope).get(name) ?? []) {
      if (part.start < assignment.end) continue;
      if (part.field === 'left' && part.parent?.kind === 'assignment') {
        // Assigned again, and not from itself: what is read below is another value.
        if (!namesIn(childOf(part.parent, 'right') ?? part).has(name)) break;
        continue;
      }
      if (part.field === 'attribute' || part.field === 'left') continue;
      if (part.field === 'name' && part.parent?.kind === 'keyword_argument') continue;
      if (!onPath.some((n) => n.start <= part.start && part.end <= n.end)) lines.push(lineOf(part));
    }
    readers[name] = lines;
  }
  return readers;
}

function* statementsBetween(origin: Node, sink: Node, scope: Node): Generator<Node> {
  const first = statementOf(origin);
  const last = statementOf(sink);
  const stack: Node[] = [bodyOf(scope)];
  for (let node = stack.pop(); node; node = stack.pop()) {
    for (const child of node.children) {
      if (child.end < first.start || child.start > last.end) continue;
      if (child.kind === 'block') stack.push(child);
      else if (child.parent?.kind === 'block' || child.parent?.kind === 'module') {
        yield child;
        stack.push(child);
      } else stack.push(child);
    }
  }
}

function inPlaceBetween(origin: Node, sink: Node, scope: Node): NameAt[] {
  const found: NameAt[] = [];
  for (const statement of statementsBetween(origin, sink, scope)) {
    if (statement.kind !== 'expression_statement') continue;
    walk(statement, (node) => {
      // What the sink's own statement assigns to is written behind the sink.
      if (node.start < origin.end || node.end >= sink.end) return;
      const fn = node.kind === 'call' ? childOf(node, 'function') : null;
      const method = fn?.kind === 'attribute' ? childOf(fn, 'attribute') : null;
      const object = fn?.kind === 'attribute' ? childOf(fn, 'object') : null;
      if (method && object && /[a-z]_$/.test(textOf(method))) found.push({ name: textOf(object), line: lineOf(node) });
      if (node.kind === 'augmented_assignment')
        found.push({ name: textOf(childOf(node, 'left') ?? node), line: lineOf(node) });
      const target = node.kind === 'assignment' ? childOf(node, 'left') : null;
      if (target?.kind === 'subscript')
        found.push({ name: textOf(childOf(target, 'value') ?? target), line: lineOf(node) });
    });
  }
  return found;
}

/** Statements that are calls: what they do besides returning is unknown. */
function effectsBetween(origin: Node, sink: Node, scope: Node): Node[] {
  const found: Node[] = [];
  for (const statement of statementsBetween(origin, sink, scope)) {
    const [only] = statement.children;
    if (statement.kind !== 'expression_statement' || only?.kind !== 'call') continue;
    if (statement.start > origin.end && statement.end < sink.start) found.push(statement);
  }
  return found;
}

function apart(origin: Node, sink: Node): Facts['apart'] {
  const loops = (node: Node): Node | null => enclosing(node, 'for_statement', 'while_statement', 'function_definition');
  if (loops(origin) !== loops(sink)) return 'loop';
  const block = (node: Node): Node | null => statementOf(node).parent;
  let at = block(sink);
  const home = block(origin);
  for (; at; at = at.parent) if (at === home) return null;
  return 'branch';
}
