/** What a file defines, by name. */
import { type Node, type SourceFile, childOf, textOf } from '../python/syntax';
import { isBinding, visit } from './names';

export interface Index {
  readonly functions: ReadonlyMap<string, readonly Node[]>;
  readonly classes: ReadonlyMap<string, readonly Node[]>;
  /** What is assigned to `self.name` anywhere. */
  readonly attributes: ReadonlyMap<string, readonly Node[]>;
  readonly lambdas: ReadonlyMap<string, readonly Node[]>;
  /** Names of methods that are read as attributes. */
  readonly properties: ReadonlySet<string>;
}

/** Appends to the list under a key. */
export function addTo(map: Map<string, Node[]>, key: string, node: Node): void {
  const list = map.get(key);
  if (list) list.push(node);
  else map.set(key, [node]);
}

/** A function of a node that works its answer out once: every rewrite in a file asks the same of it. */
export function perNode<T>(work: (node: Node) => T): (node: Node) => T {
  const known = new WeakMap<Node, { readonly value: T }>();
  return (node) => {
    const before = known.get(node);
    if (before) return before.value;
    const value = work(node);
    known.set(node, { value });
    return value;
  };
}

/** The assignments inside a node, by the text of what is assigned to. */
export const assignmentsIn = perNode((scope) => {
  const found = new Map<string, Node[]>();
  visit(scope, (part) => {
    if (part.kind === 'assignment') addTo(found, textOf(childOf(part, 'left') ?? part), part);
  });
  return found;
});

/** Collected once per file, since every rewrite in it asks. */
const indices = new WeakMap<SourceFile, Index>();

export function indexOf(file: SourceFile): Index {
  const known = indices.get(file);
  if (known) return known;
  const found = {
    functions: new Map(),
    classes: new Map(),
    attributes: new Map(),
    lambdas: new Map(),
    properties: new Set<string>(),
  };
  visit(file.root, (node) => {
    const name = childOf(node, 'name');
    if (node.kind === 'function_definition' && name) {
      addTo(found.functions, textOf(name), node);
      if (isProperty(node)) found.properties.add(textOf(name));
    }
    if (node.kind === 'class_definition' && name) addTo(found.classes, textOf(name), node);
    else if (node.kind === 'assignment') {
      const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
      if (!left || !right) return;
      if (left.kind === 'identifier' && right.kind === 'lambda' && isBinding(left))
        addTo(found.lambdas, textOf(left), right);
      const attribute = left.kind === 'attribute' ? childOf(left, 'attribute') : null;
      if (attribute && textOf(childOf(left, 'object') ?? left) === 'self')
        addTo(found.attributes, textOf(attribute), right);
    }
  });
  indices.set(file, found);
  return found;
}

const isProperty = (definition: Node): boolean =>
  definition.parent?.kind === 'decorated_definition' &&
  definition.parent.children.some((c) => c.kind === 'decorator' && /^@[\w.]*property\b/.test(textOf(c)));
