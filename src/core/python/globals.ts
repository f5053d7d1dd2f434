/** What names mean at the level of a module. */
import { outside } from './constants';
import { type FileModel, isDictionary } from './model';
import { Names } from './names';
import type { Project } from './project';
import type { Frame, Run } from './run';
import { type State, unknown } from './state';
import { type Node, childOf, textOf } from './syntax';
import { type Value, name as nameOf } from './value';

export interface Globals {
  /** A name that is not a local: module level, imports, other files. */
  named(name: string, file: FileModel, frame: Frame): Value | null;
  /** Module-level values that code depends on: constants and plain aliases. */
  valueOf(node: Node, file: FileModel, frame: Frame): Value;
}

/** `run` evaluates the values, each once. */
export function createGlobals(project: Pick<Project, 'lookup'>, run: () => Pick<Run, 'evaluate' | 'assign'>): Globals {
  const known = new Map<Node, Value>();
  return { named, valueOf };

  function named(name: string, file: FileModel, frame: Frame): Value | null {
    const found = project.lookup(name, file);
    if (!found) return name === 'super' || name === 'self' ? nameOf(name) : null;
    switch (found.kind) {
      case 'function':
        return { kind: 'function', model: found, self: null, closure: null };
      case 'class':
        return { kind: 'class', model: found };
      case 'external':
        return outside(found.path);
      case 'module':
        return { kind: 'module', file: found.file };
      case 'value':
        return valueOf(found.node, found.file, frame);
    }
  }

  function valueOf(node: Node, file: FileModel, frame: Frame): Value {
    const before = known.get(node);
    if (before && (before.kind !== 'ref' || frame.state.heap.peek(before.id))) return before;
    known.set(node, unknown());
    if (!/^(integer|float|string|true|false|none|attribute|identifier|tuple|lambda|dictionary|call)$/.test(node.kind))
      return unknown();
    const isTable = isDictionary(node);
    if (node.kind === 'call' && !isTable && !/partial\(|\bnn\.[A-Z]/.test(textOf(node).slice(0, 40))) return unknown();
    const state: State = { names: new Names(), heap: frame.state.heap, path: [] };
    const top: Frame = { ...frame, file, function: null, closure: null, state };
    const value = run().evaluate(node, top);
    for (const assignment of file.entries.get(node) ?? []) {
      const [target, item] = [childOf(assignment, 'left'), childOf(assignment, 'right')];
      const name = target && childOf(target, 'value');
      if (!target || !item || !name) continue;
      state.names.set(textOf(name), value);
      // Of what is no name, the value that the literal has is none any more.
      run().assign(
        target,
        /^(identifier|attribute|lambda)$/.test(item.kind) ? run().evaluate(item, top) : unknown(),
        top,
      );
    }
    // What a list or an object holds is in the heap of whoever asked first.
    const shared = !isTable && value.kind === 'ref' ? unknown() : value;
    known.set(node, shared);
    return shared;
  }
}
