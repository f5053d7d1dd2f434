/** The module model of a file: imports, classes, functions and top-level values, without evaluating any body. */
import { type Node, type SourceFile, childOf, textOf } from './syntax';

export interface FunctionModel {
  readonly kind: 'function';
  readonly name: string;
  /** The function_definition or lambda. */
  readonly node: Node;
  readonly file: FileModel;
  readonly owner: ClassModel | null;
  readonly decorators: readonly string[];
}

export interface ClassModel {
  readonly kind: 'class';
  readonly name: string;
  readonly node: Node;
  readonly file: FileModel;
  readonly bases: readonly Node[];
  readonly methods: ReadonlyMap<string, FunctionModel>;
  /** Class-level assignments. */
  readonly attributes: ReadonlyMap<string, Node>;
}

/** `import a.b as x` (name null) or `from a.b import name as x`; dots of relative imports stay in front. */
export interface ImportBinding {
  readonly kind: 'import';
  readonly module: string;
  readonly name: string | null;
}

export type Binding = FunctionModel | ClassModel | ImportBinding | { readonly kind: 'value'; readonly node: Node };

export interface FileModel {
  readonly file: SourceFile;
  readonly names: ReadonlyMap<string, Binding>;
  /** Modules whose names are all imported: `from x import *`. */
  readonly starred: readonly string[];
  readonly functions: readonly FunctionModel[];
  readonly classes: readonly ClassModel[];
  /** `REGISTRY["key"] = Class` at the top level, by the dictionary that REGISTRY is. */
  readonly entries: ReadonlyMap<Node, readonly Node[]>;
}

export function modelOf(file: SourceFile): FileModel {
  const names = new Map<string, Binding>();
  const starred: string[] = [];
  const functions: FunctionModel[] = [];
  const classes: ClassModel[] = [];
  const entries = new Map<Node, readonly Node[]>();
  const model: FileModel = { file, names, starred, functions, classes, entries };

  function scan(nodes: readonly Node[]): void {
    for (const node of nodes) statement(node);
  }

  /** What stands in for an import that failed is not what the code is written for. */
  const standsIn = (node: Node, name: string): boolean =>
    names.get(name)?.kind === 'import' && (/^(none|false|string|ellipsis)$/.test(node.kind) || textOf(node) === name);

  function statement(node: Node): void {
    switch (node.kind) {
      case 'import_statement':
      case 'import_from_statement':
        importBindings(node, names, starred);
        break;
      case 'function_definition':
      case 'class_definition':
      case 'decorated_definition': {
        const made = definition(node, null);
        if (made) names.set(made.name, made);
        break;
      }
      case 'expression_statement': {
        const [assignment] = node.children;
        const left = assignment?.kind === 'assignment' ? childOf(assignment, 'left') : null;
        const right = assignment && childOf(assignment, 'right');
        if (left?.kind === 'identifier' && right && !standsIn(right, textOf(left)))
          names.set(textOf(left), { kind: 'value', node: right });
        else if (assignment && left?.kind === 'subscript' && right) entry(assignment, left, right);
        break;
      }
      case 'if_statement': {
        // What never runs binds the names that annotations use, and defines nothing.
        const block = NEVER.test(textOf(childOf(node, 'condition') ?? node)) ? childOf(node, 'consequence') : null;
        for (const inner of block?.children ?? []) if (/^import_/.test(inner.kind)) statement(inner);
        scan(node.children.filter((c) => c !== block));
        break;
      }
      case 'try_statement':
      case 'with_statement':
      case 'else_clause':
      case 'elif_clause':
      case 'except_clause':
      case 'finally_clause':
      case 'block':
        scan(node.children);
        break;
    }
  }

  function entry(assignment: Node, left: Node, right: Node): void {
    const binding = names.get(textOf(childOf(left, 'value') ?? left));
    if (binding?.kind !== 'value' || !isDictionary(binding.node) || /^(string|integer|float)$/.test(right.kind)) return;
    entries.set(binding.node, [...(entries.get(binding.node) ?? []), assignment]);
  }

  function definition(node: Node, owner: ClassModel | null): FunctionModel | ClassModel | null {
    const decorators = node.kind === 'decorated_definition' ? node.children.filter((c) => c.kind === 'decorator') : [];
    const inner = node.kind === 'decorated_definition' ? childOf(node, 'definition') : node;
    if (!inner) return null;
    if (inner.kind === 'function_definition') {
      // Read from the text: asking for the name's node would make those of all parameters.
      const name = /^(?:async\s+)?def\s+([^\s(]+)/.exec(file.text.slice(inner.start, inner.start + 200))?.[1];
      if (name === undefined) return null;
      const texts = decorators.map((d) => textOf(d).replace(/^@\s*/, ''));
      const made: FunctionModel = { kind: 'function', name, node: inner, file: model, owner, decorators: texts };
      functions.push(made);
      return made;
    }
    const name = childOf(inner, 'name');
    if (!name) return null;
    return classOf(inner, textOf(name));
  }

  function classOf(node: Node, name: string): ClassModel {
    const methods = new Map<string, FunctionModel>();
    const attributes = new Map<string, Node>();
    // `Base[T]` is the class that `Base` is.
    const bases = (childOf(node, 'superclasses')?.children ?? [])
      .filter((c) => c.kind !== 'keyword_argument')
      .map((c) => (c.kind === 'subscript' ? (childOf(c, 'value') ?? c) : c));
    const made: ClassModel = { kind: 'class', name, node, file: model, bases, methods, attributes };
    classes.push(made);
    for (const member of childOf(node, 'body')?.children ?? []) {
      if (member.kind === 'expression_statement') {
        const [assignment] = member.children;
        const left = assignment?.kind === 'assignment' ? childOf(assignment, 'left') : null;
        const right = assignment && childOf(assignment, 'right');
        if (left?.kind === 'identifier' && right) attributes.set(textOf(left), right);
        continue;
      }
      const inner = definition(member, made);
      if (inner?.kind === 'function') methods.set(inner.name, inner);
    }
    return made;
  }

  scan(file.root.children);
  return model;
}

/** `{..}`, `dict(..)`, `OrderedDict(..)`. */
export const isDictionary = (node: Node): boolean =>
  node.kind === 'dictionary' ||
  (node.kind === 'call' && /^(\w+\.)?(Ordered)?[dD]ict$/.test(textOf(childOf(node, 'function') ?? node)));

const NEVER = /^((\w+\.)?TYPE_CHECKING|False|0)$/;

/** Bindings of an import statement, also those inside functions. */
export function importBindings(node: Node, into: Map<string, Binding>, starred: string[]): void {
  const from = node.kind === 'import_from_statement' ? childOf(node, 'module_name') : null;
  const module = from ? textOf(from).replace(/\s/g, '') : null;
  for (const child of node.children) {
    if (child === from) continue;
    if (child.kind === 'wildcard_import' && module) starred.push(module);
    const path = child.kind === 'aliased_import' ? childOf(child, 'name') : child.kind === 'dotted_name' ? child : null;
    const alias = child.kind === 'aliased_import' ? childOf(child, 'alias') : null;
    if (!path) continue;
    const dotted = textOf(path);
    if (module !== null) into.set(textOf(alias ?? path), { kind: 'import', module, name: dotted });
    else if (alias) into.set(textOf(alias), { kind: 'import', module: dotted, name: null });
    else {
      const [first] = dotted.split('.');
      if (first) into.set(first, { kind: 'import', module: first, name: null });
    }
  }
}
