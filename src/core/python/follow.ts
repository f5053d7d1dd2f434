/** Which calls are followed for what they return, though they are given no replica. */
import { parametersOf } from './arguments';
import { isConstructor } from './constructors';
import { buildsAttributes, buildsLayers, buildsParts } from './entries';
import type { ClassModel, FunctionModel } from './model';
import { producesReplicas } from './producers';
import type { Project } from './project';
import type { Frame } from './run';
import type { Node } from './syntax';
import type { Value } from './value';

/** Characters. */
const SMALL = 700;
const TINY = 100;
/** Of a function of another file that is given no copy: what sizes and flags it gives seldom decides anything. */
const SMALL_ELSEWHERE = 300;

export const isSmall = ({ node }: FunctionModel): boolean => node.end - node.start < SMALL;

/** `def exists(x): return x is not None`: what a constructor decides by such a function is decided at any depth. */
export const isTiny = (node: Node): boolean => node.end - node.start < TINY;

/** `spread(x, dim, n)`: along which axis it copies, and whether it does, is known where it is called. */
export const copiesAlongParameter = (model: FunctionModel): boolean =>
  isSmall(model) && producesReplicas(model) && parametersOf(model).some(({ name }) => /^(\w+_)?(dim|axis)$/.test(name));

/** A function that makes copies where it is called. */
export function makesCopies(value: Value): boolean {
  switch (value.kind) {
    case 'function':
      return producesReplicas(value.model);
    case 'partial':
      return makesCopies(value.target);
    case 'union':
      return value.options.some((option) => makesCopies(option.value));
    default:
      return false;
  }
}

/** Without a replica among its arguments a call tells of layers, sizes and flags: followed where that is cheap. */
export function isWorthItsSize(model: FunctionModel, self: Value | null, frame: Frame, project: Project): boolean {
  const [small, { name, owner, node }] = [isSmall(model), model];
  if (!frame.building) return small && (project.isMain(model.file) || (name !== 'forward' && tellsMuch(node)));
  if (/reset|init_weights|_init_\w*weights?/.test(name)) return false;
  if (owner !== null && !isOfModule(owner, self, frame, project))
    return buildsParts(model, small) || (small && isConstructor(name));
  return small || isConstructor(name) || buildsLayers(model) || buildsAttributes(model) || MAKES_MODEL.test(name);
}

/** What a function of another file gives counts if that is a function, `embed, width = get_embedder(10)`, or made of a class. */
const tellsMuch = ({ file, start, end }: Node): boolean =>
  end - start < SMALL_ELSEWHERE ||
  /\blambda\b|\n[ \t]+def |(\breturn|=) (\w+\.)*[A-Z]\w*\(/.test(file.text.slice(start, end));

/** `load_model(options)`, by which a script makes what it hands to others. */
const MAKES_MODEL = /^_*(load|build|create|make|get|init(ialize)?|setup)_(\w+_)?(model|net|network|agent|policy)$/;

/** Methods of a mixin make the layers of the module that it is mixed into. */
function isOfModule(owner: ClassModel, self: Value | null, frame: Frame, project: Project): boolean {
  const item = self?.kind === 'ref' ? frame.state.heap.peek(self.id) : undefined;
  return project.isModule(owner) || (item?.kind === 'object' && item.model !== null && project.isModule(item.model));
}
