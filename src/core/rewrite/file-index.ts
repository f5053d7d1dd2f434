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
  const add = (map: Map<string, Node[]>, key: string, node: Node): void => {
    const list = map.get(key);
    if (list) list.push(node);
    else map.set(key, [node]);
  };
  visit(file.root, (node) => {
    const name = childOf(node, 'name');
    if (node.kind === 'function_definition' && name) {
      add(found.functions, textOf(name), node);
      if (isProperty(node)) found.properties.add(textOf(name));
    }
    if (node.kind === 'class_definition' && name) add(found.classes, textOf(name), node);
    else if (node.kind === 'assignment') {
      const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
      if (!left || !right) return;
      if (left.kind === 'identifier' && right.kind === 'lambda' && isBinding(left))
        add(found.lambdas, textOf(left), right);
      const attribute = left.kind === 'attribute' ? childOf(left, 'attribute') : null;
      if (attribute && textOf(childOf(left, 'object') ?? left) === 'self')
        add(found.attributes, textOf(attribute), right);
    }
  });
  indices.set(file, found);
  return found;
}

const isProperty = (definition: Node): boolean =>
  definition.parent?.kind === 'decorated_definition' &&
  definition.parent.children.some((c) => c.kind === 'decorator' && /^@[\w.]*property\b/.test(textOf(c)));
