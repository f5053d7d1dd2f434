/** Networks that a function is given: what the calls of it that can be seen pass, also by way of other functions. */
import { type Parameter, parametersOf } from './arguments';
import { frameOf } from './frame';
import { NETWORK, callsOf, localsOf, networkOf } from './handed';
import type { FileModel, FunctionModel } from './model';
import type { Project } from './project';
import type { Frame, Run } from './run';
import { handedAs } from './spare';
import { type Node, childOf, enclosing, innermostAt, scopeOf, textOf } from './syntax';
import type { Value } from './value';

const MAX_CALLS = 6;
/** Functions that hand on what they are given. */
const MAX_LEVELS = 3;

type Asked = Pick<Project, 'main' | 'naming'>;

/** By parameter, where what is known of it are modules or functions. */
export function networksPassed(
  model: FunctionModel,
  project: Asked,
  frame: Frame,
  run: Run,
): ReadonlyMap<string, Value> {
  const found = new Map<string, Value>();
  const text = textOf(model.node);
  for (const parameter of parametersOf(model)) {
    if (!mayBeNetwork(parameter, text)) continue;
    const network = networkOf(parameter.name, passedAs(parameter.name, model, MAX_LEVELS), frame, run);
    if (!network) continue;
    handedAs(parameter, network);
    found.set(parameter.name, network);
  }
  return found;

  function passedAs(name: string, callee: FunctionModel, levels: number): readonly Value[] {
    if (levels === 0) return [];
    const at = parametersOf(callee).findIndex((parameter) => parameter.name === name);
    const near = [...new Set([callee.file, project.main])].flatMap((file) => callsIn(callee, file));
    const calls = near.length > 0 ? near : project.naming(callee).flatMap((file) => callsIn(callee, file));
    return calls.slice(0, MAX_CALLS).flatMap(({ call, file }) => {
      const given = argumentAt(call, at, name);
      return given === 'hidden' ? underKey(name, file) : given ? valuesOf(given, file, levels) : [];
    });
  }

  function callsIn(callee: FunctionModel, file: FileModel): readonly { call: Node; file: FileModel }[] {
    return callsOf(callee.name, file).flatMap((call) => {
      const named = childOf(call, 'function');
      const value = named && isNamed(named, file) ? run.evaluate(named, frameOf(file)) : null;
      return value?.kind === 'function' && value.model.node === callee.node ? [{ call, file }] : [];
    });
  }

  /** What an argument may be; of what the function around it is given itself, what that is given. */
  function valuesOf(given: Node, file: FileModel, levels: number): readonly Value[] {
    const scope = scopeOf(given);
    const parameters = childOf(scope, 'parameters');
    const name = textOf(given);
    if (
      given.kind === 'identifier' &&
      parameters &&
      new RegExp(`(^|[(,*\\s])${name}\\s*([,):=]|$)`).test(textOf(parameters))
    ) {
      const around = file.functions.find(({ node }) => node === scope);
      return around ? passedAs(name, around, levels - 1) : underKey(name, file);
    }
    const names = localsOf(given, [given], file, frame, run);
    return [run.evaluate(given, { ...frameOf(file), state: { ...frame.state, names }, building: true })];
  }

  /** What a dictionary holds, or a call passes, under the name: arguments go through `**kwargs` by it. */
  function underKey(name: string, { file, ...rest }: FileModel): readonly Value[] {
    const pattern = new RegExp(`(['"])${name}\\1[ \\t]*:|(?<=[(,]\\s*)${name}[ \\t]*=(?!=)`, 'g');
    return [...file.text.matchAll(pattern)].slice(0, MAX_CALLS).flatMap((key) => {
      const pair = enclosing(innermostAt(file.root, key.index), 'pair', 'keyword_argument', 'function_definition');
      const value = pair && childOf(pair, 'value');
      return value ? valuesOf(value, { file, ...rest }, 1) : [];
    });
  }
}

/** `evaluate(..)`, or `utils.evaluate(..)` through a module. */
function isNamed(callee: Node, file: FileModel): boolean {
  const module = callee.kind === 'attribute' ? childOf(callee, 'object') : null;
  const [first = ''] = module ? textOf(module).split('.') : [];
  return module ? file.names.get(first)?.kind === 'import' : callee.kind === 'identifier';
}

function mayBeNetwork({ name, kind, annotation, fallback }: Parameter, text: string): boolean {
  if (kind !== 'plain' || name === 'self' || (fallback !== null && fallback.kind !== 'none')) return false;
  if (annotation !== null && !/Module|Callable|Any$/.test(annotation)) return false;
  return (
    annotation?.includes('Module') ||
    NETWORK.test(name) ||
    /(^|_)(fn|func)$/.test(name) ||
    new RegExp(`(?<![.\\w])${name}(\\[\\w+\\])?\\(`).test(text)
  );
}

/** The argument that a call passes as a parameter; `hidden` where it may be in what is unpacked. */
function argumentAt(call: Node, at: number, name: string): Node | 'hidden' | null {
  const given = childOf(call, 'arguments')?.children ?? [];
  const keyword = given.find(
    (node) => node.kind === 'keyword_argument' && textOf(childOf(node, 'name') ?? node) === name,
  );
  if (keyword) return childOf(keyword, 'value');
  const splat = given.findIndex(({ kind }) => kind === 'list_splat');
  const positional = given[at];
  if (positional && (splat < 0 || at < splat) && !/splat|keyword/.test(positional.kind)) return positional;
  return given.some(({ kind }) => /splat/.test(kind)) ? 'hidden' : null;
}
