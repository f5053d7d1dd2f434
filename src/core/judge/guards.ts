/** What a rewrite must not overlook between a copy and its product: writes, effects, errors, branches and loops. */
import { type Node, childOf, enclosing, scopeOf, statementOf, textOf, lineOf } from '../python/syntax';
import type { Facts, NameAt } from './match';

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const child of node.children) walk(child, visit);
}

const bodyOf = (scope: Node): Node => childOf(scope, 'body') ?? scope;

export function guardsOf(sink: Node, origin: Node): Facts {
  const scope = scopeOf(origin);
  const sameScope = origin.file === sink.file && scope === scopeOf(sink);
  return {
    inPlace: sameScope ? inPlaceBetween(origin, sink, scope) : [],
    effects: sameScope ? effectsBetween(origin, sink, scope) : [],
    syntaxErrors: sameScope ? [...statementsBetween(origin, sink, scope)].filter((s) => s.broken).map(lineOf) : [],
    apart: sameScope ? apart(origin, sink) : 'function',
    assumptions: [],
  };
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
