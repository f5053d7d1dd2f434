/** In which order the functions of a file are evaluated: what makes replicas, what uses their results, and so on. */
import { callersOf, inheritedCallers, isEntry, ownersOf, usersOf, usersOfLambdas } from './entries';
import { isSmall } from './follow';
import type { ClassModel, FunctionModel } from './model';
import { producesReplicas } from './producers';
import type { Project } from './project';
import type { Node } from './syntax';

interface Evaluation {
  readonly project: Project;
  /** What is too large to be followed for its size alone, and makes no replica itself, but returns one; added to. */
  readonly passing: Set<Node>;
  /** May it make a replica, or call what does? */
  isFirst(model: FunctionModel): boolean;
  evaluate(model: FunctionModel, owner: ClassModel | null): void;
  /** Did it, evaluated, return a replica? */
  isLoud(model: FunctionModel): boolean;
  /** What was found out about it, which is evaluated again. */
  forget(model: FunctionModel): void;
}

export function inWaves({ project, passing, isFirst, evaluate, isLoud, forget }: Evaluation): void {
  const waiting = new Set(project.main.functions.filter(isEntry));
  const users = usersOfLambdas(project);
  const start = [...waiting].filter((model) => isFirst(model) || users.includes(model));
  const once = new Set(start);
  for (let next: readonly FunctionModel[] = start; next.length > 0;) {
    for (const model of next) {
      waiting.delete(model);
      for (const owner of ownersOf(model, project)) evaluate(model, owner);
    }
    // Whose result holds a replica hands it to what calls it, or to the modules that contain it.
    const loud = next.filter(isLoud);
    for (const { name, owner } of loud)
      if (owner) for (const caller of inheritedCallers(owner, name, project)) evaluate(caller, owner);
    // Those that were evaluated before it was known that what they call passes replicas on are evaluated again, each once.
    const passed = loud.filter((f) => !producesReplicas(f) && !isSmall(f) && !passing.has(f.node));
    for (const { node } of passed) passing.add(node);
    const again = callersOf(passed, once);
    for (const model of again) {
      once.delete(model);
      forget(model);
    }
    next = [...usersOf(loud, waiting), ...again];
  }
}
