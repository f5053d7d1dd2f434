/**
 * Evaluation of function bodies over abstract values. Functions that may produce a replica are entries with unknown
 * arguments; what they call is followed with the values it gets, to a bounded depth.
 */
import { freshId } from '../tensor/shape';
import { LOADS_SEEDS } from './index-names';
import { attributeOf } from './attributes';
import { isStub, statedResult } from './annotations';
import { unknownParameters } from './arguments';
import { itemsOf } from './builtins';
import { callValue } from './calls';
import { carries, keepsCopies } from './held';
import { functionOf, worksAtTopLevel } from './entries';
import type { Evaluation, Source } from './evaluation';
import { evaluateExpression } from './expressions';
import { container, containerOf, fieldsGiven } from './containers';
import { copiesAlongParameter, isSmall, makesCopies, isTiny, isWorthItsSize } from './follow';
import { calleeFrame } from './callee-frame';
import { frameOf } from './frame';
import { createGlobals } from './globals';
import { networksHandedIn } from './handed';
import { Heap } from './heap';
import { buildLate, builderOf, setterOf } from './late';
import { classValue } from './class-values';
import { constructorOf, takesFields } from './constructors';
import { layerOf } from './layers';
import type { Quiet } from './library';
import type { ClassModel, FunctionModel } from './model';
import { Names } from './names';
import { networksPassed } from './passed';
import { producesReplicas } from './producers';
import { putOff } from './put-off';
import { createQuiet } from './quiet';
import type { Project } from './project';
import { adoptReturned, broughtHome, returned } from './returned';
import type { Frame, Run } from './run';
import { type State, unknown } from './state';
import { runUncalled } from './uncalled';
import { assign } from './assign';
import { inWaves } from './waves';
import { runBlock, runStatement } from './statements';
import { type Node, childOf, textOf } from './syntax';
import { type Args, NONE, NO_ARGS, type Scope, type Value } from './value';

const MAX_DEPTH = 8;
/** Constructors that call what makes layers that make layers: each only when something asks for one of its layers. */
const MAX_BUILDING_DEPTH = 8;
const MAX_STEPS = 40_000;
/** Steps to find out what a function of another file makes: what takes longer is no helper that repeats something. */
const MAX_STEPS_ELSEWHERE = 1_000;
/** A call that is given no copy and returns none is followed for its sizes and flags if that took fewer the last time. */
const FEW_STEPS = 200;
/** A class, those that it holds, and those that these hold. */
const MAX_ROUNDS = 3;

/**
 * False, without a parse of the main file, where no function that it imports returns a replica and it makes none.
 * `quietElsewhere` remembers, between files, which functions of other files return no replica of their own making.
 */
export function evaluateFile(
  project: Project,
  { text, isProductive, callsProducer }: Source,
  evaluation: Evaluation,
  quietElsewhere: WeakMap<Node, Quiet>,
): boolean {
  const made = new Map<ClassModel, { value: Value; state: State }>();
  /** Classes whose constructions were looked for, and those that are handed networks there. */
  const [asked, served] = [new Set<ClassModel>(), new Set<ClassModel>()];
  /** Parameters of constructors of which nothing is known, and the classes of those that were called with copies. */
  const parameterOf = new WeakMap<Value, ClassModel>();
  let lacking: ReadonlySet<ClassModel> = new Set();
  const globals = createGlobals(project, () => run);
  const nothing = new Heap();
  const active: Node[] = [];
  const quiet = createQuiet();
  /** What is too large to be followed for its size alone, and makes no replica itself, but returns one that it gets from elsewhere. */
  const passing = new Set<Node>();
  /** Functions that hand copies to what they are given, a network by one caller and none by another, or keep them in attributes. */
  const handing = new Set<Node>();
  /** Steps that functions took the last time. */
  const took = new Map<Node, number>();
  let steps = 0;
  let entry: Node | null = null;
  /** Parameters of the entry, and whether one that was handed in was called with copies. */
  let handed: ReadonlySet<Value> = new Set();
  let isOpen = false;
  /** Copies met something that is not known. */
  let isStuck = false;
  let exhausted = false;
  /** A constructor that was put off and runs now. */
  let asking: FunctionModel | null = null;
  /** Evaluating a function of another file for what it returns, not for its sinks. */
  let aside = false;

  const run: Run = {
    evaluate: (node, frame) => evaluateExpression(node, frame, run),
    call: (callee, args, node, frame) => callValue(callee, args, node, frame, run),
    callFunction,
    attribute: (value, name, node, frame) => attributeOf(value, name, node, frame, run),
    items: itemsOf,
    assign: (target, value, frame) => assign(target, value, frame, run),
    sink(event) {
      if (!aside) evaluation.onSink(event);
    },
    open(callee) {
      isStuck = true;
      isOpen ||= callee !== null && handed.has(callee);
      const holder = callee && parameterOf.get(callee);
      if (holder) lacking = new Set([...lacking, holder]);
    },
    note: evaluation.onNote,
    global: globals.named,
    classValue: (model, name, frame) =>
      classValue(model, name, project, (node, file) => globals.valueOf(node, file, frame)),
    instantiate,
    instance(model, frame) {
      const { value, state } = instanceOf(model);
      for (const [key, item] of state.heap.since(nothing)) frame.state.heap.set(key, item);
      return value;
    },
    buildLate: (self, model, name, node, frame) =>
      budgeted(() => buildLate(self, builderOf(model, name, project) ?? setterOf(model, name, node), node, frame, run)),
    isModule: (model) => project.isModule(model),
    bases: (model) => project.bases(model),
    moduleNamed: (name, file) => project.moduleNamed(name, file),
    sibling: (name, file) => project.sibling(name, file),
    method: (model, name) => project.method(model, name),
    stub: (model) => project.stub(model),
    step(count = 1) {
      steps += count;
      if (steps <= (aside ? MAX_STEPS_ELSEWHERE : MAX_STEPS)) return true;
      if (!exhausted && entry && !aside)
        evaluation.onNote(entry, 'analysis of this function stopped: it is too large to be followed to its end');
      exhausted = true;
      return false;
    },
    manyToOne: evaluation.manyToOne,
    areLabelsSeeds: LOADS_SEEDS.test(text),
    stated: evaluation.stated,
    nameSymbol: evaluation.onName,
  };

  function callFunction(
    model: FunctionModel,
    self: Value | null,
    closure: Scope | null,
    args: Args,
    node: Node,
    frame: Frame,
  ): Value {
    const deepest = frame.building && !isTiny(model.node) ? MAX_BUILDING_DEPTH : MAX_DEPTH;
    const values = [...args.positional, ...args.keywords.values()];
    const given = values.some((v) => carries(v, frame, run));
    // Once more within itself, if there is something that it could add.
    const again = given || producesReplicas(model) || values.some(makesCopies) ? 1 : 0;
    if (frame.depth >= deepest || active.filter((n) => n === model.node).length > again) return unknown();
    const follow =
      given ||
      (isWorthItsSize(model, self, frame, project) && (frame.building || !isLong(model, args))) ||
      passing.has(model.node) ||
      (producesReplicas(model) && !quiet.has(model.node, args) && !isQuietElsewhere(model));
    if (follow && !given && frame.building && model !== asking) {
      const later = (heap: Heap, statements: readonly Node[] | null): void => {
        const inside: Frame = { ...frame, state: { names: new Names(), heap, path: frame.state.path }, returns: [] };
        asking = statements ? null : model;
        budgeted(() => {
          if (!statements) callFunction(model, self, null, args, node, inside);
          else {
            const inner = calleeFrame(model, self, null, args, node, inside, run);
            for (const statement of statements) runStatement(statement, inner, run);
            adoptHeap(inside, inner);
          }
        });
      };
      if (putOff({ init: model, run: later, asked: new Set() }, self, frame, project)) return NONE;
    }
    asking = null;
    // Asked for last, since a body that nobody has looked into yet costs a parse.
    const body = follow && !isStub(model) ? childOf(model.node, 'body') : null;
    if (!body) return statedResult(model, self, args, run) ?? unknown();
    const inner = calleeFrame(model, self, closure, args, node, frame, run);
    active.push(model.node);
    const before = steps;
    if (model.node.kind === 'lambda')
      inner.returns.push({ value: run.evaluate(body, inner), when: inner.state.path, heap: inner.state.heap });
    else runBlock(body, inner, run);
    took.set(model.node, steps - before);
    active.pop();
    adoptHeap(frame, inner);
    adoptReturned(frame, inner);
    const value = returned(inner);
    const isQuiet =
      !given && !frame.building && !carries(value, frame, run) && !makesCopies(value) && !copiesAlongParameter(model);
    if (isQuiet && !handing.has(model.node)) quiet.add(model.node, args);
    return project.isMain(frame.file) && !project.isMain(model.file)
      ? broughtHome(value, args, node, frame, run)
      : value;
  }

  /** Known to return no copy of its own making, and to take long. */
  const isLong = ({ node }: FunctionModel, args: Args): boolean =>
    (took.get(node) ?? 0) >= FEW_STEPS && quiet.has(node, args);

  /** Asked once per engine, with unknown arguments, so that the answer does not depend on who asks first. */
  function isQuietElsewhere(model: FunctionModel): boolean {
    if (project.isMain(model.file)) return false;
    const known = quietElsewhere.get(model.node);
    if (known && project.holds(known.asked)) return known.isQuiet;
    quietElsewhere.set(model.node, { isQuiet: true, asked: project.asked() });
    const outer = { aside, steps, entry, exhausted };
    aside = true;
    evaluateEntry(model, model.owner && project.isModule(model.owner) ? model.owner : null);
    const isQuiet = quiet.has(model.node) || exhausted;
    ({ aside, steps, entry, exhausted } = outer);
    quietElsewhere.set(model.node, { isQuiet, asked: project.asked() });
    return isQuiet;
  }

  /** What the callee did to lists and objects stays done. */
  function adoptHeap(frame: Frame, inner: Frame): void {
    for (const [id, item] of inner.state.heap.since(frame.state.heap)) frame.state.heap.set(id, item);
  }

  function instantiate(model: ClassModel, args: Args, node: Node, frame: Frame): Value {
    // Built from a registry that text does not show: known by its name.
    if (model.name === 'ConvModule') return layerOf(model.name, args, node) ?? unknown();
    const id = freshId();
    const self: Value = { kind: 'ref', id };
    const init = constructorOf(model, project);
    const isOfFields = takesFields(init);
    const { depth, file, state } = frame;
    const build = (heap: Heap): void => {
      const inside: Frame = {
        ...frameOf(file),
        state: { names: new Names(), heap, path: state.path },
        depth,
        building: true,
      };
      if (init && depth < MAX_DEPTH)
        budgeted(() => callFunction(init, self, null, isOfFields ? NO_ARGS : args, node, inside));
    };
    const kind = init ? null : containerOf(model, run, frame);
    const holds = kind === null ? (init ? {} : { given: args }) : { holds: container(kind, args, frame, run) };
    const attributes = isOfFields ? fieldsGiven(model, args) : new Map<string, Value>();
    state.heap.set(id, { kind: 'object', model, made: node, args, attributes, build: init ? build : null, ...holds });
    return self;
  }

  /** What makes layers has a budget of its own: it is not the entry's fault. */
  function budgeted(make: () => void): void {
    const before = { steps, exhausted };
    steps = aside ? 0 : MAX_STEPS / 2;
    make();
    steps = before.steps;
    if (aside) ({ exhausted } = before);
  }

  /** The object that `self` is in an entry: as `__init__` leaves it, with unknown arguments. */
  function instanceOf(model: ClassModel): { value: Value; state: State } {
    let known = made.get(model);
    if (!known) {
      const id = freshId();
      const value: Value = { kind: 'ref', id };
      const state: State = { names: new Names(), heap: new Heap(), path: [] };
      state.heap.set(id, { kind: 'object', model, attributes: new Map(), build: null });
      made.set(model, { value, state });
      const init = constructorOf(model, project);
      if (init) {
        const outer: Frame = { ...frameOf(init.file), building: true };
        const inner: Frame = { ...outer, function: init, state, depth: 1, returns: [] };
        unknownParameters(init, value, run, inner).forEach((v, k) => state.names.set(k, v));
        for (const v of state.names.all().values()) if (v.kind === 'unknown') parameterOf.set(v, model);
        const networks = asked.has(model) ? networksHandedIn(model, init, value, project, inner, run) : [];
        for (const [name, network] of networks) {
          if (!/^(unknown|string)$/.test(state.names.get(name)?.kind ?? '')) continue;
          state.names.set(name, network);
          served.add(model);
        }
        const body = childOf(init.node, 'body');
        active.push(init.node);
        if (body) budgeted(() => runBlock(body, inner, run));
        active.pop();
        for (const [key, item] of inner.state.heap.since(state.heap)) state.heap.set(key, item);
      }
      known = made.get(model) ?? { value, state };
    }
    return known;
  }

  /** Networks that a constructor is handed are looked for, perhaps in other files, where copies get to what is not known. */
  function evaluateEntry(model: FunctionModel, owner: ClassModel | null): void {
    const self = model.decorators.some((d) => /^staticmethod\b/.test(d)) ? null : owner;
    const outer = { isStuck, lacking };
    [isStuck, lacking] = [false, new Set()];
    const known = quiet.count();
    evaluateBody(model, self);
    for (let round = 0; isStuck && round < MAX_ROUNDS; round++) {
      const wanted = new Set([...(self ? [self] : []), ...lacking].filter((c) => !asked.has(c)));
      if (![...wanted].map(isServed).includes(true)) break;
      [isStuck, lacking] = [false, new Set()];
      quiet.forget(known);
      evaluateBody(model, self);
    }
    // What a function elsewhere does with its networks is told where that is checked.
    if (isStuck && !self && !aside) {
      const around = frameOf(model.file);
      let given: ReadonlyMap<string, Value> = new Map();
      budgeted(() => (given = networksPassed(model, project, around, run)));
      if (given.size > 0) {
        quiet.forget(known);
        evaluateBody(model, null, { given, heap: around.state.heap });
        // Others may call it with more than is known here.
        if (handing.has(model.node)) quiet.drop(model.node);
      }
    }
    ({ isStuck, lacking } = outer);
  }

  /** Is the class handed networks? Then all that may hold one of it is made anew. */
  function isServed(model: ClassModel): boolean {
    asked.add(model);
    const before = made.get(model);
    made.delete(model);
    const now = instanceOf(model);
    if (!served.has(model)) {
      if (before) made.set(model, before);
      return false;
    }
    made.clear();
    made.set(model, now);
    return true;
  }

  function evaluateBody(
    model: FunctionModel,
    owner: ClassModel | null,
    passed: { readonly given: ReadonlyMap<string, Value>; readonly heap: Heap } | null = null,
  ): void {
    const body = childOf(model.node, 'body');
    if (!body) return;
    steps = 0;
    exhausted = false;
    entry = model.node;
    const frame: Frame = { ...frameOf(model.file), function: model };
    const instance = owner && instanceOf(owner);
    const heap = passed?.heap ?? instance?.state.heap;
    if (heap) frame.state = { ...frame.state, heap: heap.fork() };
    const self = instance?.value ?? null;
    const parameters = unknownParameters(model, self, run, frame);
    parameters.forEach((v, k) => frame.state.names.set(k, passed?.given.get(k) ?? v));
    const outer = { handed, isOpen };
    [handed, isOpen] = [new Set(parameters.values()), false];
    active.push(model.node);
    runBlock(body, frame, run);
    runUncalled(model, took, frame, run);
    took.set(model.node, steps);
    active.pop();
    const isHanding =
      isOpen || (self?.kind === 'ref' && keepsCopies(self.id, instance?.state.heap ?? null, frame, run));
    const isLoud =
      isHanding ||
      frame.returns.some(({ value }) => carries(value, frame, run) || makesCopies(value)) ||
      copiesAlongParameter(model);
    if (!isLoud) quiet.add(model.node);
    if (isHanding) handing.add(model.node);
    ({ handed, isOpen } = outer);
  }

  /** Does a text, of a method of `owner`, call a function of another file whose result may be a replica? */
  const callsLoud = (text: string, owner: ClassModel | null): boolean =>
    (callsProducer?.(text) ?? []).some((maker) => {
      const callee = functionOf(maker, owner, project);
      return callee === null || ((isSmall(callee) || producesReplicas(callee)) && !isQuietElsewhere(callee));
    });

  if (!isProductive && !callsLoud(text, null)) return false;
  inWaves({
    project,
    passing,
    isFirst: (f) => producesReplicas(f) || callsLoud(textOf(f.node), f.owner),
    evaluate: evaluateEntry,
    isLoud: ({ node }) => !quiet.has(node),
    forget: ({ node }) => quiet.drop(node),
  });

  if (worksAtTopLevel(project, (text) => callsLoud(text, null))) {
    steps = 0;
    exhausted = false;
    entry = project.main.file.root;
    runBlock(project.main.file.root, frameOf(project.main), run);
  }
  return true;
}
