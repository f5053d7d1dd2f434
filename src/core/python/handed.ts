/** Networks that a constructor is handed: what the constructions of its class that can be seen pass. */
import { parametersOf } from './arguments';
import { alike } from './builtins';
import type { ClassModel, FileModel, FunctionModel } from './model';
import { Names } from './names';
import type { Frame, Run } from './run';
import { type Node, childOf, enclosing, innermostAt, scopeOf, textOf } from './syntax';
import type { Condition, Value } from './value';

const MAX_CONSTRUCTIONS = 6;
const MAX_KINDS = 4;
/** Assignments of local names to each other that are followed. */
const MAX_STEPS_BACK = 4;

/** Names under which networks are handed over, of those that are not annotated and not called in the class itself. */
const NETWORK =
  /^_*(\w+_)?(net|network|model|actor|critic|policy|encoder|decoder|backbone|head|module|layer|block|mlp|generator|discriminator|agent|vae|dynamics|embedder|attention|tower|extractor|q_?func\w*|qf|vf)s?_?\d*$/;

/** Parameters of a constructor that may be networks, by their annotations, their names and what the class does with them. */
function networksAmong(init: FunctionModel, model: ClassModel): readonly string[] {
  const text = textOf(model.node);
  return parametersOf(init).flatMap(({ name, kind, annotation, fallback }) => {
    if (kind !== 'plain' || name === 'self' || (fallback !== null && fallback.kind !== 'none')) return [];
    if (annotation !== null && !/Module|Callable|Any$/.test(annotation)) return [];
    return annotation?.includes('Module') || NETWORK.test(name) || text.includes(`self.${name}(`) ? [name] : [];
  });
}

/** By parameter, where all that is known of it are modules; each of several with the condition that it is this one. */
export function networksHandedIn(
  model: ClassModel,
  init: FunctionModel,
  [own, others]: readonly [own: readonly FileModel[], others: () => readonly FileModel[]],
  frame: Frame,
  run: Run,
  bound: (call: Node, file: FileModel, names: Names) => ReadonlyMap<string, Value>,
): ReadonlyMap<string, Value> {
  const wanted = networksAmong(init, model);
  const found = new Map<string, Value>();
  if (wanted.length === 0) return found;
  const made = (files: readonly FileModel[]): readonly { call: Node; file: FileModel }[] =>
    files.flatMap((file) => {
      const named = run.global(model.name, file, frame);
      const isOther = named?.kind === 'class' && named.model !== model;
      return isOther ? [] : callsOf(model.name, file).map((call) => ({ call, file }));
    });
  const near = made(own);
  const constructions = (near.length > 0 ? near : made(others()))
    .slice(0, MAX_CONSTRUCTIONS)
    .map(({ call, file }) => bound(call, file, localsOf(call, file, frame, run)));
  for (const name of wanted) {
    const kinds: Value[] = [];
    for (const given of constructions) {
      const value = given.get(name);
      if (value && isNetwork(value, frame, run) && !kinds.some((kind) => kind === value || alike([kind, value], frame)))
        kinds.push(value);
    }
    const [only] = kinds;
    if (only) found.set(name, kinds.length === 1 ? only : oneOf(name, kinds.slice(0, MAX_KINDS), frame));
  }
  return found;
}

function oneOf(name: string, kinds: readonly Value[], frame: Frame): Value {
  const options = kinds.map((value) => {
    const text = `${name} is a ${classOf(value, frame)}`;
    const when: Condition = { key: `${text}@handed`, text, holds: true };
    return { value, when: [when] };
  });
  return { kind: 'union', options };
}

function classOf(value: Value, frame: Frame): string {
  const item = value.kind === 'ref' ? frame.state.heap.peek(value.id) : undefined;
  if (value.kind === 'layer') return value.name;
  return item?.kind === 'object' && item.model ? item.model.name : item?.kind === 'list' ? item.tag : 'tuple';
}

function isNetwork(value: Value, frame: Frame, run: Run): boolean {
  if (value.kind === 'layer') return true;
  if (value.kind === 'tuple') return value.items.length > 0 && value.items.every((v) => isNetwork(v, frame, run));
  const item = value.kind === 'ref' ? frame.state.heap.peek(value.id) : undefined;
  if (item?.kind === 'list') return item.items.length > 0 && item.items.every((v) => isNetwork(v, frame, run));
  return item?.kind === 'object' && item.model !== null && run.isModule(item.model);
}

/** Where a file constructs the class, as far as its name says. */
function callsOf(name: string, { file }: FileModel): readonly Node[] {
  const found: Node[] = [];
  for (let at = file.text.indexOf(`${name}(`); at >= 0; at = file.text.indexOf(`${name}(`, at + 1)) {
    if (/\w/.test(file.text.charAt(at - 1)) || /(class|def) $/.test(file.text.slice(at - 6, at))) continue;
    const call = enclosing(innermostAt(file.root, at), 'call');
    const callee = call && childOf(call, 'function');
    if (call && callee && callee.end === at + name.length) found.push(call);
  }
  return found;
}

/** Local names that the arguments of a call speak of, by what they were last assigned. */
function localsOf(call: Node, file: FileModel, frame: Frame, run: Run): Names {
  const scope = scopeOf(call);
  const names = new Names();
  const list = childOf(call, 'arguments');
  if (list) learn(list, MAX_STEPS_BACK);
  return names;

  function learn(node: Node, left: number): void {
    if (left === 0) return;
    for (const [name] of textOf(node).matchAll(/(?<![.\w'"])[A-Za-z_]\w*(?!\w*\s*=[^=])/g)) {
      if (names.get(name)) continue;
      const value = assignedLast(name, node.start);
      if (!value) continue;
      learn(value, left - 1);
      names.set(
        name,
        run.evaluate(value, { ...frame, file, function: null, closure: null, state: { ...frame.state, names } }),
      );
    }
  }

  function assignedLast(name: string, before: number): Node | null {
    const text = file.file.text.slice(scope.start, before);
    const at = [...text.matchAll(new RegExp(`^[ \\t]*${name}[ \\t]*=(?!=)`, 'gm'))].at(-1);
    if (!at) return null;
    const assignment = enclosing(innermostAt(file.file.root, scope.start + at.index + at[0].length - 1), 'assignment');
    return assignment && childOf(assignment, 'right');
  }
}
