/** What the parts of the evaluator share: the frame of a function under evaluation and the run that it belongs to. */
import type { Hit } from '../tensor/contract';
import type { Dim } from '../tensor/dim';
import type { Tensor } from '../tensor/value';
import type { Heap } from './heap';
import type { ClassModel, FileModel, FunctionModel } from './model';
import type { State } from './state';
import type { Node } from './syntax';
import type { Args, Condition, RefValue, Scope, Value } from './value';

export interface Frame {
  readonly function: FunctionModel | null;
  readonly file: FileModel;
  state: State;
  readonly closure: Scope | null;
  readonly depth: number;
  /** The call that made this frame, and the frame it stands in. */
  readonly call: Node | null;
  readonly caller: Frame | null;
  /** Each with the heap of the branch that it stands in, which ends there. */
  readonly returns: { value: Value; when: readonly Condition[]; heap: Heap }[];
  /** True while a constructor runs: calls in it are always followed. */
  readonly building: boolean;
}

/** How the operand of a sink is used. */
export interface Operand {
  readonly role: 'input' | 'left' | 'right' | 'query' | 'key' | 'value' | 'operand';
  readonly value: Tensor;
  readonly node: Node | null;
  readonly hits: readonly SinkHit[];
  /** Nothing says how many axes it has; it is taken to have the usual number. */
  readonly assumedRank?: boolean;
}

export interface SinkHit extends Hit {
  /** The sink itself copies an expanded view. */
  readonly copiedInside: boolean;
  /** Made by the broadcasting of the sink itself, to meet vectors or matrices: beside those a copy counts for less. */
  readonly implicit?: 'vector' | 'matrix';
  /** Which part of the product the replicated axis is: a row of a linear, a batch axis, attention heads, ... */
  readonly axisRole: 'row' | 'batch' | 'head' | 'contracted';
}

/** Why no fused kernel takes an attention with shared heads: the type of an operand, or the size of its heads. */
export interface Unfused {
  readonly kind: 'precision' | 'heads';
  /** In words. */
  readonly text: string;
}

/** Something to say of a sink that no replica is the cause of. */
export type Advice =
  /** enable_gqa=True, and why no fused kernel takes it. */
  | { readonly code: 'IKB203'; readonly why: Unfused }
  /** The contracted size of a concatenation: of interest if it is a number that is not a multiple of 8. */
  | {
      readonly code: 'IKB401';
      readonly size: Dim;
      readonly concatenation: Node;
      /** The concatenation itself shows the size, not the layer alone. */
      readonly counted: boolean;
      readonly half: boolean;
    };

export interface SinkEvent {
  readonly kind:
    'linear' | 'matmul' | 'einsum' | 'convolution' | 'bilinear' | 'recurrent' | 'attention' | 'multihead-attention';
  readonly callee: string;
  readonly node: Node;
  readonly frame: Frame;
  readonly operands: readonly Operand[];
  /** Axis of the input that is contracted. */
  readonly contracted: number;
  /** The module that is called; null for a function. */
  readonly layer: LayerLike | null;
  readonly outWidth: Dim;
  readonly args: Args;
  /** Of a callee that is not known: the keyword that says what it does with the operand. */
  readonly keyword: string | null;
  readonly advice: Advice | null;
  /** A weight or a 2-D matrix on the other side of a matmul: then it is a linear. */
  readonly byWeight: boolean;
}

export interface LayerLike {
  readonly name: string;
  readonly node: Node;
  readonly doubt: string | null;
  readonly called?: string;
}

export interface Run {
  /** Evaluates an expression. */
  evaluate(node: Node, frame: Frame): Value;
  /** Calls anything with evaluated arguments; `node` is the call. */
  call(callee: Value, args: Args, node: Node, frame: Frame): Value;
  callFunction(
    model: FunctionModel,
    self: Value | null,
    closure: Scope | null,
    args: Args,
    node: Node,
    frame: Frame,
  ): Value;
  /** Reads an attribute of a value. */
  attribute(value: Value, name: string, node: Node, frame: Frame): Value;
  /** Items of something that is iterated, or null; `open` when there may be more. */
  items(value: Value, frame: Frame): { items: readonly Value[]; open: boolean; times?: Dim; rest?: Tensor } | null;
  assign(target: Node, value: Value, frame: Frame): void;
  sink(event: SinkEvent): void;
  /**
   * A value that is not known was called with copies, or a method of one: should it be a parameter of the entry, or what its
   * constructor was handed, those who hand it over know more.
   */
  open(callee: Value | null): void;
  note(node: Node, message: string): void;
  /** A name that is not a local: module level, imports, other files. */
  global(name: string, file: FileModel, frame: Frame): Value | null;
  /** What the class itself has under a name, as far as it is a class, a layer or a table. */
  classValue(model: ClassModel, name: string, frame: Frame): Value | null;
  instantiate(model: ClassModel, args: Args, node: Node, frame: Frame): Value;
  /** An instance as `__init__` leaves it with unknown arguments. */
  instance(model: ClassModel, frame: Frame): Value;
  /** Runs the method that makes the attribute of an object after its constructor, see `builderOf`. */
  buildLate(self: RefValue, model: ClassModel, name: string, node: Node, frame: Frame): void;
  isModule(model: ClassModel): boolean;
  /** See `Project.bases`. */
  bases(model: ClassModel): readonly (ClassModel | string)[];
  /** See `Project.moduleNamed`. */
  moduleNamed(name: string, file: FileModel): ClassModel | null;
  /** The module class of the file that a constructor parameter is named after, see `Project.sibling`. */
  sibling(name: string, file: FileModel): ClassModel | null;
  method(model: ClassModel, name: string): FunctionModel | null;
  /** See `Project.stub`. */
  stub(model: FunctionModel): FunctionModel | null;
  /** False when the budget is spent. `count`: of what takes as long as so many steps, one unless it is told. */
  step(count?: number): boolean;
  /** Names of index tensors that comments declare many-to-one. */
  readonly manyToOne: ReadonlySet<string>;
  /** `edge_label_index` holds the seeds of a batch, see `LOADS_SEEDS` of index-names.ts. */
  readonly areLabelsSeeds: boolean;
  /** Axes of tensors that comments state, by the names of variables. */
  readonly stated: ReadonlyMap<string, readonly string[]>;
  nameSymbol(symbol: string, name: string, at: Node, inClass: boolean): void;
}
