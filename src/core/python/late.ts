/** Attributes that a class makes after its constructor: in `setup`, `build` or `_init_model`, which whoever uses it calls, or what indexes, anywhere. */
import type { ClassModel, FunctionModel } from './model';
import type { Project } from './project';
import { Names } from './names';
import type { Frame, Run } from './run';
import { type Node, textOf } from './syntax';
import { NO_ARGS, type RefValue } from './value';
import { LETTER, patternOf } from './words';

const BUILDER =
  /^(?!__init__$)_*(init(ialize)?|build|set_?up|create|make|configure|define|construct|prepare|preprocess)(_(?!\w*weights?$)\w+)?$/;
/** What a call makes: layers, no names and flags. */
const ASSIGNED = patternOf(`\\bself\\.(${LETTER}+)\\s*(?::[^=\\n]+)?=\\s*[A-Za-z_][\\w.]*\\(`, 'gu');
/** Levels of base classes. */
const MAX_LEVELS = 6;

const builders = new WeakMap<ClassModel, ReadonlyMap<string, FunctionModel>>();

/** The method of this class or of one that it derives from that makes the attribute, by its text; a class's own comes first. */
export function builderOf(
  model: ClassModel,
  name: string,
  project: Pick<Project, 'bases'>,
  level = 0,
): FunctionModel | null {
  let known = builders.get(model);
  if (!known) builders.set(model, (known = buildersIn(model)));
  const own = known.get(name);
  if (own || level === MAX_LEVELS) return own ?? null;
  for (const base of project.bases(model)) {
    const found = typeof base === 'string' ? null : builderOf(base, name, project, level + 1);
    if (found) return found;
  }
  return null;
}

function buildersIn({ methods }: ClassModel): ReadonlyMap<string, FunctionModel> {
  const found = new Map<string, FunctionModel>();
  for (const method of methods.values()) {
    if (!BUILDER.test(method.name)) continue;
    const text = textOf(method.node);
    for (const [, name = ''] of text.matchAll(ASSIGNED(text))) if (!found.has(name)) found.set(name, method);
  }
  return found;
}

/** What the ends of edges are read from. */
const EDGES = /\bedge_(index|list)\b|\b_?indices\(\)/;

/**
 * The method, whatever it is called, that alone sets an attribute that indexes: `self.row = adj._indices()[0]`. Whoever indexes by it has
 * called that before.
 */
export function setterOf({ methods }: ClassModel, name: string, use: Node): FunctionModel | null {
  if (use.field !== 'subscript' || use.parent?.kind !== 'subscript') return null;
  const set = new RegExp(`\\bself\\.${name}\\s*(?:=(?!=)|,[^=\\n()]{0,200}=(?!=)|\\[)`);
  const [only, ...more] = [...methods.values()].filter(({ node }) => set.test(textOf(node)));
  return only && more.length === 0 && EDGES.test(textOf(only.node)) ? only : null;
}

/** Branches of an entry may each have to run it for themselves. */
const MAX_RUNS = 8;
const runs = new WeakMap<Run, Map<Node, number>>();

/** Runs a method that makes attributes, with unknown arguments. */
export function buildLate(self: RefValue, builder: FunctionModel | null, node: Node, frame: Frame, run: Run): void {
  if (!builder) return;
  const counted = runs.get(run) ?? new Map<Node, number>();
  runs.set(run, counted);
  const before = counted.get(builder.node) ?? 0;
  if (before >= MAX_RUNS) return;
  // Not again while it runs: what it reads of itself is not there yet.
  counted.set(builder.node, MAX_RUNS);
  const state = { ...frame.state, names: new Names(), path: [] };
  const inside: Frame = { ...frame, function: null, closure: null, state, depth: 0, returns: [], building: true };
  run.callFunction(builder, self, null, { ...NO_ARGS, open: true }, node, inside);
  counted.set(builder.node, before + 1);
}
