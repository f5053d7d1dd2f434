/** What a file defines, by name. */
import { type Node, type SourceFile, childOf, innermostAt, textOf } from '../python/syntax';
import { placesOf } from '../python/words';
import { visit } from './names';

/** What has a name. */
export interface Named {
  get(name: string): readonly Node[] | undefined;
  has(name: string): boolean;
}

export interface Index {
  readonly functions: Named;
  readonly classes: Named;
  /** What is assigned to `self.name` anywhere. */
  readonly attributes: Named;
  readonly lambdas: Named;
  /** Methods that are read as attributes. */
  readonly properties: Named;
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

/** Made once per file, since every rewrite in it asks. */
const indices = new WeakMap<SourceFile, Index>();

/** Names are looked for in the text first: to walk through a file, all bodies of its functions would have to be parsed. */
export function indexOf(file: SourceFile): Index {
  const known = indices.get(file);
  if (known) return known;
  const index: Index = {
    functions: named(file, DEFINED, /^/, definition('function_definition')),
    classes: named(file, /\bclass[\s\\]+$/, /^/, definition('class_definition')),
    attributes: named(file, /\bself[\s\\]*\.[\s\\]*$/, ASSIGNED, ({ parent, field }) =>
      field === 'attribute' && parent?.kind === 'attribute' && textOf(childOf(parent, 'object') ?? parent) === 'self'
        ? assignedTo(parent)
        : null,
    ),
    lambdas: named(file, /^|[^.]$/, ASSIGNED, (name) => {
      const value = assignedTo(name);
      return value?.kind === 'lambda' ? value : null;
    }),
    properties: named(file, DEFINED, /^/, (name) => {
      const found = definition('function_definition')(name);
      return found && isProperty(found) ? found : null;
    }),
  };
  indices.set(file, index);
  return index;
}

const DEFINED = /\bdef[\s\\]+$/;
const ASSIGNED = /^[\s\\]*(?::|=(?!=))/;

const definition =
  (kind: string) =>
  ({ parent, field }: Node): Node | null =>
    field === 'name' && parent?.kind === kind ? parent : null;

const assignedTo = ({ parent, field }: Node): Node | null =>
  field === 'left' && parent?.kind === 'assignment' ? childOf(parent, 'right') : null;

/** As far as white space goes between two words. */
const NEAR = 100;

/** What `meant` makes of each place where a name stands between such texts. */
function named(file: SourceFile, before: RegExp, after: RegExp, meant: (name: Node) => Node | null): Named {
  const known = new Map<string, readonly Node[] | undefined>();
  const find = (name: string): readonly Node[] | undefined => {
    const { text } = file;
    const found = placesOf(text, name).flatMap((at) => {
      const end = at + name.length;
      if (!before.test(text.slice(Math.max(0, at - NEAR), at)) || !after.test(text.slice(end, end + NEAR))) return [];
      const node = innermostAt(file.root, at);
      return (node.kind === 'identifier' && meant(node)) || [];
    });
    return found.length > 0 ? found : undefined;
  };
  const get = (name: string): readonly Node[] | undefined => {
    if (!known.has(name)) known.set(name, find(name));
    return known.get(name);
  };
  return { get, has: (name) => get(name) !== undefined };
}

const isProperty = (definition: Node): boolean =>
  definition.parent?.kind === 'decorated_definition' &&
  definition.parent.children.some((c) => c.kind === 'decorator' && /^@[\w.]*property\b/.test(textOf(c)));
