/**
 * Constructors of base classes that make no layers, `MessagePassing.__init__(aggr='add')`: most of what they set nobody asks for, so
 * they run when something asks for an attribute that they may set.
 */
import type { Inherited } from './heap';
import type { ClassModel } from './model';
import type { Run } from './run';
import { textOf } from './syntax';

/** Levels of base classes. */
const MAX_LEVELS = 8;

/** Could one of the constructors that were put off set the attribute? */
export const mayInherit = (inherits: readonly Inherited[], name: string, bases: Bases): boolean =>
  inherits.some(({ init }) => init.owner !== null && maySet(init.owner, name, bases));

type Bases = Pick<Run, 'bases'>;

/** By its text, and those of its bases. */
export function maySet(model: ClassModel, name: string, project: Bases, level = 0): boolean {
  // What is a method, too, is that unless the constructor itself replaces it.
  const init = model.methods.has(name) ? model.methods.get('__init__') : undefined;
  const text = textOf(init?.node ?? model.node);
  return (
    text.includes(`'${name}'`) ||
    text.includes(`"${name}"`) ||
    (text.includes(`self.${name}`) && new RegExp(`\\bself\\.${name}\\b\\s*(:[^=\\n]+)?(=(?!=)|,)`).test(text)) ||
    (level < MAX_LEVELS &&
      project.bases(model).some((base) => typeof base !== 'string' && maySet(base, name, project, level + 1)))
  );
}
