/** What runs when an object is made. */
import type { ClassModel, FunctionModel } from './model';
import type { Run } from './run';

const [INIT, POST_INIT] = ['__init__', '__post_init__'];

export const isConstructor = (name: string): boolean => name === INIT || name === POST_INIT;

/** `__init__`, or what a dataclass runs after the one that is made for it, when its fields are set. */
export const constructorOf = (model: ClassModel, project: Pick<Run, 'method'>): FunctionModel | null =>
  model.methods.get(INIT) ??
  model.methods.get(POST_INIT) ??
  project.method(model, INIT) ??
  project.method(model, POST_INIT);

/** It is handed nothing: what the object is made with are fields. */
export const takesFields = (init: FunctionModel | null): boolean => init?.name !== INIT;
