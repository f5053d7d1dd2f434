/** Which constructors of base classes are kept for later, see `inherited.ts`. */
import { buildsLayers } from './entries';
import type { Inherited } from './heap';
import type { ClassModel } from './model';
import type { Project } from './project';
import { maySet } from './inherited';
import type { Frame } from './run';
import type { Value } from './value';

/** Levels of base classes. */
const MAX_LEVELS = 8;

/**
 * True where the constructor is kept for later: called by that of a class of another file, setting no layers, and nothing that is
 * set already.
 */
export function putOff(inherited: Inherited, self: Value | null, frame: Frame, project: Project): boolean {
  const { owner, file, name } = inherited.init;
  if (name !== '__init__' || !owner || self?.kind !== 'ref' || frame.function?.name !== '__init__') return false;
  if (frame.function.owner === owner || frame.file === file || !isPlain(owner, project)) return false;
  const item = frame.state.heap.peek(self.id);
  if (item?.kind !== 'object' || [...item.attributes.keys()].some((set) => maySet(owner, set, project))) return false;
  frame.state.heap.set(self.id, { ...item, inherits: [...(item.inherits ?? []), inherited] });
  return true;
}

const plain = new WeakMap<ClassModel, boolean>();

/** Neither its constructor nor those of its bases make layers. */
function isPlain(model: ClassModel, project: Project, level = 0): boolean {
  const known = plain.get(model);
  if (known !== undefined) return known;
  const init = model.methods.get('__init__');
  const found =
    level < MAX_LEVELS &&
    !(init && buildsLayers(init)) &&
    project.bases(model).every((base) => typeof base === 'string' || isPlain(base, project, level + 1));
  plain.set(model, found);
  return found;
}
