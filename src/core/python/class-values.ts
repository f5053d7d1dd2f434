/** What a class keeps for all of its objects: a table of classes, or one of them. */
import { layerName } from './layers';
import type { ClassModel, FileModel } from './model';
import type { Project } from './project';
import type { Node } from './syntax';
import type { Value } from './value';

/** Classes above one another in which a value is looked for. */
const MAX_BASES = 4;

/** Of the class or of the first base that has the name; `evaluate` for what stands there. Null for other values. */
export function classValue(
  model: ClassModel,
  name: string,
  project: Pick<Project, 'bases'>,
  evaluate: (node: Node, file: FileModel) => Value,
  depth = 0,
): Value | null {
  const own = model.attributes.get(name);
  if (own) {
    const value = /^(dictionary|identifier|attribute)$/.test(own.kind) ? evaluate(own, model.file) : null;
    const makes = value?.kind === 'class' || (value?.kind === 'name' && layerName(value.path) !== null);
    return makes || (own.kind === 'dictionary' && value?.kind === 'ref') ? value : null;
  }
  if (depth >= MAX_BASES) return null;
  for (const base of project.bases(model)) {
    const found = typeof base === 'string' ? null : classValue(base, name, project, evaluate, depth + 1);
    if (found) return found;
  }
  return null;
}
